//! One record as frames and units hold it, with the sealed contents that it names first.
//!
//! ```text
//! u32 ordinal | u32 version | u32 length | record | u16 contents | content*
//! content = 32 B commitment | u8 kind | u32 length | sealed bytes, of kind 0
//! ```
//!
//! A content of kind 1 lies in a file of its own (`large`); its length alone stands here. Numbers
//! are big-endian.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::content::Commitment;
use crate::digest::Digest;

/// Where a sealed content lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sealed {
    /// Here.
    Inline(Arc<[u8]>),
    /// In a file of its own, of this length.
    Apart(u32),
}

/// Contents that one record names first.
pub(super) type Contents = Vec<(Commitment, Sealed)>;

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) ordinal: u32,
    pub(super) version: u32,
    pub(super) record: Arc<[u8]>,
    /// The contents that it names first.
    pub(super) contents: Contents,
}

/// Bytes of an entry beside its record and its contents.
pub(super) const HEADER_BYTES: usize = 14;

/// Bytes of a content beside what is sealed.
const CONTENT_HEADER_BYTES: usize = 37;

impl Entry {
    /// How long it is.
    pub(super) fn bytes(&self) -> usize {
        let contents = self.contents.iter().map(|(_, sealed)| match sealed {
            Sealed::Inline(bytes) => bytes.len().saturating_add(CONTENT_HEADER_BYTES),
            Sealed::Apart(_) => CONTENT_HEADER_BYTES,
        });
        contents
            .fold(self.record.len(), usize::saturating_add)
            .saturating_add(HEADER_BYTES)
    }

    /// The content with this commitment, if it is named here first.
    pub(super) fn content(&self, commitment: &Commitment) -> Option<&Sealed> {
        let mut contents = self.contents.iter();
        contents.find_map(|(named, sealed)| (named == commitment).then_some(sealed))
    }

    pub(super) fn encode(&self, to: &mut Vec<u8>) {
        // A record has at most 65,535 bytes.
        let length = u32::try_from(self.record.len()).unwrap_or(u32::MAX);
        to.extend_from_slice(&self.ordinal.to_be_bytes());
        to.extend_from_slice(&self.version.to_be_bytes());
        to.extend_from_slice(&length.to_be_bytes());
        to.extend_from_slice(&self.record);
        self.encode_contents(to);
    }

    /// The contents alone, with their number.
    pub(super) fn encode_contents(&self, to: &mut Vec<u8>) {
        // An append has no more contents than a record can name.
        let contents = u16::try_from(self.contents.len()).unwrap_or(u16::MAX);
        to.extend_from_slice(&contents.to_be_bytes());
        for (commitment, sealed) in &self.contents {
            to.extend_from_slice(commitment.digest().as_bytes());
            match sealed {
                Sealed::Inline(bytes) => {
                    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                    to.push(0);
                    to.extend_from_slice(&length.to_be_bytes());
                    to.extend_from_slice(bytes);
                }
                Sealed::Apart(length) => {
                    to.push(1);
                    to.extend_from_slice(&length.to_be_bytes());
                }
            }
        }
    }

    /// Takes the first entry off; `None` where the bytes begin with none.
    pub(super) fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (lent, rest) = Lent::split(bytes)?;
        let contents = lent.contents().map(|(named, part)| (named, part.sealed()));
        let entry = Self {
            ordinal: lent.ordinal,
            version: lent.version,
            record: lent.record.into(),
            contents: contents.collect(),
        };
        Some((entry, rest))
    }

    /// All entries of a frame or a unit; `None` where there is something else in it.
    pub(super) fn decode_all(mut bytes: &[u8]) -> Option<Vec<Self>> {
        let mut entries = Vec::new();
        while !bytes.is_empty() {
            let (entry, rest) = Self::decode(bytes)?;
            entries.push(entry);
            bytes = rest;
        }
        Some(entries)
    }
}

/// Takes contents with their number off; `None` where the bytes begin with none.
pub(super) fn decode_contents(bytes: &[u8]) -> Option<(Contents, &[u8])> {
    let (count, mut rest) = bytes.split_first_chunk::<2>()?;
    let mut contents = Vec::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let ((named, part), after) = content(rest)?;
        contents.push((named, part.sealed()));
        rest = after;
    }
    Some((contents, rest))
}

