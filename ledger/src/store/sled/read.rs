//! Reading rows back: every number that a row tells is checked against the row it leads to.

use std::sync::Arc;

use super::keys;
use super::rows::Rows;
use super::unit::{self, Entry};
use super::values::{self, Run};
use crate::content::Commitment;
use crate::id::{Position, StreamId, Version};
use crate::limits::PAGE_RECORDS_MAX;
use crate::merkle::Frontier;
use crate::store::check::Head;
use crate::store::{ReadError, Stored, chain};

/// The rows, up to a size of the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    rows: &'a Rows,
    /// What lies beyond was not acknowledged.
    size: u64,
}

/// Entries with consecutive positions.
struct Unit {
    first: u64,
    entries: Vec<Entry>,
}

impl Unit {
    fn get(&self, position: u64) -> Option<&Entry> {
        let index = usize::try_from(position.checked_sub(self.first)?).ok()?;
        self.entries.get(index)
    }
}

impl<'a> Reader<'a> {
    /// Reads what lies below `size`.
    pub(super) fn new(rows: &'a Rows, size: u64) -> Self {
        Self { rows, size }
    }

    /// The tree over all records; `None` where there is no store.
    pub(super) fn frontier(&self) -> Result<Option<Frontier>, ReadError> {
        let Some(bytes) = self.rows.get(keys::TREE)? else {
            return Ok(None);
        };
        Frontier::from_bytes(&bytes)
            .map(Some)
            .map_err(|error| damaged(None, chain(&error)))
    }

    /// The last ordinal that a stream has.
    pub(super) fn last_ordinal(&self) -> Result<Option<u32>, ReadError> {
        let Some((key, _)) = self.rows.last(&keys::head(0), &keys::head(u32::MAX))? else {
            return Ok(None);
        };
        let ordinal = keys::read_head(&key);
        ordinal.map(Some).ok_or_else(|| malformed("head"))
    }

    /// The ordinal of a stream.
    pub(super) fn ordinal(&self, stream: StreamId) -> Result<Option<u32>, ReadError> {
        let Some(bytes) = self.rows.get(&keys::name(stream))? else {
            return Ok(None);
        };
        let ordinal = values::number(&bytes);
        ordinal.map(Some).ok_or_else(|| malformed("ordinal"))
    }

    /// The head of the stream with an ordinal.
    pub(super) fn head(&self, ordinal: u32) -> Result<Head, ReadError> {
        let bytes = self.rows.get(&keys::head(ordinal))?;
        let head = bytes.as_deref().and_then(values::decode_head);
        head.ok_or_else(|| malformed("head"))
    }

    /// Records of the whole log.
    pub(super) fn all(&self, from: Position, limit: usize) -> Result<Vec<Stored>, ReadError> {
        let limit = limit.min(PAGE_RECORDS_MAX);
        let mut page = Vec::new();
        let mut unit = None;
        for position in (from.get()..self.size).take(limit) {
            let entry = self.entry(position, &mut unit)?;
            page.push(stored(position, &entry.record));
        }
        Ok(page)
    }

    /// Records of one stream.
    pub(super) fn run(
        &self,
        stream: StreamId,
        from: Version,
        limit: usize,
    ) -> Result<Vec<Stored>, ReadError> {
        let Some(ordinal) = self.ordinal(stream)? else {
            return Ok(Vec::new());
        };
        // The head comes first: what is appended meanwhile can only make the index longer.
        let head = self.head(ordinal)?.version.get();
        let limit = limit.min(PAGE_RECORDS_MAX);
        let mut page = Vec::new();
        let (mut unit, mut version) = (None, from.get());
        while page.len() < limit && version <= head {
            let (first, run) = self.append_with(ordinal, version)?;
            let end = u64::from(first).saturating_add(run.count.into());
            if end <= version.into() {
                let detail = format!("version {version} of stream {stream} is not in its index");
                return Err(damaged(None, detail));
            }
            while page.len() < limit && u64::from(version) < end {
                let position = run
                    .first
                    .saturating_add(version.saturating_sub(first).into());
                if position >= self.size {
                    return Ok(page);
                }
                let entry = self.entry(position, &mut unit)?;
                if (entry.ordinal, entry.version) != (ordinal, version) {
                    let detail = format!("expected version {version} of stream {stream}");
                    return Err(damaged(Some(position), detail));
                }
                page.push(stored(position, &entry.record));
                let Some(next) = version.checked_add(1) else {
                    return Ok(page);
                };
                version = next;
            }
        }
        Ok(page)
    }

