//! Exit codes: one meaning each, the same for all verbs.

use placet_engine::engine::Stopped;
use placet_ledger::event::Outcome;

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// Done.
    Done,
    /// Failed.
    Failed,
    /// Parked, waiting for an answer.
    Parked,
    /// Refused.
    Refused,
    /// Not found.
    NotFound,
    /// Somebody else was first, or holds it.
    Conflict,
    /// Verification or replay found a difference.
    Integrity,
    /// The command line is wrong.
    Usage,
    /// Stopped by Ctrl-C.
    Interrupted,
    /// Stopped by a signal to terminate.
    Terminated,
}

impl ExitStatus {
    /// All of them, by their numbers.
    pub const ALL: [Self; 10] = [
        Self::Done,
        Self::Failed,
        Self::Parked,
        Self::Refused,
        Self::NotFound,
        Self::Conflict,
        Self::Integrity,
        Self::Usage,
        Self::Interrupted,
        Self::Terminated,
    ];

    /// What it means, the same for all verbs.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Parked => "parked, waiting for an answer",
            Self::Refused => "refused: a rule, a spent budget, or an answer that does not fit",
            Self::NotFound => "not found",
            Self::Conflict => "somebody else was first, or holds it",
            Self::Integrity => "verification or replay found a difference",
            Self::Usage => "the command line, the config or an input is wrong",
            Self::Interrupted => "stopped by Ctrl-C",
            Self::Terminated => "stopped by a signal to terminate",
        }
    }

    /// The number.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Parked => 2,
            Self::Refused => 3,
            Self::NotFound => 4,
            Self::Conflict => 5,
            Self::Integrity => 6,
            Self::Usage => 64,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }
}

impl From<Stopped> for ExitStatus {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Ended(Outcome::Completed) => Self::Done,
            Stopped::Ended(Outcome::Failed | Outcome::Cancelled) => Self::Failed,
            Stopped::Ended(Outcome::Budget | Outcome::Expired) => Self::Refused,
            Stopped::Waits => Self::Parked,
            Stopped::Interrupted => Self::Interrupted,
        }
    }
}
