//! Removes a tree that was set aside, entry by entry, each looked at once more.
//!
//! A program that has a folder of the tree open can still write there. So each file is moved out,
//! compared and only then unlinked, and what is not an entry that a person was shown stays.

use placet_ledger::digest::{Purpose, digest};
use placet_ledger::precondition::{EntryKind, NodeId, TreeEntry};
use rustix::fs::{AtFlags, readlinkat, unlinkat};
use rustix::io::Errno;

use super::{Job, node_at};
use crate::tool::fs::tree::Tree;
use crate::tool::{Reconciled, ToolError};
use crate::workspace::{Folder, Target, join};

impl Job<'_> {
    /// Removes what is under the temporary name and is one of these entries; the name under which
    /// the rest is kept, if there is any.
    pub(super) fn clear(
        &self,
        beside: &Folder,
        entries: &[TreeEntry],
    ) -> Result<Option<String>, ToolError> {
        let workspace = &self.files.workspace;
        let doubt = |error: &dyn std::fmt::Display| {
            ToolError::in_doubt(format!(
                "a part of {} was removed, and the rest is kept as {} and {}: {error}",
                self.path,
                join(&beside.path, &self.temporary),
                self.entry
            ))
        };
        let top = workspace
            .enter(beside, &self.temporary)
            .map_err(|error| doubt(&error))?;
        for entry in entries.iter().rev() {
            let (above, name) = entry.path.rsplit_once('/').unwrap_or(("", &entry.path));
            let Ok(folder) = workspace.descend(&top, above) else {
                // It became something else, and so stays.
                continue;
            };
            let removed = match entry.kind {
                EntryKind::Folder => rmdir(&folder, name),
                EntryKind::File | EntryKind::Link => {
                    self.remove_entry((&folder, name), beside, entry)
                }
            };
            removed.map_err(|errno| doubt(&errno))?;
        }
        drop(top);
        rmdir(beside, &self.temporary).map_err(|errno| doubt(&errno))?;
        let rest = node_at(beside, &self.temporary).is_ok();
        let kept = rest.then(|| join(&beside.path, self.keep(beside)));
        self.sync(beside)?;
        Ok(kept)
    }

    /// What became of the removal of a tree: it is finished if it was begun, or if what was set
    /// aside is what was previewed.
    pub(super) fn reconcile_clear(
        &self,
        target: &Target,
        entries: &[TreeEntry],
        node: NodeId,
    ) -> Result<Reconciled, ToolError> {
        let folder = &target.folder;
        let front = node_at(folder, &target.name).ok();
        let out = node_at(folder, &self.entry).is_ok();
        let Ok(aside) = node_at(folder, &self.temporary) else {
            return match front {
                Some(front) if front == node && !out && self.is_in_place(target, entries) => {
                    Ok(Reconciled::NotDone)
                }
                None if !out => {
                    self.sync(folder)?;
                    // What was not to be removed may have got its own name before the crash.
                    let kept = node_at(folder, &self.kept) == Ok(node);
                    let kept = kept.then(|| join(&folder.path, &self.kept));
                    let told = self.cleared_tree(entries.len(), kept.as_deref())?;
                    Ok(Reconciled::Done(told))
                }
                Some(_) | None => Ok(Reconciled::Unknown),
            };
        };
        let tree = Tree::named(&self.files.workspace, folder, &self.temporary).ok();
        let tree = tree.filter(|_| aside == node);
        if let Some(tree) = &tree
            && self.is_rest(tree, folder, entries)
        {
            if out {
                unlinkat(&folder.dir, &self.entry, AtFlags::empty())
                    .map_err(|errno| self.unsettled("remove an entry of", errno))?;
            }
            let kept = self.clear(folder, entries)?;
            let told = self.cleared_tree(entries.len(), kept.as_deref())?;
            return Ok(Reconciled::Done(told));
        }
        // Another folder, or one in which nothing is missing: nothing of it was removed yet.
        let whole = aside != node || tree.is_some_and(|tree| tree.holds(entries));
        if out || !whole || front.is_some() {
            return Ok(Reconciled::Unknown);
        }
        Ok(
            match self.move_back(target, folder, "it was another folder") {
                ToolError::Stale { .. } => Reconciled::NotDone,
                ToolError::Refused { .. }
                | ToolError::Failed { .. }
                | ToolError::InDoubt { .. } => Reconciled::Unknown,
            },
        )
    }

    /// Whether the folder in its place is the previewed one and nothing of it is missing. The
    /// number of a folder that is gone may be given to a new one.
    fn is_in_place(&self, target: &Target, entries: &[TreeEntry]) -> bool {
        Tree::named(&self.files.workspace, &target.folder, &target.name)
            .is_ok_and(|tree| tree.holds(entries))
    }

    /// Whether a tree is what the removal of these entries leaves at some point, together with the
    /// entry that is on its way out. They go from the last to the first.
    fn is_rest(&self, tree: &Tree, beside: &Folder, entries: &[TreeEntry]) -> bool {
        let (rest, gone) = entries
            .split_at_checked(tree.items.len())
            .unwrap_or((&[], &[]));
        let out_is_next = match node_at(beside, &self.entry) {
            Err(_) => true,
            Ok(_) => gone
                .first()
                .is_some_and(|entry| self.is_entry(beside, &self.entry, entry)),
        };
        // Until one is gone, all are as they were shown.
        let is_same = match gone {
            [] => tree.difference(rest).is_none(),
            _ => tree.is_like(rest),
        };
        out_is_next && tree.items.len() <= entries.len() && is_same
    }

    fn remove_entry(
        &self,
        place: (&Folder, &str),
        beside: &Folder,
        entry: &TreeEntry,
    ) -> Result<(), Errno> {
        let out = (beside, self.entry.as_str());
        match self.move_between(place, out) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(errno),
        }
        if self.is_entry(beside, &self.entry, entry) {
            return unlinkat(&beside.dir, &self.entry, AtFlags::empty());
        }
        // Where its name is taken again it stays where it is, and so does the rest.
        self.move_between(out, place)
    }

    /// Whether what has this name is that entry, but for its mode.
    pub(super) fn is_entry(&self, folder: &Folder, name: &str, entry: &TreeEntry) -> bool {
        let found = match entry.kind {
            EntryKind::File => self
                .files
                .workspace
                .open_named(folder, name)
                .and_then(|mut opened| opened.digest(self.path))
                .ok(),
            EntryKind::Link => readlinkat(&folder.dir, name, Vec::new())
                .ok()
                .map(|text| digest(Purpose::File, text.as_bytes())),
            EntryKind::Folder => None,
        };
        found.is_some() && found == entry.digest
    }
}

/// Removes an empty folder; one that is not empty, or is none, stays.
fn rmdir(folder: &Folder, name: &str) -> Result<(), Errno> {
    match unlinkat(&folder.dir, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno),
    }
}
