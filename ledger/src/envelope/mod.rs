//! The envelope: one event with its header and commitments, and the very bytes that are stored.
//!
//! The stored bytes are the event: they are hashed, exported and verified as they lie, and never
//! written again from what was parsed.

mod fields;
mod heading;
mod parse;

use std::sync::Arc;

use serde::Serialize;

use crate::approval::Actor;
use crate::canonical::{self, CanonicalError};
use crate::content::Blobs;
use crate::digest::{Digest, Hasher, Purpose, digest};
use crate::event::{Body, Event, EventError};
use crate::id::{EventId, LedgerId, Position, StreamId, Version};
use crate::limits::RECORD_BYTES_MAX;
use crate::time::Timestamp;

pub use heading::Heading;

/// The record format that this release writes.
const FORMAT: u32 = 1;

/// Why an event cannot be written as a record.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// It has no canonical form.
    #[error("cannot write the record")]
    Encode(#[from] canonical::EncodeError),
    /// It is too large.
    #[error("the record has {0} bytes, more than {RECORD_BYTES_MAX}")]
    TooLarge(usize),
}

/// Why stored bytes are not a record of ours.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// More bytes than a record may have.
    #[error("the record has {0} bytes, more than {RECORD_BYTES_MAX}")]
    TooLarge(usize),
    /// Not canonical JSON.
    #[error("the record is not canonical JSON")]
    Canonical(#[from] CanonicalError),
    /// A field is missing, unknown or of the wrong kind.
    #[error("the record does not have the fields of format {FORMAT}")]
    Fields(#[source] serde_json::Error),
    /// Another record format.
    #[error("the record has format {0}, this release reads {FORMAT}")]
    Format(u32),
    /// The event is none of ours.
    #[error("the record holds no event of ours")]
    Event(#[from] EventError),
}

/// Why a record does not follow the one before it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// Another ledger's record.
    #[error("the record belongs to ledger {0}")]
    Ledger(LedgerId),
    /// Another stream's record.
    #[error("the record belongs to stream {0}")]
    Stream(StreamId),
    /// Versions are not dense.
    #[error("expected version {expected}, found {found}")]
    Version {
        /// The version that must come next.
        expected: Version,
        /// The version found.
        found: Version,
    },
    /// The chain is broken.
    #[error("the record follows {found}, but the one before it has digest {expected}")]
    Previous {
        /// Digest of the record before.
        expected: Digest,
        /// What the record names.
        found: Digest,
    },
}

/// Everything in a record but the event itself and its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Who caused it.
    pub actor: Actor,
    /// The owner's time.
    pub at: Timestamp,
    /// The event that made this one follow.
    pub cause: Option<EventId>,
    /// Its own id.
    pub id: EventId,
    /// The ledger.
    pub ledger: LedgerId,
    /// Digest of the record before in this stream, or of the stream's genesis.
    pub prev: Digest,
    /// The stream.
    pub stream: StreamId,
    /// Its place in the stream.
    pub version: Version,
}

/// One event with its header and commitments, and the bytes that are stored. A clone shares them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope(Arc<Inner>);

#[derive(Debug, PartialEq, Eq)]
struct Inner {
    header: Header,
    event: Event,
    blobs: Blobs,
    bytes: Arc<[u8]>,
    digest: Digest,
}

/// Its fields stand in the order in which they are written.
#[derive(Serialize)]
struct RecordOut<'a> {
    actor: &'a Actor,
    at: Timestamp,
    #[serde(skip_serializing_if = "Blobs::is_empty")]
    blobs: &'a Blobs,
    body: Body<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<EventId>,
    id: EventId,
    ledger: LedgerId,
    prev: Digest,
    run: StreamId,
    schema: u32,
    r#type: &'static str,
    v: u32,
    version: Version,
}

impl Envelope {
    /// Writes the record.
    pub fn write(header: Header, event: Event, blobs: Blobs) -> Result<Self, WriteError> {
        let bytes = canonical::to_vec(&RecordOut {
            actor: &header.actor,
            at: header.at,
            blobs: &blobs,
            body: Body(&event),
            cause: header.cause,
            id: header.id,
            ledger: header.ledger,
            prev: header.prev,
            run: header.stream,
            schema: event.schema(),
            r#type: event.name(),
            v: FORMAT,
            version: header.version,
        })?;
        if bytes.len() > RECORD_BYTES_MAX {
            return Err(WriteError::TooLarge(bytes.len()));
        }
        let digest = digest(Purpose::Event, &bytes);
        Ok(Self(Arc::new(Inner {
            header,
            event,
            blobs,
            bytes: bytes.into(),
            digest,
        })))
    }

    /// Reads a record: its bytes must be canonical, and everything in it known.
    pub fn parse(bytes: impl Into<Arc<[u8]>>) -> Result<Self, RecordError> {
        let bytes = bytes.into();
        let (header, event, blobs) = parse::record(&bytes)?;
        let digest = digest(Purpose::Event, &bytes);
        Ok(Self(Arc::new(Inner {
            header,
            event,
            blobs,
            bytes,
            digest,
        })))
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.0.header
    }

    /// The stream.
    pub fn stream(&self) -> StreamId {
        self.0.header.stream
    }

    /// Its place in the stream.
    pub fn version(&self) -> Version {
        self.0.header.version
    }

    /// The owner's time.
    pub fn at(&self) -> Timestamp {
        self.0.header.at
    }

    /// The event.
    pub fn event(&self) -> &Event {
        &self.0.event
    }

    /// The body as it lies in the stored bytes.
    pub fn body(&self) -> Option<&str> {
        fields::Fields::read(&self.0.bytes)
            .ok()
            .map(|fields| fields.body)
    }

    /// The contents that it names.
    pub fn blobs(&self) -> &Blobs {
        &self.0.blobs
    }

    /// The stored bytes.
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.0.bytes
    }

    /// The event digest: what the next record's `prev`, and the tree's leaf, hold.
    pub fn digest(&self) -> Digest {
        self.0.digest
    }

    /// Whether this record follows `prev`, the head of the same stream with this digest.
    pub fn verify_link(
        &self,
        ledger: LedgerId,
        stream: StreamId,
        expected: Version,
        prev: Digest,
    ) -> Result<(), LinkError> {
        Heading::from(&self.0.header).verify_link(ledger, stream, expected, prev)
    }
}

/// An envelope at its place in the whole log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The place.
    pub position: Position,
    /// What stands there.
    pub envelope: Envelope,
}

/// `prev` of the very first record of a ledger.
pub fn ledger_genesis(ledger: LedgerId) -> Digest {
    digest(Purpose::LedgerGenesis, ledger.as_bytes())
}

/// `prev` of the first record of every other stream, so that a ledger is the record that created
/// it, and not only a UUID.
pub fn stream_genesis(ledger: LedgerId, created: &Digest, stream: StreamId) -> Digest {
    let mut hasher = Hasher::new(Purpose::RunGenesis);
    hasher
        .update(ledger.as_bytes())
        .update(created.as_bytes())
        .update(stream.as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests;
