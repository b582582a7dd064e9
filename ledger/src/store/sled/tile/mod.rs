//! Tiles: history that has left sled, in files that are never changed once they have their names.
//!
//! A tile is 256 records by position, in two files (`bundle`, `path`). The mover writes them and
//! then takes their rows out of sled (`seal`); all below one position lies in tiles. What is read
//! of a tile are its rows and the bytes that are wanted; the rows of the last few tiles are kept.

mod bundle;
pub(super) mod check;
mod path;
pub(super) mod seal;

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use self::bundle::{HEAD_BYTES, Head, Row, Span};
use self::path::{KINDS, Kind};
use super::entry::Contents;
use super::read::damaged;
use crate::id::Position;
use crate::store::{ReadError, Stored};

/// Records of a tile. Tests of this crate have small ones, so that few records fill some; the
/// suites outside of it have those of everybody else.
pub(super) const RECORDS: usize = if cfg!(test) { 8 } else { 256 };

/// The same, as positions count.
pub(super) const TILE: u64 = RECORDS as u64;

/// Tiles of which the rows are kept, some kilobytes each, and both files open.
const OPEN_MAX: usize = 16;

/// A record, and whose it is.
pub(super) struct Named {
    pub(super) ordinal: u32,
    pub(super) version: u32,
    pub(super) record: Arc<[u8]>,
}

/// The tiles of one store.
#[derive(Debug)]
pub(super) struct Tiles {
    folder: PathBuf,
    /// Everything below lies in tiles.
    sealed: AtomicU64,
    /// The size of the head file, above which nothing is sealed.
    anchored: AtomicU64,
    /// The one that was read last in front.
    open: Mutex<VecDeque<Arc<Tile>>>,
}

/// Makes the folders, where they are missing, and removes what a crash left half written.
pub(super) fn prepare(folder: &Path) -> io::Result<()> {
    path::prepare(folder)
}

impl Tiles {
    pub(super) fn new(folder: PathBuf, sealed: u64) -> Self {
        Self {
            folder,
            sealed: AtomicU64::new(sealed),
            anchored: AtomicU64::new(0),
            open: Mutex::default(),
        }
    }

    /// Up to where records lie in tiles.
    pub(super) fn sealed(&self) -> u64 {
        self.sealed.load(Ordering::Acquire)
    }

    /// Whether the record at a position lies in a tile.
    pub(super) fn hold(&self, position: u64) -> bool {
        position < self.sealed()
    }

    /// Lets readers look into tiles that are durable, before their rows go.
    fn seal_up_to(&self, sealed: u64) {
        self.sealed.store(sealed, Ordering::Release);
    }

    /// The head file is at this size.
    pub(super) fn anchor(&self, size: u64) {
        self.anchored.store(size, Ordering::Release);
    }

    fn anchored(&self) -> u64 {
        self.anchored.load(Ordering::Acquire)
    }

    /// Whether the last tile is there: a home that was copied without them must not go on.
    pub(super) fn check_last(&self) -> Result<(), ReadError> {
        match self.sealed().checked_sub(1) {
            Some(last) => self.tile(last).map(drop),
            None => Ok(()),
        }
    }

    /// Looks at the files of all of them.
    pub(super) fn check(&self) -> io::Result<check::TileFaults> {
        check::check(&self.folder, Some(self.sealed()))
    }

    /// Records from a position on, before `end` and in one tile.
    pub(super) fn page(&self, from: u64, end: u64) -> Result<Vec<Stored>, ReadError> {
        let mut page = Vec::new();
        self.show(from, end, &mut |position, record| {
            let bytes = record.into();
            page.push(Stored { position, bytes });
        })?;
        Ok(page)
    }

    /// Shows the same as they lie; what was shown before an error is right.
    pub(super) fn show(
        &self,
        from: u64,
        end: u64,
        show: &mut dyn FnMut(Position, &[u8]),
    ) -> Result<(), ReadError> {
        let (tile, first) = (self.tile(from)?, place(from));
        let count = usize::try_from(end.saturating_sub(from)).unwrap_or(RECORDS);
        let last = first.saturating_add(count).min(RECORDS);
        let rows = tile.head.rows.get(first..last).unwrap_or_default();
        let (Some(begin), Some(stop)) = (rows.first(), rows.last()) else {
            return Err(damaged(Some(from), "no record is there".to_owned()));
        };
        let stop = stop.record.at.saturating_add(stop.record.length as u64);
        let length = stop.saturating_sub(begin.record.at);
        let bytes = tile
            .read(Kind::Entries, begin.record.at, length)
            .map_err(|error| tile.failed(from, Kind::Entries, &error))?;
        let mut rest = &bytes[..];
        for (position, row) in (from..).zip(rows) {
            let own = rest.split_at_checked(row.record.length);
            let (own, after) = own.unwrap_or((rest, &[]));
            let record = record_of(row, own);
            let record = record.map_err(|error| tile.failed(position, Kind::Entries, &error))?;
            show(Position::new(position), record);
            rest = after;
        }
        Ok(())
    }

