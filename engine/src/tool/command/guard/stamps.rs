//! What steering files hold at a moment, and what differs between two.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use placet_ledger::digest::Digest;
use placet_ledger::steered::Steered;

use super::super::program::digest_of;
use super::{is_absent, relative};

/// Bytes of a file that is compared by content; of a larger one, its inode tells.
const BYTES_MAX: u64 = 1024 * 1024;

/// What is the same as long as nothing changed it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stamp {
    Content {
        digest: Digest,
        mode: u32,
    },
    Inode {
        number: u64,
        bytes: u64,
        mode: u32,
        /// Of the content, and of all else: nobody can set the latter.
        times: [(i64, i64); 2],
    },
    Folder,
    Link {
        text: PathBuf,
        /// What the file holds that it leads to.
        leads: Option<Box<Stamp>>,
    },
}

/// What the steering files of a workspace held at a moment.
#[derive(Debug, Default)]
pub(in super::super) struct Stamps(BTreeMap<PathBuf, Stamp>);

impl Stamps {
    /// The stamps of all of these, and which could not be looked at.
    pub(super) fn of(paths: BTreeSet<PathBuf>) -> (Self, BTreeSet<PathBuf>) {
        let (mut stamps, mut unseen) = (BTreeMap::new(), BTreeSet::new());
        for path in paths {
            match stamp(&path) {
                Ok(stamp) => drop(stamps.insert(path, stamp)),
                Err(error) if is_absent(&error) => {}
                Err(_) => drop(unseen.insert(path)),
            }
        }
        (Self(stamps), unseen)
    }

    /// What came of them since.
    pub(in super::super) fn changes_since(&self, before: &Self, workspace: &Path) -> Steered {
        let without = |these: &Self, others: &Self| -> BTreeSet<PathBuf> {
            let paths = these.0.keys();
            let paths = paths.filter(|path| !others.0.contains_key(*path));
            paths.cloned().collect()
        };
        let made = without(self, before);
        // What only cannot be reached any more is still there.
        let gone = without(before, self).into_iter();
        let (unreached, gone): (BTreeSet<_>, BTreeSet<_>) =
            gone.partition(|path| path.symlink_metadata().is_ok());
        let differs = |(path, stamp): &(&PathBuf, &Stamp)| {
            let then = before.0.get(*path);
            then.is_some_and(|then| then != *stamp)
        };
        let changed = self.0.iter().filter(differs).map(|(path, _)| path.clone());
        let changed = changed.chain(unreached).collect();
        let told = |paths: &BTreeSet<PathBuf>| -> Vec<String> {
            let beneath =
                |path: &&PathBuf| !path.ancestors().skip(1).any(|above| paths.contains(above));
            let outermost = paths.iter().filter(beneath);
            outermost.map(|path| relative(workspace, path)).collect()
        };
        Steered {
            made: told(&made),
            changed: told(&changed),
            removed: told(&gone),
            ..Steered::default()
        }
    }
}

fn stamp(path: &Path) -> io::Result<Stamp> {
    let found = path.symlink_metadata()?;
    if found.is_dir() {
        return Ok(Stamp::Folder);
    }
    if !found.is_symlink() {
        return Ok(held(path, &found));
    }
    let leads = match path.metadata() {
        Ok(found) if found.is_dir() => Some(Stamp::Folder),
        Ok(found) => Some(held(path, &found)),
        // A link that leads nowhere, or round and round.
        Err(_) => None,
    };
    Ok(Stamp::Link {
        text: path.read_link()?,
        leads: leads.map(Box::new),
    })
}

fn held(path: &Path, found: &Metadata) -> Stamp {
    if found.is_file()
        && found.len() <= BYTES_MAX
        && let Ok(digest) = digest_of(path)
    {
        return Stamp::Content {
            digest,
            mode: found.mode(),
        };
    }
    // A file that cannot be read, or is none: whoever changes it leaves a trace.
    Stamp::Inode {
        number: found.ino(),
        bytes: found.len(),
        mode: found.mode(),
        times: [
            (found.mtime(), found.mtime_nsec()),
            (found.ctime(), found.ctime_nsec()),
        ],
    }
}
