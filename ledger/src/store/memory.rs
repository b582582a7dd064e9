//! The store that keeps everything in memory: the reference for every other one, and for tests.
//!
//! Contents lie in it in clear, nothing survives it, and one lock covers all. What it answers is
//! what the contract says; where another store differs, that one is wrong.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use super::check::{Attempt, Head, Verdict, View};
use super::{
    AppendError, Appended, Batch, EventStore, Expected, ReadError, ReadStore, Stored, Tail, Unless,
};
use crate::content::{Commitment, Content, Contents};
use crate::id::{LedgerId, Position, StreamId, Version};
use crate::limits::PAGE_RECORDS_MAX;
use crate::merkle::Frontier;

/// A ledger in memory.
#[derive(Debug)]
pub struct MemoryStore {
    ledger: LedgerId,
    log: Mutex<Log>,
}

/// All of it.
#[derive(Debug, Default)]
struct Log {
    /// The records in order of position.
    records: Vec<Arc<[u8]>>,
    streams: BTreeMap<StreamId, Stream>,
    frontier: Frontier,
}

/// One stream.
#[derive(Debug)]
struct Stream {
    head: Head,
    /// Places of its records in the log, in order of version.
    places: Vec<usize>,
    contents: BTreeMap<Commitment, Content>,
}

impl MemoryStore {
    /// An empty ledger.
    pub fn new(ledger: LedgerId) -> Self {
        Self {
            ledger,
            log: Mutex::default(),
        }
    }

    /// Nothing is changed before all is checked, so a panic elsewhere leaves no half of anything.
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    /// The record at a place.
    fn stored(&self, place: usize) -> Option<Stored> {
        Some(Stored {
            position: position(place),
            bytes: Arc::clone(self.records.get(place)?),
        })
    }

    /// Writes an attempt that was compared.
    fn write(&mut self, attempt: &Attempt, contents: BTreeMap<Commitment, Content>) {
        let before = self.streams.get(&attempt.stream).map(|stream| stream.head);
        let Some(head) = Head::after(before, &attempt.records) else {
            return;
        };
        let stream = self.streams.entry(attempt.stream).or_insert(Stream {
            head,
            places: Vec::new(),
            contents: BTreeMap::new(),
        });
        stream.head = head;
        stream.contents.extend(contents);
        for record in &attempt.records {
            stream.places.push(self.records.len());
            self.records.push(Arc::clone(record.bytes()));
            self.frontier.push(&record.digest());
        }
    }
}

impl View for Log {
    fn head(&self, stream: StreamId) -> Result<Option<Head>, ReadError> {
        Ok(self.streams.get(&stream).map(|stream| stream.head))
    }

    fn record(&self, stream: StreamId, version: Version) -> Result<Option<Stored>, ReadError> {
        let place = self
            .streams
            .get(&stream)
            .and_then(|stream| stream.places.get(index(version)))
            .copied();
        Ok(place.and_then(|place| self.stored(place)))
    }

    fn has_content(&self, stream: StreamId, commitment: &Commitment) -> Result<bool, ReadError> {
        let stream = self.streams.get(&stream);
        Ok(stream.is_some_and(|stream| stream.contents.contains_key(commitment)))
    }
}

#[async_trait]
impl EventStore for MemoryStore {
    async fn append(
        &self,
        stream: StreamId,
        expected: Expected,
        batch: Batch,
        unless: &[Unless],
    ) -> Result<Appended, AppendError> {
        let (attempt, contents) = Attempt::check(self.ledger, stream, expected, batch, unless)?;
        let mut log = self.log();
        let count = attempt.records.len();
        match attempt.compare(&*log)? {
            Verdict::Replayed(first) => Ok(Appended {
                first,
                count,
                replayed: true,
            }),
            Verdict::Append => {
                let first = position(log.records.len());
                log.write(&attempt, contents);
                Ok(Appended {
                    first,
                    count,
                    replayed: false,
                })
            }
        }
    }
}

#[async_trait]
impl ReadStore for MemoryStore {
    async fn read_run(
        &self,
        stream: StreamId,
        from: Version,
        limit: usize,
    ) -> Result<Vec<Stored>, ReadError> {
        let log = self.log();
        let places = log
            .streams
            .get(&stream)
            .map_or(&[][..], |stream| &stream.places);
        let page = places
            .iter()
            .skip(index(from))
            .take(limit.min(PAGE_RECORDS_MAX));
        Ok(page.filter_map(|&place| log.stored(place)).collect())
    }

    async fn read_all(&self, from: Position, limit: usize) -> Result<Vec<Stored>, ReadError> {
        let log = self.log();
        let from = usize::try_from(from.get()).unwrap_or(usize::MAX);
        let end = from.saturating_add(limit.min(PAGE_RECORDS_MAX));
        let page = from..end.min(log.records.len());
        Ok(page.filter_map(|place| log.stored(place)).collect())
    }

    async fn tail(&self) -> Result<Tail, ReadError> {
        let log = self.log();
        Ok(Tail {
            size: log.frontier.size(),
            root: log.frontier.root(),
        })
    }

    async fn content(
        &self,
        stream: StreamId,
        commitments: &[Commitment],
    ) -> Result<Contents, ReadError> {
        let log = self.log();
        let stream = log.streams.get(&stream);
        let mut contents = Contents::default();
        for commitment in commitments {
            let content = stream
                .and_then(|stream| stream.contents.get(commitment))
                .ok_or(ReadError::NoContent(*commitment))?;
            if content.commitment() != *commitment {
                return Err(ReadError::Damaged {
                    position: None,
                    detail: format!("the content {commitment} has another commitment"),
                });
            }
            contents.insert_checked(*commitment, content.clone());
        }
        Ok(contents)
    }
}

fn position(place: usize) -> Position {
    Position::new(u64::try_from(place).unwrap_or(u64::MAX))
}

fn index(version: Version) -> usize {
    usize::try_from(version.get()).unwrap_or(usize::MAX)
}
