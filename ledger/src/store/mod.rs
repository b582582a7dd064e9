//! The storage seam: an append-only log of records in streams, behind six methods:
//! five that read ([`ReadStore`]) and one that appends ([`EventStore`]).
//!
//! # The contract, which every store meets and `conformance` checks
//!
//! - **Order.** Records of a stream have dense versions from 0; records of the whole log have
//!   dense positions from 0. A stream's records have rising positions. Both never change.
//! - **Append is all or nothing.** On `Ok` all of the batch is durable (it survives kill -9 and
//!   power loss), contiguous in position, and visible to every later read. On any error but
//!   `Unknown` nothing of it is there, now or later. On `Unknown` all or nothing is: read again
//!   until that is decided, and never act before. A store that was closed for writing by that
//!   failure shows what was acknowledged; what else is there is seen once it is opened again.
//! - **Append compares, it never decides.** `Expected::Start` wants a stream that does not exist,
//!   `Expected::Head` the version *and digest* of its head. A true version with another digest, or
//!   a first `prev` that is not the head's digest, is `Mismatch`, whatever its number: a history
//!   was folded that is not here. So is a version beyond the head, a first record that does not
//!   follow its genesis, and an `unless` that names what is not here. Only a stream that is not
//!   there at all is `Conflict { actual: None }`.
//! - **A retry is harmless.** If the records from the expected version on are already there with
//!   equal bytes, the answer is `Appended { replayed: true }` with their first position; with
//!   other bytes, or where only a part of them is there, it is `Conflict`. `unless` is not asked
//!   again: what is there was judged when it came.
//! - **`unless`** names other streams with the version of each that was read. If since then any
//!   record came to it that changes authority (any record at all for the authority stream), the
//!   answer is `Moved` and nothing is written.
//! - **Contents** are kept sealed, once for each (stream, commitment), with the record that names
//!   them first. A record may name a content only if it comes in the same batch or lies in the
//!   same stream already; one that a batch brings must be named in it, fit its commitment and have
//!   the size class that is recorded. One that is there already is not stored again. A read opens
//!   them and checks the commitment before it returns them.
//! - **Room.** An append that starts an execution is refused with `NoRoom` while the disk may not
//!   hold its outcome.
//! - **Reads** see whole appends that are durable, in pages. A page that is not full ends at the
//!   present end. A stream that does not exist reads as empty.
//! - **A future that is dropped** takes nothing back: the append may still happen, whole.

mod check;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod head;
pub mod memory;
pub mod pages;
pub mod projections;
pub mod seal;
#[cfg(feature = "sled")]
pub mod sled;
pub mod snapshots;

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::content::{Commitment, Content, Contents};
use crate::digest::Digest;
use crate::envelope::{Envelope, Recorded};
use crate::id::{Position, StreamId, Version};
use crate::limits::ROOM_BYTES_MIN;
use crate::merkle::Root;

/// What an append expects of its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// That it does not exist yet.
    Start,
    /// That this is its last record.
    Head {
        /// Version of the last record.
        version: Version,
        /// Digest of the last record.
        digest: Digest,
    },
}

/// Nothing that changes authority came to this stream after that version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unless {
    /// The stream.
    pub stream: StreamId,
    /// The newest version that was read of it.
    pub version: Version,
}

/// What is appended together: consecutive records of one stream, and the contents they name first.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// The records, in order.
    pub records: Vec<Envelope>,
    /// Contents that are not in the stream yet.
    pub contents: BTreeMap<Commitment, Content>,
}

/// What came of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Position of the first record.
    pub first: Position,
    /// How many records.
    pub count: usize,
    /// Whether they had been there before, byte for byte.
    pub replayed: bool,
}

