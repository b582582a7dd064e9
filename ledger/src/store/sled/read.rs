//! Reading records back, from memory or from sled: every number that a row tells is checked
//! against the row it leads to.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use super::entry::{Entry, Sealed};
use super::index::Chunk;
use super::memory::Memory;
use super::rows::Rows;
use super::values;
use super::{keys, unit};
use crate::content::Commitment;
use crate::id::{Position, StreamId, Version};
use crate::limits::PAGE_RECORDS_MAX;
use crate::merkle::Frontier;
use crate::store::check::Head;
use crate::store::{ReadError, Stored, chain};

/// Rows of the index that are kept decoded: some hundreds of kilobytes.
const CHUNKS_MAX: usize = 64;

/// Decoded rows of the index, which never change.
pub(super) type Chunks = Mutex<BTreeMap<(u32, u32), Arc<Chunk>>>;

/// The store as its parts show it.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) rows: &'a Rows,
    pub(super) memory: &'a RwLock<Memory>,
    pub(super) chunks: &'a Chunks,
    /// Where large contents lie.
    pub(super) large: &'a Path,
}

/// Entries with consecutive positions.
pub(super) struct Unit {
    pub(super) first: u64,
    pub(super) entries: Vec<Entry>,
}

impl Unit {
    fn get(&self, position: u64) -> Option<&Entry> {
        let index = usize::try_from(position.checked_sub(self.first)?).ok()?;
        self.entries.get(index)
    }
}

impl Reader<'_> {
    pub(super) fn memory(&self) -> RwLockReadGuard<'_, Memory> {
        self.memory.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The ordinal of a stream.
    pub(super) fn ordinal(&self, stream: StreamId) -> Result<Option<u32>, ReadError> {
        if let Some(&ordinal) = self.memory().index.names.get(&stream) {
            return Ok(Some(ordinal));
        }
        let Some(bytes) = self.rows.get(&keys::name(stream))? else {
            return Ok(None);
        };
        let ordinal = values::number(&bytes);
        ordinal.map(Some).ok_or_else(|| malformed("ordinal"))
    }

    /// The head of the stream with an ordinal.
    pub(super) fn head(&self, ordinal: u32) -> Result<Head, ReadError> {
        if let Some(&head) = self.memory().index.heads.get(&ordinal) {
            return Ok(head);
        }
        let bytes = self.rows.get(&keys::head(ordinal))?;
        let head = bytes.as_deref().and_then(values::decode_head);
        head.ok_or_else(|| malformed("head"))
    }

    /// Records of the whole log before `size`.
    pub(super) fn all(
        &self,
        from: Position,
        size: u64,
        limit: usize,
    ) -> Result<Vec<Stored>, ReadError> {
        let limit = limit.min(PAGE_RECORDS_MAX);
        let mut page = Vec::new();
        let mut unit = None;
        for position in (from.get()..size).take(limit) {
            self.entry(position, &mut unit, |entry| {
                page.push(stored(position, &entry.record));
            })?;
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
            let left = limit.saturating_sub(page.len());
            let places = self.places(ordinal, version, left)?;
            for position in places {
                let mut found = None;
                self.entry(position, &mut unit, |entry| {
                    let expected = (entry.ordinal, entry.version) == (ordinal, version);
                    found = expected.then(|| stored(position, &entry.record));
                })?;
                let wrong = || {
                    let detail = format!("expected version {version} of stream {stream}");
                    damaged(Some(position), detail)
                };
                page.push(found.ok_or_else(wrong)?);
                let Some(next) = version.checked_add(1) else {
                    return Ok(page);
                };
                version = next;
            }
        }
        Ok(page)
    }

    /// Positions of consecutive versions, at least one and at most `limit`.
    fn places(&self, ordinal: u32, version: u32, limit: usize) -> Result<Vec<u64>, ReadError> {
        let of = |chunk: &Chunk| {
            let from = usize::try_from(version.saturating_sub(chunk.first)).unwrap_or(usize::MAX);
            let places = chunk.places.iter().skip(from).take(limit);
            places.map(|place| place.position).collect::<Vec<_>>()
        };
        {
            let memory = self.memory();
            let chunk = memory.index.chunks.get(&ordinal);
            if let Some(chunk) = chunk.filter(|chunk| chunk.place(version).is_some()) {
                return Ok(of(chunk));
            }
        }
        let chunk = self.chunk(ordinal, version)?;
        let found = chunk.filter(|chunk| chunk.place(version).is_some());
        let found = found.ok_or_else(|| {
            damaged(
                None,
                format!("version {version} of ordinal {ordinal} is in no index"),
            )
        })?;
        Ok(of(&found))
    }

    /// The row of the index that holds a version, or is the last before it.
    pub(super) fn chunk(
        &self,
        ordinal: u32,
        version: u32,
    ) -> Result<Option<Arc<Chunk>>, ReadError> {
        let (low, high) = (keys::index(ordinal, 0), keys::index(ordinal, version));
        let Some((key, value)) = self.rows.last(&low, &high)? else {
            return Ok(None);
        };
        let first = keys::read_index(&key).ok_or_else(|| malformed("index"))?;
        let mut chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = chunks.get(&(ordinal, first)) {
            return Ok(Some(Arc::clone(known)));
        }
        let chunk = Chunk::decode(first, &value).ok_or_else(|| malformed("index"))?;
        let chunk = Arc::new(chunk);
        if chunks.len() >= CHUNKS_MAX {
            chunks.clear();
        }
        chunks.insert((ordinal, first), Arc::clone(&chunk));
        Ok(Some(chunk))
    }

    /// Whether a stream holds a content.
    pub(super) fn has_content(
        &self,
        ordinal: u32,
        commitment: &Commitment,
    ) -> Result<bool, ReadError> {
        Ok(self.place_of(ordinal, commitment)?.is_some())
    }

    /// How the record that names a content first holds it.
    fn place_of(&self, ordinal: u32, commitment: &Commitment) -> Result<Option<Sealed>, ReadError> {
        let in_memory = {
            let memory = self.memory();
            let chunk = memory.index.chunks.get(&ordinal);
            chunk.map(|chunk| (chunk.naming(commitment), chunk.first))
        };
        let (mut positions, mut before) = in_memory.unwrap_or((Vec::new(), u32::MAX));
        loop {
            for position in positions {
                let mut found = None;
                self.entry(position, &mut None, |entry| {
                    let here = entry
                        .content(commitment)
                        .filter(|_| entry.ordinal == ordinal);
                    found = here.cloned();
                })?;
                if found.is_some() {
                    return Ok(found);
                }
            }
            let Some(version) = before.checked_sub(1) else {
                return Ok(None);
            };
            let Some(chunk) = self.chunk(ordinal, version)? else {
                return Ok(None);
            };
            (positions, before) = (chunk.naming(commitment), chunk.first);
        }
    }

    /// Looks at the entry at a position; `unit` keeps the unit that was read last.
    pub(super) fn entry(
        &self,
        position: u64,
        unit: &mut Option<Unit>,
        look: impl FnOnce(&Entry),
    ) -> Result<(), ReadError> {
        if let Some(entry) = unit.as_ref().and_then(|unit| unit.get(position)) {
            look(entry);
            return Ok(());
        }
        {
            let memory = self.memory();
            if let Some(entry) = memory.entry(position) {
                look(entry);
                return Ok(());
            }
        }
        // Whatever is not in memory any more was in sled before it left.
        *unit = Some(read_unit(self.rows, position)?);
        let entry = unit.as_ref().and_then(|unit| unit.get(position));
        look(entry.ok_or_else(|| damaged(Some(position), "no record is there".to_owned()))?);
        Ok(())
    }
}

