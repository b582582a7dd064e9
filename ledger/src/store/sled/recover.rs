//! What a store holds when it is opened: tiles and sled, then the frames of the log that sled does
//! not have, and the index of what no row tells of.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::blocks::{end, unit_at};
use super::commit::Pen;
use super::entry::Entry;
use super::log::{self, Frame};
use super::memory::{Known, Memory, Written};
use super::read::{damaged, frontier, mark};
use super::refused::{self, OpenError};
use super::rows::Rows;
use super::tile::TILE;
use super::{keys, values};
use crate::digest::{Purpose, digest};
use crate::envelope::Envelope;
use crate::merkle::Frontier;
use crate::store::check::Head;
use crate::store::{ReadError, chain};

/// A store as it was found.
pub(super) struct Recovered {
    pub(super) memory: Memory,
    pub(super) frontier: Frontier,
    /// The tree over all records in sled and in tiles.
    pub(super) rows: Frontier,
    /// The tree over all records in tiles.
    pub(super) sealed: Frontier,
    pub(super) pen: Pen,
    /// What forbids writing.
    pub(super) finding: Option<String>,
}

fn failed(folder: &Path) -> impl Fn(io::Error) -> OpenError {
    |source| refused::failed("reading the log of the store", folder)(source)
}

fn open_half(folder: &Path, half: log::Half, write: bool) -> Result<File, OpenError> {
    let path = log::path(folder, half);
    log::open(folder, half, write).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            OpenError::Damaged(format!("its log {} is missing", path.display()))
        }
        io::ErrorKind::InvalidData => {
            OpenError::Damaged(format!("its log {}: {source}", path.display()))
        }
        _ => failed(&path)(source),
    })
}

/// Reads what is there, in the order in which it was written.
pub(super) fn recover(rows: &Rows, folder: &Path, write: bool) -> Result<Recovered, OpenError> {
    let (first, second) = (open_half(folder, 0, write)?, open_half(folder, 1, write)?);
    let tree = |key, name| {
        let tree = frontier(rows, key)?;
        tree.ok_or_else(|| OpenError::Damaged(format!("it has no tree of its {name}")))
    };
    let (of_rows, sealed) = (tree(keys::TREE, "rows")?, tree(keys::SEALED, "tiles")?);
    let rows_end = end(rows, sealed.size())?;
    let mut memory = Memory::default();
    memory.index.mark = mark(rows)?;
    let mut finding = disagree(rows_end, memory.index.mark, &of_rows, &sealed);
    // Of what is sealed the index is in rows.
    memory.index.mark = memory.index.mark.max(sealed.size());
    read_rows(rows, &mut memory, rows_end)?;
    let mut tree = of_rows.clone();
    let mut pen = Pen {
        half: 0,
        at: 0,
        length: first.metadata().map_err(failed(folder))?.len(),
        epoch: 1,
        halves: [first, second],
        frame: Vec::new(),
    };
    let mut frames = Vec::new();
    for half in 0..2 {
        let file = if half == 0 {
            &pen.halves[0]
        } else {
            &pen.halves[1]
        };
        let read = log::read(file, rows_end).map_err(failed(folder))?;
        if read.broken {
            finding.get_or_insert_with(|| "its log is broken".to_owned());
        }
        let epoch = read.frames.last().map_or(0, |last| last.epoch);
        if epoch >= pen.epoch {
            let length = file.metadata().map_err(failed(folder))?.len();
            (pen.half, pen.at, pen.epoch, pen.length) = (half, read.end, epoch, length);
        }
        frames.extend(read.frames.into_iter().map(|frame| (half, frame)));
    }
    frames.sort_by_key(|(_, frame)| frame.first);
    let mut next = rows_end;
    for (half, frame) in frames {
        if frame.end() <= next {
            continue;
        }
        if frame.first > next {
            let first = frame.first;
            finding.get_or_insert_with(|| {
                format!("its log goes on at size {first}, after size {next}")
            });
            break;
        }
        next = frame.end();
        add(rows, &mut memory, (half, frame), &mut tree)?;
    }
    Ok(Recovered {
        memory,
        frontier: tree,
        rows: of_rows,
        sealed,
        pen,
        finding,
    })
}

