//! Processes as `/proc` shows them: who descends from whom, what they use, and their end.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

/// Bytes of a page, which `statm` counts in.
const PAGE_BYTES: u64 = 4096;

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    /// Ticks from the start of the machine to its own: a pid that is used again has another.
    pub(super) start: u64,
    pub(super) threads: u64,
    /// It ended and waits for its parent.
    pub(super) ended: bool,
}

impl Process {
    /// The process with this pid.
    pub(super) fn of(pid: i32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Reads a line of `stat`. The name may hold anything, brackets and blanks too.
    fn parse(stat: &str) -> Option<Self> {
        let (pid, rest) = stat.split_once(" (")?;
        let (_, rest) = rest.rsplit_once(") ")?;
        let fields: Vec<_> = rest.split_ascii_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<i64>().ok();
        Some(Self {
            pid: pid.parse().ok()?,
            parent: i32::try_from(number(1)?).ok()?,
            start: u64::try_from(number(19)?).ok()?,
            threads: u64::try_from(number(17)?).ok()?,
            ended: matches!(*fields.first()?, "Z" | "X"),
        })
    }

    /// Bytes of all that it has in memory, cheap to find out: what it shares with others counts
    /// for each of them, files that it only reads too.
    fn resident_bytes(self) -> u64 {
        let statm = fs::read_to_string(format!("/proc/{}/statm", self.pid)).unwrap_or_default();
        let pages = statm.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok());
        pages.unwrap_or(0).saturating_mul(PAGE_BYTES)
    }

    /// Its share of the memory that it uses; dear to find out. `None` where it may not be read.
    fn share_bytes(self) -> Option<u64> {
        share(&fs::read_to_string(format!("/proc/{}/smaps_rollup", self.pid)).ok()?)
    }

    /// Sends it a signal. One that is gone needs none.
    fn signal(self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid) {
            let _gone = kill_process(pid, signal);
        }
    }
}

/// Every process that can be seen.
pub(super) fn all() -> io::Result<Vec<Process>> {
    let entries = fs::read_dir(Path::new("/proc"))?;
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(pids.filter_map(Process::of).collect())
}

/// The live descendants of a process, itself and one other left out.
pub(super) fn descendants(of: i32, but: Option<i32>) -> io::Result<Vec<Process>> {
    let mut children = BTreeMap::<i32, Vec<Process>>::new();
    for process in all()? {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut parents = vec![of];
    while let Some(parent) = parents.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            parents.push(child.pid);
            if Some(child.pid) != but && !child.ended {
                found.push(child);
            }
        }
    }
    Ok(found)
}

/// Threads of all of them.
pub(super) fn threads(processes: &[Process]) -> u64 {
    let threads = processes.iter().map(|process| process.threads);
    threads.fold(0, u64::saturating_add)
}

/// Reads the share of the memory that is no file's: its own and what it shares, where the kernel
/// tells them apart, and else the whole. Pages of files are the machine's to take back.
fn share(rollup: &str) -> Option<u64> {
    let bytes = |name: &str| {
        let mut lines = rollup.lines();
        let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        kib.checked_mul(1024)
    };
    match (bytes("Pss_Anon"), bytes("Pss_Shmem")) {
        (Some(own), Some(shared)) => own.checked_add(shared),
        (Some(_) | None, Some(_) | None) => bytes("Pss"),
    }
}

/// Whether they use more memory than this. Shares are looked at only where that matters.
///
/// Memory that nobody has mapped is not seen: files of `memfd_create` that are only written, and
/// detached segments of System V.
pub(super) fn use_more_than(processes: &[Process], bytes: u64) -> bool {
    let sum = |of: &dyn Fn(Process) -> u64| {
        processes
            .iter()
            .fold(0_u64, |sum, &process| sum.saturating_add(of(process)))
    };
    let resident = |process: Process| process.resident_bytes();
    sum(&resident) > bytes
        && sum(&|process| process.share_bytes().unwrap_or_else(|| resident(process))) > bytes
}

/// Sends all of them a signal, and remembers to whom.
pub(super) fn signal(processes: &[Process], signal: Signal, told: &mut BTreeSet<(i32, u64)>) {
    for process in processes {
        process.signal(signal);
        told.insert((process.pid, process.start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_process_whatever_its_name() {
        let rest = "S 7 42 41 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 9876 1 2 3";
        for name in ["sh", "a b", ") R 1 1 (", "((", ""] {
            let process = Process::parse(&format!("42 ({name}) {rest}"));
            let expected = Process {
                pid: 42,
                parent: 7,
                start: 9876,
                threads: 3,
                ended: false,
            };
            assert_eq!(process, Some(expected), "{name}");
        }
        for damaged in ["", "42", "42 (sh)", "42 (sh) S 7", "x (sh) S 7 42 41"] {
            assert_eq!(Process::parse(damaged), None, "{damaged}");
        }
    }

    #[test]
    fn finds_this_process_among_all() {
        let own = i32::try_from(std::process::id()).unwrap();
        let process = Process::of(own).unwrap();
        assert!(all().unwrap().iter().any(|other| other.pid == own));
        assert!(process.resident_bytes() > 0);
        assert!(!use_more_than(&[process], u64::MAX));
        assert!(use_more_than(&[process], 0));
    }

    #[test]
    fn shares_of_files_are_nobodys() {
        let all = "Pss:  9 kB\nPss_Dirty:  1 kB\nPss_Anon:  3 kB\nPss_File:  4 kB\n";
        for (rollup, expected) in [
            (
                format!("00-ff ---p 0 [rollup]\n{all}Pss_Shmem:  2 kB\n"),
                Some(5 * 1024),
            ),
            (all.to_owned(), Some(9 * 1024)),
            ("Pss:  9 kB\n".to_owned(), Some(9 * 1024)),
            ("Pss:  x kB\n".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(share(&rollup), expected, "{rollup}");
        }
    }
}
