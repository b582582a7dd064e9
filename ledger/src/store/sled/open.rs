//! Making a store, opening one, and telling why it must not be written to.
//!
//! Absence is a finding: a store without its head file, a head file without its store and keys
//! without either are never taken for a first start. A store that is shorter than its head, or
//! does not lead from that head to its own tree, was put back from a copy or has lost rows.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use ::sled::Batch;

use super::commit::Pen;
use super::keyring::Keyring;
use super::recover::{Recovered, recover};
use super::refused::{OpenError, failed, in_use, no_keys};
use super::rows::{Rows, RowsError};
use super::shared::Shared;
use super::tile::{self, Tiles};
use super::{folder, keys, large, log, read, refused, rows, values};
use crate::content::Commitment;
use crate::digest::{Purpose, digest};
use crate::id::{LedgerId, Position};
use crate::limits::PAGE_RECORDS_MAX;
use crate::merkle::Frontier;
use crate::store::ReadError;
use crate::store::head::{Head, HeadError, HeadFile};
use crate::store::seal::KeyFile;

/// A process that has just closed a store may hold sled's lock for a moment longer.
const LOCK_TRIES: u32 = 100;

/// Between two tries.
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// A store that was opened and looked at; `H` is its head, or the file of it, locked to be written.
pub(super) struct Opened<H> {
    pub(super) shared: Shared,
    pub(super) frontier: Frontier,
    /// The tree over all records in sled and in tiles.
    pub(super) rows: Frontier,
    /// The tree over all records in tiles.
    pub(super) sealed: Frontier,
    pub(super) pen: Pen,
    /// Its head file, or why there can be no more writing.
    pub(super) head: Result<H, OpenError>,
}

/// Makes an empty store in a folder of another name, which is renamed once it is whole.
pub(super) fn create(home: &Path, ledger: LedgerId, head_dir: &Path) -> Result<(), OpenError> {
    if !folder::is_free(home).map_err(failed("looking at the folder of the store", home))? {
        return Err(OpenError::Exists(home.to_owned()));
    }
    let mut name = home.file_name().unwrap_or_default().to_owned();
    name.push(format!(".new-{}", std::process::id()));
    let staging = folder::parent(home).join(name);
    folder::make_parents(home)
        .and_then(|()| folder::make(&staging))
        .map_err(failed("making the folder of the store", &staging))?;
    let made = build(&staging, ledger).and_then(|()| {
        // First the head: without its store it is only a file about a ledger that nobody knows.
        HeadFile::create(head_dir, &Frontier::new()).map_err(OpenError::Head)?;
        fs::rename(&staging, home)
            .and_then(|()| folder::sync(folder::parent(home)))
            .map_err(failed("renaming the folder of the store", home))
    });
    if made.is_err() && fs::remove_dir_all(&staging).is_err() {
        tracing::warn!(path = %staging.display(), "half a store was left behind");
    }
    made
}

fn build(staging: &Path, ledger: LedgerId) -> Result<(), OpenError> {
    let rows = open_rows(staging)?;
    let mut batch = Batch::default();
    batch.insert(keys::FORMAT, values::encode_format(ledger));
    batch.insert(keys::TREE, Frontier::new().to_bytes());
    batch.insert(keys::SEALED, Frontier::new().to_bytes());
    rows.apply(batch)?;
    rows.flush()?;
    drop(rows);
    for made in [folder::log(staging), folder::content(staging)] {
        folder::make(&made).map_err(failed("making a folder of the store", &made))?;
    }
    let (tiles, log) = (folder::tile(staging), folder::log(staging));
    tile::prepare(&tiles).map_err(failed("making the folders of tiles", &tiles))?;
    log::create(&log).map_err(failed("making the log of the store", &log))?;
    let keys = folder::keys(staging);
    KeyFile::create(&keys, ledger).map_err(no_keys(&keys))?;
    drop(open_owner(staging)?);
    folder::write_ledger(staging, ledger)
        .and_then(|()| folder::restrict(staging))
        .and_then(|()| folder::sync_tree(staging))
        .map_err(failed("syncing the folder of the store", staging))
}

fn open_owner(home: &Path) -> Result<File, OpenError> {
    let doing = "opening the note of the owner";
    folder::open_owner(home).map_err(failed(doing, &folder::owner(home)))
}

/// The lock of a store: whoever has it is its owner, and the only one to open it.
#[derive(Debug)]
pub struct StoreLock {
    home: PathBuf,
    owner: File,
}

/// Takes the lock of a store, where nobody has it; `None` where somebody does.
pub(super) fn try_lock(home: &Path, head_dir: &Path) -> Result<Option<StoreLock>, OpenError> {
    if !folder::sled_file(home).exists() {
        return Err(absent(home, head_dir));
    }
    let (owner, note) = (open_owner(home)?, folder::owner(home));
    match owner.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(failed("locking the store", &note)(error)),
    }
    folder::write_owner(&owner).map_err(failed("noting the owner of the store", &note))?;
    let home = home.to_owned();
    Ok(Some(StoreLock { home, owner }))
}

