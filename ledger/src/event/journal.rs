//! Events of the journal: facts about the ledger itself, from which nothing is decided.

use serde::{Deserialize, Serialize};

use crate::approval::Channel;
use crate::id::{CallId, RunId};

/// The owner's clock stands behind the newest record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockStepped {
    /// How far it is behind.
    pub step_ms: u64,
}

/// What was attempted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptKind {
    /// To answer pending calls.
    Answer,
    /// To start a call that the sender did not drive, or whose records did not bear it out.
    Permit,
    /// To grant something from inside of a run.
    InsideRun,
    /// To send what is no command.
    Frame,
}

/// Something was refused that would have granted authority; no run was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttemptRefused {
    /// The call it was about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// The way it came in.
    pub channel: Channel,
    /// How many like it.
    pub count: u32,
    /// What was attempted.
    pub kind: AttemptKind,
    /// The run it was about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
}
