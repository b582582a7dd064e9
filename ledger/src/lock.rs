//! Locks on open files, which end with the process that holds them.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

/// Locks a file, unless somebody else has it.
pub(crate) fn try_lock(file: &File, how: FlockOperation) -> io::Result<bool> {
    loop {
        match flock(file, how) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Whether a path still names this file.
pub(crate) fn is_at(path: &Path, file: &File) -> io::Result<bool> {
    let here = match fs::symlink_metadata(path) {
        Ok(here) => here,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let open = file.metadata()?;
    Ok((here.dev(), here.ino()) == (open.dev(), open.ino()))
}

/// Neither a link is followed nor a pipe waited for.
pub(crate) fn flags() -> i32 {
    flags_of_named() | bits(OFlags::NOFOLLOW)
}

/// Of a file that a person named: no pipe is waited for.
pub(crate) fn flags_of_named() -> i32 {
    bits(OFlags::NONBLOCK | OFlags::CLOEXEC)
}

fn bits(flags: OFlags) -> i32 {
    i32::try_from(flags.bits()).unwrap_or_default()
}