/// Opens what is there, whatever its head says, once whoever had it has let it go.
pub(super) fn open(home: &Path, head_dir: &Path) -> Result<Opened<HeadFile>, OpenError> {
    open_locked(wait_for_lock(home, head_dir)?, head_dir)
}

/// The same to read it: another copy of it may be in use.
pub(super) fn open_to_read(home: &Path, head_dir: &Path) -> Result<Opened<Head>, OpenError> {
    let lock = wait_for_lock(home, head_dir)?;
    open_under(lock, || read_head(head_dir))
}

fn wait_for_lock(home: &Path, head_dir: &Path) -> Result<StoreLock, OpenError> {
    for _ in 0..LOCK_TRIES {
        if let Some(lock) = try_lock(home, head_dir)? {
            return Ok(lock);
        }
        thread::park_timeout(LOCK_PAUSE);
    }
    Err(in_use(home))
}

/// Opens what is there under its lock, to write it.
pub(super) fn open_locked(lock: StoreLock, head_dir: &Path) -> Result<Opened<HeadFile>, OpenError> {
    // Before anything of this copy is changed.
    let head = match lock_head(&lock.home, head_dir) {
        Err(error @ OpenError::CopyInUse { .. }) => return Err(error),
        head => head,
    };
    open_under(lock, || head)
}

fn open_under<H: AsRef<Head>>(
    lock: StoreLock,
    head: impl FnOnce() -> Result<H, OpenError>,
) -> Result<Opened<H>, OpenError> {
    let StoreLock { home, owner } = lock;
    let home = home.as_path();
    rows::check_files(&folder::sled(home))?;
    let rows = open_rows(home)?;
    // sled has made files by now, a snapshot of what it read among them.
    tile::prepare(&folder::tile(home))
        .and_then(|()| folder::restrict(home))
        .and_then(|()| folder::sync_tree(&folder::sled(home)))
        .and_then(|()| folder::sync(home))
        .map_err(failed("syncing the folder of the store", home))?;
    let mut opened = look(home, rows, head, true)?;
    opened.shared.own(owner);
    Ok(opened)
}

/// Opens a copy of sled's folder, made while nobody has the store; the store stays as it is. Its
/// keys alone are closed to others, as at any opening: open ones are not read.
pub(super) fn open_copy(
    home: &Path,
    head_dir: &Path,
    scratch: &Path,
) -> Result<Opened<Head>, OpenError> {
    if !folder::sled_file(home).exists() {
        return Err(absent(home, head_dir));
    }
    let note = folder::owner(home);
    let doing = "opening the note of the owner";
    let owner = folder::look_at_owner(home).map_err(failed(doing, &note))?;
    lock(home, &owner)?;
    if let Err(error) = folder::restrict_keys(home) {
        // A store may lie where nothing can be changed; its keys are then refused by themselves.
        tracing::warn!(%error, "others may have access to the keys");
    }
    rows::check_files(&folder::sled(home))?;
    folder::copy(&folder::sled(home), &folder::sled(scratch))
        .map_err(failed("copying the store", scratch))?;
    // Held until everything was looked at: nobody may append meanwhile.
    let opened = look(home, open_rows(scratch)?, || read_head(head_dir), false);
    drop(owner);
    opened
}

/// Locks the note of the owner, once whoever had it has let it go.
fn lock(home: &Path, file: &File) -> Result<(), OpenError> {
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => thread::park_timeout(LOCK_PAUSE),
            Err(TryLockError::Error(error)) => {
                return Err(failed("locking the store", &folder::owner(home))(error));
            }
        }
    }
    Err(in_use(home))
}

/// What the absence of sled's file means.
fn absent(home: &Path, head_dir: &Path) -> OpenError {
    match Head::read(head_dir) {
        Err(HeadError::Missing(_)) if folder::keys(home).exists() => OpenError::KeysWithoutStore,
        Err(HeadError::Missing(_)) => OpenError::Missing(home.to_owned()),
        Ok(_) | Err(_) => OpenError::HeadWithoutStore,
    }
}

/// sled in its folder, once whoever had it has let it go.
fn open_rows(home: &Path) -> Result<Rows, OpenError> {
    for _ in 0..LOCK_TRIES {
        match Rows::open(&folder::sled(home)) {
            Ok(rows) => return Ok(rows),
            Err(RowsError::Full(source)) => {
                let doing = "making room to open the store";
                return Err(failed(doing, &folder::sled(home))(source));
            }
            Err(RowsError::Clock) => return Err(OpenError::Clock),
            Err(RowsError::Failed(error)) => return Err(not_opened(error, home)),
            Err(RowsError::Locked) => thread::park_timeout(LOCK_PAUSE),
        }
    }
    Err(in_use(home))
}

/// sled could not open its files. It keeps one of them to be quicker the next time, and reads all
/// without it; what it may have lost then is told by log and head.
fn not_opened(error: ReadError, home: &Path) -> OpenError {
    match (error.into(), folder::sled_snapshot(home)) {
        (OpenError::Damaged(detail), Some(name)) => OpenError::Damaged(format!(
            "{detail}; should it be sled/{name} alone, the ledger opens once that file is moved away"
        )),
        (error, _) => error,
    }
}

