//! What of a workspace a command may only read, since it steers programs later; and what became of
//! it where nothing could hold the command to that.

mod reach;
mod stamps;
mod stores;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use self::reach::Reached;
pub(super) use self::stamps::Stamps;
use self::stores::{BEGUN, GIT, INNER, PLAIN, STORES, is_store};
use crate::contain::Listening;
use crate::steering::steers;
use crate::workspace::visible;

/// Entries of a workspace that are looked at: nobody waits for more before each command.
const ENTRIES_MAX: usize = 50_000;

/// Mounts that hold a command to reading. A thousand take about a fifth of a second.
const MOUNTS_MAX: usize = 1_024;

/// The places of a workspace that steer programs.
#[derive(Debug, Default)]
pub(super) struct Guard {
    places: BTreeSet<PathBuf>,
    /// Sockets that lie in it.
    sockets: BTreeSet<PathBuf>,
    /// Places that programs write in ordinary work, so that they are only compared.
    compared: BTreeSet<PathBuf>,
    /// Folders of which not all could be looked at.
    unseen: BTreeSet<PathBuf>,
}

impl Guard {
    /// Looks through a workspace, whose path leads through no symbolic link, but for what is
    /// closed to commands anyway.
    pub(super) fn of(workspace: &Path, closed: &[PathBuf]) -> Self {
        Self::of_entries(workspace, closed, ENTRIES_MAX)
    }

    fn of_entries(workspace: &Path, closed: &[PathBuf], at_most: usize) -> Self {
        let mut walk = Walk {
            workspace,
            closed,
            guard: Self::default(),
            open: VecDeque::from([(workspace.to_owned(), Kind::Work)]),
            left: at_most,
        };
        // What lies nearest comes first, for where there is too much.
        while let Some((folder, kind)) = walk.open.pop_front() {
            match kind {
                Kind::Work => walk.work(&folder),
                Kind::Inner => walk.inner(&folder),
            }
        }
        walk.guard
    }

    /// The places that a process is held to reading, the nearest first, and how many more there
    /// are: for each of them, and each folder on the way, something is mounted.
    pub(super) fn held(&self, workspace: &Path) -> (Vec<PathBuf>, usize) {
        self.held_by(workspace, MOUNTS_MAX)
    }

    fn held_by(&self, workspace: &Path, at_most: usize) -> (Vec<PathBuf>, usize) {
        let mut nearest: Vec<_> = self.places.iter().collect();
        nearest.sort_by_key(|path| path.components().count());
        let mut mounted = BTreeSet::new();
        let mut held = Vec::new();
        for path in nearest {
            let beneath = path.ancestors().take_while(|at| *at != workspace);
            let more: Vec<_> = beneath.filter(|at| !mounted.contains(at)).collect();
            if mounted.len().saturating_add(more.len()) > at_most {
                break;
            }
            mounted.extend(more);
            held.push(path.clone());
        }
        let rest = self.places.len().saturating_sub(held.len());
        (held, rest)
    }

    /// The sockets on which somebody outside may listen.
    pub(super) fn listening(&self) -> Vec<PathBuf> {
        let sockets = self.sockets.iter();
        match Listening::now() {
            Ok(listening) => {
                let listened = sockets.filter(|socket| listening.may_have(socket));
                listened.cloned().collect()
            }
            // Who cannot know takes them all for such.
            Err(_) => sockets.cloned().collect(),
        }
    }

    /// What of the workspace could not be looked at, as paths beneath it.
    pub(super) fn unseen(&self, workspace: &Path) -> BTreeSet<String> {
        let unseen = self.unseen.iter();
        unseen.map(|path| relative(workspace, path)).collect()
    }

    /// The files among it that have other names, as paths beneath the workspace.
    pub(super) fn linked(&mut self, closed: &[PathBuf], workspace: &Path) -> Vec<String> {
        let reached = Reached::of(&self.places, closed, workspace);
        self.unseen.extend(reached.unseen);
        let linked = reached.linked.iter();
        linked.map(|path| relative(workspace, path)).collect()
    }

    /// What each file among it holds now, and where it was before.
    pub(super) fn stamps(
        &mut self,
        before: Option<&Self>,
        closed: &[PathBuf],
        workspace: &Path,
    ) -> Stamps {
        let all = [Some(&*self), before];
        let all = all.into_iter().flatten();
        let places = all.flat_map(|guard| guard.places.iter().chain(&guard.compared));
        let places = places.cloned().collect();
        let reached = Reached::of(&places, closed, workspace);
        self.unseen.extend(reached.unseen);
        let (stamps, unseen) = Stamps::of(reached.paths);
        self.unseen.extend(unseen);
        stamps
    }
}

