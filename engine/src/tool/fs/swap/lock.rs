//! The advisory lock of one file: it keeps placet's own calls apart, other programs ignore it.

use core::time::Duration;
use std::fs::File;
use std::path::Path;

use placet_ledger::digest::{Purpose, digest};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;

use crate::tool::ToolError;

/// Attempts, and the pause between them. A lock is held for one small file operation; a call that
/// waited without end could act long after its time limit was reported.
const ATTEMPTS: usize = 100;
const PAUSE: Duration = Duration::from_millis(50);

/// Held until it is dropped. The lock file stays, since removing it would let two holders in.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
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
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(open(&path, flags, Mode::RUSR | Mode::WUSR).map_err(failed)?);
        for attempt in 0..attempts {
            if attempt > 0 {
                std::thread::sleep(PAUSE);
            }
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { _file: file }),
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(errno) => return Err(failed(errno)),
            }
        }
        Err(ToolError::failed(format!(
            "another call is changing {real}: try again later"
        )))
    }
}