/// Reads what every use needs; whatever forbids writing is kept in place of the head file.
fn look<H: AsRef<Head>>(
    home: &Path,
    rows: Rows,
    head: impl FnOnce() -> Result<H, OpenError>,
    write: bool,
) -> Result<Opened<H>, OpenError> {
    let ledger = rows.get(keys::FORMAT)?;
    let ledger = ledger.as_deref().and_then(values::decode_format);
    let ledger = ledger.ok_or_else(|| OpenError::Damaged("it has no ledger id".to_owned()))?;
    let Recovered {
        memory,
        frontier,
        rows: of_rows,
        sealed,
        pen,
        finding,
    } = recover(&rows, &folder::log(home), write)?;
    let in_memory = memory.index.heads.keys().next_back().copied();
    let last = read::last_ordinal(&rows)?.max(in_memory);
    let keyring = open_keys(home, ledger, last, write);
    let (keyring, no_keys) = match keyring {
        Ok(keyring) => (Some(keyring), None),
        Err(error) => (None, Some(error)),
    };
    let large = folder::content(home);
    let tiles = Tiles::new(folder::tile(home), sealed.size());
    let memory = (memory, &frontier);
    let shared = Shared::new((ledger, keyring), (rows, tiles), large.clone(), memory);
    let head = head()
        .and_then(|file| Ok(shared.tiles.check_last().map(|()| file)?))
        .and_then(|file| follows(&shared, &frontier, file.as_ref()).map(|()| file))
        .and_then(|file| finding.map_or(Ok(file), |found| Err(OpenError::Damaged(found))))
        .and_then(|file| no_keys.map_or(Ok(file), Err));
    if write && head.is_ok() {
        let named = |ordinal, commitment: &Commitment| {
            let named = shared.reader().has_content(ordinal, commitment);
            named.map_err(OpenError::from)
        };
        let doing = "looking at the contents of the store";
        large::remove_orphans(&large, named, |error, path| failed(doing, path)(error))?;
    }
    Ok(Opened {
        shared,
        frontier,
        rows: of_rows,
        sealed,
        pen,
        head,
    })
}

fn read_head(head_dir: &Path) -> Result<Head, OpenError> {
    Head::read(head_dir).map_err(no_head)
}

fn no_head(error: HeadError) -> OpenError {
    match error {
        HeadError::Missing(path) => OpenError::HeadMissing(path),
        error => OpenError::Head(error),
    }
}

/// Who writes to another copy of the store, if somebody does.
pub(super) fn copy_in_use(head_dir: &Path) -> Option<OpenError> {
    let in_use = Head::is_in_use(head_dir).is_ok_and(|in_use| in_use);
    in_use.then(|| refused::copy_in_use(head_dir, head_dir.join("head")))
}

/// The head file, once whoever had a copy of this store has let it go, with a note of who has it.
fn lock_head(home: &Path, head_dir: &Path) -> Result<HeadFile, OpenError> {
    let mut head = PathBuf::new();
    for _ in 0..LOCK_TRIES {
        match HeadFile::open(head_dir) {
            Ok(file) => {
                if let Err(error) = folder::note_holder(head_dir, home) {
                    // Whoever is refused hears less; the lock holds all the same.
                    tracing::debug!(%error, "who has the head file was not noted");
                }
                return Ok(file);
            }
            Err(HeadError::InUse(path)) => head = path,
            Err(error) => return Err(no_head(error)),
        }
        thread::park_timeout(LOCK_PAUSE);
    }
    Err(refused::copy_in_use(head_dir, head))
}

fn open_keys(
    home: &Path,
    ledger: LedgerId,
    last: Option<u32>,
    write: bool,
) -> Result<Keyring, OpenError> {
    let path = folder::keys(home);
    if !path.exists() {
        return Err(OpenError::KeysMissing(path));
    }
    let open = if write {
        KeyFile::open
    } else {
        KeyFile::open_to_read
    };
    let file = open(&path, ledger).map_err(no_keys(&path))?;
    Ok(Keyring::new(ledger, file, last))
}

/// Whether the records after the head lead from its tree to that of the store.
fn follows(shared: &Shared, frontier: &Frontier, head: &Head) -> Result<(), OpenError> {
    let head_size = head.size();
    let store_size = frontier.size();
    if store_size < head_size {
        return Err(OpenError::Behind {
            store_size,
            head_size,
        });
    }
    let mut tree = head.frontier().clone();
    while tree.size() < store_size {
        let left = store_size.saturating_sub(tree.size());
        let limit = usize::try_from(left).unwrap_or(PAGE_RECORDS_MAX);
        let from = Position::new(tree.size());
        let page = shared.reader().all(from, store_size, limit)?;
        if page.is_empty() {
            return Err(OpenError::Damaged("its records end too early".to_owned()));
        }
        for stored in page {
            tree.push(&digest(Purpose::Event, &stored.bytes));
        }
    }
    if tree == *frontier {
        Ok(())
    } else {
        Err(OpenError::Forked { head_size })
    }
}
