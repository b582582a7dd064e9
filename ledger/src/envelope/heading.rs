//! The heading of a record: what its chain is checked by, read in the pass that checks its bytes.

use super::fields::{Fields, number, spelled};
use super::{FORMAT, Header, LinkError, RecordError};
use crate::digest::Digest;
use crate::id::{LedgerId, StreamId, Version};

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
        let fields = Fields::read(bytes)?;
        match number(fields.format)? {
            FORMAT => {}
            other => return Err(RecordError::Format(other)),
        }
        Ok(Self {
            ledger: spelled(fields.ledger)?,
            stream: spelled(fields.run)?,
            version: Version::new(number(fields.version)?),
            prev: spelled(fields.prev)?,
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
