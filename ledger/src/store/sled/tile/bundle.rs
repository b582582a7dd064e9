//! The bytes of one tile: 256 records with consecutive positions, in two files.
//!
//! ```text
//! entries   256 * (u16 length | record): an entry bundle of C2SP's `tlog-tiles`
//! content   u8 format | 256 * row | u32 sum of all before | 256 * contents (`entry`)
//!           row = u32 ordinal | u32 version
//!                 | u32 length of the record   | u32 its sum
//!                 | u32 length of the contents | u32 their sum
//! ```
//!
//! Numbers are big-endian, sums CRC-32: they tell a disk that went bad, at each read; who changes a
//! record on purpose is told by the chain and the tree. The rows say where everything is, so that
//! one record is read without the others of its tile.

use super::super::entry::{Contents, Entry, decode_contents};
use super::RECORDS;
use crate::limits::RECORD_BYTES_MAX;

/// The only format of a tile so far.
const FORMAT: u8 = 1;

const ROW_BYTES: usize = 24;

/// Bytes of the length before a record.
const LENGTH_BYTES: usize = 2;

/// Bytes before the first contents.
pub(super) const HEAD_BYTES: usize = 1 + RECORDS * ROW_BYTES + 4;

/// The files of a tile, the records first.
pub(super) type Files = [Vec<u8>; 2];

/// The bytes of both files; `None` where it is another number of entries, or one is too long.
pub(super) fn encode(entries: &[Entry]) -> Option<Files> {
    if entries.len() != RECORDS {
        return None;
    }
    let (mut bundle, mut head, mut contents) = (Vec::new(), vec![FORMAT], Vec::new());
    for entry in entries {
        let length = u16::try_from(entry.record.len()).ok()?;
        bundle.extend_from_slice(&length.to_be_bytes());
        bundle.extend_from_slice(&entry.record);
        let before = contents.len();
        entry.encode_contents(&mut contents);
        let own = contents.get(before..)?;
        for number in [
            entry.ordinal,
            entry.version,
            u32::from(length),
            crc32fast::hash(&entry.record),
            u32::try_from(own.len()).ok()?,
            crc32fast::hash(own),
        ] {
            head.extend_from_slice(&number.to_be_bytes());
        }
    }
    head.extend_from_slice(&crc32fast::hash(&head).to_be_bytes());
    head.append(&mut contents);
    Some([bundle, head])
}

/// Where bytes lie in a file, and their sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) at: u64,
    pub(super) length: usize,
    sum: u32,
}

impl Span {
    fn after(at: u64, length: u32, sum: u32) -> Option<(Self, u64)> {
        let length = usize::try_from(length).ok()?;
        let end = at.checked_add(length as u64)?;
        Some((Self { at, length, sum }, end))
    }
}

/// What the rows say of one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) ordinal: u32,
    pub(super) version: u32,
    /// With the length before it.
    pub(super) record: Span,
    pub(super) contents: Span,
}

impl Row {
    /// The record, from the bytes of its span.
    pub(super) fn record<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (length, record) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
        let whole = usize::from(u16::from_be_bytes(*length)) == record.len()
            && bytes.len() == self.record.length
            && crc32fast::hash(record) == self.record.sum;
        whole.then_some(record)
    }

    /// The contents, from the bytes of their span.
    pub(super) fn contents(&self, bytes: &[u8]) -> Option<Contents> {
        if bytes.len() != self.contents.length || crc32fast::hash(bytes) != self.contents.sum {
            return None;
        }
        let (contents, rest) = decode_contents(bytes)?;
        rest.is_empty().then_some(contents)
    }
}

/// The rows of a tile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) rows: Vec<Row>,
    /// How long the files are.
    pub(super) lengths: [u64; 2],
}

