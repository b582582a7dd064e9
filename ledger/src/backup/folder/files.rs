//! The files of a backup: read without following links, written for their owner alone, synced.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open, openat};

use super::{BackupError, failed};
use crate::digest::{Digest, Hasher, Purpose};

/// Bytes that are read at once.
const PIECE_BYTES: usize = 256 * 1024;

/// Every file below a folder, by its path from there, in order. A link, or what is neither file
/// nor folder, is an error.
pub(super) fn names(dir: &Path) -> Result<Vec<String>, BackupError> {
    let mut names = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let place = dir.join(&folder);
        let doing = || format!("looking at {}", place.display());
        for entry in fs::read_dir(&place).map_err(failed(doing()))? {
            let entry = entry.map_err(failed(doing()))?;
            let path = folder.join(entry.file_name());
            let kind = entry.file_type().map_err(failed(doing()))?;
            if kind.is_dir() {
                folders.push(path);
            } else if let (true, Some(name)) = (kind.is_file(), path.to_str()) {
                names.push(name.to_owned());
            } else {
                let what = format!("{} is a link, or no file of ours", path.display());
                return Err(BackupError::Damaged(what));
            }
        }
    }
    names.sort();
    Ok(names)
}

/// Opens a file below a folder to read it; no link on the way is followed.
pub(super) fn open_below(dir: &Path, path: &str) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let mut at = open(dir, flags | OFlags::DIRECTORY, Mode::empty())?;
    for part in Path::new(path) {
        at = openat(&at, part, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    let file = File::from(at);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is no file"))
    }
}

/// Size and digest of a file, which is durable then.
pub(super) fn settle(dir: &Path, path: &str) -> Result<(u64, Digest), BackupError> {
    let work = || {
        let file = open_below(dir, path)?;
        let read = pass(&file, &mut io::sink())?;
        file.sync_all()?;
        Ok(read)
    };
    work().map_err(failed(format!("reading {path}")))
}

/// Copies a file, which must not be there yet; gives back its size and digest.
pub(super) fn copy(dir: &Path, path: &str, to: &Path) -> Result<(u64, Digest), BackupError> {
    let work = || pass(&open_below(dir, path)?, &mut create(to)?);
    work().map_err(failed(format!("copying {path}")))
}

fn pass(mut from: &File, to: &mut dyn Write) -> io::Result<(u64, Digest)> {
    let mut hasher = Hasher::new(Purpose::File);
    let (mut size, mut piece) = (0_u64, vec![0; PIECE_BYTES]);
    loop {
        let count = from.read(&mut piece)?;
        let read = piece.get(..count).unwrap_or_default();
        if read.is_empty() {
            return Ok((size, hasher.finish()));
        }
        hasher.update(read);
        to.write_all(read)?;
        size = size.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
    }
}

/// Writes a file that is not there yet.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)
}

/// Makes the names in a folder durable.
pub(super) fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// The same of every folder below, too.
pub(super) fn sync_folders(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    sync(folder)
}
