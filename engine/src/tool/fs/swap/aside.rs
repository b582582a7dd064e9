//! Moves a file or a tree out of its place before it is looked at, and back if it is another one.

use placet_ledger::content::Text;
use placet_ledger::precondition::Precondition;
use rustix::fs::{
    AtFlags, FileType, Mode, RenameFlags, linkat, mkdirat, renameat, renameat_with, statat,
    unlinkat,
};
use rustix::io::Errno;

use super::{Job, result};
use crate::tool::ToolError;
use crate::tool::fs::Told;
use crate::workspace::{Exchanges, Folder, Target, join};

impl Job<'_> {
    /// Removes the file or the tree that was previewed.
    pub(in crate::tool::fs) fn remove(&self) -> Result<Text, ToolError> {
        let _lock = self.lock()?;
        let target = self.target()?;
        let bytes = self.verify(&target)?;
        self.set_aside(&target, &target.folder)?;
        match self.precondition {
            Precondition::File { digest, .. } => {
                self.unlink(&target.folder)?;
                result(self.path, *digest, Some(bytes))
            }
            Precondition::Tree { entries, .. } => {
                let kept = self.clear(&target.folder, entries)?;
                self.cleared_tree(entries.len(), kept.as_deref())
            }
            Precondition::Absent { .. }
            | Precondition::Operands { .. }
            | Precondition::Transfer { .. } => {
                Err(ToolError::failed("the call has nothing to remove"))
            }
        }
    }

    /// The result of the removal of a tree.
    pub(super) fn cleared_tree(
        &self,
        entries: usize,
        kept: Option<&str>,
    ) -> Result<Text, ToolError> {
        let told = Told {
            entries: Some(entries),
            kept,
            path: self.path,
            ..Told::default()
        };
        told.text()
    }

    /// Moves the target to a name in `beside` that nobody else uses, and looks at it there.
    pub(super) fn set_aside(&self, target: &Target, beside: &Folder) -> Result<(), ToolError> {
        let from = (&target.folder, target.name.as_str());
        match self.move_between(from, (beside, &self.temporary)) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(self.stale("it is gone")),
            Err(Errno::EXIST) => return Err(self.leftover()),
            Err(errno) => return Err(self.failed("move aside", errno)),
        }
        match self.difference(beside, &self.temporary) {
            Some(difference) => Err(self.move_back(target, beside, &difference)),
            None => Ok(()),
        }
    }

    /// Moves back what was set aside and must not go.
    pub(super) fn move_back(
        &self,
        target: &Target,
        beside: &Folder,
        difference: &str,
    ) -> ToolError {
        match self.restore(target, beside) {
            Ok(None) => self.stale(difference),
            Ok(Some(kept)) => self.stale(&format!(
                "{difference}; a newer one is in place, the older one is kept as {kept}"
            )),
            Err(error) => error,
        }
    }

    /// The same; the name under which it is kept if its own is taken by now.
    pub(super) fn restore(
        &self,
        target: &Target,
        beside: &Folder,
    ) -> Result<Option<String>, ToolError> {
        let back = (&target.folder, target.name.as_str());
        match self.move_between((beside, &self.temporary), back) {
            Ok(()) => {
                self.sync(&target.folder)?;
                self.sync(beside)?;
                Ok(None)
            }
            Err(Errno::EXIST) => Ok(Some(join(&beside.path, self.keep(beside)))),
            Err(errno) => Err(ToolError::in_doubt(format!(
                "{} was set aside, and moving it back failed: {errno}; it is kept as {}",
                self.path,
                join(&beside.path, &self.temporary)
            ))),
        }
    }

    /// Gives a version that is nobody's leftover a name that no later call uses.
    pub(super) fn keep(&self, folder: &Folder) -> &str {
        match self.move_to(folder, &self.temporary, &self.kept) {
            Ok(()) => &self.kept,
            Err(_) => &self.temporary,
        }
    }

    /// Moves a file to a name in the same folder that nothing has.
    pub(super) fn move_to(&self, folder: &Folder, from: &str, to: &str) -> Result<(), Errno> {
        self.move_between((folder, from), (folder, to))
    }

    /// Moves a file, folder or link to a name that nothing has.
    pub(super) fn move_between(
        &self,
        (from, name): (&Folder, &str),
        (to, new_name): (&Folder, &str),
    ) -> Result<(), Errno> {
        let moved = match self.files.exchanges {
            Exchanges::Yes | Exchanges::Perhaps => {
                renameat_with(&from.dir, name, &to.dir, new_name, RenameFlags::NOREPLACE)
            }
            Exchanges::No => Err(Errno::INVAL),
        };
        if !matches!(moved, Err(Errno::INVAL | Errno::NOSYS)) {
            return moved;
        }
        let found = statat(&from.dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(found.st_mode) == FileType::Directory {
            // A folder that is made here is empty, and a folder replaces none but an empty one.
            mkdirat(&to.dir, new_name, Mode::RWXU)?;
            return renameat(&from.dir, name, &to.dir, new_name).inspect_err(|_| {
                let _ = unlinkat(&to.dir, new_name, AtFlags::REMOVEDIR);
            });
        }
        // A hard link never overwrites either; it only takes two steps.
        linkat(&from.dir, name, &to.dir, new_name, AtFlags::empty())?;
        unlinkat(&from.dir, name, AtFlags::empty())
    }
}
