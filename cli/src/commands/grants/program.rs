//! The program that an entry names: where it lies, whose hands it is in, what it holds.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use placet_ledger::digest::{Digest, Purpose, digest};
use placet_ledger::program::ProgramClass;

use crate::error::{CommandError, Kind};
use crate::io::Io;

/// Where programs are looked for when the environment does not say.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A program.
#[derive(Debug)]
pub(super) struct Found {
    /// Its absolute path.
    pub(super) path: String,
    /// Whose hands it is in.
    pub(super) class: ProgramClass,
    digest: Digest,
}

impl Found {
    /// What an entry keeps of its file: nothing where only the system changes it.
    pub(super) fn entry_digest(&self) -> Option<Digest> {
        match self.class {
            ProgramClass::System => None,
            ProgramClass::User | ProgramClass::Workspace => Some(self.digest),
        }
    }
}

/// Finds a program by the word that names it, as it would be found for a command.
pub(super) fn find(word: &str, io: &Io) -> Result<Found, CommandError> {
    let path = if word.contains('/') {
        Some(io.cwd.join(word)).filter(|path| is_program(path))
    } else {
        let folders = io.var("PATH").unwrap_or(PATH).split(':');
        // An empty or relative one means wherever the command happens to run.
        let folders = folders.map(Path::new).filter(|folder| folder.is_absolute());
        folders
            .map(|folder| folder.join(word))
            .find(|path| is_program(path))
    };
    let not_found = || {
        let what = format!("there is no program {word:?} on PATH");
        CommandError::new(Kind::NotFound, what)
            .hint("an entry is for one program, which must be there when it is made")
    };
    let path = path.ok_or_else(not_found)?;
    let real = path.canonicalize()?;
    let digest = digest(Purpose::File, &std::fs::read(&real)?);
    let text = |path: &Path| path.to_str().map(str::to_owned);
    // A relative path leads elsewhere from another folder.
    let relative = word.contains('/') && !word.starts_with('/');
    let shown = if relative { &real } else { &path };
    let shown = text(shown).ok_or_else(|| {
        let what = format!("{} is no text that a record can hold", path.display());
        CommandError::new(Kind::Refused, what)
    })?;
    Ok(Found {
        path: shown,
        class: class(&real, &io.cwd),
        digest,
    })
}

fn is_program(path: &Path) -> bool {
    let found = std::fs::metadata(path);
    found.is_ok_and(|found| found.is_file() && found.mode() & 0o111 != 0)
}

/// Whose hands a program is in. Commands work in the current folder, as far as is known here.
fn class(real: &Path, cwd: &Path) -> ProgramClass {
    let workspace = cwd.canonicalize().unwrap_or_else(|_| PathBuf::from(cwd));
    if real.ancestors().all(is_the_systems) {
        ProgramClass::System
    } else if real.starts_with(workspace) {
        ProgramClass::Workspace
    } else {
        ProgramClass::User
    }
}

/// Whether nobody but the system's own user can change it.
fn is_the_systems(path: &Path) -> bool {
    let found = std::fs::symlink_metadata(path);
    found.is_ok_and(|found| found.uid() == 0 && found.mode() & 0o022 == 0)
}
