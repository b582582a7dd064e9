//! Files that name what runs, so that a new driver ends it before it looks at what came of it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use placet_ledger::id::RunId;
use placet_ledger::process::{boot, namespace};
use placet_ledger::regular;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

use super::reap::{self, Process};

/// Rounds of looking and killing, each a hundredth of a second at least, before it is given up.
const ROUNDS_MAX: u32 = 1_000;
/// What the name of a mark ends in while it is written.
const UNFINISHED: &str = "unfinished";

/// What a mark says: which process watches over the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mark {
    pid: i32,
    start: u64,
    boot: String,
    /// The process namespace in which the pid counts.
    namespace: String,
    /// The folder for temporary files, whose name no other call has. Where it is one of the
    /// machine it must be removed.
    temporary: PathBuf,
}

impl Mark {
    /// The mark of this process.
    pub(super) fn own(temporary: PathBuf) -> io::Result<Self> {
        let pid = getpid().as_raw_pid();
        let process = Process::of(pid).ok_or(ErrorKind::NotFound)?;
        Ok(Self {
            pid,
            start: process.start,
            boot: boot()?,
            namespace: namespace()?,
            temporary,
        })
    }

    /// Writes it at once, so that nobody reads a half of it. A crash of the machine may lose it:
    /// then nothing that it names runs any more.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let mut beside = path.to_path_buf();
        beside.add_extension(UNFINISHED);
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&beside)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        // What is there already names another call, which may still run.
        renameat_with(CWD, &beside, CWD, path, RenameFlags::NOREPLACE).map_err(|error| {
            let _left = fs::remove_file(&beside);
            error.into()
        })
    }

    /// The watcher, unless its pid belongs to another by now.
    fn watcher(&self) -> Option<Process> {
        let found = Process::of(self.pid);
        found.filter(|process| process.start == self.start && !process.ended)
    }

    /// What descends from the watcher, and what is left of one that was killed: by the folder in
    /// its environment, which no other call has.
    fn left(&self) -> io::Result<Vec<Process>> {
        let mut found = match self.watcher() {
            Some(watcher) => reap::descendants(watcher.pid, None)?,
            None => Vec::new(),
        };
        let wanted = format!("TMPDIR={}", self.temporary.display());
        let of_call = |process: &Process| {
            let environment = fs::read(format!("/proc/{}/environ", process.pid));
            environment.is_ok_and(|all| all.split(|&b| b == 0).any(|one| one == wanted.as_bytes()))
        };
        let mut orphans = reap::all()?;
        orphans.retain(|process| process.start >= self.start && !process.ended && of_call(process));
        found.extend(orphans);
        Ok(found)
    }

    /// Ends all that it names. Whether there was something.
    fn end(&self) -> io::Result<bool> {
        if boot()? != self.boot {
            return Ok(false);
        }
        if namespace()? != self.namespace {
            let what = "a mark names a process of another namespace";
            return Err(io::Error::new(ErrorKind::Unsupported, what));
        }
        let mut told = BTreeSet::new();
        for _ in 0..ROUNDS_MAX {
            // The watcher goes last: till then whatever loses its parent becomes its child.
            let mut left = self.left()?;
            if left.is_empty() {
                left.extend(self.watcher());
            }
            if left.is_empty() {
                return Ok(!told.is_empty());
            }
            for process in &left {
                told.insert((process.pid, process.start));
                kill(process)?;
            }
        }
        let what = "a process of an ended call cannot be killed";
        Err(io::Error::new(ErrorKind::TimedOut, what))
    }
}

/// Kills a process, never another that got its pid, and waits a moment for its end.
fn kill(process: &Process) -> io::Result<()> {
    let Some(pid) = Pid::from_raw(process.pid) else {
        return Ok(());
    };
    let handle = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(handle) => handle,
        Err(rustix::io::Errno::SRCH) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    if Process::of(process.pid).is_none_or(|now| now.start != process.start) {
        return Ok(());
    }
    match pidfd_send_signal(&handle, Signal::KILL) {
        Ok(()) => {}
        Err(rustix::io::Errno::SRCH) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    let moment = Timespec {
        tv_sec: 0,
        tv_nsec: 10_000_000,
    };
    poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&moment))?;
    Ok(())
}

/// Ends what a mark names, or every mark of a folder, and removes the marks. Whether something
/// was still alive; an error where that cannot be known, and then the mark stays.
pub fn end_leftovers(marks: &Path) -> io::Result<bool> {
    let found = match fs::metadata(marks) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    if !found.is_dir() {
        return end_one(marks);
    }
    let mut alive = false;
    for entry in fs::read_dir(marks)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            alive |= end_one(&entry.path())?;
        }
    }
    Ok(alive)
}

/// Whether a process may belong to a call that runs: it descends from one that a mark names, or was
/// left behind by it. What cannot be looked at may.
pub fn is_marked(marks: &Path, pid: i32) -> bool {
    let looked = || -> io::Result<bool> {
        let entries = match fs::read_dir(marks) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|name| name == UNFINISHED) {
                continue;
            }
            let bytes = match regular::read(&path) {
                Ok(bytes) => bytes,
                // Its call has just ended.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let mark: Mark = serde_json::from_slice(&bytes)?;
            let watcher = mark.watcher().is_some_and(|watcher| watcher.pid == pid);
            if watcher || mark.left()?.iter().any(|process| process.pid == pid) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    looked().unwrap_or(true)
}

/// Ends what every call of a run left, and removes their marks; an error where something of it may
/// still be at work.
pub(crate) fn end_leftovers_of(marks: &Path, run: RunId) -> io::Result<()> {
    let entries = match fs::read_dir(marks) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let of_run = format!("{run}-");
    for entry in entries {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(&of_run) {
            let path = entry.path();
            end_one(&path).map_err(|error| {
                let what = format!("{}: {error}", path.display());
                io::Error::new(error.kind(), what)
            })?;
        }
    }
    Ok(())
}

fn end_one(path: &Path) -> io::Result<bool> {
    let bytes = match regular::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    // Before a mark has its name nothing runs, and then its writer sees that its driver is gone.
    if path.extension().is_some_and(|name| name == UNFINISHED) {
        remove(path)?;
        return Ok(false);
    }
    let mark: Mark = serde_json::from_slice(&bytes)?;
    let alive = mark.end()?;
    remove_folder(&mark.temporary)?;
    remove(path)?;
    Ok(alive)
}

/// Removes a mark, which may be gone.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes a folder for temporary files, which may be gone.
pub(super) fn remove_folder(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
