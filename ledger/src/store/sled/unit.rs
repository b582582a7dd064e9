//! Units of records, and the cutting of what is too long for one row.
//!
//! sled keeps up to 17 values in a page and moves a page of more than 128 KiB to a file of its
//! own, which it never syncs. So no row is over `ROW_BYTES_MAX`. A unit is a format byte and
//! entries of ordinal u32, version u32, length u32 and record, with consecutive positions; a
//! record that is longer than a row is a unit of its own, cut into parts.

use std::sync::Arc;

use crate::limits::ROW_BYTES_MAX;

/// The only format of a unit so far.
const FORMAT: u8 = 1;

/// Bytes of an entry before its record.
const ENTRY_HEADER_BYTES: usize = 12;

/// One record in a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) ordinal: u32,
    pub(super) version: u32,
    pub(super) record: Arc<[u8]>,
}

impl Entry {
    fn bytes(&self) -> usize {
        self.record.len().saturating_add(ENTRY_HEADER_BYTES)
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        // A record has at most 65,535 bytes.
        let length = u32::try_from(self.record.len()).unwrap_or(u32::MAX);
        bytes.extend_from_slice(&self.ordinal.to_be_bytes());
        bytes.extend_from_slice(&self.version.to_be_bytes());
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(&self.record);
    }
}

/// A part of something in a row of its own, with its number.
pub(super) type Part<'a> = (u16, &'a [u8]);

/// Packs consecutive entries from position `first` on into units, each with its own first position.
pub(super) fn pack(first: u64, entries: &[Entry]) -> Vec<(u64, Vec<u8>)> {
    let mut units: Vec<(u64, Vec<u8>)> = Vec::new();
    for (position, entry) in (first..).zip(entries) {
        match units.last_mut() {
            Some((_, unit)) if unit.len().saturating_add(entry.bytes()) <= ROW_BYTES_MAX => {
                entry.encode(unit);
            }
            Some(_) | None => {
                let mut unit = vec![FORMAT];
                entry.encode(&mut unit);
                units.push((position, unit));
            }
        }
    }
    units
}

/// Takes a unit apart; `None` where it is cut short, goes on too long or is of another format.
pub(super) fn unpack(bytes: &[u8]) -> Option<Vec<Entry>> {
    let mut rest = bytes.strip_prefix(&[FORMAT])?;
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let (ordinal, after) = rest.split_first_chunk()?;
        let (version, after) = after.split_first_chunk()?;
        let (length, after) = after.split_first_chunk()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (record, after) = after.split_at_checked(length)?;
        entries.push(Entry {
            ordinal: u32::from_be_bytes(*ordinal),
            version: u32::from_be_bytes(*version),
            record: record.into(),
        });
        rest = after;
    }
    (!entries.is_empty()).then_some(entries)
}

/// Cuts bytes into rows; nothing at all is still one row.
pub(super) fn cut(bytes: &[u8]) -> impl Iterator<Item = Part<'_>> {
    let empty = bytes.is_empty().then_some(bytes);
    (0..).zip(empty.into_iter().chain(bytes.chunks(ROW_BYTES_MAX)))
}

/// The first part of a sealed content: position of its append, its length, then the blob.
pub(super) fn content(position: u64, blob: &[u8]) -> Vec<u8> {
    let length = u32::try_from(blob.len()).unwrap_or(u32::MAX);
    [
        position.to_be_bytes().as_slice(),
        &length.to_be_bytes(),
        blob,
    ]
    .concat()
}

/// Position, length and beginning of what `content` wrote.
pub(super) fn read_content(part: &[u8]) -> Option<(u64, usize, &[u8])> {
    let (position, rest) = part.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    Some((u64::from_be_bytes(*position), length, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(number: u32, length: usize) -> Entry {
        Entry {
            ordinal: number / 3,
            version: number,
            record: vec![u8::try_from(number % 251).unwrap(); length].into(),
        }
    }

    #[test]
    fn a_row_is_filled_and_not_passed() {
        let fits = ROW_BYTES_MAX - 1 - ENTRY_HEADER_BYTES;
        let units = pack(
            5,
            &[
                entry(0, fits),
                entry(1, 0),
                entry(2, fits - 12),
                entry(3, 0),
            ],
        );
        let firsts: Vec<_> = units
            .iter()
            .map(|(first, unit)| (*first, unit.len()))
            .collect();
        assert_eq!(firsts, [(5, 7_000), (6, 13 + 12 + fits - 12), (8, 13)]);
        assert_eq!(
            cut(&[0; 14_001])
                .map(|part| part.1.len())
                .collect::<Vec<_>>(),
            [7_000, 7_000, 1]
        );
        assert_eq!(cut(&[]).count(), 1);
    }

    proptest! {
        #[test]
        fn what_was_packed_is_unpacked(
            lengths in prop::collection::vec(
                prop_oneof![0..900_usize, 6_900..7_100_usize, 65_500..65_536_usize],
                1..40,
            ),
        ) {
            let entries: Vec<_> =
                (0..).zip(&lengths).map(|(number, &length)| entry(number, length)).collect();
            let mut read = Vec::new();
            for (first, unit) in pack(9, &entries) {
                prop_assert_eq!(first, 9 + read.len() as u64);
                let unpacked = unpack(&unit).unwrap();
                prop_assert!(unit.len() <= ROW_BYTES_MAX || unpacked.len() == 1);
                read.extend(unpacked);
                prop_assert!(unpack(&unit[..unit.len() - 1]).is_none());
            }
            prop_assert_eq!(read, entries);
        }

        #[test]
        fn any_bytes_are_unpacked_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ignored = (unpack(&bytes), read_content(&bytes));
        }
    }
}
