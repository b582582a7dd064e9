//! The gate's place: what it is given, what it may say, and the trait that the engine implements.

use std::collections::BTreeSet;

use crate::approval::By;
use crate::event::RefusalKind;
use crate::id::{CallId, Name};
use crate::policy::{ApprovalPolicy, Attendance};
use crate::risk::DeclaredRisk;

/// All that a verdict on one call may depend on, as folded at this moment.
#[derive(Debug, Clone)]
pub struct GateInput<'a> {
    /// The tool.
    pub tool: &'a Name,
    /// Whether the tool is a pair.
    pub paired: bool,
    /// Whether the call asks a person something, and does nothing else.
    pub question: bool,
    /// What the tool declares.
    pub declared: DeclaredRisk,
    /// The paths that the call may write or remove; `None` where they cannot be read.
    pub reach: Option<Vec<String>>,
    /// The run's policy now.
    pub policy: ApprovalPolicy,
    /// The tools that run unasked.
    pub allowlist: &'a BTreeSet<Name>,
    /// Whether the tool is still among the run's tools.
    pub offered: bool,
    /// Who can answer.
    pub attendance: Attendance,
    /// A call that a person denied and that this one repeats.
    pub repeats: Option<CallId>,
}

/// What the gate says about one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Run it.
    Approve {
        /// The row or entry that allows it.
        by: By,
        /// How it was judged.
        tier: DeclaredRisk,
    },
    /// Ask people.
    Ask {
        /// The row that asks.
        rule: Name,
        /// How many must approve.
        quorum: u32,
        /// How it was judged.
        tier: DeclaredRisk,
        /// For how long this one call may stay unanswered, where the row says so.
        expires_ms: Option<u64>,
    },
    /// Put the call's question to a person.
    Question,
    /// Do not even ask.
    Decline {
        /// Why.
        kind: RefusalKind,
        /// The denied call that it repeats.
        of: Option<CallId>,
    },
}

/// Gives verdicts: pure, and total over its input.
pub trait Judge: Send + Sync {
    /// The verdict on one call.
    fn judge(&self, input: &GateInput<'_>) -> Verdict;
}
