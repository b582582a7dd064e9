//! A store that serves other records and contents than it was given: what somebody who can write
//! to its files, or a damaged disk, makes of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use placet_ledger::content::{Commitment, Content, Contents};
use placet_ledger::digest::{Purpose, digest};
use placet_ledger::envelope::Envelope;
use placet_ledger::id::{Position, StreamId, Version};
use placet_ledger::limits::PAGE_RECORDS_MAX;
use placet_ledger::merkle::Frontier;
use placet_ledger::store::{
    AppendError, Appended, Batch, EventStore, Expected, ReadError, ReadStore, Stored, Tail, Unless,
};

use crate::cut;
use crate::world::WorldError;

/// One row: where it lies, under which key, and its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The stream under which it is found.
    pub stream: StreamId,
    /// The version under which it is found.
    pub version: Version,
    /// The bytes that are served.
    pub bytes: Arc<[u8]>,
}

impl Row {
    /// The record, where the bytes are one.
    pub fn record(&self) -> Option<Envelope> {
        Envelope::parse(self.bytes.clone()).ok()
    }
}

#[derive(Default)]
struct Changes {
    rows: Option<Vec<Row>>,
    contents: BTreeMap<Commitment, Option<Content>>,
    tail: Option<Tail>,
}

/// A store that serves what a test made of another one. Appends reach that other one.
pub struct TamperingStore {
    inner: Arc<dyn EventStore>,
    changes: Mutex<Changes>,
}

impl TamperingStore {
    /// A store that serves what it was given, until told otherwise.
    pub fn new(inner: Arc<dyn EventStore>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            changes: Mutex::default(),
        })
    }

    fn changes(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rows as they were given.
    pub async fn rows(&self) -> Result<Vec<Row>, WorldError> {
        let log = cut::log(&*self.inner).await?;
        let row = |record: Envelope| Row {
            stream: record.stream(),
            version: record.version(),
            bytes: record.bytes().clone(),
        };
        Ok(log.into_iter().map(row).collect())
    }

    /// Serves these rows from now on; the size it tells of stays what it was.
    pub fn serve(&self, rows: Vec<Row>) {
        self.changes().rows = Some(rows);
    }

    /// Tells the size and the root of the rows that are served, as who changes all of a store does.
    pub fn cover_up(&self) {
        let mut changes = self.changes();
        let mut tree = Frontier::new();
        for row in changes.rows.iter().flatten() {
            tree.push(&digest(Purpose::Event, &row.bytes));
        }
        changes.tail = Some(Tail {
            size: tree.size(),
            root: tree.root(),
        });
    }

    /// Serves another content under this commitment, or none.
    pub fn serve_content(&self, commitment: Commitment, content: Option<Content>) {
        self.changes().contents.insert(commitment, content);
    }

    /// Serves what was given under this commitment again.
    pub fn serve_genuine(&self, commitment: &Commitment) {
        self.changes().contents.remove(commitment);
    }
}

fn position(index: usize) -> Position {
    Position::new(u64::try_from(index).unwrap_or(u64::MAX))
}

#[async_trait]
impl EventStore for TamperingStore {
    async fn append(
        &self,
        stream: StreamId,
        expected: Expected,
        batch: Batch,
        unless: &[Unless],
    ) -> Result<Appended, AppendError> {
        self.inner.append(stream, expected, batch, unless).await
    }
}

#[async_trait]
impl ReadStore for TamperingStore {
    async fn read_run(
        &self,
        stream: StreamId,
        from: Version,
        limit: usize,
    ) -> Result<Vec<Stored>, ReadError> {
        let served = self.changes().rows.clone();
        let Some(rows) = served else {
            return self.inner.read_run(stream, from, limit).await;
        };
        let mut found: Vec<_> = rows
            .into_iter()
            .enumerate()
            .filter(|(_, row)| row.stream == stream && row.version >= from)
            .collect();
        found.sort_by_key(|(_, row)| row.version);
        found.truncate(limit.min(PAGE_RECORDS_MAX));
        let stored = |(index, row): (usize, Row)| Stored {
            position: position(index),
            bytes: row.bytes,
        };
        Ok(found.into_iter().map(stored).collect())
    }

    async fn read_all(&self, from: Position, limit: usize) -> Result<Vec<Stored>, ReadError> {
        let served = self.changes().rows.clone();
        let Some(rows) = served else {
            return self.inner.read_all(from, limit).await;
        };
        let stored = |(index, row): (usize, Row)| Stored {
            position: position(index),
            bytes: row.bytes,
        };
        let rows = rows.into_iter().enumerate().map(stored);
        let page = rows.filter(|stored| stored.position >= from);
        Ok(page.take(limit.min(PAGE_RECORDS_MAX)).collect())
    }

    async fn tail(&self) -> Result<Tail, ReadError> {
        let tail = self.changes().tail;
        match tail {
            Some(tail) => Ok(tail),
            None => self.inner.tail().await,
        }
    }

    async fn content(
        &self,
        stream: StreamId,
        commitments: &[Commitment],
    ) -> Result<Contents, ReadError> {
        let mut contents = Contents::default();
        for commitment in commitments {
            let served = self.changes().contents.get(commitment).cloned();
            match served {
                Some(Some(content)) => contents.insert_checked(*commitment, content),
                Some(None) => return Err(ReadError::NoContent(*commitment)),
                None => contents.extend(self.inner.content(stream, &[*commitment]).await?),
            }
        }
        Ok(contents)
    }
}
