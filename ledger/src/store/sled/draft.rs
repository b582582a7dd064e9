//! A group commit before it is written: what the appends in it see of each other, and the batch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ::sled::Batch;

use super::keyring::Sealed;
use super::keys;
use super::read::Reader;
use super::unit::{self, Entry};
use super::values::{self, Run};
use crate::content::Commitment;
use crate::envelope::Envelope;
use crate::id::{Position, StreamId, Version};
use crate::merkle::Frontier;
use crate::store::check::{Attempt, Head, View};
use crate::store::{ReadError, Stored};

/// What was read or written of a stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub(super) ordinal: u32,
    pub(super) head: Head,
}

/// The appends of one group.
pub(super) struct Draft<'a> {
    reader: Reader<'a>,
    /// Heads that were read before.
    known: &'a BTreeMap<StreamId, Known>,
    first: u64,
    frontier: Frontier,
    heads: BTreeMap<StreamId, Known>,
    records: BTreeMap<(StreamId, Version), Stored>,
    contents: BTreeSet<(StreamId, Commitment)>,
    entries: Vec<Entry>,
    batch: Batch,
    anchored: bool,
}

/// A group commit that is ready.
pub(super) struct Ready {
    pub(super) batch: Batch,
    pub(super) frontier: Frontier,
    pub(super) heads: BTreeMap<StreamId, Known>,
    /// Whether something outside will rest on it.
    pub(super) anchored: bool,
}

impl<'a> Draft<'a> {
    pub(super) fn new(
        reader: Reader<'a>,
        known: &'a BTreeMap<StreamId, Known>,
        frontier: Frontier,
    ) -> Self {
        Self {
            reader,
            known,
            first: frontier.size(),
            frontier,
            heads: BTreeMap::new(),
            records: BTreeMap::new(),
            contents: BTreeSet::new(),
            entries: Vec::new(),
            batch: Batch::default(),
            anchored: false,
        }
    }

    /// Position of the first record of the group.
    pub(super) fn first(&self) -> Position {
        Position::new(self.first)
    }

    /// Whether nothing is to be written.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds an append that was compared.
    pub(super) fn add(&mut self, attempt: &Attempt, sealed: Sealed) -> Result<Position, ReadError> {
        let before = self.known(attempt.stream)?;
        let ordinal = sealed.ordinal;
        let first = self.frontier.size();
        if before.is_some_and(|known| known.ordinal != ordinal) {
            // Its contents were sealed under the key of another stream.
            return Err(ReadError::Damaged {
                position: None,
                detail: format!("stream {} has two ordinals", attempt.stream),
            });
        }
        for (commitment, blob) in sealed.blobs {
            self.add_content(attempt.stream, ordinal, &commitment, (first, &blob))?;
        }
        for record in &attempt.records {
            self.add_record(record, ordinal);
        }
        if before.is_none() {
            self.batch
                .insert(keys::name(attempt.stream), ordinal.to_be_bytes().as_slice());
        }
        if let Some(version) = attempt.records.first().map(Envelope::version) {
            let count = u32::try_from(attempt.records.len()).unwrap_or(u32::MAX);
            let run = Run { first, count };
            self.batch
                .insert(keys::index(ordinal, version.get()), run.encode());
        }
        if let Some(head) = Head::after(before.map(|known| known.head), &attempt.records) {
            let known = Known { ordinal, head };
            self.heads.insert(attempt.stream, known);
        }
        Ok(Position::new(first))
    }

    /// The whole group as one batch.
    pub(super) fn finish(mut self) -> Ready {
        for known in self.heads.values() {
            self.batch
                .insert(keys::head(known.ordinal), values::encode_head(&known.head));
        }
        for (first, unit) in unit::pack(self.first, &self.entries) {
            for (part, bytes) in unit::cut(&unit) {
                self.batch.insert(keys::unit(first, part), bytes);
            }
        }
        self.batch.insert(keys::TREE, self.frontier.to_bytes());
        Ready {
            batch: self.batch,
            frontier: self.frontier,
            heads: self.heads,
            anchored: self.anchored,
        }
    }

    /// What is known of a stream, in the group, from before, or from the store.
    pub(super) fn known(&self, stream: StreamId) -> Result<Option<Known>, ReadError> {
        let known = self.heads.get(&stream).or_else(|| self.known.get(&stream));
        if let Some(&known) = known {
            return Ok(Some(known));
        }
        let Some(ordinal) = self.reader.ordinal(stream)? else {
            return Ok(None);
        };
        let head = self.reader.head(ordinal)?;
        Ok(Some(Known { ordinal, head }))
    }

    fn add_record(&mut self, record: &Envelope, ordinal: u32) {
        let stored = Stored {
            position: Position::new(self.frontier.size()),
            bytes: Arc::clone(record.bytes()),
        };
        self.frontier.push(&record.digest());
        self.anchored |= record.event().is_anchored();
        self.entries.push(Entry {
            ordinal,
            version: record.version().get(),
            record: Arc::clone(record.bytes()),
        });
        self.records
            .insert((record.stream(), record.version()), stored);
    }

    fn add_content(
        &mut self,
        stream: StreamId,
        ordinal: u32,
        commitment: &Commitment,
        (position, blob): (u64, &[u8]),
    ) -> Result<(), ReadError> {
        if self.has_content(stream, commitment)? {
            return Ok(());
        }
        for (part, bytes) in unit::cut(&unit::content(position, blob)) {
            self.batch
                .insert(keys::content(ordinal, commitment, part), bytes);
        }
        self.contents.insert((stream, *commitment));
        Ok(())
    }
}

impl View for Draft<'_> {
    fn head(&self, stream: StreamId) -> Result<Option<Head>, ReadError> {
        Ok(self.known(stream)?.map(|known| known.head))
    }

    fn record(&self, stream: StreamId, version: Version) -> Result<Option<Stored>, ReadError> {
        if let Some(stored) = self.records.get(&(stream, version)) {
            return Ok(Some(stored.clone()));
        }
        Ok(self.reader.run(stream, version, 1)?.pop())
    }

    fn has_content(&self, stream: StreamId, commitment: &Commitment) -> Result<bool, ReadError> {
        if self.contents.contains(&(stream, *commitment)) {
            return Ok(true);
        }
        match self.reader.ordinal(stream)? {
            Some(ordinal) => self.reader.has_content(ordinal, commitment),
            None => Ok(false),
        }
    }
}
