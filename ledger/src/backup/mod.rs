//! A backup: a folder with a whole store, as a ledger was at one position, and a list that vouches
//! for its files.
//!
//! ```text
//! DIR/backup   the list: ledger, size, root, every file with its size and digest
//! DIR/store    a store like that of a home, without head file and private keys
//! ```
//!
//! Every content is opened and sealed anew under keys that the backup alone has, so that the keys
//! of a backup open nothing that the ledger records later, and those of a ledger that was restored
//! from one open nothing of the backup. It is made under another name, looked at, and renamed once.

mod fill;
#[cfg(feature = "sled")]
mod folder;

use std::io;
use std::path::PathBuf;

use crate::error::LedgerError;
use crate::id::LedgerId;
use crate::merkle::Root;
#[cfg(feature = "sled")]
use crate::store::sled::OpenError;
use crate::store::{AppendError, ReadError, Tail, chain};

pub use fill::{check, fill};
#[cfg(feature = "sled")]
pub use folder::{fill_store, is_free, make, open};

/// Is told how much is done, of how much.
pub type Told<'a> = &'a (dyn Fn(u64, u64) + Send + Sync);

/// What a backup holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// Of which ledger.
    pub ledger: LedgerId,
    /// How many records.
    pub size: u64,
    /// The root over them.
    pub root: Root,
    /// How many bytes its files have.
    pub bytes: u64,
}

impl Backup {
    /// Where the log was cut.
    pub fn cut(&self) -> Tail {
        Tail {
            size: self.size,
            root: self.root,
        }
    }
}

/// Why a backup was not made, or is none.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// Something is there already.
    #[error("there is something at {} already", .0.display())]
    Taken(PathBuf),
    /// There is no such folder.
    #[error("there is no backup at {}", .0.display())]
    Missing(PathBuf),
    /// It is not as it was made.
    #[error("the backup is not as it was made: {0}")]
    Damaged(String),
    /// The ledger cannot be read.
    #[error("what is to be copied cannot be read")]
    Read(#[from] ReadError),
    /// The copy cannot be written.
    #[error("the copy cannot be written")]
    Append(#[from] AppendError),
    /// The store of the copy cannot be made or opened.
    #[cfg(feature = "sled")]
    #[error("the store of the copy cannot be opened")]
    Open(#[from] OpenError),
    /// The file system refused.
    #[error("{doing} failed")]
    Io {
        /// What was being done.
        doing: String,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
}

impl From<BackupError> for LedgerError {
    fn from(error: BackupError) -> Self {
        match error {
            BackupError::Read(error) => Self::Read(error),
            BackupError::Damaged(_) => Self::Integrity(chain(&error)),
            BackupError::Missing(_)
            | BackupError::Taken(_)
            | BackupError::Append(_)
            | BackupError::Io { .. } => Self::Failed(chain(&error)),
            #[cfg(feature = "sled")]
            BackupError::Open(_) => Self::Failed(chain(&error)),
        }
    }
}

/// Without the embedded store there is nothing to put a backup into.
#[cfg(not(feature = "sled"))]
pub async fn make(
    _from: &dyn crate::store::ReadStore,
    _ledger: LedgerId,
    _dir: &std::path::Path,
    _told: Told<'_>,
) -> Result<Backup, BackupError> {
    Err(BackupError::Io {
        doing: String::from("making a store"),
        source: io::ErrorKind::Unsupported.into(),
    })
}
