//! Who drives a run: a file for each run that is driven, locked for as long as its driver lives.
//!
//! The lock alone decides. Where nobody holds it the driver is gone, whatever the file says; a
//! driver that was stopped holds it still. What the file says names the holder, so that a person
//! can be told and a driver can be ended. A file has one writer: whoever finds one of a driver that
//! died removes it, under its lock, and makes another. Nobody else removes one, so that two
//! processes never hold two files of the same name.
//!
//! The lock belongs to the open file, which no program that is started inherits.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::id::RunId;
use crate::lock::{is_at, try_lock};
use crate::process::{EndError, Process};
use crate::regular;

#[cfg(test)]
mod tests;

/// How often a file that changes hands is looked at again.
const TRIES_MAX: u32 = 10_000;
/// Bytes of what a driver says about itself; none says more.
const NAME_BYTES_MAX: u64 = 4096;

/// The right to drive a run, until it is dropped or its process ends.
#[derive(Debug)]
pub struct Lease {
    file: File,
    path: PathBuf,
}

/// Somebody drives the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Who, where that is said: the holder of a moment has not said it yet.
    pub by: Option<Process>,
}

/// Why a run is not claimed.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// Somebody drives it.
    #[error("somebody drives the run")]
    Held(Held),
    /// The file cannot be had.
    #[error("cannot lock the run's file in {path}")]
    File {
        /// The folder.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

/// Why a run is not taken over.
#[derive(Debug, thiserror::Error)]
pub enum TakeOverError {
    /// Its driver cannot be ended.
    #[error("cannot end the driver")]
    CannotEnd {
        /// The driver.
        held: Held,
        /// Why not.
        #[source]
        source: EndError,
    },
    /// It cannot be claimed: somebody else was faster, or its file cannot be had.
    #[error(transparent)]
    Claim(#[from] ClaimError),
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Nobody is to be told of a driver that holds nothing any more.
        let emptied = self.file.set_len(0);
        let removed = is_at(&self.path, &self.file).and_then(|same| {
            if same {
                fs::remove_file(&self.path)
            } else {
                Ok(())
            }
        });
        if let Err(error) = emptied.and(removed) {
            let path = self.path.display();
            tracing::warn!(%path, %error, "the file of a driver stays behind");
        }
        // A program that is being started may share the open file for a moment.
        let _closed_anyway = flock(&self.file, FlockOperation::Unlock);
    }
}

/// Claims a run for this process; `folder` holds the files of all that are driven.
pub fn claim(folder: &Path, run: RunId) -> Result<Lease, ClaimError> {
    let path = folder.join(run.to_string());
    let file = |source| ClaimError::File {
        path: folder.to_owned(),
        source,
    };
    let own = Process::own().map_err(file)?;
    let own = serde_json::to_vec(&own).map_err(|error| file(error.into()))?;
    let mut folder = DirBuilder::new();
    let parent = path.parent().unwrap_or(&path);
    folder
        .recursive(true)
        .mode(0o700)
        .create(parent)
        .map_err(file)?;
    for _ in 0..TRIES_MAX {
        let tried = try_claim(&path, &own).map_err(file)?;
        match tried {
            Tried::Claimed(lease) => return Ok(lease),
            Tried::Held(held) => return Err(ClaimError::Held(held)),
            Tried::Moved => std::thread::yield_now(),
        }
    }
    Err(ClaimError::Held(Held { by: None }))
}

/// What came of one try.
enum Tried {
    Claimed(Lease),
    Held(Held),
    /// The file was another's for a moment, or is no longer the one of its name.
    Moved,
}

fn try_claim(path: &Path, own: &[u8]) -> io::Result<Tried> {
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false);
    let mut file = regular::open(options.mode(0o600), path)?;
    if !try_lock(&file, FlockOperation::NonBlockingLockExclusive)? {
        return match held(path, file)? {
            Some(held) => Ok(Tried::Held(held)),
            None => Ok(Tried::Moved),
        };
    }
    if !is_at(path, &file)? {
        return Ok(Tried::Moved);
    }
    if file.metadata()?.len() > 0 {
        // Of a driver that died: whoever reads it now must not take it for this one's.
        fs::remove_file(path)?;
        return Ok(Tried::Moved);
    }
    let path = path.to_owned();
    file.write_all(own)?;
    Ok(Tried::Claimed(Lease { file, path }))
}

/// Who drives a run, if anybody does.
pub fn who(folder: &Path, run: RunId) -> io::Result<Option<Held>> {
    let path = folder.join(run.to_string());
    for _ in 0..TRIES_MAX {
        let file = match regular::open_to_read(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        // A driver that is about to begin finds it locked for a moment, and tries again.
        if try_lock(&file, FlockOperation::NonBlockingLockShared)? {
            if is_at(&path, &file)? {
                return Ok(None);
            }
        } else if let Some(held) = held(&path, file)? {
            return Ok(Some(held));
        }
        std::thread::yield_now();
    }
    Ok(Some(Held { by: None }))
}

/// Ends whoever drives a run, and claims it. What drives it and cannot be ended is not touched.
pub fn take_over(folder: &Path, run: RunId) -> Result<Lease, TakeOverError> {
    let held = match claim(folder, run) {
        Ok(lease) => return Ok(lease),
        Err(ClaimError::Held(held)) => held,
        Err(error) => return Err(error.into()),
    };
    let cannot = |source| TakeOverError::CannotEnd {
        held: held.clone(),
        source,
    };
    let by = held.by.as_ref().ok_or_else(|| cannot(EndError::Unnamed))?;
    by.end().map_err(cannot)?;
    match claim(folder, run) {
        // It is gone, and its lock is not.
        Err(ClaimError::Held(now)) if now.by == held.by => Err(cannot(EndError::Stays)),
        claimed => Ok(claimed?),
    }
}

/// Who holds a file that could not be locked; `None` where nobody holds it any more, or only
/// somebody who looks.
fn held(path: &Path, file: File) -> io::Result<Option<Held>> {
    if !is_at(path, &file)? || try_lock(&file, FlockOperation::NonBlockingLockShared)? {
        return Ok(None);
    }
    let mut said = Vec::new();
    file.take(NAME_BYTES_MAX).read_to_end(&mut said)?;
    if said.is_empty() {
        // It is about to say it, or has just let go.
        return Ok(None);
    }
    let by = serde_json::from_slice(&said).ok();
    Ok(Some(Held { by }))
}
