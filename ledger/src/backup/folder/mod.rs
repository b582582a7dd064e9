//! The folder of a backup: made beside its place and renamed once, opened in a copy.

mod files;
mod list;
#[cfg(test)]
mod tests;

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use super::fill::{check, fill};
use super::{Backup, BackupError, Told};
use crate::id::LedgerId;
use crate::staging::Staging;
use crate::store::sled::{OpenError, SledStore};
use crate::store::{ReadStore, Tail, chain};
use list::List;

/// The folder of the store.
const STORE: &str = "store";

/// For `map_err`: says what was being done.
fn failed(doing: impl Into<String>) -> impl FnOnce(io::Error) -> BackupError {
    let doing = doing.into();
    move |source| BackupError::Io { doing, source }
}

/// Makes a backup of what a store holds now in a folder that is not there or empty.
pub async fn make(
    from: &dyn ReadStore,
    ledger: LedgerId,
    dir: &Path,
    told: Told<'_>,
) -> Result<Backup, BackupError> {
    let cut = from.tail().await?;
    if !is_free(dir) {
        return Err(BackupError::Taken(dir.to_owned()));
    }
    let beside = || format!("making a folder beside {}", dir.display());
    let work = Staging::beside(dir).map_err(|error| failed(beside())(error))?;
    let backup = build(from, (ledger, cut), work.path(), told).await?;
    let in_place = || failed("putting the backup in its place");
    fs::rename(work.path().join("whole"), dir).map_err(in_place())?;
    drop(work);
    files::sync(parent(dir)).map_err(in_place())?;
    Ok(backup)
}

async fn build(
    from: &dyn ReadStore,
    (ledger, cut): (LedgerId, Tail),
    work: &Path,
    told: Told<'_>,
) -> Result<Backup, BackupError> {
    let (whole, head) = (work.join("whole"), work.join("head"));
    make_folder(&whole)?;
    let (store, scratch) = (whole.join(STORE), work.join("copy"));
    // First it is copied, then it is looked at.
    let all = cut.size.saturating_mul(2);
    let copied = |done, _| told(done, all);
    fill_store(from, (ledger, cut), (&store, &head), &copied).await?;
    make_folder(&scratch)?;
    // Waits until nobody writes to the files any more, and leaves them as they are.
    let (copy, why) = SledStore::open_copy(&store, &head, &scratch)?;
    if let Some(why) = why {
        return Err(why.into());
    }
    let looked_at = |done, _| told(cut.size.saturating_add(done), all);
    check(&copy, cut, &looked_at).await?;
    drop(copy);
    // Who had it open is of no use to whoever finds it.
    match fs::remove_file(store.join("owner")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(failed("removing a note")(error));
        }
        Ok(()) | Err(_) => {}
    }
    List::of(&whole, ledger, cut)?.write(&whole)
}

/// Fills a new store at `home`, whose head file will be in `head_dir`, with the records up to a
/// cut.
pub async fn fill_store(
    from: &dyn ReadStore,
    (ledger, cut): (LedgerId, Tail),
    (home, head_dir): (&Path, &Path),
    told: Told<'_>,
) -> Result<(), BackupError> {
    let store = SledStore::create(home, ledger, head_dir)?;
    let filled = fill(from, &store, cut, told).await;
    store.close();
    filled
}

/// Opens a backup: its files are copied into `scratch`, an empty folder, and compared with the
/// list on the way. No link and no `..` in it is followed.
pub fn open(dir: &Path, scratch: &Path) -> Result<(SledStore, Backup), BackupError> {
    let list = List::read(dir)?;
    let backup = list.copy(dir, scratch)?;
    // There is no head file in a backup, so that it takes no writes.
    let opened = SledStore::open_read_only(&scratch.join(STORE), &scratch.join("head"));
    let damaged = |error: OpenError| BackupError::Damaged(chain(&error));
    let (store, _) = opened.map_err(damaged)?;
    if store.ledger() != backup.ledger {
        let what = format!("its store is of ledger {}", store.ledger());
        return Err(BackupError::Damaged(what));
    }
    Ok((store, backup))
}

/// Whether nothing is there, or a folder with nothing in it.
pub fn is_free(dir: &Path) -> bool {
    match fs::symlink_metadata(dir) {
        Ok(there) if there.is_dir() => {
            fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none())
        }
        Ok(_) => false,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn make_folder(folder: &Path) -> Result<(), BackupError> {
    let made = DirBuilder::new().mode(0o700).create(folder);
    made.map_err(failed(format!("making the folder {}", folder.display())))
}

/// The folder that holds this one.
fn parent(folder: &Path) -> &Path {
    match folder.parent() {
        Some(parent) if parent != Path::new("") => parent,
        Some(_) | None => Path::new("."),
    }
}
