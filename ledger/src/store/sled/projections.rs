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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::LedgerId;
    use crate::store::sled::SledStore;

    #[test]
    fn rows_are_kept_in_order_beside_the_log_and_cleared_alone() {
        let place = tempfile::tempdir().unwrap();
        let (home, head) = (place.path().join("home"), place.path().join("head"));
        let ledger = LedgerId::new(uuid::Uuid::from_u64_pair(7, 7));
        let store = SledStore::create(&home, ledger, &head).unwrap();
        let rows = store.projections();
        let row = |key: &[u8]| (key.to_vec(), [key, b"!"].concat());
        let keys = [&b"a"[..], b"b1", b"b2", b"c"];
        let put = keys.map(|key| (key.to_vec(), Some(row(key).1)));
        rows.apply(&put.into_iter().collect()).unwrap();
        let range = |direction, limit| rows.range(b"b", b"c", direction, limit).unwrap();
        assert_eq!(range(Direction::Up, 9), [row(b"b1"), row(b"b2")]);
        assert_eq!(range(Direction::Down, 9), [row(b"b2"), row(b"b1")]);
        assert_eq!(range(Direction::Down, 1), [row(b"b2")]);
        assert_eq!(rows.range(b"c", b"b", Direction::Up, 9).unwrap(), []);
        assert_eq!(rows.range(b"", &[0xff], Direction::Up, 9).unwrap().len(), 4);
        // All or nothing, and no row that sled might keep elsewhere.
        let changes = Changes::from([
            (b"a".to_vec(), None),
            (b"d".to_vec(), Some(vec![0; ROW_BYTES_MAX + 1])),
        ]);
        assert!(rows.apply(&changes).is_err());
        assert_eq!(rows.get(b"a").unwrap(), Some(row(b"a").1));
        drop((rows, store));
        let store = SledStore::open(&home, &head).unwrap();
        let rows = store.projections();
        assert_eq!(rows.get(b"c").unwrap(), Some(row(b"c").1));
        rows.clear().unwrap();
        assert_eq!(rows.range(&[], &[0xff], Direction::Up, 9).unwrap(), []);
        store.close();
        assert!(rows.apply(&Changes::from([(b"a".to_vec(), None)])).is_err());
        drop((rows, store));
        // The rows of the log are none of theirs.
        assert_eq!(SledStore::open(&home, &head).unwrap().ledger(), ledger);
    }
}
