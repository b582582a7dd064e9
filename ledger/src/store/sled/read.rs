//! Reading records back, from memory or from sled: every number that a row tells is checked
//! against the row it leads to.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use ::sled::IVec;

use super::entry::{Entry, Lent, Sealed};
use super::index::Chunk;
use super::memory::Memory;
use super::rows::Rows;
use super::values;
use super::{keys, large, unit};
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

/// A unit as it lies in its rows, with where its entries begin.
struct Lying {
    first: u64,
    bytes: IVec,
    starts: Vec<usize>,
}

impl Lying {
    fn get(&self, position: u64) -> Option<Lent<'_>> {
        let index = usize::try_from(position.checked_sub(self.first)?).ok()?;
        let bytes = self.bytes.get(*self.starts.get(index)?..)?;
        Lent::split(bytes).map(|(entry, _)| entry)
    }
}

/// An entry, wherever it is.
enum Seen<'a> {
    Memory(&'a Entry),
    Row(Lent<'a>),
}

impl Seen<'_> {
    fn is(&self, ordinal: u32, version: u32) -> bool {
        let here = match self {
            Self::Memory(entry) => (entry.ordinal, entry.version),
            Self::Row(entry) => (entry.ordinal, entry.version),
        };
        here == (ordinal, version)
    }

    fn stored(&self, position: u64) -> Stored {
        Stored {
            position: Position::new(position),
            bytes: match self {
                Self::Memory(entry) => Arc::clone(&entry.record),
                Self::Row(entry) => entry.record.into(),
            },
        }
    }

    fn content(&self, ordinal: u32, commitment: &Commitment) -> Option<Sealed> {
        match self {
            Self::Memory(entry) if entry.ordinal == ordinal => entry.content(commitment).cloned(),
            Self::Row(entry) if entry.ordinal == ordinal => entry.content(commitment),
            Self::Memory(_) | Self::Row(_) => None,
        }
    }
}

/// What was read for one content, and is likely to serve the next one of its stream.
#[derive(Default)]
pub(super) struct Near {
    unit: Option<Lying>,
    chunk: Option<Arc<Chunk>>,
}

impl Reader<'_> {
    fn memory(&self) -> RwLockReadGuard<'_, Memory> {
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
            self.entry(position, &mut unit, |seen| page.push(seen.stored(position)))?;
        }
        Ok(page)
    }

    /// Shows records of the whole log before `size`, as they lie.
    pub(super) fn show(
        &self,
        from: Position,
        size: u64,
        limit: usize,
        show: &mut (dyn FnMut(Position, &[u8]) + Send),
    ) -> Result<(), ReadError> {
        let mut unit = None;
        for position in (from.get()..size).take(limit.min(PAGE_RECORDS_MAX)) {
            let mut held = None;
            self.entry(position, &mut unit, |seen| match seen {
                // Not here: whoever writes waits for what is read in memory.
                Seen::Memory(entry) => held = Some(Arc::clone(&entry.record)),
                Seen::Row(entry) => show(Position::new(position), entry.record),
            })?;
            if let Some(record) = held {
                show(Position::new(position), &record);
            }
        }
        Ok(())
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
                self.entry(position, &mut unit, |seen| {
                    let expected = seen.is(ordinal, version);
                    found = expected.then(|| seen.stored(position));
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
    fn chunk(&self, ordinal: u32, version: u32) -> Result<Option<Arc<Chunk>>, ReadError> {
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

    /// The sealed content of a stream; `None` where it is not there.
    pub(super) fn sealed(
        &self,
        ordinal: u32,
        commitment: &Commitment,
        near: &mut Near,
    ) -> Result<Option<Arc<[u8]>>, ReadError> {
        let Some(sealed) = self.place_of(ordinal, commitment, near)? else {
            return Ok(None);
        };
        match sealed {
            Sealed::Inline(bytes) => Ok(Some(bytes)),
            Sealed::Apart(length) => {
                let bytes = large::read(self.large, ordinal, commitment, length);
                bytes.map(Some).map_err(|error| {
                    damaged(
                        None,
                        format!("the content {commitment} cannot be read: {error}"),
                    )
                })
            }
        }
    }

    /// Whether a stream holds a content.
    pub(super) fn has_content(
        &self,
        ordinal: u32,
        commitment: &Commitment,
    ) -> Result<bool, ReadError> {
        let found = self.place_of(ordinal, commitment, &mut Near::default())?;
        Ok(found.is_some())
    }

    /// How the record that names a content first holds it.
    fn place_of(
        &self,
        ordinal: u32,
        commitment: &Commitment,
        near: &mut Near,
    ) -> Result<Option<Sealed>, ReadError> {
        // Always by the index, whatever is at hand: verification must see what others will not
        // find.
        let in_memory = {
            let memory = self.memory();
            let chunk = memory.index.chunks.get(&ordinal);
            chunk.map(|chunk| (chunk.naming(commitment), chunk.first))
        };
        let (mut positions, mut before) = in_memory.unwrap_or((Vec::new(), u32::MAX));
        if let Some(chunk) = &near.chunk {
            positions.extend(chunk.naming(commitment));
        }
        loop {
            for position in positions {
                let mut found = None;
                self.entry(position, &mut near.unit, |seen| {
                    found = seen.content(ordinal, commitment);
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
            near.chunk = Some(chunk);
        }
    }

    /// Looks at the entry at a position; `unit` keeps the unit that was read last.
    fn entry(
        &self,
        position: u64,
        unit: &mut Option<Lying>,
        look: impl FnOnce(Seen<'_>),
    ) -> Result<(), ReadError> {
        if let Some(entry) = unit.as_ref().and_then(|unit| unit.get(position)) {
            look(Seen::Row(entry));
            return Ok(());
        }
        {
            let memory = self.memory();
            if let Some(entry) = memory.entry(position) {
                look(Seen::Memory(entry));
                return Ok(());
            }
        }
        // Whatever is not in memory any more was in sled before it left.
        let (first, bytes) = unit_bytes(self.rows, position)?;
        let starts = unit::starts(&bytes).ok_or_else(|| malformed_unit(first))?;
        let lying = unit.insert(Lying {
            first,
            bytes,
            starts,
        });
        let entry = lying.get(position);
        let entry =
            entry.ok_or_else(|| damaged(Some(position), "no record is there".to_owned()))?;
        look(Seen::Row(entry));
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
    let (first, bytes) = unit_bytes(rows, position)?;
    let entries = unit::unpack(&bytes).ok_or_else(|| malformed_unit(first))?;
    Ok(Unit { first, entries })
}

/// The same, not taken apart; with its first position.
fn unit_bytes(rows: &Rows, position: u64) -> Result<(u64, IVec), ReadError> {
    let at = (position != u64::MAX).then_some(position);
    let missing = || damaged(at, "no record is there".to_owned());
    let (key, last) = rows
        .last(&keys::unit(0, 0), &keys::unit(position, u16::MAX))?
        .ok_or_else(missing)?;
    let (first, parts) = keys::read_unit(&key).ok_or_else(missing)?;
    if parts == 0 {
        return Ok((first, last));
    }
    let mut bytes = Vec::new();
    for part in 0..parts {
        let part = rows.get(&keys::unit(first, part))?;
        bytes.extend_from_slice(&part.ok_or_else(missing)?);
    }
    bytes.extend_from_slice(&last);
    Ok((first, bytes.into()))
}

fn malformed_unit(first: u64) -> ReadError {
    damaged(Some(first), "its unit is malformed".to_owned())
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
