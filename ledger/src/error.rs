//! What the facade may answer instead of a result; modules below keep their own small enums.

use crate::authority::AuthorityError;
use crate::canonical::EncodeError;
use crate::envelope::WriteError;
use crate::id::{CallId, RunId};
use crate::projection::{CursorError, QueryError};
use crate::run::Rejection;
use crate::store::{AppendError, ReadError};

/// Why the ledger did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The command does not fit; nothing was recorded.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// No such run.
    #[error("no run {0}")]
    NoRun(RunId),
    /// Somebody else wrote first; load and decide again.
    #[error("somebody else moved the run, or its authority changed, at the same time")]
    Conflict,
    /// Nothing was started.
    #[error("nothing was started: {0}")]
    NoRoom(String),
    /// What was decided does not fit into an append.
    #[error("what was decided cannot be recorded: {0}")]
    Invalid(&'static str),
    /// A driver's command for a run that another process drives.
    #[error("the run is driven by process {pid}")]
    Driven {
        /// The process.
        pid: u32,
    },
    /// What grants something is refused to whoever is inside of a run.
    #[error("nothing is granted from inside of a run")]
    InsideRun,
    /// The process that holds the store is gone, or does not speak as it should.
    #[error("the process that holds the ledger cannot be reached: {0}")]
    Unreachable(String),
    /// The process that holds the ledger could not do it.
    #[error("the process that holds the ledger failed: {0}")]
    Failed(String),
    /// The store cannot take it now.
    #[error("the store is busy")]
    Busy,
    /// It may have been recorded or not.
    #[error("whether it was recorded is unknown: {0}")]
    Unknown(String),
    /// The store was closed for writing.
    #[error("the ledger is closed for writing: {0}")]
    Closed(String),
    /// What is recorded does not verify.
    #[error("the ledger does not verify: {0}")]
    Integrity(String),
    /// A stored run does not fold: it is shown and exported, never driven.
    #[error("run {run} is quarantined: {why}")]
    Quarantined {
        /// The run.
        run: RunId,
        /// Why it does not fold.
        why: String,
    },
    /// A stored authority stream does not fold.
    #[error("the authority stream does not fold")]
    Authority(#[from] AuthorityError),
    /// The record of a call is not what the state says.
    #[error("the records of {0} do not bear out what it is about to do")]
    Unproven(CallId),
    /// The cursor is none of the list that is asked for.
    #[error(transparent)]
    Cursor(#[from] CursorError),
    /// It could not be read.
    #[error("cannot read the ledger")]
    Read(#[from] ReadError),
    /// It could not be written.
    #[error("cannot write the record")]
    Write(#[from] WriteError),
    /// Something has no canonical form.
    #[error("cannot encode")]
    Encode(#[from] EncodeError),
}

impl From<QueryError> for LedgerError {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Cursor(error) => Self::Cursor(error),
            QueryError::Read(error) => Self::Read(error),
        }
    }
}

impl From<AppendError> for LedgerError {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::Conflict { .. } | AppendError::Moved { .. } => Self::Conflict,
            AppendError::Mismatch => Self::Integrity(error.to_string()),
            AppendError::Invalid(why) => Self::Invalid(why),
            AppendError::Busy => Self::Busy,
            AppendError::NoRoom { .. } => Self::NoRoom(error.to_string()),
            AppendError::Unknown(why) => Self::Unknown(why),
            AppendError::Poisoned(why) => Self::Closed(why),
        }
    }
}