/// One record as it lies in a frame or a unit, not copied.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lent<'a> {
    pub(super) ordinal: u32,
    pub(super) version: u32,
    pub(super) record: &'a [u8],
    /// The contents that it names first, each one whole.
    contents: &'a [u8],
}

/// A sealed content as it lies there.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part<'a> {
    Inline(&'a [u8]),
    Apart(u32),
}

impl Part<'_> {
    fn sealed(self) -> Sealed {
        match self {
            Self::Inline(bytes) => Sealed::Inline(bytes.into()),
            Self::Apart(length) => Sealed::Apart(length),
        }
    }
}

impl<'a> Lent<'a> {
    /// The first entry, and what follows it; `None` where the bytes begin with none.
    pub(super) fn split(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (ordinal, rest) = number(bytes)?;
        let (version, rest) = number(rest)?;
        let (length, rest) = number(rest)?;
        let (record, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        let (count, contents) = rest.split_first_chunk::<2>()?;
        let mut rest = contents;
        for _ in 0..u16::from_be_bytes(*count) {
            (_, rest) = content(rest)?;
        }
        let contents = contents.get(..contents.len().checked_sub(rest.len())?)?;
        let entry = Self {
            ordinal,
            version,
            record,
            contents,
        };
        Some((entry, rest))
    }

    /// The contents that it names first.
    fn contents(&self) -> impl Iterator<Item = (Commitment, Part<'a>)> + use<'a> {
        let mut rest = self.contents;
        std::iter::from_fn(move || {
            let (named, after) = content(rest)?;
            rest = after;
            Some(named)
        })
    }

    /// Those of the contents that are wanted and named here first.
    pub(super) fn contents_in(&self, wanted: &BTreeSet<Commitment>) -> Contents {
        let contents = self.contents().filter(|(named, _)| wanted.contains(named));
        contents
            .map(|(named, part)| (named, part.sealed()))
            .collect()
    }
}

/// The first content of an entry, and what follows it.
fn content(bytes: &[u8]) -> Option<((Commitment, Part<'_>), &[u8])> {
    let (commitment, after) = bytes.split_first_chunk::<32>()?;
    let (&kind, after) = after.split_first()?;
    let (length, after) = number(after)?;
    let (part, after) = match kind {
        0 => {
            let (sealed, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
            (Part::Inline(sealed), after)
        }
        1 => (Part::Apart(length), after),
        _ => return None,
    };
    let commitment = Commitment::from_digest(Digest::from_bytes(*commitment));
    Some(((commitment, part), after))
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*number), rest))
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An entry with a record of some length, and contents.
    pub(in super::super) fn entry(number: u32, length: usize, contents: &[usize]) -> Entry {
        let byte = u8::try_from(number % 251).unwrap();
        let content = |(at, &length): (usize, &usize)| {
            let mut name = [byte; 32];
            name[31] = u8::try_from(at).unwrap();
            let sealed = match length {
                usize::MAX => Sealed::Apart(70_000),
                length => Sealed::Inline(vec![byte; length].into()),
            };
            (Commitment::from_digest(Digest::from_bytes(name)), sealed)
        };
        Entry {
            ordinal: number / 3,
            version: number,
            record: vec![byte; length].into(),
            contents: contents.iter().enumerate().map(content).collect(),
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            lengths in prop::collection::vec(
                (
                    0..900_usize,
                    prop::collection::vec(prop_oneof![0..300_usize, Just(usize::MAX)], 0..4),
                ),
                1..20,
            ),
        ) {
            let entries: Vec<_> = (0..)
                .zip(&lengths)
                .map(|(number, (length, contents))| entry(number, *length, contents))
                .collect();
            let mut bytes = Vec::new();
            let mut sum = 0;
            for entry in &entries {
                entry.encode(&mut bytes);
                sum += entry.bytes();
            }
            prop_assert_eq!(bytes.len(), sum);
            prop_assert_eq!(Entry::decode_all(&bytes).unwrap(), entries);
            prop_assert!(Entry::decode_all(&bytes[..bytes.len() - 1]).is_none());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            let _ignored = Entry::decode_all(&bytes);
        }
    }
}
