//! The small rows: heads, places of appends, ordinals, format. Fixed widths, big-endian.

use uuid::Uuid;

use crate::digest::Digest;
use crate::id::{LedgerId, Version};
use crate::store::check::Head;

/// The only format of the rows so far.
const FORMAT: u8 = 1;

/// Where the records of one append are: they are contiguous in version and in position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// Position of the first.
    pub(super) first: u64,
    /// How many.
    pub(super) count: u32,
}

impl Run {
    pub(super) fn encode(self) -> Vec<u8> {
        [
            self.first.to_be_bytes().as_slice(),
            &self.count.to_be_bytes(),
        ]
        .concat()
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (first, rest) = bytes.split_first_chunk()?;
        Some(Self {
            first: u64::from_be_bytes(*first),
            count: number(rest)?,
        })
    }
}

pub(super) fn encode_head(head: &Head) -> Vec<u8> {
    let mut bytes = head.version.get().to_be_bytes().to_vec();
    bytes.extend_from_slice(head.digest.as_bytes());
    if let Some(authority) = head.authority {
        bytes.extend_from_slice(&authority.get().to_be_bytes());
    }
    bytes
}

pub(super) fn decode_head(bytes: &[u8]) -> Option<Head> {
    let (version, rest) = bytes.split_first_chunk()?;
    let (digest, rest) = rest.split_first_chunk()?;
    let authority = match rest {
        [] => None,
        some => Some(Version::new(number(some)?)),
    };
    Some(Head {
        version: Version::new(u32::from_be_bytes(*version)),
        digest: Digest::from_bytes(*digest),
        authority,
    })
}

/// A number that fills its row.
pub(super) fn number(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

pub(super) fn encode_format(ledger: LedgerId) -> Vec<u8> {
    [&[FORMAT], ledger.as_bytes().as_slice()].concat()
}

pub(super) fn decode_format(bytes: &[u8]) -> Option<LedgerId> {
    let ledger = bytes.strip_prefix(&[FORMAT])?;
    Some(LedgerId::new(Uuid::from_bytes(ledger.try_into().ok()?)))
}
