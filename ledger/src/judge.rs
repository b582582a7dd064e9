//! The gate's place: what it is given, what it may say, and the trait that the engine implements.

use std::collections::BTreeSet;

use crate::approval::{By, Demands};
use crate::containment::Level;
use crate::event::{Demand, RefusalKind, RiskSource};
use crate::id::{CallId, GrantId, Name};
use crate::policy::{ApprovalPolicy, Attendance, ContainmentRule};
use crate::program::{Program, ProgramClass};
use crate::risk::{DeclaredRisk, RiskTier};

/// All that a verdict on one call may depend on, as folded at this moment.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts about one call, each known by its name"
)]
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
    /// What a command would run.
    pub command: Option<CommandInput>,
    /// How its process is shut in.
    pub level: Level,
    /// Whether that is weaker than what was shown.
    pub weaker: bool,
    /// What becomes of calls that cannot be shut in by the whole profile.
    pub containment: ContainmentRule,
    /// How the call was judged.
    pub assessed: Option<Judged>,
    /// Whether it can still be judged before its verdict.
    pub judgeable: bool,
    /// Whether a plugin judges every gated call.
    pub plugin: bool,
    /// The rules in force.
    pub rules: RulesInput<'a>,
    /// What people allowed in every run, as far as it holds now.
    pub grants: Vec<GrantInput<'a>>,
}

/// A command, as its proposal tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandInput {
    /// Its text; `None` where it cannot be read.
    pub text: Option<String>,
    /// Whose hands its program is in.
    pub class: Option<ProgramClass>,
    /// Its program; `None` where it cannot be read.
    pub program: Option<Program>,
    /// TCP ports that it wants.
    pub network: BTreeSet<u16>,
}

/// How a call was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judged {
    /// What judged.
    pub source: RiskSource,
    /// What a plugin wants beside the tier.
    pub demand: Option<Demand>,
    /// The tier.
    pub tier: RiskTier,
}

/// The texts of the rules that a call is judged by; the strictest holds. `Err` is a text that
/// cannot be read.
#[derive(Debug, Clone, Copy)]
pub struct RulesInput<'a> {
    /// Those that the run was started under.
    pub recorded: Result<&'a [u8], Unreadable>,
    /// Those in force now.
    pub current: Result<&'a [u8], Unreadable>,
    /// Those of the workspace, which only narrow; `None` where it has none.
    pub narrowing: Option<Result<&'a [u8], Unreadable>>,
}

/// A content that is not there, or not readable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

/// An entry of the per-command list.
#[derive(Debug, Clone, Copy)]
pub struct GrantInput<'a> {
    /// The grant.
    pub grant: GrantId,
    /// What it says.
    pub entry: &'a [u8],
}

/// A rule that forbids a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forbids {
    /// The rule.
    pub rule: Name,
    /// Why it is there, in the words of who wrote it.
    pub reason: Option<String>,
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
        /// TCP ports that it may have.
        network: BTreeSet<u16>,
    },
    /// Ask people.
    Ask {
        /// The row that asks.
        rule: Name,
        /// What their approvals must be.
        demands: Demands,
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
        /// The rule that forbids it.
        rule: Option<Forbids>,
    },
    /// It must be judged first: how it would be decides.
    Unjudged,
}

/// Gives verdicts: pure, and total over its input.
pub trait Judge: Send + Sync {
    /// The verdict on one call.
    fn judge(&self, input: &GateInput<'_>) -> Verdict;
}
