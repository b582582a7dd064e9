//! Where units lie in sled: in blocks, which are rows that were made ahead.
//!
//! sled splits a leaf of its tree once it holds more than 16 rows, and then writes all of it anew,
//! as it does after ten changes of a leaf. Units in rows of their own would be written about three
//! times so. A block is made empty, and the leaves are split while they hold nothing; the bytes of
//! a unit that come into a block later are written once.
//!
//! A row by first position tells which blocks a unit has: `u64 first block | u16 blocks`. Blocks
//! are numbered in the order in which they are filled.

use ::sled::{Batch, IVec};

use super::entry::Entry;
use super::read::damaged;
use super::rows::{Row, Rows};
use super::{keys, unit};
use crate::store::ReadError;

/// Blocks that are at least ahead: leaves that are filled next were split by then.
const AHEAD_MIN: u64 = 32;

/// Blocks that are made at once.
const AHEAD: u64 = 256;

/// Entries with consecutive positions.
pub(super) struct Unit {
    pub(super) first: u64,
    pub(super) entries: Vec<Entry>,
}

/// A unit as it lies in its blocks.
pub(super) struct Raw {
    pub(super) first: u64,
    pub(super) bytes: IVec,
    place: Place,
}

/// The blocks of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    block: u64,
    blocks: u16,
}

impl Place {
    fn encode(self) -> Vec<u8> {
        [
            self.block.to_be_bytes().as_slice(),
            &self.blocks.to_be_bytes(),
        ]
        .concat()
    }

    fn decode(row: &[u8]) -> Option<Self> {
        let (block, rest) = row.split_first_chunk()?;
        let blocks = u16::from_be_bytes(rest.try_into().ok()?);
        let block = u64::from_be_bytes(*block);
        let place = Self { block, blocks };
        (blocks > 0 && place.end().is_some()).then_some(place)
    }

    /// The block after the last one.
    fn end(self) -> Option<u64> {
        self.block.checked_add(self.blocks.into())
    }

    fn numbers(self) -> impl Iterator<Item = u64> {
        (self.block..).take(self.blocks.into())
    }
}

impl Raw {
    /// The keys of its rows.
    pub(super) fn keys(&self) -> Vec<Vec<u8>> {
        let blocks = self.place.numbers().map(keys::block);
        std::iter::once(keys::unit(self.first))
            .chain(blocks)
            .collect()
    }

    /// The unit, taken apart.
    pub(super) fn unpack(&self) -> Result<Unit, ReadError> {
        let entries = unit::unpack(&self.bytes).ok_or_else(|| malformed(self.first))?;
        let first = self.first;
        Ok(Unit { first, entries })
    }
}

/// What is filled next; whoever writes units has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Blocks {
    next: u64,
    /// The block after the last that was made.
    made: u64,
}

impl Blocks {
    /// As the rows have them.
    pub(super) fn find(rows: &Rows) -> Result<Self, ReadError> {
        let (low, high) = (keys::block(0), keys::block(u64::MAX));
        let number = |(key, _): &Row| {
            let number = keys::read_block(key);
            number.ok_or_else(|| damaged(None, "a block has a malformed key".to_owned()))
        };
        let last = rows.last(&low, &high)?;
        let last = last.as_ref().map(number).transpose()?;
        let made = last.map_or(0, |last| last.saturating_add(1));
        let next = if let Some((_, place)) = last_unit(rows, u64::MAX)? {
            place.end().unwrap_or(u64::MAX)
        } else {
            // All that were filled are gone: the first that is there is empty.
            let first = rows.page(&low, &high, false, 1)?;
            first.first().map(number).transpose()?.unwrap_or(made)
        };
        let made = made.max(next);
        Ok(Self { next, made })
    }

    /// Makes so many blocks, and some more, if they are not there.
    pub(super) fn make(&mut self, rows: &Rows, count: u64) -> Result<(), ReadError> {
        let wanted = self.next.saturating_add(count);
        if self.made >= wanted.saturating_add(AHEAD_MIN) {
            return Ok(());
        }
        for number in self.made..wanted.saturating_add(AHEAD) {
            rows.insert(&keys::block(number), &[])?;
            self.made = number.saturating_add(1);
        }
        Ok(())
    }

    /// Puts a unit into the next blocks.
    pub(super) fn put(&mut self, batch: &mut Batch, first: u64, unit: &[u8]) {
        let mut place = Place {
            block: self.next,
            blocks: 0,
        };
        for part in unit::cut(unit) {
            batch.insert(keys::block(self.next), part);
            self.next = self.next.saturating_add(1);
            place.blocks = place.blocks.saturating_add(1);
        }
        batch.insert(keys::unit(first), place.encode());
    }
}

/// The unit that begins at a position or is the last before it, not taken apart.
pub(super) fn raw_at(rows: &Rows, position: u64) -> Result<Raw, ReadError> {
    let at = (position != u64::MAX).then_some(position);
    let missing = || damaged(at, "no record is there".to_owned());
    let (first, place) = last_unit(rows, position)?.ok_or_else(missing)?;
    read(rows, first, place)
}

/// The same, taken apart.
pub(super) fn unit_at(rows: &Rows, position: u64) -> Result<Unit, ReadError> {
    raw_at(rows, position)?.unpack()
}

/// The units that begin between two positions.
pub(super) fn between(rows: &Rows, from: u64, to: u64) -> Result<Vec<Raw>, ReadError> {
    let found = rows.page(&keys::unit(from), &keys::unit(to), false, usize::MAX)?;
    let units = found.iter().map(|(key, row)| {
        let (first, place) = decode(key, row)?;
        read(rows, first, place)
    });
    units.collect()
}

/// The position after the last record in sled; `sealed`, where there is none above it.
pub(super) fn end(rows: &Rows, sealed: u64) -> Result<u64, ReadError> {
    let last = rows.last(&keys::unit(sealed), &keys::unit(u64::MAX))?;
    if last.is_none() {
        return Ok(sealed);
    }
    let unit = unit_at(rows, u64::MAX)?;
    Ok(unit.first.saturating_add(unit.entries.len() as u64))
}

fn last_unit(rows: &Rows, position: u64) -> Result<Option<(u64, Place)>, ReadError> {
    let last = rows.last(&keys::unit(0), &keys::unit(position))?;
    last.map(|(key, row)| decode(&key, &row)).transpose()
}

fn decode(key: &[u8], row: &[u8]) -> Result<(u64, Place), ReadError> {
    let first = keys::read_unit(key);
    let first = first.ok_or_else(|| damaged(None, "a unit has a malformed key".to_owned()))?;
    let place = Place::decode(row).ok_or_else(|| malformed(first))?;
    Ok((first, place))
}

fn read(rows: &Rows, first: u64, place: Place) -> Result<Raw, ReadError> {
    let block = |number: u64| {
        let block = rows.get(&keys::block(number))?;
        block.ok_or_else(|| damaged(Some(first), format!("its block {number} is missing")))
    };
    let bytes = if place.blocks == 1 {
        block(place.block)?
    } else {
        let mut bytes = Vec::new();
        for number in place.numbers() {
            bytes.extend_from_slice(&block(number)?);
        }
        bytes.into()
    };
    Ok(Raw {
        first,
        bytes,
        place,
    })
}

/// What lies in the blocks of a unit is none.
pub(super) fn malformed(first: u64) -> ReadError {
    damaged(Some(first), "its unit is malformed".to_owned())
}