/// Why nothing was appended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// Somebody else appended first.
    #[error("the stream has moved on to {actual:?}")]
    Conflict {
        /// The version of its head; `None` where the stream does not exist.
        actual: Option<Version>,
    },
    /// Authority changed since it was read.
    #[error("authority changed in stream {stream} at version {version}")]
    Moved {
        /// Where.
        stream: StreamId,
        /// The newest version that changed it.
        version: Version,
    },
    /// The history that was folded is not the one in this store.
    #[error("the records do not follow the head of the stream in this store")]
    Mismatch,
    /// The batch is empty, over a bound, or names a content that it does not bring.
    #[error("the batch cannot be appended: {0}")]
    Invalid(&'static str),
    /// Too much is waiting; try again.
    #[error("the store is busy")]
    Busy,
    /// The disk has no room for the outcome of what would be started.
    #[error(
        "{free_bytes} bytes are free on disk, fewer than the {ROOM_BYTES_MIN} that are kept for \
         the outcome of what is started"
    )]
    NoRoom {
        /// What is free.
        free_bytes: u64,
    },
    /// It may be there or not.
    #[error("whether the records were appended is unknown: {0}")]
    Unknown(String),
    /// An earlier failure closed the store for writing.
    #[error("the store was closed for writing after a failure: {0}")]
    Poisoned(String),
}

/// Why something could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ReadError {
    /// The store has lost or changed what it was given.
    #[error("the store is damaged{}: {detail}", position.map(|p| format!(" at position {p}")).unwrap_or_default())]
    Damaged {
        /// Where, if that is known.
        position: Option<Position>,
        /// What is wrong.
        detail: String,
    },
    /// A content that was asked for is not there.
    #[error("no content {0} in the stream")]
    NoContent(Commitment),
    /// The disk failed.
    #[error("the store cannot be read: {0}")]
    Io(String),
}

/// One record as it lies in the store, with its place. Not parsed: verification wants the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its place in the log.
    pub position: Position,
    /// Its bytes.
    pub bytes: std::sync::Arc<[u8]>,
}

impl Stored {
    /// Reads the record.
    pub fn parse(self) -> Result<Recorded, ReadError> {
        let position = self.position;
        let envelope = Envelope::parse(self.bytes).map_err(|error| ReadError::Damaged {
            position: Some(position),
            detail: chain(&error),
        })?;
        Ok(Recorded { position, envelope })
    }
}

/// An error with its causes, on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// The end of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail {
    /// How many records there are.
    pub size: u64,
    /// Root of the tree over their digests.
    pub root: Root,
}

/// Whoever is shown the bytes of records, each with its place.
pub type Show<'a> = dyn FnMut(Position, &[u8]) + Send + 'a;

/// Reading an append-only log of records in streams.
#[async_trait]
pub trait ReadStore: Send + Sync {
    /// Records of one stream from a version on, at most `limit` and at most one page.
    async fn read_run(
        &self,
        stream: StreamId,
        from: Version,
        limit: usize,
    ) -> Result<Vec<Stored>, ReadError>;

    /// Records of the whole log from a position on, at most `limit` and at most one page.
    async fn read_all(&self, from: Position, limit: usize) -> Result<Vec<Stored>, ReadError>;

    /// Shows what [`ReadStore::read_all`] reads, without a copy of each record where the store has
    /// them at hand. Where it fails, what was shown until then is right.
    async fn show_all(
        &self,
        from: Position,
        limit: usize,
        show: &mut Show<'_>,
    ) -> Result<(), ReadError> {
        for stored in self.read_all(from, limit).await? {
            show(stored.position, &stored.bytes);
        }
        Ok(())
    }

    /// Size and root of the log.
    async fn tail(&self) -> Result<Tail, ReadError>;

    /// Contents of one stream, opened and checked. One that is not there is an error.
    async fn content(
        &self,
        stream: StreamId,
        commitments: &[Commitment],
    ) -> Result<Contents, ReadError>;
}

/// An append-only log of records in streams. It never leaves the process that holds it: whoever
/// else reads does so through the process that does, and nobody else appends.
#[async_trait]
pub trait EventStore: ReadStore {
    /// Appends a batch to one stream. Durable, contiguous and visible on `Ok`.
    async fn append(
        &self,
        stream: StreamId,
        expected: Expected,
        batch: Batch,
        unless: &[Unless],
    ) -> Result<Appended, AppendError>;
}
