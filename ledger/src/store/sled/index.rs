//! Where the records of each stream are: in memory above a mark, in chunks of rows below it.
//!
//! A chunk is one row for consecutive records of one stream:
//!
//! ```text
//! u8 format | for each record: varint position | varint contents | 4 B of each commitment
//! ```
//!
//! The first position is whole, every other one the distance to the one before. The beginnings of
//! commitments tell which record names a content first, without the run being folded.

use std::collections::BTreeMap;

use super::entry::Entry;
use crate::content::Commitment;
use crate::id::StreamId;
use crate::limits::ROW_BYTES_MAX;
use crate::store::check::Head;

/// The only format of a chunk so far.
const FORMAT: u8 = 1;

/// Where one record is, and which contents it names first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) position: u64,
    pub(super) contents: Vec<[u8; 4]>,
}

/// How a commitment begins.
pub(super) fn beginning(commitment: &Commitment) -> [u8; 4] {
    let [a, b, c, d, ..] = *commitment.digest().as_bytes();
    [a, b, c, d]
}

impl Place {
    pub(super) fn of(position: u64, entry: &Entry) -> Self {
        let contents = entry.contents.iter();
        Self {
            position,
            contents: contents.map(|(named, _)| beginning(named)).collect(),
        }
    }
}

/// Consecutive records of one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) first: u32,
    pub(super) places: Vec<Place>,
}

impl Chunk {
    /// The place of a version, if it is in here.
    pub(super) fn place(&self, version: u32) -> Option<&Place> {
        let at = version.checked_sub(self.first)?;
        self.places.get(usize::try_from(at).ok()?)
    }

    /// The version after the last one.
    #[cfg(test)]
    pub(super) fn end(&self) -> u32 {
        let count = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        self.first.saturating_add(count)
    }

    /// The rows that hold it, each with its first version.
    pub(super) fn encode(&self) -> Vec<(u32, Vec<u8>)> {
        let mut rows: Vec<(u32, Vec<u8>)> = Vec::new();
        let mut before = 0;
        for (version, place) in (self.first..).zip(&self.places) {
            let mut one = Vec::new();
            let begun = rows.last().is_some();
            let from = if begun { before } else { 0 };
            put(&mut one, place.position.saturating_sub(from));
            put(&mut one, place.contents.len() as u64);
            one.extend(place.contents.iter().flatten());
            match rows.last_mut() {
                Some((_, row)) if row.len().saturating_add(one.len()) <= ROW_BYTES_MAX => {
                    row.extend_from_slice(&one);
                }
                _ => {
                    let mut row = vec![FORMAT];
                    put(&mut row, place.position);
                    put(&mut row, place.contents.len() as u64);
                    row.extend(place.contents.iter().flatten());
                    rows.push((version, row));
                }
            }
            before = place.position;
        }
        rows
    }

    /// Reads one row; `None` where it is none.
    pub(super) fn decode(first: u32, row: &[u8]) -> Option<Self> {
        let mut rest = row.strip_prefix(&[FORMAT])?;
        let mut places: Vec<Place> = Vec::new();
        while !rest.is_empty() {
            let (distance, after) = take(rest)?;
            let (count, after) = take(after)?;
            let (beginnings, after) =
                after.split_at_checked(usize::try_from(count).ok()?.checked_mul(4)?)?;
            let before = places.last().map_or(0, |place| place.position);
            let (contents, _) = beginnings.as_chunks::<4>();
            places.push(Place {
                position: before.checked_add(distance)?,
                contents: contents.to_vec(),
            });
            rest = after;
        }
        (!places.is_empty()).then_some(Self { first, places })
    }
}

/// Seven bits a byte, the lowest first.
fn put(to: &mut Vec<u8>, mut number: u64) {
    loop {
        let low = u8::try_from(number & 0x7f).unwrap_or(0);
        number >>= 7;
        if number == 0 {
            return to.push(low);
        }
        to.push(low | 0x80);
    }
}

fn take(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0_u64;
    for (at, &byte) in bytes.iter().enumerate().take(10) {
        let shift = u32::try_from(at).ok()?.checked_mul(7)?;
        let bits = u64::from(byte & 0x7f);
        if bits.checked_shl(shift)? >> shift != bits {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Some((number, bytes.get(at.checked_add(1)?..)?));
        }
    }
    None
}

