//! The one way a process is started for a run: the profile that it is shut in by, and what came of
//! it.

mod drive;
pub mod helper;
mod listening;
mod marks;
mod output;
mod probe;
mod reap;
mod spec;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use placet_ledger::containment::{Level, Part};
use placet_ledger::digest::Digest;
use serde::{Deserialize, Serialize};

use crate::stop::Halt;
pub(crate) use listening::Listening;
pub(crate) use marks::end_leftovers_of;
pub use marks::{end_leftovers, is_marked};

/// The program that becomes the helper, and the arguments by which it knows.
#[derive(Debug, Clone)]
pub struct Helper {
    /// The program.
    pub program: PathBuf,
    /// What stands before everything else on its command line.
    pub arguments: Vec<String>,
}

/// What one process may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Milliseconds of wall time.
    pub time_ms: u64,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Processes and threads at once.
    pub processes: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Bytes of each output kept from its beginning.
    pub head_bytes: usize,
    /// Bytes of each output kept from its end.
    pub tail_bytes: usize,
}

/// One process to run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// The program's absolute path.
    pub program: PathBuf,
    /// Digest of the program's file, where the user can change it: what runs is what was digested.
    pub digest: Option<Digest>,
    /// Its arguments, its own name first.
    pub argv: Vec<String>,
    /// The folder it works in, which it may write.
    pub workspace: PathBuf,
    /// Files and folders of the workspace that it may only read.
    pub read_only: Vec<PathBuf>,
    /// What it must not see at all, wherever it lies.
    pub hidden: Vec<PathBuf>,
    /// TCP ports that it may connect to; none is no network.
    pub network: BTreeSet<u16>,
    /// What its environment has beside the usual.
    pub env: BTreeMap<String, String>,
    /// What it reads on its standard input, which then ends.
    pub stdin: String,
    /// What it may use.
    pub limits: Limits,
    /// The file that tells of it while it runs.
    pub mark: PathBuf,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// By itself, with this status.
    Exited(i32),
    /// By a signal.
    Signalled(i32),
    /// It took too long.
    TimedOut,
    /// Somebody wanted it to stop.
    Stopped,
    /// It was killed because it used too much memory.
    OverMemory,
    /// It was killed because it had too many processes.
    OverProcesses,
}

/// What is kept of an output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Kept {
    /// Its beginning.
    pub head: Vec<u8>,
    /// How many bytes between were not kept.
    pub cut: u64,
    /// Its end, where it did not fit.
    pub tail: Vec<u8>,
}

/// What came of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// How it ended.
    pub ending: Ending,
    /// What it wrote.
    pub stdout: Kept,
    /// What it complained of.
    pub stderr: Kept,
    /// Descendants that outlived it and were ended.
    pub ended: u32,
}

/// Why a process was not run.
#[derive(Debug, thiserror::Error)]
pub enum ContainError {
    /// The profile could not be set up as promised.
    #[error("the process could not be shut in: {0}")]
    Setup(String),
    /// The program is another than was digested.
    #[error("the program {0} is not the file that was shown")]
    ProgramChanged(PathBuf),
    /// The helper went without a word: whether the process ran, and how far, is not known.
    #[error("the process and all that watched over it were killed")]
    Lost,
    /// The system refused.
    #[error("the process could not be started")]
    Start(#[from] std::io::Error),
}

/// What this machine can do of the profile, and the way to run a process in it.
#[derive(Debug, Clone)]
pub struct Container {
    helper: Helper,
    home: Option<PathBuf>,
    level: Level,
    ports: bool,
}

impl Container {
    /// Finds out what this machine can do, by doing it.
    pub fn probe(helper: Helper) -> Self {
        Self::probe_without(helper, &BTreeSet::new())
    }

    /// As [`Container::probe`], on a machine that cannot do these parts.
    pub fn probe_without(helper: Helper, without: &BTreeSet<Part>) -> Self {
        let missing = probe::missing(&helper, without);
        let ports = probe::can_grant_ports(&missing);
        Self {
            helper,
            home: None,
            level: Level::of(missing),
            ports,
        }
    }

    /// Lets processes read the toolchains in this home, and nothing else of it.
    #[must_use]
    pub fn with_home(mut self, home: Option<PathBuf>) -> Self {
        self.home = home;
        self
    }

    /// What holds a process that has no network.
    pub fn level(&self) -> &Level {
        &self.level
    }

    /// What holds a process with these ports. Only Landlock closes the others.
    pub fn level_with(&self, ports: &BTreeSet<u16>) -> Level {
        let mut missing = self.level.missing().clone();
        if !ports.is_empty() && !self.ports {
            missing.insert(Part::Network);
        }
        Level::of(missing)
    }

    /// Runs a process to its end, and ends all that it leaves behind.
    pub async fn run(&self, job: &Job, halt: &Halt) -> Result<Ran, ContainError> {
        let level = self.level_with(&job.network);
        drive::run(self, level.missing(), job, halt).await
    }
}
