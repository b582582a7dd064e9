//! What projections hold: facts of runs, of what waits, and of what was decided.

use serde::{Deserialize, Serialize};

use crate::approval::{Assurance, By};
use crate::content::Commitment;
use crate::digest::Digest;
use crate::event::Outcome;
use crate::id::{CallId, Name, Position, Principal, RunId, Version};
use crate::policy::ApprovalPolicy;
use crate::risk::DeclaredRisk;
use crate::run::Status;
use crate::time::Timestamp;

/// What a listing says about a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// A driver has it, or vanished with it.
    Running,
    /// Nobody drives it, and it is not parked.
    Waiting,
    /// It waits for answers.
    Parked,
    /// An execution started, and nobody knows whether it took effect.
    InDoubt,
    /// It ended.
    Finished,
    /// Its records do not follow one another.
    Quarantined,
}

impl From<Status> for RunStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Running => Self::Running,
            Status::Waiting => Self::Waiting,
            Status::Parked => Self::Parked,
            Status::InDoubt => Self::InDoubt,
            Status::Finished(_) => Self::Finished,
        }
    }
}

/// Why a run does not fold, as far as its facts tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Broken {
    /// Position of the first record that cannot follow.
    pub position: Position,
    /// Its version, as it says itself.
    pub version: Version,
    /// Why it cannot.
    pub detail: String,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRow {
    /// The run.
    pub run: RunId,
    /// Position of its first record.
    pub start: Position,
    /// Position of its newest record.
    pub last: Position,
    /// Where it stands.
    pub state: RunStatus,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// What its start says; `None` where its first record is none.
    pub begun: Option<Begun>,
    /// When its newest record came that follows.
    pub updated_at: Timestamp,
    /// How many calls wait for people.
    pub pending: u32,
    /// Since when the oldest of them waits.
    pub oldest_pending: Option<Timestamp>,
    /// The earliest time at which something that is pending expires.
    pub expires_at: Option<Timestamp>,
    /// Why it does not fold.
    pub broken: Option<Broken>,
    /// Where the fold goes on.
    pub(super) fold: Fold,
}

/// What the start of a run says, with the policy that is in force by now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begun {
    /// Its agent.
    pub agent: Name,
    /// Its model.
    pub model: Name,
    /// Its policy now.
    pub policy: ApprovalPolicy,
    /// Who started it.
    pub by: Option<Principal>,
    /// When.
    pub at: Timestamp,
    /// What it was asked.
    pub prompt: Option<Commitment>,
}

/// What the fold of a run needs to go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fold {
    pub(super) version: Version,
    pub(super) digest: Digest,
    pub(super) running: bool,
    pub(super) parked: bool,
    /// Rows that hold its open calls.
    pub(super) parts: u8,
}

/// How far an open call has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stage {
    Named,
    Proposed,
    Pending,
    Asked,
    Granted,
    Executing,
    InDoubt,
}

/// An open call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallRow {
    pub(super) call: CallId,
    pub(super) stage: Stage,
    pub(super) tool: Option<Name>,
    /// The tiers that it declared or was judged, the newest last.
    pub(super) tiers: Vec<DeclaredRisk>,
    /// When people were asked last.
    pub(super) asked_at: Option<Timestamp>,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) request: Option<Digest>,
}

/// What a pending call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waits {
    /// An approval.
    Approval,
    /// A reply.
    Question,
    /// A word on what became of it.
    InDoubt,
}

/// A call that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PendingRow {
    /// The run.
    pub run: RunId,
    /// The call.
    pub call: CallId,
    /// What it waits for.
    pub waits: Waits,
    /// Its tool.
    pub tool: Option<Name>,
    /// Its tier.
    pub tier: Option<DeclaredRisk>,
    /// Since when.
    pub since: Timestamp,
    /// From then on an answer is too late.
    pub expires_at: Option<Timestamp>,
}

/// How a decision came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It was allowed.
    Granted,
    /// A person said no.
    Denied,
    /// A person took the approval back.
    Revoked,
    /// Nobody answered in time.
    Expired,
    /// It was not even asked about.
    Refused,
    /// What became of an execution in doubt was said.
    Settled,
}

/// What kind of approver decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Somebody who answered; whether that was a person, the assurance says.
    Answer,
    /// A rule of the user.
    Rule,
    /// The gate's own table.
    Policy,
    /// The per-tool list of a run.
    List,
    /// An entry of the per-command list.
    Grant,
    /// The tool itself.
    Tool,
    /// Time alone.
    Clock,
}

/// Who decided.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approver {
    /// What kind.
    pub kind: Kind,
    /// Which: a principal, a rule, a tool of a list, a grant.
    pub name: Option<Name>,
    /// Of who answered, how sure it is who that was.
    pub assurance: Option<Assurance>,
}

impl Approver {
    /// Of a kind that has no name.
    pub(super) const fn nameless(kind: Kind) -> Self {
        Self {
            kind,
            name: None,
            assurance: None,
        }
    }

    fn named(kind: Kind, name: Option<Name>) -> Self {
        Self {
            kind,
            name,
            assurance: None,
        }
    }
}

impl From<&By> for Approver {
    fn from(by: &By) -> Self {
        match by {
            By::Person {
                assurance,
                principal,
                ..
            } => Self {
                assurance: Some(*assurance),
                ..Self::named(Kind::Answer, Some(principal.clone()))
            },
            By::Policy { rule } => Self::named(Kind::Policy, Some(rule.clone())),
            By::Rule { rule } => Self::named(Kind::Rule, Some(rule.clone())),
            By::List { tool } => Self::named(Kind::List, Some(tool.clone())),
            By::Grant { grant } => Self::named(Kind::Grant, grant.to_string().parse().ok()),
            By::Tool => Self::nameless(Kind::Tool),
        }
    }
}

/// A verdict on a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// Where it stands.
    pub position: Position,
    /// When.
    pub at: Timestamp,
    /// The run.
    pub run: RunId,
    /// The call.
    pub call: CallId,
    /// Its tool.
    pub tool: Option<Name>,
    /// The tiers that the call declared or was judged until then, the newest last.
    pub tiers: Vec<DeclaredRisk>,
    /// How it came out.
    pub verdict: Verdict,
    /// Who decided.
    pub by: Approver,
    /// From the request to the answer.
    pub waited_ms: Option<u64>,
}