    /// The record at a position.
    pub(super) fn record(&self, position: u64) -> Result<Named, ReadError> {
        let tile = self.tile(position)?;
        let row = tile.row(position)?;
        let Span { at, length, .. } = row.record;
        let record = tile
            .read(Kind::Entries, at, length as u64)
            .and_then(|bytes| record_of(row, &bytes).map(Arc::from))
            .map_err(|error| tile.failed(position, Kind::Entries, &error))?;
        Ok(Named {
            ordinal: row.ordinal,
            version: row.version,
            record,
        })
    }

    /// The contents that the record at a position names first, with the ordinal of its stream.
    pub(super) fn contents(&self, position: u64) -> Result<(u32, Contents), ReadError> {
        let tile = self.tile(position)?;
        let row = tile.row(position)?;
        let Span { at, length, .. } = row.contents;
        let contents = tile
            .read(Kind::Content, at, length as u64)
            .and_then(|bytes| row.contents(&bytes).ok_or_else(changed))
            .map_err(|error| tile.failed(position, Kind::Content, &error))?;
        Ok((row.ordinal, contents))
    }

    /// The tile with a position, from those that are kept or from its files.
    fn tile(&self, position: u64) -> Result<Arc<Tile>, ReadError> {
        let number = position.checked_div(TILE).unwrap_or(position);
        {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(at) = open.iter().position(|tile| tile.number == number) {
                // It is the one in front but for now and then.
                if let Some(tile) = open.remove(at) {
                    open.push_front(Arc::clone(&tile));
                    return Ok(tile);
                }
            }
        }
        let tile = Tile::open(&self.folder, number)
            .map_err(|(kind, error)| failed(position, number, kind, &error))?;
        let tile = Arc::new(tile);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.truncate(OPEN_MAX.saturating_sub(1));
        open.push_front(Arc::clone(&tile));
        Ok(tile)
    }
}

/// Both files of a tile, open.
#[derive(Debug)]
struct Tile {
    number: u64,
    files: [File; 2],
    /// How long they are: not longer than the head says.
    lengths: [u64; 2],
    head: Head,
}

impl Tile {
    fn open(folder: &Path, number: u64) -> Result<Self, (Kind, io::Error)> {
        let open = |kind| path::open(folder, kind, number).map_err(|error| (kind, error));
        let files = [open(Kind::Entries)?, open(Kind::Content)?];
        let mut bytes = [0; HEAD_BYTES];
        let of_head = |error| (Kind::Content, error);
        let [_, content] = &files;
        content.read_exact_at(&mut bytes, 0).map_err(of_head)?;
        let head = Head::decode(&bytes);
        let head = head.ok_or_else(|| of_head(changed()))?;
        let mut lengths = head.lengths;
        for ((kind, file), length) in KINDS.into_iter().zip(&files).zip(&mut lengths) {
            let found = file.metadata().map_err(|error| (kind, error))?.len();
            if found > *length {
                return Err((kind, changed()));
            }
            *length = found;
        }
        Ok(Self {
            number,
            files,
            lengths,
            head,
        })
    }

    fn row(&self, position: u64) -> Result<&Row, ReadError> {
        let row = self.head.rows.get(place(position));
        row.ok_or_else(|| damaged(Some(position), "no record is there".to_owned()))
    }

    /// Bytes of a file, fewer where it ends before.
    fn read(&self, kind: Kind, at: u64, length: u64) -> io::Result<Vec<u8>> {
        let ([entries, content], lengths) = (&self.files, self.lengths);
        let (file, end) = match kind {
            Kind::Entries => (entries, lengths[0]),
            Kind::Content => (content, lengths[1]),
        };
        // A row that lies about a length must not make room for it.
        let there = end.saturating_sub(at).min(length);
        let mut bytes = vec![0; usize::try_from(there).map_err(io::Error::other)?];
        file.read_exact_at(&mut bytes, at)?;
        Ok(bytes)
    }

    fn failed(&self, position: u64, kind: Kind, error: &io::Error) -> ReadError {
        failed(position, self.number, kind, error)
    }
}

/// The record of a row, from as many bytes of it as there are.
fn record_of<'a>(row: &Row, bytes: &'a [u8]) -> io::Result<&'a [u8]> {
    if bytes.len() < row.record.length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    row.record(bytes).ok_or_else(changed)
}

/// Where in its tile a position is.
fn place(position: u64) -> usize {
    usize::try_from(position.checked_rem(TILE).unwrap_or(0)).unwrap_or(0)
}

/// The first and the last position of a tile.
fn ends(number: u64) -> (u64, u64) {
    let first = number.saturating_mul(TILE);
    (first, first.saturating_add(TILE.saturating_sub(1)))
}

/// What is there is not what was written.
fn changed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is not as it was written")
}

/// What a file that cannot be read means for the record at a position.
fn failed(position: u64, number: u64, kind: Kind, error: &io::Error) -> ReadError {
    let file = path::below(kind, number);
    let (first, last) = ends(number);
    let why = match error.kind() {
        io::ErrorKind::NotFound => "it is missing".to_owned(),
        io::ErrorKind::UnexpectedEof => "it is cut off".to_owned(),
        _ => error.to_string(),
    };
    let file = file.display();
    let detail = format!("its tile, tile/{file} with the records {first} to {last}: {why}");
    match error.kind() {
        io::ErrorKind::NotFound
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::UnexpectedEof
        | io::ErrorKind::InvalidData => damaged(Some(position), detail),
        _ => ReadError::Io(detail),
    }
}
