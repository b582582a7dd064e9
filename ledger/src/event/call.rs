//! Events of one call: proposed, refused, started, and how its execution ended.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::approval::By;
use crate::containment::{Containment, Part};
use crate::digest::Digest;
use crate::id::{CallId, Name, Version};
use crate::precondition::PreconditionKind;
use crate::program::ProgramClass;
use crate::risk::DeclaredRisk;

/// What would be done, against what. Content: arguments, `execute_arguments`, message, preview,
/// precondition, program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallProposed {
    /// The call.
    pub call: CallId,
    /// How what it runs is shut in.
    pub containment: Containment,
    /// Digest of the tool's definition.
    pub definition: Digest,
    /// The hidden half, where the tool is a pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execute: Option<Name>,
    /// What is missing of the containment profile.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub missing: BTreeSet<Part>,
    /// TCP ports that it would have.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub network: BTreeSet<u16>,
    /// What kind of precondition it has.
    pub precondition: PreconditionKind,
    /// Whose hands the program is in that it would run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramClass>,
    /// What the tool declares.
    pub risk: DeclaredRisk,
    /// The pending call that a person gave other arguments: this one stands in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<CallId>,
    /// The tool.
    pub tool: Name,
}

/// Why a call was not even asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// No tool of that name.
    UnknownTool,
    /// The executing half of a pair, which nobody may name.
    HiddenHalf,
    /// The arguments do not fit, or the tool could not make a proposal of them.
    BadArguments,
    /// The tool is withheld from this run.
    DeniedTool,
    /// Equal to a call that a person denied, or the fourth at a target denied three times.
    RepeatOf,
    /// More calls at once than are handled, or a cap is spent.
    OverLimit,
    /// A rule forbids it.
    Rule,
    /// Nobody is there to ask, and the run does not wait.
    Nobody,
}

/// A call that was not even asked about. Content: detail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallRefused {
    /// Version of the authority stream it was judged on.
    pub authority: Version,
    /// The call.
    pub call: CallId,
    /// Why.
    pub kind: RefusalKind,
    /// The denied call that it repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<CallId>,
    /// The rule that forbids it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<Name>,
}

/// Durable before the effect; mints the permit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutionStarted {
    /// Which attempt, from 1.
    pub attempt: u32,
    /// Version of the authority stream it was judged on.
    pub authority: Version,
    /// The call.
    pub call: CallId,
    /// How it is shut in.
    pub containment: Containment,
    /// The segment that executes it.
    pub epoch: u32,
    /// What is missing of the containment profile.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub missing: BTreeSet<Part>,
    /// TCP ports that it has.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub network: BTreeSet<u16>,
    /// Digest of the proposal.
    pub proposal: Digest,
}

/// Why a grant no longer held when its call was to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartRefusal {
    /// The policy no longer gives it.
    Policy,
    /// The tool is off the list, or off the run's tools.
    List,
    /// A rule forbids it.
    Rule,
    /// Too late.
    Expired,
    /// A cap is spent.
    Budget,
    /// The process cannot be shut in as was shown.
    Containment,
}

/// The grant no longer held: it is void, and a new verdict follows in the same append.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutionRefused {
    /// Which attempt it would have been.
    pub attempt: u32,
    /// Version of the authority stream it was judged on.
    pub authority: Version,
    /// The call.
    pub call: CallId,
    /// Digest of the proposal.
    pub proposal: Digest,
    /// Why.
    pub reason: StartRefusal,
}

/// What kind of failure an execution met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The tool said so.
    Tool,
    /// It took too long.
    Timeout,
}

/// How an execution ended; the event's name says which way. Content: result, steering.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutionEnded {
    /// Which attempt.
    pub attempt: u32,
    /// The call.
    pub call: CallId,
    /// How long it took.
    pub duration_ms: u64,
    /// Of a process, its exit status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// Of a failure, its kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<FailureKind>,
}

/// Why nobody knows whether an execution took effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DoubtReason {
    /// The tool cannot tell.
    Unknown,
}

/// It started and nobody knows. Content: detail, steering.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutionInDoubt {
    /// Which attempt.
    pub attempt: u32,
    /// The call.
    pub call: CallId,
    /// Why.
    pub reason: DoubtReason,
}

/// Whether an interrupted execution took effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// It did.
    Done,
    /// It did not.
    NotDone,
}

/// The tool's own check, or a person, says what became of it. Content: result; of a person, note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutionSettled {
    /// Which attempt.
    pub attempt: u32,
    /// Who says so.
    pub by: By,
    /// The call.
    pub call: CallId,
    /// Digest of the `execution.in_doubt` that a person was shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Digest>,
    /// What became of it.
    pub verdict: Settlement,
}
