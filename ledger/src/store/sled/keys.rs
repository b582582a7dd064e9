//! The keys of the rows: a letter, then big-endian numbers, so that their order is that of the log.
//!
//! | key | row |
//! |---|---|
//! | `g`, first position u64 | where a unit of records lies (`blocks`) |
//! | `b`, number u64 | a block: a part of a unit (`unit`), or nothing yet |
//! | `x`, ordinal u32, first version u32 | where records of a stream are (`index`) |
//! | `h`, ordinal u32 | the head of a stream |
//! | `n`, stream id | its ordinal |
//! | `m` | the position up to which `x`, `h` and `n` stand |
//! | `e` | the tree over all records in units and tiles |
//! | `s` | the tree over all records in tiles |
//! | `f` | format and ledger id |
//! | `p`.. | rows of projections (`projections`) |

use crate::id::StreamId;

/// The tree over all records in units and tiles.
pub(super) const TREE: &[u8] = b"e";

/// The tree over all records in tiles.
pub(super) const SEALED: &[u8] = b"s";

/// Up to where the index stands.
pub(super) const MARK: &[u8] = b"m";

/// Format and ledger id.
pub(super) const FORMAT: &[u8] = b"f";

/// The unit that begins at a position.
pub(super) fn unit(first: u64) -> Vec<u8> {
    [b"g".as_slice(), &first.to_be_bytes()].concat()
}

/// First position of the key of a unit.
pub(super) fn read_unit(key: &[u8]) -> Option<u64> {
    let rest = key.strip_prefix(b"g")?;
    Some(u64::from_be_bytes(rest.try_into().ok()?))
}

/// The block with a number.
pub(super) fn block(number: u64) -> Vec<u8> {
    [b"b".as_slice(), &number.to_be_bytes()].concat()
}

/// The number of the key of a block.
pub(super) fn read_block(key: &[u8]) -> Option<u64> {
    let rest = key.strip_prefix(b"b")?;
    Some(u64::from_be_bytes(rest.try_into().ok()?))
}

/// The row of the index for records of a stream from a version on.
pub(super) fn index(ordinal: u32, version: u32) -> Vec<u8> {
    [
        b"x".as_slice(),
        &ordinal.to_be_bytes(),
        &version.to_be_bytes(),
    ]
    .concat()
}

/// First version of the key of a row of the index.
pub(super) fn read_index(key: &[u8]) -> Option<u32> {
    let rest = key.strip_prefix(b"x")?;
    let (_, rest) = rest.split_first_chunk::<4>()?;
    Some(u32::from_be_bytes(rest.try_into().ok()?))
}

/// The head of a stream.
pub(super) fn head(ordinal: u32) -> Vec<u8> {
    [b"h".as_slice(), &ordinal.to_be_bytes()].concat()
}

/// Ordinal of the key of a head.
pub(super) fn read_head(key: &[u8]) -> Option<u32> {
    let rest = key.strip_prefix(b"h")?;
    Some(u32::from_be_bytes(rest.try_into().ok()?))
}

/// The ordinal of a stream.
pub(super) fn name(stream: StreamId) -> Vec<u8> {
    [b"n".as_slice(), stream.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_as_their_numbers_do() {
        let numbers = [0, 1, 255, 256, 65_535, 65_536, u32::MAX];
        for pair in numbers.windows(2) {
            let (low, high) = (pair[0], pair[1]);
            assert!(unit(low.into()) < unit(high.into()));
            assert!(block(low.into()) < block(high.into()));
            assert!(index(low, u32::MAX) < index(high, 0));
            assert!(index(7, low) < index(7, high));
            assert!(head(low) < head(high));
        }
        assert_eq!(read_unit(&unit(1 << 40)), Some(1 << 40));
        assert_eq!(read_block(&block(1 << 40)), Some(1 << 40));
        assert_eq!(read_index(&index(9, 1 << 20)), Some(1 << 20));
        assert_eq!(read_head(&head(77)), Some(77));
        for wrong in [&b"g"[..], b"", b"x12345678", b"g1234567890"] {
            assert_eq!(read_unit(wrong), None);
            assert_eq!(read_block(wrong), None);
            assert_eq!(read_head(wrong), None);
        }
    }
}