impl Head {
    /// Reads the beginning of the file of contents; `None` where it is none.
    pub(super) fn decode(bytes: &[u8; HEAD_BYTES]) -> Option<Self> {
        let (summed, sum) = bytes.split_last_chunk()?;
        if crc32fast::hash(summed) != u32::from_be_bytes(*sum) {
            return None;
        }
        let (encoded, _) = summed.strip_prefix(&[FORMAT])?.as_chunks::<ROW_BYTES>();
        let (mut records, mut contents) = (0, HEAD_BYTES as u64);
        let mut rows = Vec::with_capacity(RECORDS);
        for row in encoded {
            let (numbers, _) = row.as_chunks::<4>();
            let mut numbers = numbers.iter().map(|number| u32::from_be_bytes(*number));
            let (ordinal, version) = (numbers.next()?, numbers.next()?);
            let length = numbers.next()?;
            if usize::try_from(length).ok()? > RECORD_BYTES_MAX {
                return None;
            }
            let with_length = length.checked_add(u32::try_from(LENGTH_BYTES).ok()?)?;
            let record;
            let own;
            (record, records) = Span::after(records, with_length, numbers.next()?)?;
            (own, contents) = Span::after(contents, numbers.next()?, numbers.next()?)?;
            rows.push(Row {
                ordinal,
                version,
                record,
                contents: own,
            });
        }
        let lengths = [records, contents];
        Some(Self { rows, lengths })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::entry::tests::entry;
    use super::*;

    fn of(file: &[u8], span: Span) -> &[u8] {
        let at = usize::try_from(span.at).unwrap();
        &file[at..at + span.length]
    }

    fn decode(files: &Files) -> Option<Vec<Entry>> {
        let head = Head::decode(files[1].first_chunk()?)?;
        let lengths = [0, 1].map(|kind: usize| files[kind].len() as u64);
        if lengths != head.lengths {
            return None;
        }
        let read = |row: &Row| {
            Some(Entry {
                ordinal: row.ordinal,
                version: row.version,
                record: row.record(of(&files[0], row.record))?.into(),
                contents: row.contents(of(&files[1], row.contents))?,
            })
        };
        head.rows.iter().map(read).collect()
    }

    fn entries(lengths: &[(usize, Vec<usize>)]) -> Vec<Entry> {
        let numbered = (0..).zip(lengths.iter().cycle().take(RECORDS));
        numbered
            .map(|(number, (length, contents))| entry(number, *length, contents))
            .collect()
    }

    fn lengths() -> impl Strategy<Value = Vec<(usize, Vec<usize>)>> {
        let record = prop_oneof![9 => 0..900_usize, 1 => 65_500..=65_535_usize];
        let content = prop_oneof![0..300_usize, Just(usize::MAX)];
        prop::collection::vec((record, prop::collection::vec(content, 0..4)), 1..20)
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(lengths in lengths()) {
            let entries = entries(&lengths);
            let files = encode(&entries).unwrap();
            prop_assert_eq!(decode(&files).unwrap(), &entries[..]);
            // The records alone are an entry bundle: nothing but their lengths stands between them.
            let mut rest = &files[0][..];
            for entry in &entries {
                let (length, after) = rest.split_first_chunk().unwrap();
                let (record, after) = after.split_at(u16::from_be_bytes(*length).into());
                prop_assert_eq!(record, &*entry.record);
                rest = after;
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn a_byte_that_changed_is_told(
            lengths in lengths(),
            kind in 0..2_usize,
            at in any::<prop::sample::Index>(),
            mask in 1..=255_u8,
        ) {
            let mut files = encode(&entries(&lengths)).unwrap();
            let at = at.index(files[kind].len());
            files[kind][at] ^= mask;
            prop_assert_eq!(decode(&files), None);
        }

        #[test]
        fn any_bytes_are_rows_or_refused(bytes in prop::collection::vec(any::<u8>(), HEAD_BYTES)) {
            let mut bytes: [u8; HEAD_BYTES] = bytes.try_into().unwrap();
            bytes[0] = FORMAT;
            let sum = crc32fast::hash(&bytes[..HEAD_BYTES - 4]).to_be_bytes();
            bytes[HEAD_BYTES - 4..].copy_from_slice(&sum);
            let _ignored = Head::decode(&bytes);
        }
    }

    #[test]
    fn only_whole_tiles_of_records_that_fit_are_written() {
        let whole = entries(&[(100, vec![40])]);
        assert!(encode(&whole).is_some());
        assert!(encode(&whole[1..]).is_none());
        let more = [&whole[..], &whole[..1]].concat();
        assert!(encode(&more).is_none());
        assert!(encode(&entries(&[(RECORD_BYTES_MAX + 1, vec![])])).is_none());
    }
}
