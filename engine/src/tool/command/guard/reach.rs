//! Every file that is reached from the places that steer programs: what lies in them, and where
//! their links lead.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::stores::is_store;
use super::{ENTRIES_MAX, entries, is_absent};

/// What is reached from some places.
#[derive(Debug, Default)]
pub(super) struct Reached {
    /// Files, links and folders.
    pub(super) paths: BTreeSet<PathBuf>,
    /// Those of them that are files with other names.
    pub(super) linked: BTreeSet<PathBuf>,
    /// What could not be looked at.
    pub(super) unseen: BTreeSet<PathBuf>,
}

impl Reached {
    pub(super) fn of(places: &BTreeSet<PathBuf>, closed: &[PathBuf], workspace: &Path) -> Self {
        let mut reached = Self::default();
        let mut open: Vec<PathBuf> = places.iter().rev().cloned().collect();
        let mut entered = BTreeSet::new();
        while let Some(path) = open.pop() {
            if closed.contains(&path) || reached.paths.contains(&path) {
                continue;
            }
            if reached.paths.len() >= ENTRIES_MAX {
                reached.unseen.insert(path);
                continue;
            }
            let found = match path.symlink_metadata() {
                Ok(found) => found,
                Err(error) => {
                    if !is_absent(&error) {
                        reached.unseen.insert(path);
                    }
                    continue;
                }
            };
            reached.note(&path, &found);
            let enters = if found.is_symlink() {
                reached.leads(&path, closed, workspace)
            } else {
                found.is_dir().then(|| path.clone())
            };
            // A folder that several links lead to is looked at once.
            if enters.is_some_and(|real| entered.insert(real)) {
                let (entries, whole) = entries(&path, ENTRIES_MAX);
                open.extend(entries.iter().map(std::fs::DirEntry::path));
                if !whole {
                    reached.unseen.insert(path.clone());
                }
            }
            reached.paths.insert(path);
        }
        reached
    }

    fn note(&mut self, path: &Path, found: &Metadata) {
        if found.is_file() && found.nlink() > 1 {
            self.linked.insert(path.to_owned());
        }
    }

    /// The folder that a link leads to, if what lies in it is reached by that link alone.
    fn leads(&mut self, link: &Path, closed: &[PathBuf], workspace: &Path) -> Option<PathBuf> {
        let real = link.canonicalize();
        match real.and_then(|real| real.metadata().map(|found| (real, found))) {
            Err(error) => {
                if !is_absent(&error) {
                    self.unseen.insert(link.to_owned());
                }
                None
            }
            Ok((real, found)) => {
                self.note(link, &found);
                let within = real.starts_with(workspace) && real != workspace;
                if !found.is_dir() || !within || closed.contains(&real) {
                    return None;
                }
                // What of a store steers programs is guarded by itself.
                let (entries, whole) = entries(&real, ENTRIES_MAX);
                if !whole {
                    self.unseen.insert(link.to_owned());
                }
                let has = |wanted: &str| entries.iter().any(|entry| entry.file_name() == wanted);
                (!is_store(has)).then_some(real)
            }
        }
    }
}
