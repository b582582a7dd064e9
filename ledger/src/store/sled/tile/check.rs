//! Whether the files of all tiles are there and as long as they were: a look at names, lengths and
//! rows, without their records.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::path::{self, KINDS, Kind};
use super::{TILE, Tile, failed};
use crate::store::{ReadError, chain};

/// What is not as it should be with the files of tiles.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TileFaults {
    /// Tiles whose records cannot all be read: which, and why.
    pub damaged: Vec<String>,
    /// What lies among them and is none of them, by its path in the home.
    pub foreign: Vec<PathBuf>,
}

impl TileFaults {
    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.damaged.is_empty() && self.foreign.is_empty()
    }
}

/// Looks at the tiles in a folder: those below `sealed`, or those up to the last that is whole.
pub(in super::super) fn check(tiles: &Path, sealed: Option<u64>) -> io::Result<TileFaults> {
    let mut found = TileFaults::default();
    let mut names: [BTreeSet<u64>; 2] = Default::default();
    for (kind, numbers) in KINDS.into_iter().zip(&mut names) {
        walk(tiles, Path::new(kind.name()), numbers, &mut found)?;
    }
    let [entries, content] = &names;
    let last = || Some(*entries.last()?.min(content.last()?));
    let end = match sealed {
        Some(sealed) => sealed.checked_div(TILE).unwrap_or(0),
        None => last().map_or(0, |last| last.saturating_add(1)),
    };
    for number in 0..end {
        let missing = [(Kind::Entries, entries), (Kind::Content, content)];
        let missing = missing
            .into_iter()
            .find(|(_, names)| !names.contains(&number));
        let error = match missing {
            Some((kind, _)) => Some((kind, io::ErrorKind::NotFound.into())),
            None => lengths(tiles, number).err(),
        };
        if let Some((kind, error)) = error {
            let first = number.saturating_mul(TILE);
            found
                .damaged
                .push(told(failed(first, number, kind, &error)));
        }
    }
    Ok(found)
}

/// Whether the files of a tile are as long as its rows say.
fn lengths(tiles: &Path, number: u64) -> Result<(), (Kind, io::Error)> {
    let tile = Tile::open(tiles, number)?;
    for ((kind, found), told) in KINDS.into_iter().zip(tile.lengths).zip(tile.head.lengths) {
        if found != told {
            return Err((kind, io::ErrorKind::UnexpectedEof.into()));
        }
    }
    Ok(())
}

fn told(error: ReadError) -> String {
    match error {
        ReadError::Damaged { detail, .. } => detail,
        other @ (ReadError::NoContent(_) | ReadError::Io(_)) => chain(&other),
    }
}

/// The numbers of the files below a folder; whatever else lies there is foreign.
fn walk(
    tiles: &Path,
    below: &Path,
    numbers: &mut BTreeSet<u64>,
    found: &mut TileFaults,
) -> io::Result<()> {
    let entries = match fs::read_dir(tiles.join(below)) {
        Ok(entries) => entries,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let path = below.join(entry.file_name());
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        let digits = name.strip_prefix('x').unwrap_or(name);
        let numbered = digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit());
        if let Some((_, number)) = path::number(&path) {
            // One that is no file has its name, and is damaged.
            numbers.insert(number);
        } else if numbered && name.starts_with('x') && entry.file_type()?.is_dir() {
            walk(tiles, &path, numbers, found)?;
        } else {
            found.foreign.push(Path::new("tile").join(path));
        }
    }
    found.foreign.sort();
    Ok(())
}
