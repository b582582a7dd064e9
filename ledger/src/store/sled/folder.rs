//! The folder of a store: names in it, modes, syncs, and the note of who has it open.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::id::LedgerId;
use crate::regular;

/// In the folder of a head file: who has which copy of the store open.
const HOLDER: &str = "holder";

/// sled's folder.
pub(super) fn sled(home: &Path) -> PathBuf {
    home.join("sled")
}

/// The log in front of sled.
pub(super) fn log(home: &Path) -> PathBuf {
    home.join("log")
}

/// Contents that lie in files of their own.
pub(super) fn content(home: &Path) -> PathBuf {
    home.join("content")
}

/// What has left sled.
pub(super) fn tile(home: &Path) -> PathBuf {
    home.join("tile")
}

/// States of long runs.
pub(super) fn snapshots(home: &Path) -> PathBuf {
    home.join("snapshots")
}

/// sled's one file, on which it holds its lock.
pub(super) fn sled_file(home: &Path) -> PathBuf {
    sled(home).join("db")
}

/// The name of the file that sled reads to be quicker, where there is one.
pub(super) fn sled_snapshot(home: &Path) -> Option<String> {
    let names = fs::read_dir(sled(home)).ok()?.filter_map(Result::ok);
    let mut names = names.filter_map(|entry| entry.file_name().into_string().ok());
    names.find(|name| name.starts_with("snap."))
}

/// The keys of streams.
pub(super) fn keys(home: &Path) -> PathBuf {
    home.join("keys")
}

/// Who has the store open: a process id, to be told to whom it is refused.
pub(super) fn owner(home: &Path) -> PathBuf {
    home.join("owner")
}

/// Which ledger it is, in words; what the rows say counts.
fn ledger(home: &Path) -> PathBuf {
    home.join("ledger")
}

/// Makes a folder for its owner alone, which must not exist.
pub(super) fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)
}

/// Makes the folders above, for their owner alone, where they are missing.
pub(super) fn make_parents(folder: &Path) -> io::Result<()> {
    let parent = parent(folder);
    let missing: Vec<&Path> = parent
        .ancestors()
        .take_while(|folder| *folder != Path::new("") && !folder.exists())
        .collect();
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(parent)?;
    missing
        .into_iter()
        .try_for_each(|made| sync(self::parent(made)))
}

/// Whether nothing is there, or a folder with nothing in it.
pub(super) fn is_free(folder: &Path) -> io::Result<bool> {
    match fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// The folder that holds this one.
pub(super) fn parent(folder: &Path) -> &Path {
    match folder.parent() {
        Some(parent) if parent != Path::new("") => parent,
        Some(_) | None => Path::new("."),
    }
}

/// Makes the names in a folder durable.
pub(super) fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// For `map_err`: names the one of many files at which something failed.
fn at(path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Syncs every file below a folder and the folders themselves.
pub(super) fn sync_tree(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sync_tree(&entry.path())?;
        } else if kind.is_file() {
            let path = entry.path();
            File::open(&path)
                .and_then(|file| file.sync_all())
                .map_err(at(&path))?;
        }
    }
    sync(folder)
}

/// Closes a home and all below to everyone but its owner; says what it had to mend. Tiles are as
/// many as there is history: where their few upper folders are closed, they are not looked at.
pub(super) fn restrict(home: &Path) -> io::Result<()> {
    let tiles = tile(home);
    let mut mended = restrict_below(home, Some(&tiles))?;
    let open = mended.iter().any(|(path, _)| path.starts_with(&tiles));
    if open {
        mended.extend(restrict_below(&tiles, None)?);
    }
    let of_sled = sled(home);
    for (path, found) in mended {
        // sled makes files by the mask of the process, at each opening.
        if !path.starts_with(&of_sled) {
            tell(&path, found);
        }
    }
    Ok(())
}

