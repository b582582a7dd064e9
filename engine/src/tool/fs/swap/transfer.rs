//! What goes from one place to another: two changes under two locks, of which the first to take
//! effect is also the first to be taken back.
//!
//! Moving sets the source aside beside its new place and looks at it, sets aside what it replaces
//! and looks at that, and only then gives the source its new name. None of these steps overwrites.

use placet_ledger::content::Text;
use placet_ledger::id::{CallId, RunId};
use placet_ledger::precondition::{NodeId, Precondition};
use rustix::io::Errno;
use serde_json::Value;

use super::lock::Lock;
use super::{Job, node_at};
use crate::tool::fs::{Files, Told, text};
use crate::tool::{Reconciled, ToolError};
use crate::workspace::Target;

/// The part of a temporary name that tells the source's from the target's.
const SOURCE_PART: &str = ".from";

/// One transfer, for one call.
#[derive(Debug)]
pub(in crate::tool::fs) struct Transfer<'a> {
    pub(super) source: Job<'a>,
    pub(super) target: Job<'a>,
}

/// Both places, in the very folders of the preview.
pub(super) struct Places {
    pub(super) from: Target,
    pub(super) to: Target,
}

impl<'a> Transfer<'a> {
    /// The transfer that a call makes. The arguments and the precondition must name the same
    /// places.
    pub(in crate::tool::fs) fn new(
        files: &'a Files,
        call: (RunId, CallId),
        arguments: &'a Value,
        precondition: Option<&'a Precondition>,
    ) -> Result<Self, ToolError> {
        let Some(Precondition::Transfer { source, target }) = precondition else {
            return Err(ToolError::failed(
                "the call has no precondition for two places",
            ));
        };
        let (from, to) = (text(arguments, "from")?, text(arguments, "to")?);
        Ok(Self {
            source: Job::at(files, call, from, Some(source), SOURCE_PART)?,
            target: Job::at(files, call, to, Some(target), "")?,
        })
    }

    /// Moves the file or folder that was previewed.
    pub(in crate::tool::fs) fn relocate(&self) -> Result<Text, ToolError> {
        let _locks = self.locks()?;
        let Places { from, to } = self.places()?;
        let bytes = self.source.verify(&from)?;
        self.target.verify(&to)?;
        self.source.set_aside(&from, &to.folder)?;
        if self.replaces()
            && let Err(error) = self.target.set_aside(&to, &to.folder)
        {
            return Err(self.source_back(&from, &to, error));
        }
        let aside = (&to.folder, self.source.temporary.as_str());
        match self.source.move_between(aside, (&to.folder, &to.name)) {
            Ok(()) => {}
            Err(errno) => return Err(self.both_back(&from, &to, errno)),
        }
        if self.replaces() {
            self.target.unlink(&to.folder)?;
        }
        self.target.sync(&to.folder)?;
        self.source.sync(&from.folder)?;
        self.told(Some(bytes))
    }

    /// What became of [`Transfer::relocate`].
    pub(in crate::tool::fs) fn reconcile_relocate(&self) -> Result<Reconciled, ToolError> {
        let _locks = self.locks()?;
        let Ok(Places { from, to }) = self.places() else {
            return Ok(Reconciled::Unknown);
        };
        let source = self.source.node()?;
        let at = |place: &Target| node_at(&place.folder, &place.name).ok();
        let aside = node_at(&to.folder, &self.source.temporary).ok();
        if at(&to) == Some(source) {
            if aside == Some(source) {
                self.source.unlink(&to.folder)?;
            }
            // The number of a file that is gone may be given to a new one.
            if self.source.difference(&to.folder, &to.name).is_some() {
                return Ok(Reconciled::Unknown);
            }
            return self.settled(&from, &to);
        }
        // Whatever was set aside goes back, what was never looked at included.
        if aside.is_some() {
            match at(&from) {
                // Two names of one file, where moving takes two steps.
                Some(there) if aside == Some(there) => self.source.unlink(&to.folder)?,
                Some(_) => return Ok(Reconciled::Unknown),
                None => {
                    if self.source.restore(&from, &to.folder)?.is_some() {
                        return Ok(Reconciled::Unknown);
                    }
                }
            }
        }
        let replaced = node_at(&to.folder, &self.target.temporary).ok();
        match (replaced, at(&to)) {
            (None, _) => {}
            (Some(old), Some(there)) if old == there => self.target.unlink(&to.folder)?,
            (Some(_), Some(_)) => return Ok(Reconciled::Unknown),
            (Some(_), None) => {
                if self.target.restore(&to, &to.folder)?.is_some() {
                    return Ok(Reconciled::Unknown);
                }
            }
        }
        let is_in_place = || self.source.difference(&from.folder, &from.name).is_none();
        Ok(if aside.is_some() || is_in_place() {
            Reconciled::NotDone
        } else {
            Reconciled::Unknown
        })
    }

