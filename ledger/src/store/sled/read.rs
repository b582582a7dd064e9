//! Reading records back, from memory, from sled or from tiles: every number that a row tells is
//! checked against what it leads to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use ::sled::IVec;

use super::blocks::Raw;
use super::entry::{Contents, Entry, Lent};
use super::index::Chunk;
use super::memory::Memory;
use super::rows::Rows;
use super::tile::{Named, Tiles};
use super::values;
use super::{blocks, keys, unit};
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
    pub(super) tiles: &'a Tiles,
    pub(super) memory: &'a RwLock<Memory>,
    pub(super) chunks: &'a Chunks,
    /// Where large contents lie.
    pub(super) large: &'a Path,
}

/// A unit as it lies in its rows, with where its entries begin.
pub(super) struct Lying {
    first: u64,
    bytes: IVec,
    starts: Vec<usize>,
}

impl Lying {
    /// The unit that begins at a position or is the last before it.
    fn read(rows: &Rows, position: u64) -> Result<Self, ReadError> {
        let Raw { first, bytes, .. } = blocks::raw_at(rows, position)?;
        let starts = unit::starts(&bytes).ok_or_else(|| blocks::malformed(first))?;
        Ok(Self {
            first,
            bytes,
            starts,
        })
    }

    fn get(&self, position: u64) -> Option<Lent<'_>> {
        let index = usize::try_from(position.checked_sub(self.first)?).ok()?;
        let bytes = self.bytes.get(*self.starts.get(index)?..)?;
        Lent::split(bytes).map(|(entry, _)| entry)
    }
}

/// An entry, wherever it is.
pub(super) enum Seen<'a> {
    Memory(&'a Entry),
    Row(Lent<'a>),
}

impl Seen<'_> {
    fn record(&self) -> Arc<[u8]> {
        match self {
            Self::Memory(entry) => Arc::clone(&entry.record),
            Self::Row(entry) => entry.record.into(),
        }
    }

    fn named(&self) -> Named {
        let (ordinal, version) = match self {
            Self::Memory(entry) => (entry.ordinal, entry.version),
            Self::Row(entry) => (entry.ordinal, entry.version),
        };
        Named {
            ordinal,
            version,
            record: self.record(),
        }
    }

    /// Those of the contents that are wanted of a stream and named here first.
    pub(super) fn contents(&self, ordinal: u32, wanted: &BTreeSet<Commitment>) -> Contents {
        match self {
            Self::Memory(entry) if entry.ordinal == ordinal => {
                let contents = entry.contents.iter();
                contents
                    .filter(|(named, _)| wanted.contains(named))
                    .cloned()
                    .collect()
            }
            Self::Row(entry) if entry.ordinal == ordinal => entry.contents_in(wanted),
            Self::Memory(_) | Self::Row(_) => Contents::new(),
        }
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
        let end = from.get().saturating_add(limit as u64).min(size);
        let mut page = Vec::new();
        let (mut unit, mut position) = (None, from.get());
        while position < end {
            if self.tiles.hold(position) {
                page.append(&mut self.tiles.page(position, end)?);
            } else {
                let tile = |tiles: &Tiles| Ok(tiles.record(position)?.record);
                let entry = |seen: Seen<'_>| seen.record();
                page.push(stored(position, self.at(position, &mut unit, entry, tile)?));
            }
            position = from.get().saturating_add(page.len() as u64);
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
        let limit = limit.min(PAGE_RECORDS_MAX) as u64;
        let end = from.get().saturating_add(limit).min(size);
        let (mut unit, mut position) = (None, from.get());
        while position < end {
            if self.tiles.hold(position) {
                self.tiles.show(position, end, &mut |at, record| {
                    show(at, record);
                    position = at.get().saturating_add(1);
                })?;
                continue;
            }
            let entry = |seen: Seen<'_>| match seen {
                // Not here: whoever writes waits for what is read in memory.
                Seen::Memory(entry) => Some(Arc::clone(&entry.record)),
                Seen::Row(entry) => {
                    show(Position::new(position), entry.record);
                    None
                }
            };
            let tile = |tiles: &Tiles| Ok(Some(tiles.record(position)?.record));
            if let Some(record) = self.at(position, &mut unit, entry, tile)? {
                show(Position::new(position), &record);
            }
            position = position.saturating_add(1);
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
                let entry = |seen: Seen<'_>| seen.named();
                let named = self.at(position, &mut unit, entry, |t| t.record(position))?;
                if (named.ordinal, named.version) != (ordinal, version) {
                    let detail = format!("expected version {version} of stream {stream}");
                    return Err(damaged(Some(position), detail));
                }
                page.push(stored(position, named.record));
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

    /// Looks at the entry at a position, or into its tile; `unit` keeps the unit that was read
    /// last.
    ///
    /// Records go from memory to sled to tiles, and are in the next place before they leave the
    /// one before: who looks in that order finds each in one of them.
    pub(super) fn at<T>(
        &self,
        position: u64,
        unit: &mut Option<Lying>,
        entry: impl FnOnce(Seen<'_>) -> T,
        tile: impl FnOnce(&Tiles) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        if let Some(found) = unit.as_ref().and_then(|unit| unit.get(position)) {
            return Ok(entry(Seen::Row(found)));
        }
        // What is in a tile never leaves it.
        if self.tiles.hold(position) {
            return tile(self.tiles);
        }
        if let Some(found) = self.memory().entry(position) {
            return Ok(entry(Seen::Memory(found)));
        }
        let read = Lying::read(self.rows, position);
        if let Some(found) = read.as_ref().ok().and_then(|unit| unit.get(position)) {
            let found = entry(Seen::Row(found));
            *unit = read.ok();
            return Ok(found);
        }
        if self.tiles.hold(position) {
            return tile(self.tiles);
        }
        read.and_then(|_| Err(damaged(Some(position), "no record is there".to_owned())))
    }
}

/// The tree in a row; `None` where it is not there.
pub(super) fn frontier(rows: &Rows, key: &[u8]) -> Result<Option<Frontier>, ReadError> {
    let Some(bytes) = rows.get(key)? else {
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

fn stored(position: u64, bytes: Arc<[u8]>) -> Stored {
    let position = Position::new(position);
    Stored { position, bytes }
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
