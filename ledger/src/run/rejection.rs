//! Why a command yields no events. Nothing was recorded, and the run is as it was.

use serde::{Deserialize, Serialize};

use crate::answers::CoverageError;
use crate::approval::Unmet;
use crate::event::Outcome;
use crate::id::{CallId, GrantId, Name};
use crate::sentence::{self, Sentence};

fn list(calls: &[CallId]) -> String {
    let calls: Vec<_> = calls.iter().map(CallId::to_string).collect();
    calls.join(", ")
}

/// Why a command yields no events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Rejection {
    /// The run exists.
    #[error("the run was started before")]
    Started,
    /// The run does not exist.
    #[error("the run was never started")]
    NotStarted,
    /// The run has ended.
    #[error("the run has ended ({})", .0.as_str())]
    Finished(Outcome),
    /// No driver has taken it up, or another one has.
    #[error("the run is not driven by who sent the command")]
    NotDriven,
    /// The command does not fit what the run waits for.
    #[error("{0}")]
    OutOfTurn(#[serde(deserialize_with = "sentence::read")] Sentence),
    /// No such call.
    #[error("the run has no call {0}")]
    UnknownCall(CallId),
    /// The very same is granted already.
    #[error("{0} grants the same already")]
    AlreadyGranted(GrantId),
    /// No such grant.
    #[error("there is no grant {0}")]
    UnknownGrant(GrantId),
    /// The command is a person's.
    #[error("only a person may do that")]
    NotAPerson,
    /// A text that the record needs is missing, or one is too many.
    #[error("the command does not bring the text {0:?}, or brings one that has no place")]
    Text(String),
    /// Answers that do not cover what is pending.
    #[error(transparent)]
    Coverage(#[from] CoverageError),
    /// Somebody answered before.
    #[error("already answered: {}", list(.0))]
    AlreadyAnswered(Vec<CallId>),
    /// A person gave the call other arguments, and another one stands in its place.
    #[error("{call} was amended: {by} stands in its place")]
    Superseded {
        /// The call.
        call: CallId,
        /// What stands in its place.
        by: CallId,
    },
    /// An approval that is not what its call demands.
    #[error("{call} {unmet}; it can be denied")]
    Unmet {
        /// The call.
        call: CallId,
        /// What is demanded, and what the approval is.
        unmet: Box<Unmet>,
    },
    /// Calls are open: nothing new enters the run.
    #[error("calls are open: {}", list(.0))]
    CallsOpen(Vec<CallId>),
    /// Nothing waits for an answer.
    #[error("the run has no call that waits for an approval")]
    NothingPending,
    /// Too late.
    #[error("{0} has expired")]
    Expired(CallId),
    /// Nothing has expired yet.
    #[error("nothing has expired")]
    NotExpired,
    /// A cap would become wider.
    #[error("a cap can be made stricter, not wider: {0}")]
    Widened(#[serde(deserialize_with = "sentence::read")] Sentence),
    /// A tool would come back.
    #[error("tools can be taken away, not added: {0}")]
    ToolWidened(Name),
    /// More than a run may have.
    #[error("the run has reached the end of its {0}")]
    Exhausted(#[serde(deserialize_with = "sentence::read")] Sentence),
}