/// What is known of the streams that were written to since the mark.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Up to this position the rows tell where records are.
    pub(super) mark: u64,
    /// The records since, by ordinal.
    pub(super) chunks: BTreeMap<u32, Chunk>,
    /// The ends of these streams.
    pub(super) heads: BTreeMap<u32, Head>,
    /// The ordinals of streams that began since.
    pub(super) names: BTreeMap<StreamId, u32>,
}

impl Index {
    /// Adds a record, which follows those of its stream.
    pub(super) fn add(&mut self, position: u64, entry: &Entry) {
        let chunk = self.chunks.entry(entry.ordinal).or_insert_with(|| Chunk {
            first: entry.version,
            places: Vec::new(),
        });
        chunk.places.push(Place::of(position, entry));
    }

    /// How many records it holds.
    pub(super) fn len(&self) -> usize {
        let counts = self.chunks.values().map(|chunk| chunk.places.len());
        counts.fold(0, usize::saturating_add)
    }

    /// Forgets what the rows tell up to `mark`, as they were when they were written.
    pub(super) fn forget(&mut self, mark: u64) {
        self.mark = mark;
        self.chunks.retain(|_, chunk| {
            let gone = chunk.places.partition_point(|place| place.position < mark);
            chunk.places.drain(..gone);
            let gone = u32::try_from(gone).unwrap_or(u32::MAX);
            chunk.first = chunk.first.saturating_add(gone);
            !chunk.places.is_empty()
        });
        let chunks = &self.chunks;
        self.heads.retain(|ordinal, _| chunks.contains_key(ordinal));
        self.names.retain(|_, ordinal| chunks.contains_key(ordinal));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::entry::tests::entry;
    use super::*;

    proptest! {
        #[test]
        fn chunks_are_read_as_they_were_written(
            steps in prop::collection::vec((1..400_000_u64, 0..9_usize), 1..3_000),
            first in 0..9_u32,
            begin in any::<u32>(),
        ) {
            let mut position = u64::from(begin) * 1_000_000;
            let places = steps.iter().map(|&(step, contents)| {
                position += step;
                let bytes = u32::try_from(position % 0xffff_fff1).unwrap().to_be_bytes();
                Place { position, contents: vec![bytes; contents] }
            });
            let chunk = Chunk { first, places: places.collect() };
            let mut read = Vec::new();
            let mut next = first;
            for (version, row) in chunk.encode() {
                prop_assert!(row.len() <= ROW_BYTES_MAX);
                prop_assert_eq!(version, next);
                let part = Chunk::decode(version, &row).unwrap();
                next = part.end();
                read.extend(part.places);
            }
            prop_assert_eq!(read, chunk.places);
        }

        #[test]
        fn any_bytes_are_a_chunk_or_refused(row in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ignored = Chunk::decode(3, &row);
        }

        #[test]
        fn numbers_are_read_as_they_were_written(number in any::<u64>()) {
            let mut bytes = Vec::new();
            put(&mut bytes, number);
            bytes.push(9);
            prop_assert_eq!(take(&bytes), Some((number, &[9][..])));
        }
    }

    #[test]
    fn a_number_that_is_too_large_is_none() {
        assert_eq!(take(&[0xff; 10]), None);
        assert_eq!(take(&[0x80, 0x80]), None);
    }

    #[test]
    fn what_the_rows_tell_is_forgotten_and_nothing_else() {
        let mut index = Index::default();
        for (position, number) in (100..).zip(0..9) {
            let mut one = entry(number, 5, &[1]);
            // Three streams by turns, each from its version 4 on.
            (one.ordinal, one.version) = (number % 3, 4 + number / 3);
            index.add(position, &one);
        }
        let stream = |number| StreamId::new(uuid::Uuid::from_u64_pair(0, number));
        index.names = (0..3)
            .map(|number| (stream(number.into()), number))
            .collect();
        index.forget(107);
        assert_eq!((index.mark, index.len()), (107, 2));
        let left: Vec<_> = index
            .chunks
            .iter()
            .map(|(o, c)| (*o, c.first, c.end()))
            .collect();
        assert_eq!(left, [(1, 6, 7), (2, 6, 7)]);
        assert_eq!(
            index.names.keys().copied().collect::<Vec<_>>(),
            [stream(1), stream(2)]
        );
        assert_eq!(index.chunks[&1].place(6).unwrap().position, 107);
    }
}