    /// The source is in its new place: clears up what is beside it.
    fn settled(&self, from: &Target, to: &Target) -> Result<Reconciled, ToolError> {
        let replaced = node_at(&to.folder, &self.target.temporary).ok();
        match replaced {
            Some(old) if self.replaces() && old == self.target.node()? => {
                if self
                    .target
                    .difference(&to.folder, &self.target.temporary)
                    .is_some()
                {
                    return Ok(Reconciled::Unknown);
                }
                self.target.unlink(&to.folder)?;
            }
            Some(_) => return Ok(Reconciled::Unknown),
            None => {}
        }
        self.target.sync(&to.folder)?;
        self.source.sync(&from.folder)?;
        Ok(Reconciled::Done(self.told(None)?))
    }

    /// Moves the source back after what it was to replace turned out to be something else.
    fn source_back(&self, from: &Target, to: &Target, error: ToolError) -> ToolError {
        match self.source.restore(from, &to.folder) {
            Ok(None) => error,
            Ok(Some(kept)) => ToolError::stale(format!(
                "{error}; {} has another file by now, and the older one is kept as {kept}",
                self.source.path
            )),
            Err(doubt) => doubt,
        }
    }

    /// Moves both back after the source could not get its new name.
    pub(super) fn both_back(&self, from: &Target, to: &Target, errno: Errno) -> ToolError {
        let error = match errno {
            Errno::EXIST => self.target.stale("there is something of that name by now"),
            errno => self.target.failed("move to", errno),
        };
        let error = if self.replaces() {
            match self.target.restore(to, &to.folder) {
                Ok(None) => error,
                Ok(Some(kept)) => ToolError::stale(format!(
                    "{error}; a newer file is in place, the older one is kept as {kept}"
                )),
                Err(doubt) => doubt,
            }
        } else {
            error
        };
        match error {
            ToolError::InDoubt { .. } => {
                drop(self.source.restore(from, &to.folder));
                error
            }
            ToolError::Stale { .. } | ToolError::Refused { .. } | ToolError::Failed { .. } => {
                self.source_back(from, to, error)
            }
        }
    }

    /// Both locks, of the source and of the target, taken in one order for every call.
    pub(super) fn locks(&self) -> Result<(Lock, Lock), ToolError> {
        if self.source.path < self.target.path {
            let source = self.source.lock()?;
            Ok((source, self.target.lock()?))
        } else {
            let target = self.target.lock()?;
            Ok((self.source.lock()?, target))
        }
    }

    pub(super) fn places(&self) -> Result<Places, ToolError> {
        Ok(Places {
            from: self.source.target()?,
            to: self.target.target()?,
        })
    }

    /// Whether the target is a file that the source replaces.
    pub(super) fn replaces(&self) -> bool {
        matches!(self.target.precondition, Precondition::File { .. })
    }

    /// The result, from what was compared.
    pub(super) fn told(&self, bytes: Option<u64>) -> Result<Text, ToolError> {
        let (digest, entries) = match self.source.precondition {
            Precondition::File { digest, .. } => (Some(*digest), None),
            Precondition::Tree { entries, .. } => (None, Some(entries.len())),
            Precondition::Absent { .. }
            | Precondition::Operands { .. }
            | Precondition::Transfer { .. } => (None, None),
        };
        let told = Told {
            bytes: bytes.filter(|_| entries.is_none()),
            digest,
            entries,
            from: Some(self.source.path),
            kept: None,
            path: self.target.path,
        };
        told.text()
    }
}

impl Job<'_> {
    /// The file or folder that was previewed.
    fn node(&self) -> Result<NodeId, ToolError> {
        match self.precondition {
            Precondition::File { node, .. } | Precondition::Tree { node, .. } => Ok(*node),
            Precondition::Absent { .. }
            | Precondition::Operands { .. }
            | Precondition::Transfer { .. } => {
                Err(ToolError::failed("the call has nothing to move"))
            }
        }
    }
}
