//! Events in the life of a run: started, driven in segments, narrowed, parked, ended.

use serde::{Deserialize, Serialize};

use crate::approval::By;
use crate::budget::{Cap, Limits};
use crate::content::Commitment;
use crate::digest::Digest;
use crate::id::{CallId, DriverId, HostId, Name, Version};
use crate::policy::{ApprovalPolicy, Attendance, ContainmentRule, HttpApproval};

/// Its first prompt and all it will ever be allowed. Content: prompt, system, workspace, scope,
/// config, narrowing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunStarted {
    /// The agent from the config, or `default`.
    pub agent: Name,
    /// Who was there at the start.
    pub attendance: Attendance,
    /// Version of the authority stream it was started under.
    pub authority: Version,
    /// The release that started it.
    pub binary: Name,
    /// What becomes of calls that cannot be shut in by the whole profile.
    #[serde(default, skip_serializing_if = "ContainmentRule::is_prefer")]
    pub containment: ContainmentRule,
    /// What decides web requests.
    pub http_approval: HttpApproval,
    /// Its caps.
    pub limits: Limits,
    /// The model.
    pub model: Name,
    /// How long an approval may stay unanswered.
    pub park_expiry_ms: u64,
    /// Digest of the plugin that judges every gated call, purpose `file`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<Digest>,
    /// Up to which tier gated calls run unasked.
    pub policy: ApprovalPolicy,
    /// Commitment to the rules in force.
    pub rules: Commitment,
    /// Tools that run unasked.
    pub tool_allowlist: Vec<Name>,
    /// How many tools there are; the scope names them.
    pub tools: u32,
}

/// Why a driver took a run up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SegmentReason {
    /// It is new.
    Start,
    /// Its pending calls were answered.
    Answered,
    /// Somebody asked for it.
    Resumed,
    /// A person took it from a driver that was alive, which was ended.
    TakenOver,
}

/// A driver took the run up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SegmentStarted {
    /// Who is there during it.
    pub attendance: Attendance,
    /// The driver.
    pub driver: DriverId,
    /// Counts the segments, from 1.
    pub epoch: u32,
    /// The machine.
    pub host: HostId,
    /// Why.
    pub reason: SegmentReason,
}

/// Why a driver put a run down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SegmentEnd {
    /// It waits for answers, and nobody attends.
    Parked,
    /// It waits for something else.
    Waiting,
    /// The driver was asked to stop.
    Interrupted,
    /// The run was cancelled.
    Cancelled,
    /// The run ended.
    Finished,
    /// The driver vanished; said by the next one.
    Lost,
}

/// The driver put the run down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SegmentEnded {
    /// How long it was active, by a monotonic clock; of a lost one, from its first to its last
    /// record.
    pub active_ms: u64,
    /// The driver.
    pub driver: DriverId,
    /// Its segment.
    pub epoch: u32,
    /// Why.
    pub reason: SegmentEnd,
}

/// A later message of a person. Content: text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptAdded {
    /// Who.
    pub by: By,
}

/// The live policy is another one. Content: reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyChanged {
    /// Who changed it.
    pub by: By,
    /// Up to which tier gated calls run unasked from here on.
    pub policy: ApprovalPolicy,
}

/// A tool runs unasked from here on; what is pending stays so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolAllowed {
    /// Who allowed it.
    pub by: By,
    /// The tool.
    pub tool: Name,
}

/// The caps became stricter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsTightened {
    /// Who did it.
    pub by: By,
    /// The caps from here on.
    pub limits: Limits,
}

/// The tools became fewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolsNarrowed {
    /// Who did it.
    pub by: By,
    /// The tools from here on, sorted.
    pub tools: Vec<Name>,
}

/// The run waits with nobody attending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunParked {
    /// The calls it waits for, in order.
    pub pending: Vec<CallId>,
}

/// Somebody wants the run to end. Content: note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunCancelRequested {
    /// Who.
    pub by: By,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The model had nothing more to do.
    Completed,
    /// The model could not go on.
    Failed,
    /// Somebody cancelled it.
    Cancelled,
    /// A cap was reached.
    Budget,
    /// Nobody answered in time.
    Expired,
}

impl Outcome {
    /// The word that records and listings use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Budget => "budget",
            Self::Expired => "expired",
        }
    }
}

/// A call that was left when the run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenCall {
    /// The call.
    pub call: CallId,
    /// How far it had come.
    pub why: OpenWhy,
}

/// How far a call had come when its run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenWhy {
    /// Named by the model, without a verdict.
    NotGated,
    /// Waiting for an answer.
    Pending,
    /// Allowed, not started.
    NotStarted,
    /// Started, and nobody knows whether it took effect.
    InDoubt,
}

/// The last record of a complete run. Content: text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFinished {
    /// The cap that was reached, where one ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<Cap>,
    /// The calls that were left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<OpenCall>,
    /// How it ended.
    pub outcome: Outcome,
}