/// What a folder is looked through for.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Names that steer programs, and stores of versions.
    Work,
    /// The stores of the parts of a repository.
    Inner,
}

/// A look through a workspace that is under way.
struct Walk<'a> {
    workspace: &'a Path,
    closed: &'a [PathBuf],
    guard: Guard,
    open: VecDeque<(PathBuf, Kind)>,
    /// Entries that may still be looked at.
    left: usize,
}

impl Walk<'_> {
    fn work(&mut self, folder: &Path) {
        let entries = self.entries(folder);
        let bare = is_store(|wanted| entries.iter().any(|(name, _)| name == wanted));
        if bare {
            self.store(folder, GIT);
        }
        for (name, is_folder) in entries {
            let path = folder.join(&name);
            if self.closed.contains(&path) || (bare && PLAIN.iter().any(|plain| name == *plain)) {
                continue;
            }
            let store = STORES.iter().find(|(store, _)| name == *store);
            let beneath = path.strip_prefix(self.workspace).unwrap_or(&path);
            match store.filter(|_| is_folder) {
                Some((_, parts)) => self.store(&path, parts),
                None if steers(&beneath.to_string_lossy()).is_some() => {
                    self.guard.places.insert(path);
                }
                None if is_folder => self.open.push_back((path, Kind::Work)),
                None => {}
            }
        }
    }

    /// A store of versions, and the stores of its parts.
    fn store(&mut self, store: &Path, parts: &[&str]) {
        self.parts(store, parts);
        // Git itself listens there where it watches a workspace.
        self.entries(store);
        for part in INNER {
            let path = store.join(part);
            if self.there(&path) && path.is_dir() {
                self.open.push_back((path, Kind::Inner));
            }
        }
    }

    /// What of a store of versions steers programs. The parts that git begins have these names
    /// in its stores alone.
    fn parts(&mut self, store: &Path, parts: &[&str]) {
        for part in parts {
            let path = store.join(part);
            if self.there(&path) {
                self.guard.places.insert(path);
            }
        }
        for part in BEGUN {
            let path = store.join(part);
            if self.there(&path) {
                self.guard.compared.insert(path);
            }
        }
    }

    fn inner(&mut self, folder: &Path) {
        let entries = self.entries(folder);
        let is_store = entries.iter().any(|(name, _)| name == "HEAD");
        if is_store {
            self.parts(folder, GIT);
        }
        let beside = PLAIN.iter().chain(GIT).chain(BEGUN).filter(|_| is_store);
        for (name, is_folder) in entries {
            if is_folder && !beside.clone().any(|part| name == *part) {
                self.open.push_back((folder.join(&name), Kind::Inner));
            }
        }
    }

    fn there(&mut self, path: &Path) -> bool {
        match path.symlink_metadata() {
            Ok(_) => true,
            Err(error) => {
                if !is_absent(&error) {
                    let above = path.parent().unwrap_or(path);
                    self.guard.unseen.insert(above.to_owned());
                }
                false
            }
        }
    }

    /// What a folder holds, and which of it are folders themselves.
    fn entries(&mut self, folder: &Path) -> Vec<(OsString, bool)> {
        let mut found = Vec::new();
        let (entries, whole) = entries(folder, self.left);
        if !whole {
            self.guard.unseen.insert(folder.to_owned());
        }
        self.left = self.left.saturating_sub(entries.len());
        for entry in entries {
            match entry.file_type() {
                Ok(kind) => {
                    if kind.is_socket() {
                        self.guard.sockets.insert(entry.path());
                    }
                    found.push((entry.file_name(), kind.is_dir()));
                }
                Err(_) => drop(self.guard.unseen.insert(folder.to_owned())),
            }
        }
        found
    }
}

/// So many entries of a folder, and whether these are all.
fn entries(folder: &Path, at_most: usize) -> (Vec<std::fs::DirEntry>, bool) {
    let Ok(entries) = folder.read_dir() else {
        return (Vec::new(), false);
    };
    let (mut found, mut whole) = (Vec::new(), true);
    for entry in entries {
        match entry {
            Ok(_) if found.len() >= at_most => return (found, false),
            Ok(entry) => found.push(entry),
            Err(_) => whole = false,
        }
    }
    (found, whole)
}

/// Whether an error says that there is nothing, rather than that it cannot be known.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// A path beneath the workspace, as it can be shown.
fn relative(workspace: &Path, path: &Path) -> String {
    let beneath = path.strip_prefix(workspace).unwrap_or(path);
    if beneath.as_os_str().is_empty() {
        return String::from("the workspace");
    }
    visible(beneath.as_os_str())
}