/// Closes the keys to everyone but their owner, where they are not; says if it had to.
pub(super) fn restrict_keys(home: &Path) -> io::Result<()> {
    let keys = keys(home);
    // What is no file is not opened, and what a link leads to is not ours to change.
    let mode = match fs::symlink_metadata(&keys) {
        Ok(there) if there.is_file() => there.permissions().mode() & 0o7777,
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if mode & !0o600 != 0
        && let Some((path, found)) = mend(&keys, mode & 0o600)?
    {
        tell(&path, found);
    }
    Ok(())
}

fn tell(path: &Path, found: u32) {
    let path = path.display();
    tracing::warn!(%path, found = format!("{found:o}"), "others had access");
}

/// What was mended below a folder and in it, with the mode that was found; of one of the folders
/// below only those that lie in it are looked at.
fn restrict_below(folder: &Path, but: Option<&Path>) -> io::Result<Vec<(PathBuf, u32)>> {
    let mut mended = Vec::new();
    mended.extend(mend(folder, 0o700)?);
    if but.is_some_and(|but| folder.parent() == Some(but)) {
        return Ok(mended);
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            mended.extend(restrict_below(&entry.path(), but)?);
        } else if kind.is_file() {
            mended.extend(mend(&entry.path(), 0o600)?);
        }
    }
    Ok(mended)
}

fn mend(path: &Path, wanted: u32) -> io::Result<Option<(PathBuf, u32)>> {
    let there = fs::metadata(path).map_err(at(path))?;
    let found = there.permissions().mode() & 0o7777;
    if found == wanted {
        return Ok(None);
    }
    fs::set_permissions(path, PermissionsExt::from_mode(wanted)).map_err(at(path))?;
    Ok(Some((path.to_owned(), found)))
}

/// Copies the regular files of a folder and of those in it; the copies can be written to, whatever
/// they are copies of.
pub(super) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    make(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let target = to.join(entry.file_name());
        if kind.is_dir() {
            copy(&entry.path(), &target)?;
        } else if kind.is_file() {
            let mut options = OpenOptions::new();
            let options = options.write(true).create_new(true).mode(0o600);
            let path = entry.path();
            File::open(&path)
                .and_then(|mut file| io::copy(&mut file, &mut options.open(target)?))
                .map_err(at(&path))?;
        }
    }
    Ok(())
}

/// The file on which whoever has the store holds a lock; it stays for as long as the home does.
pub(super) fn open_owner(home: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(false);
    regular::open(options.mode(0o600), &owner(home))
}

/// The same, to look at a store that may lie where nothing can be changed.
pub(super) fn look_at_owner(home: &Path) -> io::Result<File> {
    regular::open_to_read(&owner(home))
}

/// Notes in the locked file that this process has the store; it is never empty meanwhile.
pub(super) fn write_owner(mut file: &File) -> io::Result<()> {
    let line = format!("{}\n", std::process::id());
    file.write_all(line.as_bytes())?;
    file.set_len(line.len() as u64)?;
    file.sync_all()
}

/// The process that noted itself last.
pub(super) fn read_owner(home: &Path) -> Option<u32> {
    regular::read_text(&owner(home)).ok()?.trim().parse().ok()
}

/// Who has a store open, as noted beside its head file, which copies of the store share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// The folder of the copy that it has open.
    pub home: PathBuf,
}

/// Notes beside the head file which copy of the store is in use, by this process.
pub(super) fn note_holder(head_dir: &Path, home: &Path) -> io::Result<()> {
    let home = home.canonicalize()?;
    let mut note = format!("{}\n", std::process::id()).into_bytes();
    note.extend_from_slice(home.as_os_str().as_bytes());
    let path = head_dir.join(HOLDER);
    let is_new = !path.try_exists()?;
    write_bytes(&path, &note)?;
    if is_new { sync(head_dir) } else { Ok(()) }
}

/// Who noted that last; it counts while the head file is locked.
pub(super) fn read_holder(head_dir: &Path) -> Option<Holder> {
    let note = regular::read(&head_dir.join(HOLDER)).ok()?;
    let line = note.iter().position(|byte| *byte == b'\n')?;
    let (pid, home) = note.split_at_checked(line)?;
    let home = OsStr::from_bytes(home.get(1..)?);
    Some(Holder {
        pid: std::str::from_utf8(pid).ok()?.parse().ok()?,
        home: PathBuf::from(home),
    })
}

/// Notes which ledger it is.
pub(super) fn write_ledger(home: &Path, id: LedgerId) -> io::Result<()> {
    write(&ledger(home), &id.to_string())
}

/// Which ledger was noted; `None` where none was, or nothing that reads as one.
pub(super) fn read_ledger(home: &Path) -> Option<LedgerId> {
    let text = regular::read_text(&ledger(home)).ok()?;
    text.trim().parse().ok()
}

fn write(path: &Path, line: &str) -> io::Result<()> {
    write_bytes(path, format!("{line}\n").as_bytes())
}

fn write_bytes(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(true);
    let mut file = regular::open(options.mode(0o600), path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
