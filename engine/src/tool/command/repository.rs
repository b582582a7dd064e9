//! What the repositories that a git command would read can make it run.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::gitconfig::{UNREADABLE, runs};
use crate::shell::{Plain, known};
use crate::workspace::Workspace;

/// Bytes of a configuration; a larger one was not written by people.
const CONFIG_BYTES_MAX: u64 = 1024 * 1024;

/// Bytes of an index that is looked through.
const INDEX_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Folders that are looked at to find repositories within a repository.
const FOLDERS_MAX: usize = 5_000;

/// The mode of an entry that is another repository, as an index holds it.
const REPOSITORY_MODE: [u8; 4] = [0, 0, 0xe0, 0];

/// Hooks that commands run which only read.
const HOOKS: [&str; 2] = ["post-index-change", "reference-transaction"];

/// What the repositories that a plain command would read can make it run, sorted; nothing for
/// commands that read none.
pub(super) fn configured(workspace: &Workspace, plain: &Plain) -> Vec<String> {
    let program = plain.program().rsplit('/').next().unwrap_or_default();
    let reads = program == "git" || known::read_only(plain).is_ok_and(|claims| claims.repository);
    if !reads {
        return Vec::new();
    }
    let root = Path::new(workspace.path());
    let mut found = Repositories::default();
    found.from(root);
    for word in plain.words().iter().skip(1) {
        let values = [
            Some(word.text.as_str()),
            word.text.split_once('=').map(|(_, value)| value),
        ];
        for value in values
            .into_iter()
            .flatten()
            .filter(|value| !value.is_empty())
        {
            let folder = root.join(value);
            if folder.is_dir() {
                found.from(&folder);
            }
        }
    }
    if found.has_inner {
        found.beneath(root);
    }
    found.runs.into_iter().collect()
}

/// The repositories that were looked at, and what they can make git run.
#[derive(Default)]
struct Repositories {
    seen: BTreeSet<PathBuf>,
    runs: BTreeSet<String>,
    /// Whether a repository has others as its parts.
    has_inner: bool,
}

impl Repositories {
    /// The repository that git finds from a folder: in it, or in one above it.
    fn from(&mut self, folder: &Path) {
        let Ok(real) = folder.canonicalize() else {
            return;
        };
        for at in real.ancestors() {
            if let Some(store) = store_of(at) {
                self.look(&store);
                return;
            }
        }
    }

    /// Every repository beneath a folder.
    fn beneath(&mut self, folder: &Path) {
        let mut open = vec![folder.to_owned()];
        let mut folders = 0_usize;
        while let Some(at) = open.pop() {
            folders = folders.saturating_add(1);
            if folders > FOLDERS_MAX {
                self.runs
                    .insert(String::from("repositories too deep within to be looked at"));
                return;
            }
            if let Some(store) = store_of(&at) {
                self.look(&store);
            }
            let entries = at.read_dir().into_iter().flatten().flatten();
            let folders = entries.filter(|entry| {
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                is_folder && entry.file_name() != ".git"
            });
            open.extend(folders.map(|entry| entry.path()));
        }
    }

    /// A store of versions: its configuration, and that of the one that it shares.
    fn look(&mut self, store: &Path) {
        let Ok(store) = store.canonicalize() else {
            self.unreadable();
            return;
        };
        if !self.seen.insert(store.clone()) {
            return;
        }
        let common = match read_up_to(&store.join("commondir"), CONFIG_BYTES_MAX) {
            Ok(None) => store.clone(),
            Ok(Some(text)) => match std::str::from_utf8(&text) {
                Ok(text) => store.join(text.trim_end_matches(['\n', '\r'])),
                Err(_) => return self.unreadable(),
            },
            Err(_) => return self.unreadable(),
        };
        let configs = [common.join("config"), store.join("config.worktree")];
        for config in configs {
            match read_up_to(&config, CONFIG_BYTES_MAX) {
                Ok(None) => {}
                Ok(Some(text)) => self.runs.extend(runs(&text)),
                Err(_) => self.unreadable(),
            }
        }
        for hook in HOOKS {
            if common.join("hooks").join(hook).exists() {
                self.runs.insert(format!("hooks/{hook}"));
            }
        }
        // What another repository is recorded in shows by its mode; anything that looks so counts.
        match read_up_to(&store.join("index"), INDEX_BYTES_MAX) {
            Ok(None) => {}
            Ok(Some(index)) => {
                let mut windows = index.windows(REPOSITORY_MODE.len());
                self.has_inner |= windows.any(|window| window == REPOSITORY_MODE);
            }
            Err(_) => self.has_inner = true,
        }
    }

    fn unreadable(&mut self) {
        self.runs.insert(UNREADABLE.to_owned());
    }
}

/// The store of versions of a folder, if it has one or is one.
fn store_of(folder: &Path) -> Option<PathBuf> {
    let named = folder.join(".git");
    if named.is_dir() && is_store(&named) {
        return Some(named);
    }
    if let Ok(Some(text)) = read_up_to(&named, CONFIG_BYTES_MAX)
        && let Ok(text) = std::str::from_utf8(&text)
        && let Some(place) = text.strip_prefix("gitdir:")
    {
        return Some(folder.join(place.trim_matches([' ', '\t', '\n', '\r'])));
    }
    is_store(folder).then(|| folder.to_owned())
}

/// Whether git takes a folder for a store of versions.
fn is_store(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).symlink_metadata().is_ok();
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

/// What a regular file holds; an error for what is something else, or larger.
fn read_up_to(path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what.to_owned());
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) => {
            return match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
                _ => Err(error),
            };
        }
    };
    if !file.metadata()?.is_file() {
        return Err(wrong("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    let mut bounded = file.take(bytes_max.saturating_add(1));
    bounded.read_to_end(&mut bytes)?;
    if bounded.limit() == 0 {
        return Err(wrong("it is too large"));
    }
    Ok(Some(bytes))
}
