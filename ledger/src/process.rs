//! How a process is named, so that another that gets its pid is never taken for it, and how one
//! that is named is ended.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, geteuid, getpid, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

/// Seconds between asking a process to end and killing it.
const GRACE_S: i64 = 3;
/// Seconds that a process may take to end once it was killed.
const KILL_S: i64 = 10;

/// A process: its pid, and what tells it from every other that has had the same one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    pid: i32,
    /// Ticks from the start of the machine to its own.
    start: u64,
    boot: String,
    /// The process namespace in which the pid counts.
    namespace: String,
    uid: u32,
}

/// Why a process is not ended.
#[derive(Debug, thiserror::Error)]
pub enum EndError {
    /// It is the one that asks.
    #[error("it is this process itself")]
    Own,
    /// Its machine was started at another time, so it is another machine.
    #[error("it runs on another machine")]
    OtherMachine,
    /// Its pid means nothing here.
    #[error("it runs in another process namespace, such as a container's")]
    OtherNamespace,
    /// It belongs to somebody else.
    #[error("it runs as the user {0}")]
    OtherUser(u32),
    /// Nobody said who it is.
    #[error("it has not said who it is")]
    Unnamed,
    /// It was killed and is still there, or left something that holds what it held.
    #[error("it was ended, but something of it stays")]
    Stays,
    /// The system refused.
    #[error("the system refused")]
    System(#[from] io::Error),
}

impl From<Errno> for EndError {
    fn from(error: Errno) -> Self {
        Self::System(error.into())
    }
}

/// The id of this start of the machine.
pub fn boot() -> io::Result<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(id.trim_end().to_owned())
}

/// The process namespace of this process.
pub fn namespace() -> io::Result<String> {
    let link = fs::read_link("/proc/self/ns/pid")?;
    Ok(link.to_string_lossy().into_owned())
}

/// What the system says of the process that has this pid now, from its state on.
fn stat(pid: i32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, brackets and blanks too.
    let (_, rest) = stat.rsplit_once(") ")?;
    Some(rest.to_owned())
}

/// When the process started that has this pid now.
fn start(pid: i32) -> Option<u64> {
    stat(pid)?.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Whether the process that has this pid now was stopped, and does nothing until it is continued.
fn is_stopped(pid: i32) -> bool {
    let stopped = |stat: String| stat.starts_with(['T', 't']);
    stat(pid).is_some_and(stopped)
}

/// Whether a process that was noted by its pid alone is stopped: one of this host that has the file
/// open on which it was noted, so that it is no other one that has the same pid.
pub fn is_stopped_with(pid: u32, file: &Path) -> bool {
    let Ok(pid) = i32::try_from(pid) else {
        return false;
    };
    let id = |there: fs::Metadata| (there.dev(), there.ino());
    let Ok(file) = fs::symlink_metadata(file).map(id) else {
        return false;
    };
    let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return false;
    };
    let mut open = open.filter_map(|entry| fs::metadata(entry.ok()?.path()).ok());
    is_stopped(pid) && open.any(|open| id(open) == file)
}

impl Process {
    /// This process.
    pub fn own() -> io::Result<Self> {
        let pid = getpid().as_raw_pid();
        Ok(Self {
            pid,
            start: start(pid).ok_or(io::ErrorKind::NotFound)?,
            boot: boot()?,
            namespace: namespace()?,
            uid: geteuid().as_raw(),
        })
    }

    /// Its pid.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// The user it runs as.
    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// Whether it is stopped, where that can be seen from here.
    pub fn is_stopped(&self) -> bool {
        let here = boot().is_ok_and(|boot| boot == self.boot)
            && namespace().is_ok_and(|namespace| namespace == self.namespace);
        here && start(self.pid) == Some(self.start) && is_stopped(self.pid)
    }

    /// Whether it is this process.
    pub fn is_own(&self) -> bool {
        Self::own().is_ok_and(|own| own == *self)
    }

    /// Ends it: asks it to, whether it is stopped or not, kills it where that is not heard, and
    /// waits until it is gone. One that is gone already needs nothing, whoever has its pid now.
    /// What cannot be ended from here is not touched.
    pub fn end(&self) -> Result<(), EndError> {
        let own = Self::own()?;
        if own == *self {
            return Err(EndError::Own);
        }
        if own.boot != self.boot {
            return Err(EndError::OtherMachine);
        }
        if own.namespace != self.namespace {
            return Err(EndError::OtherNamespace);
        }
        if own.uid != self.uid {
            return Err(EndError::OtherUser(self.uid));
        }
        let Some(pid) = Pid::from_raw(self.pid) else {
            return Ok(());
        };
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => handle,
            Err(Errno::SRCH) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        // The handle stays with the process that it was opened for, so this is asked after it.
        if start(self.pid) != Some(self.start) {
            return Ok(());
        }
        let handle = handle.as_fd();
        signal(handle, Signal::TERM)?;
        signal(handle, Signal::CONT)?;
        if is_gone_within(handle, GRACE_S)? {
            return Ok(());
        }
        signal(handle, Signal::KILL)?;
        if is_gone_within(handle, KILL_S)? {
            return Ok(());
        }
        Err(EndError::Stays)
    }
}

fn signal(handle: BorrowedFd<'_>, signal: Signal) -> Result<(), EndError> {
    match pidfd_send_signal(handle, signal) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn is_gone_within(handle: BorrowedFd<'_>, seconds: i64) -> Result<bool, EndError> {
    let most = Timespec {
        tv_sec: seconds,
        tv_nsec: 0,
    };
    loop {
        match poll(
            &mut [PollFd::from_borrowed_fd(handle, PollFlags::IN)],
            Some(&most),
        ) {
            Ok(ready) => return Ok(ready > 0),
            // A signal came to this process; the wait begins anew.
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
