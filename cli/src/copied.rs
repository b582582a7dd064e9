//! A copy of a store, to look at it: sled changes what it opens, and needs room to do so.

use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use placet_ledger::staging::Staging;
use placet_ledger::store::sled::{OpenError, SledStore};

use crate::error::{CommandError, Kind};
use crate::home::Home;

/// Where files lie in memory: the last place for a copy, where disks are full.
const MEMORY: &str = "/dev/shm";

/// A store that was opened in a copy.
pub(crate) struct Copied {
    pub(crate) store: SledStore,
    /// Why the store takes no writes, if it takes none.
    pub(crate) why: Option<OpenError>,
    /// Where the copy lies; it must outlive the store.
    pub(crate) scratch: Scratch,
}

/// Opens a copy: beside the home, so that what lies in it is guarded as the home is; where that
/// cannot be, or there is no room, in the folder for temporary files, and at last in memory.
pub(crate) fn open(home: &Home, head_dir: &Path, temporary: &Path) -> Result<Copied, OpenError> {
    let mut failed = None;
    for place in places(home, temporary) {
        let scratch = match Scratch::try_in(&place) {
            Ok(scratch) => scratch,
            Err(source) => {
                let doing = "making a folder for a copy of the store";
                failed.get_or_insert(OpenError::Io {
                    doing,
                    path: place,
                    source,
                });
                continue;
            }
        };
        match SledStore::open_copy(&home.dir, head_dir, scratch.dir()) {
            Ok((store, why)) => {
                return Ok(Copied {
                    store,
                    why,
                    scratch,
                });
            }
            Err(error @ OpenError::Io { .. }) if is_full(&error) => failed = Some(error),
            Err(error) => return Err(error),
        }
    }
    let source = io::Error::from(ErrorKind::NotFound);
    let doing = "looking for a place for a copy of the store";
    let path = home.dir.clone();
    Err(failed.unwrap_or(OpenError::Io {
        doing,
        path,
        source,
    }))
}

fn places(home: &Home, temporary: &Path) -> impl Iterator<Item = PathBuf> {
    let beside = home.dir.parent().map(Path::to_owned);
    let others = [temporary.to_owned(), PathBuf::from(MEMORY)];
    beside.into_iter().chain(others)
}

fn is_full(error: &OpenError) -> bool {
    let full = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded];
    matches!(error, OpenError::Io { source, .. } if full.contains(&source.kind()))
}

/// A folder of our own that is removed in the end.
#[derive(Debug)]
pub(crate) struct Scratch {
    copy: PathBuf,
    _folder: Staging,
}

impl Scratch {
    /// Makes one beside the home; where that cannot be, in the folder for temporary files.
    pub(crate) fn make(home: &Home, temporary: &Path) -> Result<Self, CommandError> {
        let parent = home.dir.parent().unwrap_or(temporary);
        Self::try_in(parent).or_else(|_| Self::make_in(temporary))
    }

    /// Makes one in a folder.
    pub(crate) fn make_in(folder: &Path) -> Result<Self, CommandError> {
        Self::try_in(folder).map_err(|error| {
            let folder = folder.display();
            let what = format!("cannot make a folder for a copy of the store in {folder}: {error}");
            CommandError::new(Kind::Failed, what)
                .hint("what reads a store that cannot be changed needs room for a copy of a part")
                .hint("TMPDIR names another place")
        })
    }

    fn try_in(folder: &Path) -> io::Result<Self> {
        let folder = Staging::beside(&folder.join(".placet-copy"))?;
        let copy = folder.path().join("copy");
        DirBuilder::new().mode(0o700).create(&copy)?;
        Ok(Self {
            copy,
            _folder: folder,
        })
    }

    /// The folder.
    pub(crate) fn dir(&self) -> &Path {
        &self.copy
    }
}
