//! Where projections are kept beside the log: rows in the order of their keys, changed in batches.
//!
//! They are never the truth: whoever reads them knows how far they come, and builds them anew from
//! the log where they do not fit it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::ReadError;
use crate::limits::PAGE_RECORDS_MAX;

/// A key with its value.
pub type Row = (Vec<u8>, Vec<u8>);

/// Changes by key: a value to put, or `None` to remove what is there.
pub type Changes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// From which end a range is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The lowest key first.
    Up,
    /// The highest key first.
    Down,
}

/// Rows of projections. A value has at most [`crate::limits::ROW_BYTES_MAX`] bytes.
pub trait ProjectionStore: Send + Sync {
    /// The value of a key.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError>;

    /// Rows from `low` on and below `high`, at most `limit` of them.
    fn range(
        &self,
        low: &[u8],
        high: &[u8],
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<Row>, ReadError>;

    /// Makes all the changes, or none.
    fn apply(&self, changes: &Changes) -> Result<(), ReadError>;

    /// Removes every row.
    fn clear(&self) -> Result<(), ReadError>;
}

/// Rows in memory, gone with the process.
#[derive(Debug, Default)]
pub struct MemoryRows(Mutex<BTreeMap<Vec<u8>, Vec<u8>>>);

impl MemoryRows {
    /// The rows of another store, as they are now.
    pub fn copy(of: &dyn ProjectionStore) -> Result<Self, ReadError> {
        let (copy, mut low) = (Self::default(), Vec::new());
        loop {
            let page = of.range(&low, &[0xff], Direction::Up, PAGE_RECORDS_MAX)?;
            let Some((last, _)) = page.last() else {
                return Ok(copy);
            };
            low.clone_from(last);
            low.push(0);
            copy.rows().extend(page);
        }
    }

    fn rows(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProjectionStore for MemoryRows {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
        Ok(self.rows().get(key).cloned())
    }

    fn range(
        &self,
        low: &[u8],
        high: &[u8],
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<Row>, ReadError> {
        if low >= high {
            return Ok(Vec::new());
        }
        let rows = self.rows();
        let range = rows.range(low.to_vec()..high.to_vec());
        let row = |(key, value): (&Vec<u8>, &Vec<u8>)| (key.clone(), value.clone());
        Ok(match direction {
            Direction::Up => range.take(limit).map(row).collect(),
            Direction::Down => range.rev().take(limit).map(row).collect(),
        })
    }

    fn apply(&self, changes: &Changes) -> Result<(), ReadError> {
        let mut rows = self.rows();
        for (key, value) in changes {
            match value {
                Some(value) => drop(rows.insert(key.clone(), value.clone())),
                None => drop(rows.remove(key)),
            }
        }
        Ok(())
    }

    fn clear(&self) -> Result<(), ReadError> {
        self.rows().clear();
        Ok(())
    }
}
