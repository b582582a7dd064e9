//! What a crash left behind: decides whether a change took effect, and clears up what is ours.
//!
//! A file is removed only if its bytes are those that this call wrote, or those that a person
//! allowed to be replaced or removed. Whatever else turns up stays, and the answer is `Unknown`.

use placet_ledger::content::Text;
use placet_ledger::digest::{Digest, Purpose, digest};
use placet_ledger::precondition::{NodeId, Precondition};

use super::lock::Lock;
use super::{Job, result};
use crate::tool::{Reconciled, ToolError};
use crate::workspace::{Exchanges, Folder, PathError, Target};

/// What has a name after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    /// The file that the preview was computed against.
    Previewed {
        bytes: u64,
    },
    /// The whole intended content.
    Intended {
        node: NodeId,
    },
    /// The beginning of it: writing was cut short.
    Begun,
    Other,
}

/// The content that a file was to have, as far as it is still known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Intended<'a> {
    pub(super) digest: Digest,
    pub(super) bytes: Option<&'a [u8]>,
}

impl Job<'_> {
    /// What became of [`Job::put`].
    pub(in crate::tool::fs) fn reconcile_put(
        &self,
        content: &str,
    ) -> Result<Reconciled, ToolError> {
        let lock = self.lock()?;
        let Ok(target) = self.target() else {
            return Ok(Reconciled::Unknown);
        };
        let content = content.as_bytes();
        let intended = Intended {
            digest: digest(Purpose::File, content),
            bytes: Some(content),
        };
        self.reconcile_file(&lock, &target, intended)
    }

    /// The same under locks that are held.
    pub(super) fn reconcile_file(
        &self,
        lock: &Lock,
        target: &Target,
        content: Intended<'_>,
    ) -> Result<Reconciled, ToolError> {
        let intended = content.digest;
        let front = self.found(&target.folder, &target.name, Some(content));
        let aside = self.found(&target.folder, &self.temporary, Some(content));
        let bytes = content
            .bytes
            .and_then(|bytes| u64::try_from(bytes.len()).ok());
        let creates = matches!(self.precondition, Precondition::Absent { .. });
        match (front, aside) {
            (Found::Intended { .. }, Found::Nothing) => {
                self.sync(&target.folder)?;
                self.done(intended, bytes)
            }
            (Found::Intended { .. }, Found::Previewed { .. } | Found::Intended { .. }) => {
                self.unlink(&target.folder)?;
                self.done(intended, bytes)
            }
            // What came out was never compared: it is not what was previewed, so it goes back.
            (Found::Intended { node }, Found::Begun | Found::Other) => {
                if creates {
                    return Ok(Reconciled::Unknown);
                }
                let back = self.take_back(target, (node, intended), "it was another file");
                Ok(match back {
                    ToolError::Stale { .. } => Reconciled::NotDone,
                    _ => Reconciled::Unknown,
                })
            }
            (Found::Previewed { .. }, Found::Nothing) => Ok(Reconciled::NotDone),
            // What was created may be gone again by now.
            (Found::Nothing, Found::Nothing) if creates => self.unless_created(lock),
            // So may the first of two names that the file had for a moment.
            (Found::Nothing | Found::Begun | Found::Other, Found::Intended { .. })
                if creates
                    && self.files.exchanges != Exchanges::Yes
                    && lock.is_marked(self.call)? =>
            {
                Ok(Reconciled::Unknown)
            }
            (Found::Nothing, Found::Begun) if creates => self.cleared(target),
            // While the previewed file is in place, the beginning beside can only be ours. Our
            // whole file is ours at any time, and where it is beside, it is not in place.
            (Found::Previewed { .. }, Found::Begun)
            | (
                Found::Nothing | Found::Previewed { .. } | Found::Begun | Found::Other,
                Found::Intended { .. },
            ) => self.cleared(target),
            (
                Found::Nothing | Found::Previewed { .. } | Found::Begun | Found::Other,
                Found::Nothing | Found::Previewed { .. } | Found::Begun | Found::Other,
            ) => Ok(Reconciled::Unknown),
        }
    }

    /// What became of [`Job::remove`].
    pub(in crate::tool::fs) fn reconcile_remove(&self) -> Result<Reconciled, ToolError> {
        let _lock = self.lock()?;
        let Ok(target) = self.target() else {
            return Ok(Reconciled::Unknown);
        };
        let digest = match self.precondition {
            Precondition::File { digest, .. } => digest,
            Precondition::Tree { entries, node, .. } => {
                return self.reconcile_clear(&target, entries, *node);
            }
            Precondition::Absent { .. }
            | Precondition::Operands { .. }
            | Precondition::Transfer { .. } => {
                return Ok(Reconciled::Unknown);
            }
        };
        let front = self.found(&target.folder, &target.name, None);
        let aside = self.found(&target.folder, &self.temporary, None);
        match (front, aside) {
            (Found::Nothing, Found::Nothing) => {
                self.sync(&target.folder)?;
                self.done(*digest, None)
            }
            // Also where a new file has the name by now: the previewed one is out of its place.
            (Found::Nothing | Found::Other, Found::Previewed { bytes }) => {
                self.unlink(&target.folder)?;
                self.done(*digest, Some(bytes))
            }
            (Found::Previewed { .. }, Found::Nothing) => Ok(Reconciled::NotDone),
            // Two names of one file, where moving takes two steps: none of its bytes go.
            (Found::Previewed { .. }, Found::Previewed { .. }) => self.cleared(&target),
            (Found::Nothing, Found::Other) => Ok(
                match self.move_back(&target, &target.folder, "it was another file") {
                    ToolError::Stale { .. } => Reconciled::NotDone,
                    _ => Reconciled::Unknown,
                },
            ),
            _ => Ok(Reconciled::Unknown),
        }
    }

    /// Where neither the new thing nor its beginning is there.
    pub(super) fn unless_created(&self, lock: &Lock) -> Result<Reconciled, ToolError> {
        Ok(if lock.is_marked(self.call)? {
            Reconciled::Unknown
        } else {
            Reconciled::NotDone
        })
    }

    fn done(&self, digest: Digest, bytes: Option<u64>) -> Result<Reconciled, ToolError> {
        let text: Text = result(self.path, digest, bytes)?;
        Ok(Reconciled::Done(text))
    }

    /// Removes our own file, which never took effect.
    fn cleared(&self, target: &Target) -> Result<Reconciled, ToolError> {
        self.unlink(&target.folder)?;
        Ok(Reconciled::NotDone)
    }

    fn found(&self, folder: &Folder, name: &str, content: Option<Intended<'_>>) -> Found {
        let mut opened = match self.files.workspace.open_named(folder, name) {
            Ok(opened) => opened,
            Err(PathError::Missing { .. }) => return Found::Nothing,
            Err(_) => return Found::Other,
        };
        let Ok(bytes) = opened.read(self.path) else {
            return Found::Other;
        };
        let (node, length) = (opened.node, opened.bytes);
        let found = digest(Purpose::File, &bytes);
        if self.is_previewed(node, found) {
            return Found::Previewed { bytes: length };
        }
        match content {
            Some(content) if found == content.digest => Found::Intended { node },
            Some(Intended {
                bytes: Some(content),
                ..
            }) if content.starts_with(&bytes) => Found::Begun,
            Some(_) | None => Found::Other,
        }
    }

    /// By file and bytes alone: how many names it has may differ half-way.
    fn is_previewed(&self, found: NodeId, content: Digest) -> bool {
        match self.precondition {
            Precondition::File { node, digest, .. } => *node == found && *digest == content,
            Precondition::Tree { .. }
            | Precondition::Absent { .. }
            | Precondition::Operands { .. }
            | Precondition::Transfer { .. } => false,
        }
    }
}
