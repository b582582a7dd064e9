//! A group commit before it is written: what the appends in it see of each other, and the batch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::entry::{Entry, Sealed};
use super::keyring;
use super::memory::Known;
use super::read::Reader;
use crate::content::Commitment;
use crate::envelope::Envelope;
use crate::id::{Position, StreamId, Version};
use crate::merkle::Frontier;
use crate::store::check::{Attempt, Head, View};
use crate::store::{ReadError, Stored};

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
    bytes: usize,
    anchored: bool,
}

/// A group commit that is ready.
pub(super) struct Ready {
    pub(super) first: u64,
    pub(super) entries: Vec<Entry>,
    /// Bytes of the entries.
    pub(super) bytes: usize,
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
            bytes: 0,
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
    pub(super) fn add(
        &mut self,
        attempt: &Attempt,
        sealed: keyring::Sealed,
    ) -> Result<Position, ReadError> {
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
        let mut blobs = sealed.blobs;
        for record in &attempt.records {
            self.add_record(record, ordinal, &mut blobs)?;
        }
        if let Some(head) = Head::after(before.map(|known| known.head), &attempt.records) {
            let known = Known { ordinal, head };
            self.heads.insert(attempt.stream, known);
        }
        Ok(Position::new(first))
    }

    /// The whole group as one frame.
    pub(super) fn finish(self) -> Ready {
        Ready {
            first: self.first,
            entries: self.entries,
            bytes: self.bytes,
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

    fn add_record(
        &mut self,
        record: &Envelope,
        ordinal: u32,
        blobs: &mut BTreeMap<Commitment, Sealed>,
    ) -> Result<(), ReadError> {
        let stored = Stored {
            position: Position::new(self.frontier.size()),
            bytes: Arc::clone(record.bytes()),
        };
        let mut contents = Vec::new();
        for blob in record.blobs().values() {
            let Some(sealed) = blobs.remove(&blob.commitment) else {
                continue;
            };
            // One that is there already is not stored again.
            if !self.has_content(record.stream(), &blob.commitment)? {
                self.contents.insert((record.stream(), blob.commitment));
                contents.push((blob.commitment, sealed));
            }
        }
        self.frontier.push(&record.digest());
        self.anchored |= record.event().is_anchored();
        let entry = Entry {
            ordinal,
            version: record.version().get(),
            record: Arc::clone(record.bytes()),
            contents,
        };
        self.bytes = self.bytes.saturating_add(entry.bytes());
        self.entries.push(entry);
        self.records
            .insert((record.stream(), record.version()), stored);
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