    /// The sealed content of a stream; `None` where it is not there.
    pub(super) fn sealed(
        &self,
        ordinal: u32,
        commitment: &Commitment,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        let Some(first) = self.rows.get(&keys::content(ordinal, commitment, 0))? else {
            return Ok(None);
        };
        let short = || damaged(None, format!("the content {commitment} is cut short"));
        let (position, length, blob) = unit::read_content(&first).ok_or_else(short)?;
        if position >= self.size {
            return Ok(None);
        }
        let mut blob = blob.to_vec();
        for part in 1..=u16::MAX {
            if blob.len() >= length {
                break;
            }
            let key = keys::content(ordinal, commitment, part);
            let next = self.rows.get(&key)?.filter(|next| !next.is_empty());
            blob.extend_from_slice(&next.ok_or_else(short)?);
        }
        if blob.len() == length {
            Ok(Some(blob))
        } else {
            Err(short())
        }
    }

    /// Whether a stream holds a content.
    pub(super) fn has_content(
        &self,
        ordinal: u32,
        commitment: &Commitment,
    ) -> Result<bool, ReadError> {
        let first = self.rows.get(&keys::content(ordinal, commitment, 0))?;
        Ok(first.is_some())
    }

    /// The position after the last record that any row holds.
    pub(super) fn end(&self) -> Result<u64, ReadError> {
        let last = self
            .rows
            .last(&keys::unit(0, 0), &keys::unit(u64::MAX, u16::MAX))?;
        let Some((key, _)) = last else { return Ok(0) };
        let (first, _) = keys::read_unit(&key).ok_or_else(|| malformed("unit"))?;
        let entries = self.unit(u64::MAX)?.entries.len();
        Ok(first.saturating_add(u64::try_from(entries).unwrap_or(u64::MAX)))
    }

    /// The append that holds a version, or the last one before it, with its first version.
    fn append_with(&self, ordinal: u32, version: u32) -> Result<(u32, Run), ReadError> {
        let (low, high) = (keys::index(ordinal, 0), keys::index(ordinal, version));
        let (key, value) = self
            .rows
            .last(&low, &high)?
            .ok_or_else(|| malformed("index"))?;
        keys::read_index(&key)
            .zip(Run::decode(&value))
            .ok_or_else(|| malformed("index"))
    }

    /// The entry at a position; `unit` keeps the unit that was read last.
    fn entry<'u>(&self, position: u64, unit: &'u mut Option<Unit>) -> Result<&'u Entry, ReadError> {
        let there = unit
            .as_ref()
            .is_some_and(|unit| unit.get(position).is_some());
        if !there {
            *unit = Some(self.unit(position)?);
        }
        unit.as_ref()
            .and_then(|unit| unit.get(position))
            .ok_or_else(|| damaged(Some(position), "no record is there".to_owned()))
    }

    /// The unit that begins at a position or is the last before it.
    fn unit(&self, position: u64) -> Result<Unit, ReadError> {
        let missing = || damaged(Some(position), "no record is there".to_owned());
        let (key, last) = self
            .rows
            .last(&keys::unit(0, 0), &keys::unit(position, u16::MAX))?
            .ok_or_else(missing)?;
        let (first, parts) = keys::read_unit(&key).ok_or_else(missing)?;
        let mut bytes = Vec::new();
        for part in 0..parts {
            let part = self.rows.get(&keys::unit(first, part))?;
            bytes.extend_from_slice(&part.ok_or_else(missing)?);
        }
        bytes.extend_from_slice(&last);
        let entries = unit::unpack(&bytes)
            .ok_or_else(|| damaged(Some(first), "its unit is malformed".to_owned()))?;
        Ok(Unit { first, entries })
    }
}

fn stored(position: u64, record: &Arc<[u8]>) -> Stored {
    Stored {
        position: Position::new(position),
        bytes: Arc::clone(record),
    }
}

fn damaged(position: Option<u64>, detail: String) -> ReadError {
    ReadError::Damaged {
        position: position.map(Position::new),
        detail,
    }
}

fn malformed(row: &str) -> ReadError {
    damaged(None, format!("a row of kind {row} is missing or malformed"))
}
