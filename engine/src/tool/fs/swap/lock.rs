//! The advisory lock of one file: it keeps placet's own calls apart, other programs ignore it.
//!
//! It also tells which calls came as far as to create something of that name. What was created may
//! be taken away by another program at once, and then nothing at its place says that it was there.

use core::time::Duration;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use placet_ledger::digest::{Purpose, digest};
use placet_ledger::id::{CallId, RunId};
use placet_ledger::regular;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::tool::ToolError;

/// Attempts, and the pause between them. A lock is held for one small file operation; a call that
/// waited without end could act long after its time limit was reported.
const ATTEMPTS: usize = 100;
const PAUSE: Duration = Duration::from_millis(50);

/// Held until it is dropped. The lock file stays, since removing it would let two holders in.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock of a file by its real path.
    pub(super) fn take(folder: &Path, real: &str) -> Result<Self, ToolError> {
        Self::take_within(folder, real, ATTEMPTS)
    }

    /// The same with another number of attempts.
    pub(super) fn take_within(
        folder: &Path,
        real: &str,
        attempts: usize,
    ) -> Result<Self, ToolError> {
        let path = folder.join(digest(Purpose::File, real.as_bytes()).to_string());
        let failed = |errno: Errno| {
            ToolError::failed(format!("cannot lock {real} before changing it: {errno}"))
        };
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let file = regular::open(options.mode(0o600), &path).map_err(|error| {
            ToolError::failed(format!("cannot lock {real} before changing it: {error}"))
        })?;
        for attempt in 0..attempts {
            if attempt > 0 {
                std::thread::sleep(PAUSE);
            }
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { file }),
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(errno) => return Err(failed(errno)),
            }
        }
        Err(ToolError::failed(format!(
            "another call is changing {real}: try again later"
        )))
    }

    /// Notes durably that the call is about to create what the lock is for. Notes of other calls
    /// stay, since those may still have to be reconciled.
    pub(super) fn mark(&self, call: (RunId, CallId)) -> Result<(), ToolError> {
        let mut file = &self.file;
        file.seek(SeekFrom::End(0))
            .and_then(|_| file.write_all(note(call).as_bytes()))
            .and_then(|()| file.sync_all())
            .map_err(|error| ToolError::failed(format!("cannot note a change ahead: {error}")))
    }

    /// Whether that was noted.
    pub(super) fn is_marked(&self, call: (RunId, CallId)) -> Result<bool, ToolError> {
        let noted = || -> io::Result<Vec<u8>> {
            let (mut file, mut notes) = (&self.file, Vec::new());
            file.rewind()?;
            file.read_to_end(&mut notes)?;
            Ok(notes)
        };
        let notes = noted().map_err(|error| {
            ToolError::failed(format!("cannot read what was noted of changes: {error}"))
        })?;
        let note = note(call);
        Ok(notes
            .windows(note.len())
            .any(|found| found == note.as_bytes()))
    }
}

/// A line of its own, also after one that was cut short.
fn note((run, call): (RunId, CallId)) -> String {
    format!("\n{run} {call}\n")
}
