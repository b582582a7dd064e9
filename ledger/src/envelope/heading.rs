//! The heading of a record: what its chain is checked by, read in the pass that checks its bytes.

use serde::de::Error as _;

use super::{FORMAT, Header, LinkError, RecordError};
use crate::canonical::check_fields;
use crate::digest::Digest;
use crate::id::{LedgerId, StreamId, Version};
use crate::limits::RECORD_BYTES_MAX;

/// The fields of a record in their order, and whether one must be there.
const FIELDS: [(&[u8], bool); 13] = [
    (b"actor", true),
    (b"at", true),
    (b"blobs", false),
    (b"body", true),
    (b"cause", false),
    (b"id", true),
    (b"ledger", true),
    (b"prev", true),
    (b"run", true),
    (b"schema", true),
    (b"type", true),
    (b"v", true),
    (b"version", true),
];

/// Whose record it is, and which one it follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heading {
    /// The ledger.
    pub ledger: LedgerId,
    /// The stream.
    pub stream: StreamId,
    /// Its place in the stream.
    pub version: Version,
    /// Digest of the record before in this stream, or of the stream's genesis.
    pub prev: Digest,
}

impl Heading {
    /// Reads it from a record whose bytes are canonical and which has the fields of our format;
    /// what the other fields hold is not looked at.
    pub fn read(bytes: &[u8]) -> Result<Self, RecordError> {
        if bytes.len() > RECORD_BYTES_MAX {
            return Err(RecordError::TooLarge(bytes.len()));
        }
        let mut values = [&[][..]; FIELDS.len()];
        let mut fields = FIELDS.iter().zip(&mut values);
        let mut ours = true;
        check_fields(bytes, |key, value| {
            // What comes next, or what follows it where that may be left out.
            match fields.find(|((name, must), _)| *name == key || *must) {
                Some(((name, _), to)) if *name == key => *to = value,
                _ => ours = false,
            }
        })?;
        if !ours || fields.any(|((_, must), _)| *must) {
            return Err(wrong("a field is missing or unknown"));
        }
        let [_, _, _, _, _, _, ledger, prev, run, _, _, v, version] = values;
        match number(v)? {
            FORMAT => {}
            other => return Err(RecordError::Format(other)),
        }
        Ok(Self {
            ledger: spelled(ledger)?,
            stream: spelled(run)?,
            version: Version::new(number(version)?),
            prev: spelled(prev)?,
        })
    }

    /// Whether the record follows `prev`, the head of the same stream with this digest.
    pub fn verify_link(
        &self,
        ledger: LedgerId,
        stream: StreamId,
        expected: Version,
        prev: Digest,
    ) -> Result<(), LinkError> {
        if self.ledger != ledger {
            Err(LinkError::Ledger(self.ledger))
        } else if self.stream != stream {
            Err(LinkError::Stream(self.stream))
        } else if self.version != expected {
            Err(LinkError::Version {
                expected,
                found: self.version,
            })
        } else if self.prev != prev {
            Err(LinkError::Previous {
                expected: prev,
                found: self.prev,
            })
        } else {
            Ok(())
        }
    }
}

impl From<&Header> for Heading {
    fn from(header: &Header) -> Self {
        Self {
            ledger: header.ledger,
            stream: header.stream,
            version: header.version,
            prev: header.prev,
        }
    }
}

fn wrong(why: impl std::fmt::Display) -> RecordError {
    RecordError::Fields(serde_json::Error::custom(why))
}

/// The value that a JSON string spells. None of them has an escape in it.
fn spelled<T: std::str::FromStr<Err: std::fmt::Display>>(value: &[u8]) -> Result<T, RecordError> {
    let inner = value
        .strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""));
    let text = inner.and_then(|inner| std::str::from_utf8(inner).ok());
    let text = text.ok_or_else(|| wrong("a string was expected"))?;
    text.parse().map_err(wrong)
}

/// A whole number that was found to be in its shortest form.
fn number(value: &[u8]) -> Result<u32, RecordError> {
    let text = std::str::from_utf8(value).unwrap_or_default();
    text.parse().map_err(wrong)
}
