//! Units of records, and the cutting of what is too long for one row.
//!
//! sled keeps up to 17 values in a page and moves a page of more than 128 KiB to a file of its
//! own, which it never syncs. So no row is over `ROW_BYTES_MAX`. A unit is a format byte and
//! entries with consecutive positions, all of one tile; one that is longer than a row is a unit of
//! its own, cut into parts.

use super::entry::{Entry, Lent};
use super::tile::TILE;
use crate::limits::ROW_BYTES_MAX;

/// The only format of a unit so far.
const FORMAT: u8 = 1;

/// Packs consecutive entries from position `first` on into units, each with its own first position.
pub(super) fn pack<'a>(
    first: u64,
    entries: impl IntoIterator<Item = &'a Entry>,
) -> Vec<(u64, Vec<u8>)> {
    let mut units: Vec<(u64, Vec<u8>)> = Vec::new();
    for (position, entry) in (first..).zip(entries) {
        match units.last_mut() {
            Some((_, unit))
                if !position.is_multiple_of(TILE)
                    && unit.len().saturating_add(entry.bytes()) <= ROW_BYTES_MAX =>
            {
                entry.encode(unit);
            }
            Some(_) | None => {
                let mut unit = Vec::with_capacity(ROW_BYTES_MAX);
                unit.push(FORMAT);
                entry.encode(&mut unit);
                units.push((position, unit));
            }
        }
    }
    units
}

/// Takes a unit apart; `None` where it is cut short, goes on too long or is of another format.
pub(super) fn unpack(bytes: &[u8]) -> Option<Vec<Entry>> {
    let entries = Entry::decode_all(bytes.strip_prefix(&[FORMAT])?)?;
    (!entries.is_empty()).then_some(entries)
}

/// Where the entries of a unit begin; `None` where it cannot be taken apart.
pub(super) fn starts(bytes: &[u8]) -> Option<Vec<usize>> {
    let mut rest = bytes.strip_prefix(&[FORMAT])?;
    let mut starts = Vec::with_capacity(16);
    while !rest.is_empty() {
        starts.push(bytes.len().saturating_sub(rest.len()));
        (_, rest) = Lent::split(rest)?;
    }
    (!starts.is_empty()).then_some(starts)
}

/// Cuts bytes into rows.
pub(super) fn cut(bytes: &[u8]) -> impl ExactSizeIterator<Item = &[u8]> {
    bytes.chunks(ROW_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::entry::HEADER_BYTES;
    use super::super::entry::tests::entry;
    use super::*;

    #[test]
    fn a_row_is_filled_and_not_passed() {
        let fits = ROW_BYTES_MAX - 1 - HEADER_BYTES;
        let entries = [
            entry(0, fits, &[]),
            entry(1, 0, &[]),
            entry(2, fits - HEADER_BYTES, &[]),
            entry(3, 0, &[]),
        ];
        let units = pack(5, &entries);
        let firsts: Vec<_> = units
            .iter()
            .map(|(first, unit)| (*first, unit.len()))
            .collect();
        assert_eq!(firsts, [(5, 7_000), (6, 7_000), (8, 1 + HEADER_BYTES)]);
        assert_eq!(
            cut(&[0; 14_001]).map(<[u8]>::len).collect::<Vec<_>>(),
            [7_000, 7_000, 1]
        );
    }

    proptest! {
        #[test]
        fn what_was_packed_is_unpacked(
            lengths in prop::collection::vec(
                prop_oneof![0..900_usize, 6_900..7_100_usize, 65_500..65_536_usize],
                1..40,
            ),
        ) {
            let entries: Vec<_> = (0..)
                .zip(&lengths)
                .map(|(number, &length)| entry(number, length, &[length / 9]))
                .collect();
            let mut read = Vec::new();
            for (first, unit) in pack(9, &entries) {
                prop_assert_eq!(first, 9 + read.len() as u64);
                let unpacked = unpack(&unit).unwrap();
                let lent: Vec<_> = starts(&unit).unwrap().iter()
                    .map(|&start| Entry::decode(&unit[start..]).unwrap().0)
                    .collect();
                prop_assert_eq!(&lent, &unpacked);
                prop_assert!(starts(&unit[..unit.len() - 1]).is_none());
                prop_assert!(unit.len() <= ROW_BYTES_MAX || unpacked.len() == 1);
                read.extend(unpacked);
                prop_assert!(unpack(&unit[..unit.len() - 1]).is_none());
            }
            prop_assert_eq!(read, entries);
        }

        #[test]
        fn any_bytes_are_unpacked_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            prop_assert_eq!(unpack(&bytes).is_some(), starts(&bytes).is_some());
        }
    }
}
