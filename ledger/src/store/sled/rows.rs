//! sled, with what it panics about on damaged files turned into errors.

use std::ffi::OsStr;
use std::fs::{self, TryLockError};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use ::sled::{Batch, Config, Db, Error, IVec, Mode};

use super::refused::{OpenError, failed};
use crate::regular;
use crate::store::ReadError;

/// A key with its value.
pub(super) type Row = (IVec, IVec);

/// Smaller segments would let less be written at once, larger ones keep more dead space.
const SEGMENT_BYTES: usize = 512 * 1024;

const CACHE_BYTES: u64 = 64 * 1024 * 1024;

/// Why sled did not open.
#[derive(Debug)]
pub(super) enum RowsError {
    /// Another handle has its lock.
    Locked,
    /// There is no room for what it writes when it opens; nothing is wrong with what is there.
    Full(io::Error),
    /// The clock is before 1970, which sled takes for impossible.
    Clock,
    /// It failed, or panicked.
    Failed(ReadError),
}

/// The one tree of rows.
#[derive(Debug)]
pub(super) struct Rows {
    /// `None` only while it is dropped.
    db: Option<Db>,
}

impl Rows {
    /// Opens the tree in a folder, and makes it where there is none.
    pub(super) fn open(folder: &Path) -> Result<Self, RowsError> {
        if !is_clock_set() {
            return Err(RowsError::Clock);
        }
        let config = Config::new()
            .path(folder)
            .segment_size(SEGMENT_BYTES)
            .cache_capacity(CACHE_BYTES)
            .flush_every_ms(None)
            .mode(Mode::HighThroughput);
        remove_half_snapshots(folder)?;
        let opened = catch_unwind(AssertUnwindSafe(|| config.open()));
        match opened {
            Ok(Ok(db)) => Ok(Self { db: Some(db) }),
            // sled gives no kind of its own to a lock that is held.
            Ok(Err(Error::Io(error))) if error.to_string().contains("could not acquire lock") => {
                Err(RowsError::Locked)
            }
            Ok(Err(Error::Io(error))) if is_full(&error) => Err(RowsError::Full(error)),
            Ok(Err(error)) => Err(RowsError::Failed(read_error(&error))),
            Err(_) => Err(RowsError::Failed(panicked())),
        }
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<IVec>, ReadError> {
        self.guarded(|db| db.get(key))
    }

    /// The last row from `low` to `high`.
    pub(super) fn last(&self, low: &[u8], high: &[u8]) -> Result<Option<Row>, ReadError> {
        self.guarded(|db| db.range(low..=high).next_back().transpose())
    }

    /// Rows from `low` on and below `high`, at most `limit` of them.
    pub(super) fn page(
        &self,
        low: &[u8],
        high: &[u8],
        down: bool,
        limit: usize,
    ) -> Result<Vec<Row>, ReadError> {
        self.guarded(|db| {
            let range = db.range(low..high);
            if down {
                range.rev().take(limit).collect()
            } else {
                range.take(limit).collect()
            }
        })
    }

    /// Writes all of a batch, or nothing.
    pub(super) fn apply(&self, batch: Batch) -> Result<(), ReadError> {
        self.guarded(|db| db.apply_batch(batch))
    }

    /// Writes one row.
    pub(super) fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), ReadError> {
        self.guarded(|db| db.insert(key, value).map(|_| ()))
    }

    /// Hands everything that was written to the operating system; that alone is not durable.
    pub(super) fn flush(&self) -> Result<(), ReadError> {
        self.guarded(|db| db.flush().map(|_| ()))
    }

    fn guarded<T>(&self, work: impl FnOnce(&Db) -> ::sled::Result<T>) -> Result<T, ReadError> {
        let db = self.db.as_ref().ok_or_else(panicked)?;
        match catch_unwind(AssertUnwindSafe(|| work(db))) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(read_error(&error)),
            Err(_) => Err(panicked()),
        }
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        let db = self.db.take();
        // It flushes once more, and on damaged files may panic in that.
        if catch_unwind(AssertUnwindSafe(|| drop(db))).is_err() {
            tracing::warn!("sled panicked while it was closed");
        }
    }
}

/// Whether sled's files are files: it would wait for a pipe, and read a device that has no end.
pub(super) fn check_files(folder: &Path) -> Result<(), OpenError> {
    let failed = || failed("looking at the rows of the store", folder);
    for entry in fs::read_dir(folder).map_err(failed())? {
        let entry = entry.map_err(failed())?;
        let kind = entry.file_type().map_err(failed())?;
        let fits = if entry.file_name() == "blobs" {
            kind.is_dir()
        } else {
            kind.is_file()
        };
        if !fits {
            let (path, kind) = (entry.path(), regular::kind(kind));
            let what = format!("{} is {kind}", path.display());
            return Err(OpenError::Damaged(what));
        }
    }
    Ok(())
}

/// Whether sled can make a config: it reads the clock for the name of a folder that we never use.
#[expect(clippy::disallowed_methods, reason = "no time is taken from it")]
fn is_clock_set() -> bool {
    SystemTime::now().duration_since(UNIX_EPOCH).is_ok()
}

/// Removes what a process left that was killed while sled wrote a snapshot: sled takes half a one
/// for damage and never opens again. Whoever has the lock may be writing one just now.
fn remove_half_snapshots(folder: &Path) -> Result<(), RowsError> {
    let failed = |error: io::Error| RowsError::Failed(ReadError::Io(error.to_string()));
    let file = match regular::open_to_read(&folder.join("db")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(failed)?,
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(RowsError::Locked),
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension() == Some(OsStr::new("generating")) {
            fs::remove_file(&path).map_err(failed)?;
        }
    }
    Ok(())
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

fn panicked() -> ReadError {
    ReadError::Damaged {
        position: None,
        detail: "sled cannot read its files".to_owned(),
    }
}

fn read_error(error: &Error) -> ReadError {
    match error {
        Error::Io(error) => ReadError::Io(error.to_string()),
        Error::CollectionNotFound(_) | Error::Unsupported(_) | Error::ReportableBug(_) => {
            ReadError::Damaged {
                position: None,
                detail: error.to_string(),
            }
        }
        Error::Corruption { .. } => ReadError::Damaged {
            position: None,
            detail: String::from("sled found data that is not what it wrote"),
        },
    }
}
