//! What it means to a person that a store does not open: what kind of error it is, and what to do.

use placet_ledger::store::head::HeadError;
use placet_ledger::store::seal::KeyFileError;
use placet_ledger::store::sled::OpenError;

use crate::error::{CommandError, Kind};
use crate::lost::lost;
use crate::unusable::hint;

/// What can be done about a process that is stopped.
fn continue_it(pid: Option<u32>) -> Option<String> {
    pid.map(|pid| format!("kill -CONT {pid} lets it go on, or fg where it was stopped by Ctrl-Z"))
}

/// What is true of every store that is not as it was written.
const LOSS: &str = "nothing is written to it until that is understood: placet audit verify";

/// What can be done where a file takes no writes.
const READS: &str = "what only reads works without that";

impl From<OpenError> for CommandError {
    fn from(error: OpenError) -> Self {
        let (kind, hints): (Kind, Vec<String>) = match &error {
            OpenError::Missing(_) => (
                Kind::NotFound,
                said(["placet run makes a ledger; --home or PLACET_HOME names another one"]),
            ),
            OpenError::InUse { pid, stopped } => {
                let hint = "one process at a time holds a ledger; try again when it is done";
                let first = continue_it(pid.filter(|_| *stopped));
                (
                    Kind::Conflict,
                    first.into_iter().chain(said([hint])).collect(),
                )
            }
            OpenError::CopyInUse {
                holder, stopped, ..
            } => {
                let pid = holder.as_ref().map(|holder| holder.pid);
                let first = continue_it(pid.filter(|_| *stopped));
                let hints = said([
                    "try again when that process is done",
                    "keep one copy alone: the one that falls behind is refused from then on",
                ]);
                (Kind::Conflict, first.into_iter().chain(hints).collect())
            }
            OpenError::Clock => (
                Kind::Failed,
                said(["set the clock: records are stamped with its time"]),
            ),
            OpenError::Head(HeadError::Replaced(_)) => (Kind::Conflict, said(["try again"])),
            OpenError::Head(HeadError::Io { source, .. })
            | OpenError::Keys {
                source: KeyFileError::Io { source, .. },
                ..
            } => (Kind::Failed, said([hint(source), READS])),
            OpenError::Io { source, .. } => (Kind::Failed, said([hint(source)])),
            OpenError::Exists(_) => (
                Kind::Failed,
                said(["a ledger is made in a new place: name another one with --home DIR"]),
            ),
            OpenError::HeadMissing(_) => {
                let where_it_was =
                    "it lies under XDG_STATE_HOME (~/.local/state): is that as it was?";
                (Kind::Integrity, said([where_it_was, lost("head"), LOSS]))
            }
            OpenError::KeysMissing(_) => (Kind::Integrity, said([lost("keys"), LOSS])),
            OpenError::Damaged(_)
            | OpenError::HeadWithoutStore
            | OpenError::KeysWithoutStore
            | OpenError::Behind { .. }
            | OpenError::Forked { .. }
            | OpenError::Head(_)
            | OpenError::Keys { .. } => (Kind::Integrity, said([LOSS])),
        };
        Self {
            hints,
            ..Self::new(kind, error)
        }
    }
}

fn said<const N: usize>(hints: [&str; N]) -> Vec<String> {
    hints.map(str::to_owned).into()
}
