//! What it means to a person that a store does not open: what kind of error it is, and what to do.

use placet_ledger::store::head::HeadError;
use placet_ledger::store::seal::KeyFileError;
use placet_ledger::store::sled::OpenError;

use crate::error::{CommandError, Kind};
use crate::unusable::hint;

/// What can be done about a process that is stopped.
fn continue_it(pid: Option<u32>) -> Option<String> {
    pid.map(|pid| format!("kill -CONT {pid} lets it go on, or fg where it was stopped by Ctrl-Z"))
}

impl From<OpenError> for CommandError {
    fn from(error: OpenError) -> Self {
        let loss = "nothing is written to it until that is understood: placet audit verify";
        match &error {
            OpenError::Missing(_) => Self::new(Kind::NotFound, error)
                .hint("placet run makes a ledger; --home or PLACET_HOME names another one"),
            OpenError::InUse { pid, stopped } => {
                let hint = continue_it(pid.filter(|_| *stopped));
                Self::new(Kind::Conflict, error)
                    .hints(hint)
                    .hint("one process at a time holds a ledger; try again when it is done")
            }
            OpenError::CopyInUse { holder, stopped, .. } => {
                let pid = holder.as_ref().map(|holder| holder.pid);
                let hint = continue_it(pid.filter(|_| *stopped));
                Self::new(Kind::Conflict, error)
                    .hints(hint)
                .hint("try again when that process is done")
                .hint("keep one copy alone: the one that falls behind is refused from then on")
            }
            OpenError::Clock => Self::new(Kind::Failed, error)
                .hint("set the clock: records are stamped with its time"),
            OpenError::Head(HeadError::Io { .. }) => Self::new(Kind::Failed, error)
                .hint("it lies under XDG_STATE_HOME (~/.local/state), where it must be yours to write")
                .hint("what only reads works without that"),
            OpenError::Keys { source: KeyFileError::Io { .. }, .. } => Self::new(Kind::Failed, error)
                .hint("the file keys of the home must be yours to write")
                .hint("what only reads works without that"),
            OpenError::Io { source, .. } => {
                let hint = hint(source);
                Self::new(Kind::Failed, error).hint(hint)
            }
            OpenError::Exists(_) => Self::new(Kind::Failed, error)
                .hint("a ledger is made in a new place: name another one with --home DIR"),
            OpenError::HeadMissing(_) => Self::new(Kind::Integrity, error)
                .hint("it lies under XDG_STATE_HOME (~/.local/state): is that as it was?")
                .hint(loss),
            OpenError::Damaged(_)
            | OpenError::HeadWithoutStore
            | OpenError::KeysMissing(_)
            | OpenError::KeysWithoutStore
            | OpenError::Behind { .. }
            | OpenError::Forked { .. }
            | OpenError::Head(_)
            | OpenError::Keys { .. } => Self::new(Kind::Integrity, error).hint(loss),
        }
    }
}
