//! The program of a job: where its file can change, what runs is what was digested.

use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use placet_ledger::digest::{Digest, Hasher, Purpose};
use rustix::io::FdFlags;

use super::step;
use crate::contain::Job;
use crate::contain::spec::Lack;

/// Bytes read at once.
const CHUNK: usize = 256 * 1024;

/// Why a program does not run.
#[derive(Debug)]
pub(super) enum Refused {
    /// It is another file than was digested.
    Changed,
    /// Something failed.
    Lack(Lack),
}

impl From<Lack> for Refused {
    fn from(lack: Lack) -> Self {
        Self::Lack(lack)
    }
}

/// The program's file, held open from before the profile is set up.
#[derive(Debug)]
pub(super) struct Program {
    path: PathBuf,
    digested: Option<(File, Digest)>,
}

impl Program {
    /// No program at all, where only the profile is tried.
    pub(super) fn nothing() -> Self {
        Self {
            path: PathBuf::new(),
            digested: None,
        }
    }

    /// Opens what must be the file that was digested; anything else is found by its path.
    pub(super) fn open(job: &Job) -> Result<Self, Refused> {
        let path = job.program.clone();
        let Some(digest) = job.digest else {
            return Ok(Self {
                path,
                digested: None,
            });
        };
        // A pipe in its place must not make anybody wait.
        let file = fs::OpenOptions::new()
            .read(true)
            .custom_flags(nix::libc::O_NONBLOCK)
            .open(&path)
            .map_err(|_| Refused::Changed)?;
        let found = step(file.metadata(), "program")?;
        if !found.is_file() {
            return Err(Refused::Changed);
        }
        Ok(Self {
            path,
            digested: Some((file, digest)),
        })
    }

    /// Copies a digested program to where nobody can change it. Whether there was one.
    pub(super) fn copy(&mut self, to: &Path) -> Result<bool, Refused> {
        let Some((file, digest)) = &mut self.digested else {
            return Ok(false);
        };
        let copy = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o755)
            .open(to);
        if pass(file, step(copy, "copy of the program")?)? != *digest {
            return Err(Refused::Changed);
        }
        self.digested = None;
        Ok(true)
    }

    /// What to execute: the path, or the descriptor of the file that was digested.
    pub(super) fn settle(&mut self) -> Result<PathBuf, Refused> {
        let Some((file, digest)) = &mut self.digested else {
            return Ok(self.path.clone());
        };
        if pass(file, std::io::sink())? != *digest {
            return Err(Refused::Changed);
        }
        step(file.rewind(), "program")?;
        // A script is opened once more by its interpreter, so the descriptor stays open.
        let kept = rustix::io::fcntl_setfd(&*file, FdFlags::empty());
        step(kept, "program")?;
        Ok(PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())))
    }
}

/// Passes a file on to its end, and digests it on the way.
fn pass(from: &mut File, mut to: impl Write) -> Result<Digest, Lack> {
    let mut hasher = Hasher::new(Purpose::File);
    let mut chunk = vec![0; CHUNK];
    loop {
        let length = step(from.read(&mut chunk), "program")?;
        let bytes = chunk.get(..length).unwrap_or_default();
        if bytes.is_empty() {
            return Ok(hasher.finish());
        }
        hasher.update(bytes);
        step(to.write_all(bytes), "copy of the program")?;
    }
}
