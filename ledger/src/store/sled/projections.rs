//! Rows of projections in sled, under keys that begin with `p`.
//!
//! They are written outside of the committer and not synced: after a crash some may be missing,
//! always whole batches, and the mark that came with the last one that is there says so.

use std::sync::Arc;

use ::sled::Batch;

use super::shared::Shared;
use crate::limits::ROW_BYTES_MAX;
use crate::store::ReadError;
use crate::store::projections::{Changes, Direction, ProjectionStore, Row};

/// Before every key.
const PREFIX: u8 = b'p';

/// Rows that one batch removes when all are.
const CLEARED_ROWS: usize = 1_024;

/// The rows of the projections of one store.
pub(super) struct SledRows(pub(super) Arc<Shared>);

fn full(key: &[u8]) -> Vec<u8> {
    [&[PREFIX], key].concat()
}

impl SledRows {
    fn writable(&self) -> Result<(), ReadError> {
        match self.0.closed() {
            None => Ok(()),
            Some(why) => Err(ReadError::Io(format!("projections are not written: {why}"))),
        }
    }
}

impl ProjectionStore for SledRows {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
        let value = self.0.rows.get(&full(key))?;
        Ok(value.map(|value| value.to_vec()))
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
        let down = direction == Direction::Down;
        let rows = self.0.rows.page(&full(low), &full(high), down, limit)?;
        let row = |(key, value): super::rows::Row| {
            let key = key.get(1..).unwrap_or_default().to_vec();
            (key, value.to_vec())
        };
        Ok(rows.into_iter().map(row).collect())
    }

    fn apply(&self, changes: &Changes) -> Result<(), ReadError> {
        self.writable()?;
        let mut batch = Batch::default();
        for (key, value) in changes {
            match value {
                Some(value) if value.len() > ROW_BYTES_MAX => {
                    let bytes = value.len();
                    let what = format!("a projection has a row of {bytes} bytes");
                    return Err(ReadError::Io(what));
                }
                Some(value) => batch.insert(full(key), value.as_slice()),
                None => batch.remove(full(key)),
            }
        }
        self.0.rows.apply(batch)
    }

    fn clear(&self) -> Result<(), ReadError> {
        loop {
            let page = self.range(&[], &[0xff; 64], Direction::Up, CLEARED_ROWS)?;
            if page.is_empty() {
                return Ok(());
            }
            self.apply(&page.into_iter().map(|(key, _)| (key, None)).collect())?;
        }
    }
}
