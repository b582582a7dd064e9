//! A log and rows whose reads are counted.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use placet_ledger::content::{Commitment, Contents};
use placet_ledger::envelope::Envelope;
use placet_ledger::id::{Position, StreamId, Version};
use placet_ledger::merkle::Frontier;
use placet_ledger::store::projections::{Changes, Direction, MemoryRows, ProjectionStore, Row};
use placet_ledger::store::{ReadError, ReadStore, Stored, Tail};

/// A log that ends where the test says, in pages as long as the test says.
pub(super) struct Log {
    pub(super) records: Mutex<Vec<Envelope>>,
    pub(super) size: AtomicUsize,
    pub(super) page: usize,
    pub(super) read: AtomicU64,
}

impl Log {
    pub(super) fn new(records: Vec<Envelope>, page: usize) -> Arc<Self> {
        Arc::new(Self {
            size: AtomicUsize::new(records.len()),
            records: Mutex::new(records),
            page,
            read: AtomicU64::new(0),
        })
    }
}

#[async_trait]
impl ReadStore for Log {
    async fn read_run(&self, _: StreamId, _: Version, _: usize) -> Result<Vec<Stored>, ReadError> {
        Err(ReadError::Io("no projection reads a stream".to_owned()))
    }

    async fn read_all(&self, from: Position, limit: usize) -> Result<Vec<Stored>, ReadError> {
        let records = self.records.lock().unwrap();
        let records = &records[..self.size.load(Ordering::SeqCst)];
        let page = records
            .iter()
            .enumerate()
            .skip(usize::try_from(from.get()).unwrap());
        let stored: Vec<_> = page
            .take(limit.min(self.page))
            .map(|(place, record)| Stored {
                position: Position::new(place as u64),
                bytes: record.bytes().clone(),
            })
            .collect();
        self.read.fetch_add(stored.len() as u64, Ordering::SeqCst);
        Ok(stored)
    }

    async fn tail(&self) -> Result<Tail, ReadError> {
        Ok(Tail {
            size: self.size.load(Ordering::SeqCst) as u64,
            root: Frontier::default().root(),
        })
    }

    async fn content(&self, _: StreamId, _: &[Commitment]) -> Result<Contents, ReadError> {
        Err(ReadError::Io("no projection reads a text".to_owned()))
    }
}

/// Rows in memory, with what is read of them counted.
#[derive(Default)]
pub(super) struct Counted {
    pub(super) rows: MemoryRows,
    pub(super) read: AtomicU64,
}

impl Counted {
    pub(super) fn all(&self) -> Vec<Row> {
        self.rows
            .range(&[], &[0xff], Direction::Up, usize::MAX)
            .unwrap()
    }
}

impl ProjectionStore for Counted {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
        self.read.fetch_add(1, Ordering::SeqCst);
        self.rows.get(key)
    }

    fn range(
        &self,
        low: &[u8],
        high: &[u8],
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<Row>, ReadError> {
        let rows = self.rows.range(low, high, direction, limit)?;
        self.read.fetch_add(rows.len() as u64, Ordering::SeqCst);
        Ok(rows)
    }

    fn apply(&self, changes: &Changes) -> Result<(), ReadError> {
        for value in changes.values().flatten() {
            assert!(value.len() <= 7_000, "a row of {} bytes", value.len());
        }
        self.rows.apply(changes)
    }

    fn clear(&self) -> Result<(), ReadError> {
        self.rows.clear()
    }
}
