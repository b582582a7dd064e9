//! What of a workspace a command may only read, since it steers programs later; and what became of
//! it where nothing could hold the command to that.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use placet_ledger::digest::Digest;

use super::program::digest_of;
use crate::steering::steers;
use crate::workspace::visible;

/// Entries of a workspace that are looked at: nobody waits for more before each command.
const ENTRIES_MAX: usize = 50_000;

/// Bytes of a steering file that is compared by content; of a larger one, length and times tell.
const BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Stores of versions, with what of each steers programs: all else of them changes with every
/// commit.
const STORES: [(&str, &[&str]); 4] = [
    (".git", &["config", "config.worktree", "hooks", "info"]),
    (".hg", &["hgrc", "hgrc-not-shared"]),
    (".jj", &["repo/config.toml"]),
    (".svn", &[]),
];

/// What of a store holds the stores of other repositories.
const INNER: [&str; 2] = ["modules", "worktrees"];

/// What is the same as long as nothing changed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stamp {
    Content(Digest),
    Kept {
        bytes: u64,
        seconds: i64,
        nanos: i64,
    },
    Folder,
    Unreadable,
}

/// The places of a workspace that steer programs.
#[derive(Debug, Default)]
pub(super) struct Guard {
    places: BTreeSet<PathBuf>,
    /// Whether all of the workspace was looked at.
    pub(super) whole: bool,
}

impl Guard {
    /// Looks through a workspace, whose path leads through no symbolic link.
    pub(super) fn of(workspace: &Path) -> Self {
        let mut guard = Self {
            places: BTreeSet::new(),
            whole: true,
        };
        let mut open = vec![workspace.to_owned()];
        let mut entries = 0_usize;
        while let Some(folder) = open.pop() {
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                entries = entries.saturating_add(1);
                if entries > ENTRIES_MAX {
                    guard.whole = false;
                    return guard;
                }
                let path = entry.path();
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let name = entry.file_name();
                let store = STORES.iter().find(|(store, _)| *store == name);
                match store.filter(|_| is_folder) {
                    Some((_, inner)) => guard.store(&path, inner),
                    None if relative(workspace, &path)
                        .is_some_and(|path| steers(&path).is_some()) =>
                    {
                        guard.places.insert(path);
                    }
                    None if is_folder => open.push(path),
                    None => {}
                }
            }
        }
        guard
    }

    /// The parts of a store of versions that steer programs.
    fn store(&mut self, store: &Path, inner: &[&str]) {
        let there = |path: &PathBuf| path.symlink_metadata().is_ok();
        let parts = inner.iter().map(|part| store.join(part)).filter(there);
        self.places.extend(parts);
        let mut open: Vec<_> = INNER.iter().map(|part| store.join(part)).collect();
        while let Some(folder) = open.pop() {
            if folder.join("HEAD").symlink_metadata().is_ok() {
                let parts = inner.iter().map(|part| folder.join(part)).filter(there);
                self.places.extend(parts);
            } else {
                let entries = folder.read_dir().into_iter().flatten().flatten();
                let folders = entries.filter(|e| e.file_type().is_ok_and(|kind| kind.is_dir()));
                open.extend(folders.map(|entry| entry.path()).take(ENTRIES_MAX));
            }
        }
    }

    /// The places, for whoever holds a process to reading them.
    pub(super) fn places(&self) -> Vec<PathBuf> {
        self.places.iter().cloned().collect()
    }

    /// What was made of it that was not there before, as paths beneath the workspace.
    pub(super) fn new_since(&self, before: &Self, workspace: &Path) -> Vec<String> {
        let new = self.places.difference(&before.places);
        new.filter_map(|path| relative(workspace, path)).collect()
    }

    /// What each file among it holds now.
    pub(super) fn stamps(&self, workspace: &Path) -> Stamps {
        let mut stamps = BTreeMap::new();
        let mut open = self.places();
        while let Some(path) = open.pop() {
            if stamps.len() > ENTRIES_MAX {
                break;
            }
            let stamp = stamp(&path);
            if stamp == Stamp::Folder {
                let entries = path.read_dir().into_iter().flatten().flatten();
                open.extend(entries.map(|entry| entry.path()));
            }
            if let Some(path) = relative(workspace, &path) {
                stamps.insert(path, stamp);
            }
        }
        Stamps(stamps)
    }
}

/// What the steering files of a workspace held at a moment.
#[derive(Debug, Default)]
pub(super) struct Stamps(BTreeMap<String, Stamp>);

impl Stamps {
    /// The paths of what is otherwise now, or gone.
    pub(super) fn changed_since(&self, before: &Self) -> Vec<String> {
        let differs = |(path, stamp): &(&String, &Stamp)| self.0.get(*path) != Some(*stamp);
        let gone = before.0.iter().filter(differs).map(|(path, _)| path);
        let new = self.0.keys().filter(|path| !before.0.contains_key(*path));
        gone.chain(new).cloned().collect()
    }
}

fn stamp(path: &Path) -> Stamp {
    let Ok(found) = path.symlink_metadata() else {
        return Stamp::Unreadable;
    };
    if found.is_dir() {
        return Stamp::Folder;
    }
    if found.is_file()
        && found.len() <= BYTES_MAX
        && let Ok(digest) = digest_of(path)
    {
        return Stamp::Content(digest);
    }
    Stamp::Kept {
        bytes: found.len(),
        seconds: found.mtime(),
        nanos: found.mtime_nsec(),
    }
}

/// A path beneath the workspace, as it can be shown.
fn relative(workspace: &Path, path: &Path) -> Option<String> {
    let beneath = path.strip_prefix(workspace).ok()?;
    let names = beneath.components().map(|name| visible(name.as_os_str()));
    Some(names.collect::<Vec<_>>().join("/"))
}