/// What the ends of rows, index, tree and tiles say against each other.
fn disagree(end: u64, mark: u64, tree: &Frontier, sealed: &Frontier) -> Option<String> {
    let (size, in_tiles) = (tree.size(), sealed.size());
    if end != size {
        Some(format!("its rows end at size {end}, its tree at {size}"))
    } else if mark > end {
        Some(format!("its rows end at size {end}, its index at {mark}"))
    } else if in_tiles > mark {
        Some(format!(
            "its tiles end at size {in_tiles}, its index at {mark}"
        ))
    } else if !in_tiles.is_multiple_of(TILE) {
        Some(format!("its tiles end at size {in_tiles}, within a tile"))
    } else if !tree.may_extend(sealed) {
        Some("its tiles and its rows are of two histories".to_owned())
    } else {
        None
    }
}

/// Learns of the records in sled that no row of the index tells of.
fn read_rows(rows: &Rows, memory: &mut Memory, end: u64) -> Result<(), OpenError> {
    let mut position = memory.index.mark;
    while position < end {
        let unit = unit_at(rows, position)?;
        let skip = usize::try_from(position.saturating_sub(unit.first)).unwrap_or(usize::MAX);
        let before = position;
        for entry in unit.entries.iter().skip(skip) {
            let envelope = learn(rows, memory, position, entry)?;
            if entry.version == 0 {
                memory.index.names.insert(envelope.stream(), entry.ordinal);
            }
            memory.index.add(position, entry);
            position = position.saturating_add(1);
        }
        if position == before {
            return Err(damaged(Some(position), "no record is there".to_owned()).into());
        }
    }
    Ok(())
}

/// Adds what sled does not have of a frame.
fn add(
    rows: &Rows,
    memory: &mut Memory,
    (half, frame): (log::Half, Frame),
    tree: &mut Frontier,
) -> Result<(), OpenError> {
    let skip = usize::try_from(tree.size().saturating_sub(frame.first)).unwrap_or(usize::MAX);
    let entries: Vec<Entry> = frame.entries.into_iter().skip(skip).collect();
    let first = tree.size();
    let mut heads = Vec::new();
    let mut begun = Vec::new();
    for (position, entry) in (first..).zip(&entries) {
        let envelope = learn(rows, memory, position, entry)?;
        tree.push(&digest(Purpose::Event, &entry.record));
        if let Some(&head) = memory.index.heads.get(&entry.ordinal) {
            let ordinal = entry.ordinal;
            heads.push(Known { ordinal, head });
        }
        if entry.version == 0 {
            begun.push((envelope.stream(), entry.ordinal));
        }
    }
    let bytes = entries
        .iter()
        .map(Entry::bytes)
        .fold(0, usize::saturating_add);
    let written = Written {
        first,
        entries,
        frontier: tree.clone(),
        half,
        bytes,
    };
    memory.add(Arc::new(written), &heads, &begun);
    Ok(())
}

/// The head of a record's stream after it.
fn learn(
    rows: &Rows,
    memory: &mut Memory,
    position: u64,
    entry: &Entry,
) -> Result<Envelope, ReadError> {
    let parsed = Envelope::parse(Arc::clone(&entry.record));
    let envelope = parsed.map_err(|error| damaged(Some(position), chain(&error)))?;
    let before = if let Some(&head) = memory.index.heads.get(&entry.ordinal) {
        Some(head)
    } else {
        let row = rows.get(&keys::head(entry.ordinal))?;
        row.as_deref().and_then(values::decode_head)
    };
    if let Some(head) = Head::after(before, std::slice::from_ref(&envelope)) {
        memory.index.heads.insert(entry.ordinal, head);
    }
    Ok(envelope)
}