/// The tree over all records in sled; `None` where there is no store.
pub(super) fn frontier(rows: &Rows) -> Result<Option<Frontier>, ReadError> {
    let Some(bytes) = rows.get(keys::TREE)? else {
        return Ok(None);
    };
    Frontier::from_bytes(&bytes)
        .map(Some)
        .map_err(|error| damaged(None, chain(&error)))
}

/// Up to which position the rows tell where records are.
pub(super) fn mark(rows: &Rows) -> Result<u64, ReadError> {
    let Some(bytes) = rows.get(keys::MARK)? else {
        return Ok(0);
    };
    let mark = bytes.first_chunk().filter(|_| bytes.len() == 8);
    let mark = mark.ok_or_else(|| malformed("mark"))?;
    Ok(u64::from_be_bytes(*mark))
}

/// The last ordinal whose head is in a row.
pub(super) fn last_ordinal(rows: &Rows) -> Result<Option<u32>, ReadError> {
    let Some((key, _)) = rows.last(&keys::head(0), &keys::head(u32::MAX))? else {
        return Ok(None);
    };
    let ordinal = keys::read_head(&key);
    ordinal.map(Some).ok_or_else(|| malformed("head"))
}

/// The position after the last record in sled.
pub(super) fn end(rows: &Rows) -> Result<u64, ReadError> {
    let last = rows.last(&keys::unit(0, 0), &keys::unit(u64::MAX, u16::MAX))?;
    if last.is_none() {
        return Ok(0);
    }
    let unit = read_unit(rows, u64::MAX)?;
    Ok(unit.first.saturating_add(unit.entries.len() as u64))
}

/// The unit that begins at a position or is the last before it.
pub(super) fn read_unit(rows: &Rows, position: u64) -> Result<Unit, ReadError> {
    let at = (position != u64::MAX).then_some(position);
    let missing = || damaged(at, "no record is there".to_owned());
    let (key, last) = rows
        .last(&keys::unit(0, 0), &keys::unit(position, u16::MAX))?
        .ok_or_else(missing)?;
    let (first, parts) = keys::read_unit(&key).ok_or_else(missing)?;
    let mut bytes = Vec::new();
    for part in 0..parts {
        let part = rows.get(&keys::unit(first, part))?;
        bytes.extend_from_slice(&part.ok_or_else(missing)?);
    }
    bytes.extend_from_slice(&last);
    let entries = unit::unpack(&bytes)
        .ok_or_else(|| damaged(Some(first), "its unit is malformed".to_owned()))?;
    Ok(Unit { first, entries })
}

fn stored(position: u64, record: &Arc<[u8]>) -> Stored {
    Stored {
        position: Position::new(position),
        bytes: Arc::clone(record),
    }
}

pub(super) fn damaged(position: Option<u64>, detail: String) -> ReadError {
    ReadError::Damaged {
        position: position.map(Position::new),
        detail,
    }
}

fn malformed(row: &str) -> ReadError {
    damaged(None, format!("a row of kind {row} is missing or malformed"))
}
