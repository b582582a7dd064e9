//! Copies a file, or builds the copy of a folder beside its place and moves it there complete.
//!
//! What is copied is compared, file by file, with what was previewed, and not the source as a whole
//! with its copy: a change made while copying either ends it or comes after it.

use std::fs::File;
use std::io::Write;

use placet_ledger::content::Text;
use placet_ledger::digest::{Purpose, digest};
use placet_ledger::precondition::{EntryKind, Precondition, TreeEntry};
use rustix::fs::{
    AtFlags, Mode, OFlags, fchmod, fsync, mkdirat, openat, readlinkat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::beside::{Likeness, lists_off};
use super::lock::Lock;
use super::node_at;
use super::reconcile::Intended;
use super::transfer::{Places, Transfer};
use crate::tool::fs::tree::Tree;
use crate::tool::{Reconciled, ToolError};
use crate::workspace::{Folder, PathError, Target, join};

impl Transfer<'_> {
    /// Copies the file or folder that was previewed.
    pub(in crate::tool::fs) fn copy(&self) -> Result<Text, ToolError> {
        let (_source, lock) = self.locks()?;
        let Places { from, to } = self.places()?;
        let bytes = self.source.verify(&from)?;
        self.target.verify(&to)?;
        match self.source.precondition {
            Precondition::File { mode, .. } => {
                let mut opened = self.source.unchanged(&from)?;
                let content = opened.read(self.source.path)?;
                if !self.is_source(&content) {
                    return Err(self.source.stale("its content is different"));
                }
                let like = Likeness::Copy(Mode::from_raw_mode(*mode));
                self.target.place(&lock, &to, &content, like)?;
            }
            Precondition::Tree { entries, mode, .. } => {
                self.copy_tree(&lock, (&from, &to), entries, *mode)?;
            }
            Precondition::Absent { .. }
            | Precondition::Operands { .. }
            | Precondition::Transfer { .. } => {
                return Err(ToolError::failed("the call has nothing to copy"));
            }
        }
        self.told(Some(bytes))
    }

    /// What became of [`Transfer::copy`].
    pub(in crate::tool::fs) fn reconcile_copy(&self) -> Result<Reconciled, ToolError> {
        let (_source, lock) = self.locks()?;
        let Ok(Places { from, to }) = self.places() else {
            return Ok(Reconciled::Unknown);
        };
        match self.source.precondition {
            Precondition::File { digest, .. } => {
                // Without the source only a whole copy can be told from another file.
                let opened = self.files().open_named(&from.folder, &from.name);
                let content = opened.and_then(|mut opened| opened.read(self.source.path));
                let content = content.ok().filter(|content| self.is_source(content));
                let intended = Intended {
                    digest: *digest,
                    bytes: content.as_deref(),
                };
                Ok(match self.target.reconcile_file(&lock, &to, intended)? {
                    Reconciled::Done(_) => {
                        let bytes = self.files().open_named(&to.folder, &to.name);
                        let bytes = bytes.map(|opened| opened.bytes).ok();
                        Reconciled::Done(self.told(bytes)?)
                    }
                    undone => undone,
                })
            }
            Precondition::Tree { entries, mode, .. } => {
                self.reconcile_tree(&lock, (&from, &to), entries, *mode)
            }
            Precondition::Absent { .. }
            | Precondition::Operands { .. }
            | Precondition::Transfer { .. } => Ok(Reconciled::Unknown),
        }
    }

    fn files(&self) -> &crate::workspace::Workspace {
        &self.source.files.workspace
    }

    fn is_source(&self, content: &[u8]) -> bool {
        match self.source.precondition {
            Precondition::File { digest: known, .. } => digest(Purpose::File, content) == *known,
            Precondition::Tree { .. }
            | Precondition::Absent { .. }
            | Precondition::Operands { .. }
            | Precondition::Transfer { .. } => false,
        }
    }

    pub(super) fn copy_tree(
        &self,
        lock: &Lock,
        (from, to): (&Target, &Target),
        entries: &[TreeEntry],
        mode: u32,
    ) -> Result<(), ToolError> {
        let temporary = &self.target.temporary;
        match mkdirat(&to.folder.dir, temporary, Mode::RWXU) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Err(self.target.leftover()),
            Err(errno) => return Err(self.target.failed("make a folder for", errno)),
        }
        let mut built = 0_usize;
        let placed = self
            .build(from, to, entries, &mut built)
            .and_then(|copy| self.finish(&copy, entries, mode))
            .and_then(|()| {
                let target = &self.target;
                lock.mark(target.call)?;
                target
                    .move_to(&to.folder, temporary, &to.name)
                    .map_err(|errno| match errno {
                        Errno::EXIST => target.stale("there is something of that name by now"),
                        errno => target.failed("put in place", errno),
                    })
            });
        if let Err(error) = placed {
            let built = entries.get(..built).unwrap_or_default();
            return Err(match self.discard(to, built) {
                Ok(true) => error,
                Ok(false) | Err(_) => ToolError::failed(format!(
                    "{error}; the temporary folder {temporary} could not be removed"
                )),
            });
        }
        self.target.sync(&to.folder)
    }

    /// Copies every entry, and counts those that are there.
    fn build(
        &self,
        from: &Target,
        to: &Target,
        entries: &[TreeEntry],
        built: &mut usize,
    ) -> Result<Folder, ToolError> {
        let workspace = self.files();
        let moved = |error: PathError| self.source.moved(error);
        let original = workspace.enter(&from.folder, &from.name).map_err(moved)?;
        let copy = workspace.enter(&to.folder, &self.target.temporary)?;
        self.lists_off(&copy)?;
        for entry in entries {
            let (above, name) = split(entry);
            let there = workspace.descend(&original, above).map_err(moved)?;
            let here = workspace.descend(&copy, above)?;
            match entry.kind {
                EntryKind::Folder => {
                    mkdirat(&here.dir, name, Mode::RWXU)
                        .map_err(|errno| self.target.failed("make a folder in", errno))?;
                }
                EntryKind::File => self.copy_file(&there, &here, name, entry)?,
                EntryKind::Link => self.copy_link(&there, &here, name, entry)?,
            }
            *built = built.saturating_add(1);
        }
        Ok(copy)
    }

    /// Before anything is made in the copy: it would take after its folder.
    fn lists_off(&self, copy: &Folder) -> Result<(), ToolError> {
        lists_off(&copy.dir).map_err(|errno| {
            self.target
                .failed("take the access list off the copy at", errno)
        })
    }

    fn changed(&self, entry: &TreeEntry) -> ToolError {
        self.source
            .stale(&format!("{} in it is different", entry.path))
    }

    fn copy_file(
        &self,
        there: &Folder,
        here: &Folder,
        name: &str,
        entry: &TreeEntry,
    ) -> Result<(), ToolError> {
        let opened = self.files().open_named(there, name);
        let mut opened = opened.map_err(|error| self.source.moved(error))?;
        let content = opened.read(&join(&there.path, name))?;
        if Some(digest(Purpose::File, &content)) != entry.digest {
            return Err(self.changed(entry));
        }
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&here.dir, name, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|errno| self.target.failed("write in", errno))?;
        let mut file = File::from(file);
        let written = file
            .write_all(&content)
            .and_then(|()| Ok(fchmod(&file, Mode::from_raw_mode(entry.mode))?))
            .and_then(|()| file.sync_all());
        written.map_err(|error| {
            // Nothing else could tell this beginning from somebody's file.
            let _ = unlinkat(&here.dir, name, AtFlags::empty());
            PathError::io("write in", self.target.path, error).into()
        })
    }

    fn copy_link(
        &self,
        there: &Folder,
        here: &Folder,
        name: &str,
        entry: &TreeEntry,
    ) -> Result<(), ToolError> {
        let text = readlinkat(&there.dir, name, Vec::new())
            .map_err(|errno| self.source.stale(&format!("{}: {errno}", entry.path)))?;
        if Some(digest(Purpose::File, text.as_bytes())) != entry.digest {
            return Err(self.changed(entry));
        }
        let path = join(self.source.path, &entry.path);
        if !self.files().leads_inside(&path) {
            return Err(self.source.stale(&format!(
                "{} in it leads to no place inside by now",
                entry.path
            )));
        }
        symlinkat(text.as_c_str(), &here.dir, name)
            .map_err(|errno| self.target.failed("make a link in", errno))
    }

    /// Gives the folders of the copy their modes, the innermost first, and makes them durable.
    fn finish(&self, copy: &Folder, entries: &[TreeEntry], mode: u32) -> Result<(), ToolError> {
        let settle = |folder: &Folder, mode: u32| {
            fchmod(&folder.dir, Mode::from_raw_mode(mode))
                .and_then(|()| fsync(&folder.dir))
                .map_err(|errno| self.target.failed("finish the copy", errno))
        };
        for entry in entries.iter().rev() {
            if entry.kind == EntryKind::Folder {
                settle(&self.files().descend(copy, &entry.path)?, entry.mode)?;
            }
        }
        settle(copy, mode)
    }

    /// Removes a copy that was not put in place; false if anything else is in it.
    fn discard(&self, to: &Target, built: &[TreeEntry]) -> Result<bool, ToolError> {
        let copy = self.files().enter(&to.folder, &self.target.temporary)?;
        let open = |folder: &Folder| {
            fchmod(&folder.dir, Mode::RWXU)
                .map_err(|errno| self.target.unsettled("open the copy at", errno))
        };
        open(&copy)?;
        for entry in built {
            if entry.kind == EntryKind::Folder
                && let Ok(folder) = self.files().descend(&copy, &entry.path)
            {
                open(&folder)?;
            }
        }
        let kept = self.target.clear(&to.folder, built)?;
        Ok(kept.is_none())
    }

    fn reconcile_tree(
        &self,
        lock: &Lock,
        (from, to): (&Target, &Target),
        entries: &[TreeEntry],
        mode: u32,
    ) -> Result<Reconciled, ToolError> {
        let there = node_at(&to.folder, &to.name).is_ok();
        if node_at(&to.folder, &self.target.temporary).is_err() {
            if !there {
                return self.target.unless_created(lock);
            }
            let copy = Tree::named(self.files(), &to.folder, &to.name).ok();
            let is_copy = copy.is_some_and(|copy| copy.mode == mode && copy.is_like(entries));
            if !is_copy {
                return Ok(Reconciled::Unknown);
            }
            self.target.sync(&to.folder)?;
            return Ok(Reconciled::Done(self.told(None)?));
        }
        // While the copy has its temporary name, it is not in place.
        Ok(match self.own(from, to, entries) {
            Some(built) if self.discard(to, built)? => Reconciled::NotDone,
            Some(_) | None => Reconciled::Unknown,
        })
    }

    /// The entries of a copy that was begun, if it holds nothing else. Of the last file there may
    /// be only a beginning, which goes.
    fn own<'e>(
        &self,
        from: &Target,
        to: &Target,
        entries: &'e [TreeEntry],
    ) -> Option<&'e [TreeEntry]> {
        let copy = Tree::named(self.files(), &to.folder, &self.target.temporary).ok()?;
        let built = entries.get(..copy.items.len())?;
        let is_same = |(found, entry): (&TreeEntry, &TreeEntry)| {
            found.path == entry.path && found.kind == entry.kind && found.digest == entry.digest
        };
        let found: Vec<_> = copy.items.iter().map(|item| &item.entry).collect();
        if node_at(&to.folder, &self.target.entry).is_ok() {
            // The copy was being removed: the entry that is on its way out is the next.
            let next = entries.get(copy.items.len())?;
            let is_next = self.target.is_entry(&to.folder, &self.target.entry, next);
            if !is_next {
                return None;
            }
            unlinkat(&to.folder.dir, &self.target.entry, AtFlags::empty()).ok()?;
        }
        if found.iter().copied().zip(built).all(is_same) {
            return Some(built);
        }
        let (last, whole) = built.split_last()?;
        let begun = found.iter().copied().zip(whole).all(is_same)
            && found.last().is_some_and(|found| found.path == last.path)
            && self.is_begun(from, to, last);
        if !begun {
            return None;
        }
        let (above, name) = split(last);
        let top = self
            .files()
            .enter(&to.folder, &self.target.temporary)
            .ok()?;
        let folder = self.files().descend(&top, above).ok()?;
        unlinkat(&folder.dir, name, AtFlags::empty()).ok()?;
        Some(whole)
    }

    /// Whether a file of the copy is the beginning of its original, which is as it was.
    fn is_begun(&self, from: &Target, to: &Target, entry: &TreeEntry) -> bool {
        let read = |target: &Target, name: &str| {
            let (above, last) = split(entry);
            let top = self.files().enter(&target.folder, name)?;
            let folder = self.files().descend(&top, above)?;
            self.files().open_named(&folder, last)?.read(&entry.path)
        };
        let (Ok(original), Ok(copy)) = (read(from, &from.name), read(to, &self.target.temporary))
        else {
            return false;
        };
        Some(digest(Purpose::File, &original)) == entry.digest && original.starts_with(&copy)
    }
}

/// The folder of an entry, and its name there.
fn split(entry: &TreeEntry) -> (&str, &str) {
    entry.path.rsplit_once('/').unwrap_or(("", &entry.path))
}
