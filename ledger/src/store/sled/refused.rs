//! Why a store was not made or not opened, with the file at which it failed and who has it.

use std::io;
use std::path::{Path, PathBuf};

use super::folder::{self, Holder};
use crate::process::is_stopped_with;
use crate::store::head::HeadError;
use crate::store::seal::KeyFileError;
use crate::store::{ReadError, chain};

/// Why a store was not made or not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is nothing at all.
    #[error("there is no store at {}", .0.display())]
    Missing(PathBuf),
    /// Something is there already.
    #[error("there is something at {} already", .0.display())]
    Exists(PathBuf),
    /// Somebody has it open.
    #[error("the store is in use{}", by(*pid, *stopped))]
    InUse {
        /// The process, if it left a note.
        pid: Option<u32>,
        /// Whether it is known to be stopped.
        stopped: bool,
    },
    /// Somebody has another copy of it open.
    #[error("{}", in_use_elsewhere(holder.as_ref(), *stopped, head))]
    CopyInUse {
        /// Who, if they left a note.
        holder: Option<Holder>,
        /// Whether they are known to be stopped.
        stopped: bool,
        /// The head file that goes with both.
        head: PathBuf,
    },
    /// What is there is no whole store.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// There is a store and no head file.
    #[error("the head file of the store is missing: {}", .0.display())]
    HeadMissing(PathBuf),
    /// There is a head file and no store.
    #[error("there is a head file and no store")]
    HeadWithoutStore,
    /// There is a store and no keys.
    #[error("the key file of the store is missing: {}", .0.display())]
    KeysMissing(PathBuf),
    /// There are keys and no store.
    #[error("there is a key file and no store")]
    KeysWithoutStore,
    /// The store is shorter than it was.
    #[error("the store has {store_size} records and had {head_size}")]
    Behind {
        /// Records it has.
        store_size: u64,
        /// Records it had.
        head_size: u64,
    },
    /// The store holds another history than it had.
    #[error("the store holds another history than it had at size {head_size}")]
    Forked {
        /// Up to here it was another one.
        head_size: u64,
    },
    /// sled cannot open anything at such a time.
    #[error("the clock of this machine is before 1970")]
    Clock,
    /// The head file failed.
    #[error("the head of the store cannot be read")]
    Head(#[source] HeadError),
    /// The key file failed.
    #[error("the keys of the store in {} cannot be read", path.display())]
    Keys {
        /// The key file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: KeyFileError,
    },
    /// The file system refused.
    #[error("{doing} failed at {}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
}

impl From<ReadError> for OpenError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Damaged { detail, .. } => Self::Damaged(detail),
            other @ (ReadError::NoContent(_) | ReadError::Io(_)) => Self::Damaged(chain(&other)),
        }
    }
}

/// For `map_err`: says what was being done.
pub(super) fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> OpenError {
    let path = path.to_owned();
    move |source| OpenError::Io {
        doing,
        path,
        source,
    }
}

pub(super) fn no_keys(path: &Path) -> impl FnOnce(KeyFileError) -> OpenError {
    let path = path.to_owned();
    move |source| OpenError::Keys { path, source }
}

/// Says who has a store that nobody else can open.
pub(super) fn in_use(home: &Path) -> OpenError {
    let pid = folder::read_owner(home);
    let stopped = pid.is_some_and(|pid| is_stopped_with(pid, &folder::owner(home)));
    OpenError::InUse { pid, stopped }
}

/// Says who has another copy of a store.
pub(super) fn copy_in_use(head_dir: &Path, head: PathBuf) -> OpenError {
    let holder = folder::read_holder(head_dir);
    let stopped = holder
        .as_ref()
        .is_some_and(|by| is_stopped_with(by.pid, &head));
    OpenError::CopyInUse {
        holder,
        stopped,
        head,
    }
}

fn by(pid: Option<u32>, stopped: bool) -> String {
    let stopped = if stopped { ", which is stopped" } else { "" };
    pid.map_or_else(String::new, |pid| format!(" by process {pid}{stopped}"))
}

fn in_use_elsewhere(holder: Option<&Holder>, stopped: bool, head: &Path) -> String {
    let head = head.display();
    let by = holder.map_or_else(String::new, |holder| {
        let (pid, home) = (holder.pid, holder.home.display());
        let stopped = if stopped { " and is stopped" } else { "" };
        format!(": process {pid} has {home} open{stopped}")
    });
    format!("another copy of this ledger is in use{by}; its head file at {head} is locked")
}
