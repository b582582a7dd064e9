//! The program of a command: which file its name means, whose hands that is in, and what it holds.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use placet_ledger::digest::{Digest, Hasher, Purpose};
use placet_ledger::program::ProgramClass;
use rustix::fs::{Access, OFlags, access};

use super::places::in_system;
use crate::workspace::visible;

/// The one shell that reads what is not one plain command.
pub(super) const SHELL: &str = "/bin/sh";

/// What the shell does by itself, so that no file need be there for it. What it does by itself
/// and what a file of the same name does equally well, such as `echo`, is none of these.
const BUILTINS: [&str; 32] = [
    ".", ":", "alias", "bg", "break", "cd", "command", "continue", "eval", "exec", "exit",
    "export", "fg", "getopts", "hash", "jobs", "local", "read", "readonly", "return", "set",
    "shift", "source", "times", "trap", "type", "ulimit", "umask", "unalias", "unset", "wait",
    "builtin",
];

/// Bytes of a program's file: no known one is as large, and reading it must come to an end.
const PROGRAM_BYTES_MAX: u64 = 1 << 30;

/// Bytes read at once.
const CHUNK: usize = 256 * 1024;

/// Symbolic links that one path may lead through, as the system has it.
const LINKS_MAX: usize = 40;

/// Bits by which others than the owner can write.
const OTHERS_WRITE: u32 = 0o022;

/// Why a name means no program that can be run.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// No folder of the path has it.
    #[error(
        "there is no program {0} on the path: say where it lies, such as ./tool, or use another"
    )]
    Unknown(String),
    /// A path to nothing.
    #[error("there is no program at {0}: look what there is, or name it otherwise")]
    Missing(String),
    /// A path to something else.
    #[error("{0} is not a file that can be run: if it is a script, name its interpreter before it")]
    NotRunnable(String),
    /// A path that no record can hold.
    #[error("the path of the program {0} cannot be written down")]
    Unwritable(String),
    /// A file that cannot be read.
    #[error("cannot read the program {path}")]
    Read {
        /// The program.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// A program that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its real path, without symbolic links.
    pub path: String,
    /// Whose hands it is in.
    pub class: ProgramClass,
    /// Hash of its file, purpose `file`.
    pub digest: Digest,
}

/// Where programs are looked for.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// The workspace without symbolic links: relative paths start there.
    pub workspace: &'a Path,
    /// Folders for bare names, none of them in the workspace.
    pub path: &'a [PathBuf],
}

/// Whether the shell does this by itself.
pub(super) fn is_builtin(name: &str) -> bool {
    BUILTINS.contains(&name)
}

impl Search<'_> {
    /// The program that a name or path means.
    pub fn find(&self, name: &str) -> Result<Found, ProgramError> {
        let at = self.place(name)?;
        let shown = || visible(name);
        let real = at.canonicalize().map_err(|error| missing(name, &error))?;
        if !is_runnable(&real) {
            return Err(ProgramError::NotRunnable(shown()));
        }
        let text = real.to_str();
        let text = text.filter(|text| !text.chars().any(char::is_control));
        let path = text.ok_or_else(|| ProgramError::Unwritable(shown()))?;
        let is_relative = name.contains('/') && !name.starts_with('/');
        let class = if is_relative || real.starts_with(self.workspace) {
            ProgramClass::Workspace
        } else if is_systems(&at) {
            ProgramClass::System
        } else {
            ProgramClass::User
        };
        let digest = digest_of(&real).map_err(|source| ProgramError::Read {
            path: path.to_owned(),
            source,
        })?;
        Ok(Found {
            path: path.to_owned(),
            class,
            digest,
        })
    }

    /// Where the file lies that a name means, links on the way still in it.
    fn place(&self, name: &str) -> Result<PathBuf, ProgramError> {
        if name.contains('/') {
            return Ok(self.workspace.join(name));
        }
        let places = self.path.iter().map(|folder| folder.join(name));
        let found = places
            .filter(|_| !name.is_empty())
            .find(|at| is_runnable(at));
        found.ok_or_else(|| ProgramError::Unknown(visible(name)))
    }
}

fn missing(name: &str, error: &io::Error) -> ProgramError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            ProgramError::Missing(visible(name))
        }
        _ => ProgramError::NotRunnable(visible(name)),
    }
}

pub(super) fn is_runnable(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

/// Whether a path leads to a file of the system, and nobody but root can make it lead elsewhere:
/// not the file, nor a folder or symbolic link on the way.
pub(super) fn is_systems(path: &Path) -> bool {
    let names = |path: &Path| -> Vec<PathBuf> {
        let names = path.components().rev();
        names.map(|name| PathBuf::from(name.as_os_str())).collect()
    };
    let (mut ahead, mut at, mut links) = (names(path), PathBuf::new(), 0_usize);
    while let Some(name) = ahead.pop() {
        match name.components().next() {
            Some(Component::CurDir) | None => continue,
            Some(Component::ParentDir) => {
                at.pop();
                continue;
            }
            Some(Component::Normal(_) | Component::RootDir | Component::Prefix(_)) => {}
        }
        let next = at.join(&name);
        let Ok(found) = next.symlink_metadata() else {
            return false;
        };
        if found.uid() != 0 {
            return false;
        }
        if found.is_symlink() {
            links = links.saturating_add(1);
            let Ok(text) = next.read_link() else {
                return false;
            };
            if links > LINKS_MAX {
                return false;
            }
            ahead.extend(names(&text));
            continue;
        }
        if found.mode() & OTHERS_WRITE != 0 {
            return false;
        }
        at = next;
    }
    at.is_absolute() && at.is_file() && in_system(&at)
}

/// Hash of a regular file, purpose `file`.
pub(super) fn digest_of(path: &Path) -> io::Result<Digest> {
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what.to_owned());
    // Opening a pipe would wait for somebody to write to it.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file: File = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)?;
    let found: fs::Metadata = file.metadata()?;
    if !found.is_file() {
        return Err(wrong("it is not a regular file"));
    }
    let mut hasher = Hasher::new(Purpose::File);
    let mut bounded = file.take(PROGRAM_BYTES_MAX.saturating_add(1));
    let mut chunk = vec![0; CHUNK];
    loop {
        let length = bounded.read(&mut chunk)?;
        let bytes = chunk.get(..length).unwrap_or_default();
        if bytes.is_empty() {
            break;
        }
        hasher.update(bytes);
    }
    if bounded.limit() == 0 {
        return Err(wrong("it is larger than 1 GiB"));
    }
    Ok(hasher.finish())
}
