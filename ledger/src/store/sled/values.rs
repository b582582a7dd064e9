//! The small rows: heads, ordinals, format. Fixed widths, big-endian.

use uuid::Uuid;

use crate::digest::Digest;
use crate::id::{LedgerId, Version};
use crate::store::check::Head;

/// The only format of the rows so far.
const FORMAT: u8 = 1;

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
