//! Where states of long runs are kept beside the log: bytes by run, the newest of each alone.
//!
//! They are never the truth. Whoever reads one holds it against the log, and does without where it
//! does not fit or cannot be read; all of them may be deleted at any time.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::ReadError;
use crate::id::StreamId;

/// States of runs, as bytes.
pub trait SnapshotStore: Send + Sync {
    /// The bytes of a run.
    fn read(&self, run: StreamId) -> Result<Option<Vec<u8>>, ReadError>;

    /// Keeps bytes in place of what was kept of the run. They need not outlive a crash, but what
    /// is read after one must be whole or an error.
    fn write(&self, run: StreamId, bytes: &[u8]) -> Result<(), ReadError>;

    /// Removes all of them.
    fn clear(&self) -> Result<(), ReadError>;
}

/// States in memory, gone with the process.
#[derive(Debug, Default)]
pub struct MemorySnapshots(Mutex<BTreeMap<StreamId, Vec<u8>>>);

impl MemorySnapshots {
    fn kept(&self) -> MutexGuard<'_, BTreeMap<StreamId, Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SnapshotStore for MemorySnapshots {
    fn read(&self, run: StreamId) -> Result<Option<Vec<u8>>, ReadError> {
        Ok(self.kept().get(&run).cloned())
    }

    fn write(&self, run: StreamId, bytes: &[u8]) -> Result<(), ReadError> {
        self.kept().insert(run, bytes.to_vec());
        Ok(())
    }

    fn clear(&self) -> Result<(), ReadError> {
        self.kept().clear();
        Ok(())
    }
}
