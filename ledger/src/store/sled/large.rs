//! Sealed contents that are too large for the log and for sled: a file each, durable before the
//! frame that names it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::content::Commitment;
use crate::digest::Digest;
use crate::regular;

/// Bytes of a sealed content above which it lies in a file of its own.
pub(super) const INLINE_BYTES_MAX: usize = 64 * 1024;

/// What the name of a file ends in that is not whole.
const UNFINISHED: &str = "new";

fn path(folder: &Path, ordinal: u32, commitment: &Commitment) -> PathBuf {
    folder.join(format!("{ordinal:08x}-{commitment}"))
}

/// Writes one, so that it is on disk when this returns. One that is there already was written by
/// an append that came to nothing, or by this very one before.
pub(super) fn write(
    folder: &Path,
    ordinal: u32,
    commitment: &Commitment,
    sealed: &[u8],
) -> io::Result<()> {
    let path = path(folder, ordinal, commitment);
    if path.exists() {
        // Whoever wrote it may not have come to this yet.
        return File::open(folder)?.sync_all();
    }
    // Two appends may bring the same content at the same time.
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    let new = path.with_extension(format!("{:016x}.{UNFINISHED}", u64::from_be_bytes(random)));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)
        .and_then(|mut file| {
            file.write_all(sealed)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&new, &path))
        .and_then(|()| File::open(folder)?.sync_all());
    if written.is_err() {
        drop(fs::remove_file(&new));
    }
    written
}

/// Reads one of a known length.
pub(super) fn read(
    folder: &Path,
    ordinal: u32,
    commitment: &Commitment,
    length: u32,
) -> io::Result<Arc<[u8]>> {
    let mut file = regular::open_to_read(&path(folder, ordinal, commitment))?;
    let mut bytes = Vec::new();
    let limit = u64::from(length).saturating_add(1);
    (&mut file).take(limit).read_to_end(&mut bytes)?;
    if u32::try_from(bytes.len()) == Ok(length) {
        Ok(bytes.into())
    } else {
        Err(io::Error::other("its file has another length"))
    }
}

/// Removes what no record names: an append that brought it never came to its end.
pub(super) fn remove_orphans<E>(
    folder: &Path,
    is_named: impl Fn(u32, &Commitment) -> Result<bool, E>,
    failed: impl Fn(io::Error, &Path) -> E,
) -> Result<(), E> {
    for file in fs::read_dir(folder).map_err(|error| failed(error, folder))? {
        let path = file.map_err(|error| failed(error, folder))?.path();
        let named = path
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(parse);
        let keep = match named {
            Some((ordinal, commitment)) => is_named(ordinal, &commitment)?,
            None => false,
        };
        if !keep {
            tracing::info!(path = %path.display(), "a content that no record names is removed");
            fs::remove_file(&path).map_err(|error| failed(error, &path))?;
        }
    }
    Ok(())
}

fn parse(name: &str) -> Option<(u32, Commitment)> {
    let (ordinal, commitment) = name.split_once('-')?;
    let digest: Digest = commitment.parse().ok()?;
    let ordinal = u32::from_str_radix(ordinal, 16).ok()?;
    Some((ordinal, Commitment::from_digest(digest)))
}
