//! A group commit before it is written: what the appends in it see of each other, and the batch.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::entry::{Entry, Sealed};
use super::keyring;
use super::memory::{Heads, Known};
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
    known: &'a Heads,
    first: u64,
    frontier: Frontier,
    heads: Heads,
    begun: Vec<(StreamId, u32)>,
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
    /// The streams that it writes to, as it leaves them.
    pub(super) heads: Heads,
    /// Those of them that begin in it, with their ordinals.
    pub(super) begun: Vec<(StreamId, u32)>,
    /// Whether something outside will rest on it.
    pub(super) anchored: bool,
}

impl<'a> Draft<'a> {
    pub(super) fn new(reader: Reader<'a>, known: &'a Heads, frontier: Frontier) -> Self {
        Self {
            reader,
            known,
            first: frontier.size(),
            frontier,
            heads: Heads::new(),
            begun: Vec::new(),
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
            self.add_record(record, ordinal, &mut blobs);
        }
        if before.is_none() {
            self.begun.push((attempt.stream, ordinal));
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
            begun: self.begun,
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

    /// Adds a record with the contents that its append brings and no record before it took. Whether
    /// an older record of the stream has one of them is not asked: that would cost more with each
    /// record of the stream, to save bytes of what callers do not do.
    fn add_record(
        &mut self,
        record: &Envelope,
        ordinal: u32,
        blobs: &mut BTreeMap<Commitment, Sealed>,
    ) {
        let named = record.blobs().values();
        let contents = named.filter_map(|blob| blobs.remove_entry(&blob.commitment));
        self.frontier.push(&record.digest());
        self.anchored |= record.event().is_anchored();
        let entry = Entry {
            ordinal,
            version: record.version().get(),
            record: Arc::clone(record.bytes()),
            contents: contents.collect(),
        };
        self.bytes = self.bytes.saturating_add(entry.bytes());
        self.entries.push(entry);
    }

    /// The entries of a stream in this group, with their positions.
    fn entries_of(&self, ordinal: u32) -> impl Iterator<Item = (u64, &Entry)> {
        (self.first..)
            .zip(&self.entries)
            .filter(move |(_, entry)| entry.ordinal == ordinal)
    }
}

impl View for Draft<'_> {
    fn head(&self, stream: StreamId) -> Result<Option<Head>, ReadError> {
        Ok(self.known(stream)?.map(|known| known.head))
    }

    fn record(&self, stream: StreamId, version: Version) -> Result<Option<Stored>, ReadError> {
        let Some(known) = self.known(stream)? else {
            return Ok(None);
        };
        let found = self
            .entries_of(known.ordinal)
            .find(|(_, entry)| entry.version == version.get());
        if let Some((position, entry)) = found {
            return Ok(Some(Stored {
                position: Position::new(position),
                bytes: Arc::clone(&entry.record),
            }));
        }
        Ok(self.reader.run(stream, version, 1)?.pop())
    }

    fn has_content(&self, stream: StreamId, commitment: &Commitment) -> Result<bool, ReadError> {
        let Some(known) = self.known(stream)? else {
            return Ok(false);
        };
        let mut here = self.entries_of(known.ordinal);
        if here.any(|(_, entry)| entry.content(commitment).is_some()) {
            return Ok(true);
        }
        match self.reader.ordinal(stream)? {
            Some(ordinal) => self.reader.has_content(ordinal, commitment),
            None => Ok(false),
        }
    }
}
