//! Where the files of tiles lie, and how one comes to its place.
//!
//! ```text
//! tile/entries/x001/234   file number 1,234 of the records: three digits a level, as C2SP's
//! tile/content/x001/234   `tlog-tiles` has it, an `x` before all but the last
//! tile/new/               files that are not whole yet
//! ```

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::super::folder;
use crate::regular;

/// One of the two files of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Its records.
    Entries,
    /// What else their entries hold.
    Content,
}

/// Both, in the order in which they are written.
pub(super) const KINDS: [Kind; 2] = [Kind::Entries, Kind::Content];

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Entries => "entries",
            Self::Content => "content",
        }
    }
}

/// Where a file that is not whole yet lies.
fn unfinished(tiles: &Path) -> PathBuf {
    tiles.join("new")
}

fn new(tiles: &Path, kind: Kind, number: u64) -> PathBuf {
    unfinished(tiles).join(format!("{}-{number}", kind.name()))
}

/// The path of a file below the folder of tiles.
pub(super) fn below(kind: Kind, number: u64) -> PathBuf {
    let mut parts = vec![format!("{:03}", number % 1_000)];
    let mut rest = number / 1_000;
    while rest > 0 {
        parts.push(format!("x{:03}", rest % 1_000));
        rest /= 1_000;
    }
    parts.push(kind.name().to_owned());
    parts.iter().rev().collect()
}

/// The number of a file that lies at this path below the folder of tiles, and which of the two it
/// is; `None` where no file of a tile has that name.
pub(super) fn number(path: &Path) -> Option<(Kind, u64)> {
    let mut parts = path.iter().map(|part| part.to_str());
    let kind = parts.next()??;
    let kind = KINDS.into_iter().find(|known| known.name() == kind)?;
    let mut number = 0_u64;
    for part in parts {
        let part = part?;
        let digits: u64 = part.strip_prefix('x').unwrap_or(part).parse().ok()?;
        number = number.checked_mul(1_000)?.checked_add(digits)?;
    }
    (below(kind, number) == path).then_some((kind, number))
}

/// Makes the folders, where they are missing, and removes files that never became whole.
pub(super) fn prepare(tiles: &Path) -> io::Result<()> {
    let wanted = [tiles.to_owned(), unfinished(tiles)];
    let kinds = KINDS.map(|kind| tiles.join(kind.name()));
    for wanted in wanted.iter().chain(&kinds) {
        match folder::make(wanted) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) => folder::sync(folder::parent(wanted))?,
            Err(_) => {}
        }
    }
    for file in fs::read_dir(unfinished(tiles))? {
        fs::remove_file(file?.path())?;
    }
    Ok(())
}

/// Writes a file under a name of its own; its bytes are on disk when this returns.
pub(super) fn write(tiles: &Path, kind: Kind, number: u64, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(true);
    let mut file = regular::open(options.mode(0o600), &new(tiles, kind, number))?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Puts a file that is whole into its place, over what a crash may have left there; `touched` are
/// the folders that must be synced before the name is on disk.
pub(super) fn place(
    tiles: &Path,
    kind: Kind,
    number: u64,
    touched: &mut BTreeSet<PathBuf>,
) -> io::Result<()> {
    let path = tiles.join(below(kind, number));
    let parent = folder::parent(&path);
    if !touched.contains(parent) {
        let above = parent.ancestors().take_while(|folder| *folder != tiles);
        for folder in above.collect::<Vec<_>>().into_iter().rev() {
            if !folder.exists() {
                folder::make(folder)?;
            }
            // Whoever made it may not have come to this.
            touched.insert(folder.to_owned());
        }
    }
    fs::rename(new(tiles, kind, number), &path)
}

/// Opens a file to read it.
pub(super) fn open(tiles: &Path, kind: Kind, number: u64) -> io::Result<File> {
    regular::open_to_read(&tiles.join(below(kind, number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_tlog_tiles() {
        for (number, path) in [
            (0, "entries/000"),
            (7, "entries/007"),
            (999, "entries/999"),
            (1_000, "entries/x001/000"),
            (1_234_067, "entries/x001/x234/067"),
            (10_000_000, "entries/x010/x000/000"),
        ] {
            assert_eq!(below(Kind::Entries, number), Path::new(path));
            assert_eq!(
                super::number(Path::new(path)),
                Some((Kind::Entries, number))
            );
        }
        assert_eq!(below(Kind::Content, 42), Path::new("content/042"));
        for odd in [
            "entries",
            "entries/42",
            "entries/x000/042",
            "new/042",
            "content/04a",
        ] {
            assert_eq!(number(Path::new(odd)), None, "{odd}");
        }
    }

    #[test]
    fn what_never_became_whole_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let tiles = folder.path().join("tile");
        prepare(&tiles).unwrap();
        for number in [3, 1_234] {
            write(&tiles, Kind::Content, number, b"whole").unwrap();
            let mut touched = BTreeSet::new();
            place(&tiles, Kind::Content, number, &mut touched).unwrap();
            let folders: Vec<_> = touched
                .iter()
                .map(|path| path.strip_prefix(&tiles))
                .collect();
            let content = Ok(Path::new("content"));
            let deep = Ok(Path::new("content/x001"));
            match number {
                3 => assert_eq!(folders, [content]),
                _ => assert_eq!(folders, [content, deep]),
            }
        }
        write(&tiles, Kind::Entries, 3, b"half").unwrap();
        prepare(&tiles).unwrap();
        assert_eq!(fs::read_dir(unfinished(&tiles)).unwrap().count(), 0);
        for number in [3, 1_234] {
            let read = fs::read(tiles.join(below(Kind::Content, number))).unwrap();
            assert_eq!(read, b"whole");
        }
        assert!(open(&tiles, Kind::Entries, 3).is_err());
    }
}
