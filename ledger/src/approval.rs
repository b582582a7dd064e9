//! Who allowed or refused something, how that is known, and what an answer to one call says.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::id::{CallId, GrantId, Name, Principal};

/// The way an answer came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// A verb of the command line.
    Cli,
    /// A card at a terminal.
    Terminal,
}

/// How sure it is that a person, and which one, decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Assurance {
    /// Some process of this user.
    SameUser,
}

/// Who allowed, refused or changed something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum By {
    /// A person.
    Person {
        /// How sure that is.
        assurance: Assurance,
        /// The way it came in.
        channel: Channel,
        /// Who.
        principal: Principal,
    },
    /// A row of the gate's own table.
    Policy {
        /// Which row.
        rule: Name,
    },
    /// The per-tool list of this run.
    List {
        /// The entry.
        tool: Name,
    },
    /// An entry of the per-command list.
    Grant {
        /// The entry.
        grant: GrantId,
    },
    /// A rule of the user.
    Rule {
        /// Which rule.
        rule: Name,
    },
    /// The tool itself, which looked at its own effect.
    Tool,
}

impl By {
    /// Whether a person decided.
    pub const fn is_person(&self) -> bool {
        match self {
            Self::Person { .. } => true,
            Self::Policy { .. }
            | Self::List { .. }
            | Self::Grant { .. }
            | Self::Rule { .. }
            | Self::Tool => false,
        }
    }
}

/// Who caused a record, as its header tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Actor {
    /// A person, by kernel credentials.
    Person {
        /// Who.
        name: Principal,
    },
    /// The gate, by a policy.
    Policy,
    /// The gate, by a list entry.
    Allowlist,
    /// The engine that drives the run.
    Engine,
    /// Time alone.
    Clock,
}

/// What an answer says about one pending call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Run it as shown.
    Approve,
    /// Run it as shown, and its tool unasked in this run from here on.
    ApproveAlways,
    /// Do not run it.
    Deny,
}

impl Answer {
    /// Whether the call may run.
    pub const fn approves(self) -> bool {
        match self {
            Self::Approve | Self::ApproveAlways => true,
            Self::Deny => false,
        }
    }
}

/// One line of an answer set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallAnswer {
    /// The pending call.
    pub call: CallId,
    /// Digest of the request that was displayed.
    pub request: Digest,
    /// The verdict.
    pub answer: Answer,
    /// The approver's words, for the model and the record.
    pub note: Option<String>,
}
