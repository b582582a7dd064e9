//! Folders in which something is made before it has its name, beside the place that it will have.
//!
//! Each holds a file that is locked for as long as its maker lives. One that nobody locks was left
//! behind: whoever makes the next folder there removes it, and nothing else. One with a note of
//! what else was made waits for whoever knows how to remove that.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use rustix::process::getuid;
use uuid::Builder;

use crate::lock::{flags, is_at, try_lock};
use crate::regular::read_named;

/// What stands between the name of what is made and the digits of the folder.
const NEW: &[u8] = b".new-";

/// How many of these digits there are.
const DIGITS: usize = 32;

/// The file that is locked.
const MARK: &str = "placet-is-at-work";

/// The note of what was made elsewhere.
const NOTE: &str = "made-elsewhere";

/// More than any note has.
const NOTE_BYTES_MAX: u64 = 1024;

/// How often another name is tried where somebody took the folder for one that was left.
const TRIES_MAX: usize = 100;

/// A folder of this process, removed in the end with all that is still in it.
#[derive(Debug)]
pub struct Staging {
    path: PathBuf,
    _lock: File,
}

impl Staging {
    /// Makes one beside `place`, for its owner alone, once those that were left there are removed.
    pub fn beside(place: &Path) -> io::Result<Self> {
        let parent = parent(place);
        if let Err(error) = remove_left(parent) {
            tracing::debug!(path = %parent.display(), %error, "what was left is not looked for");
        }
        for _ in 0..TRIES_MAX {
            let mut bytes = [0; 16];
            getrandom::fill(&mut bytes).map_err(io::Error::other)?;
            let digits = Builder::from_random_bytes(bytes).into_uuid();
            let mut name = place.file_name().unwrap_or_default().to_owned();
            name.push(OsStr::from_bytes(NEW));
            name.push(digits.as_simple().to_string());
            let path = parent.join(name);
            DirBuilder::new().mode(0o700).create(&path)?;
            match lock(&path) {
                Ok(Some(lock)) => return Ok(Self { path, _lock: lock }),
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Notes durably what is made elsewhere from now on.
    pub fn note(&self, what: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let options = options.write(true).create_new(true).mode(0o600);
        let mut file = options.open(self.path.join(NOTE))?;
        file.write_all(what.as_bytes())?;
        file.sync_all()?;
        [self.path.as_path(), parent(&self.path)]
            .into_iter()
            .try_for_each(|folder| File::open(folder)?.sync_all())
    }

    /// Those beside `place` that were left with a note, which this process has from now on.
    pub fn left(place: &Path) -> io::Result<Vec<(Self, String)>> {
        let mut left = Vec::new();
        for path in named_so(parent(place))? {
            let note = read_named(&path.join(NOTE), NOTE_BYTES_MAX);
            let note = note.ok().and_then(|note| String::from_utf8(note).ok());
            if let (Some(note), Ok(Some(lock))) = (note, lock_left(&path)) {
                left.push((Self { path, _lock: lock }, note));
            }
        }
        Ok(left)
    }

    /// The folder. It holds the mark already: what is made lies in a folder below.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "a folder was left behind");
        }
    }
}

/// The folder in which something lies.
fn parent(place: &Path) -> &Path {
    match place.parent() {
        Some(parent) if parent != Path::new("") => parent,
        Some(_) | None => Path::new("."),
    }
}

/// Marks a new folder; `None` where somebody took it for one that was left.
fn lock(folder: &Path) -> io::Result<Option<File>> {
    let path = folder.join(MARK);
    let mut options = OpenOptions::new();
    let options = options.write(true).create_new(true).mode(0o600);
    let file = options.custom_flags(flags()).open(&path)?;
    let locked = try_lock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok((locked && is_at(&path, &file)?).then_some(file))
}

/// Removes what is below, the mark last, so that a half that is left is known again.
fn remove(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else if ![MARK, NOTE]
            .map(OsStr::new)
            .contains(&entry.file_name().as_os_str())
        {
            fs::remove_file(entry.path())?;
        }
    }
    match fs::remove_file(folder.join(NOTE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    fs::remove_file(folder.join(MARK))?;
    fs::remove_dir(folder)
}

/// Removes the folders that others of this user left here, but for those with a note.
fn remove_left(parent: &Path) -> io::Result<()> {
    for path in named_so(parent)? {
        if fs::symlink_metadata(path.join(NOTE)).is_ok() {
            continue;
        }
        match remove_one(&path) {
            Ok(true) => tracing::info!(path = %path.display(), "it was left: removed"),
            Ok(false) => {}
            Err(error) => {
                tracing::debug!(path = %path.display(), %error, "it cannot be removed");
            }
        }
    }
    Ok(())
}

/// The folders that have such a name.
fn named_so(parent: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(parent)? {
        let entry = entry?;
        if is_name(&entry.file_name()) && entry.file_type()?.is_dir() {
            paths.push(entry.path());
        }
    }
    Ok(paths)
}

fn is_name(name: &OsStr) -> bool {
    let digits = name.as_bytes().len().checked_sub(DIGITS);
    let split = digits.and_then(|at| name.as_bytes().split_at_checked(at));
    let hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    split.is_some_and(|(name, digits)| name.ends_with(NEW) && digits.iter().all(hex))
}

/// Removes a folder that nobody is at work in; says whether it did.
fn remove_one(folder: &Path) -> io::Result<bool> {
    match lock_left(folder) {
        Ok(Some(_lock)) => remove(folder).map(|()| true),
        Ok(None) => Ok(false),
        // Somebody has just made it, or was killed just then: it is empty, or not of this kind.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let empty = fs::read_dir(folder)?.next().is_none();
            if empty {
                fs::remove_dir(folder)?;
            }
            Ok(empty)
        }
        Err(error) => Err(error),
    }
}

/// Locks the mark of a folder that was left; `None` where it was not. One of another user is not
/// touched: they could put another in its place meanwhile.
fn lock_left(folder: &Path) -> io::Result<Option<File>> {
    if fs::symlink_metadata(folder)?.uid() != getuid().as_raw() {
        return Ok(None);
    }
    let path = folder.join(MARK);
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(flags()).open(&path)?;
    let is_mark = file.metadata()?.is_file();
    let locked = is_mark && try_lock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok((locked && is_at(&path, &file)?).then_some(file))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    /// A folder as one leaves it that is killed while it is at work.
    fn leave(place: &Path) -> PathBuf {
        let staging = Staging::beside(place).unwrap();
        let left = staging.path().with_extension("kept");
        fs::rename(staging.path(), &left).unwrap();
        let path = staging.path().to_owned();
        drop(staging);
        fs::rename(left, &path).unwrap();
        fs::create_dir_all(path.join("whole/store")).unwrap();
        fs::write(path.join("whole/store/db"), "half").unwrap();
        path
    }

    #[test]
    fn what_was_left_is_removed_by_the_next_one_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("copy");
        let at_work = Staging::beside(&place).unwrap();
        fs::write(at_work.path().join("half"), "half").unwrap();
        let left = leave(&place);
        let digits = "0123456789abcdef0123456789abcdef";
        let theirs = [
            format!("notes.new-{digits}"),
            String::from("copy.new-1-1"),
            format!("copy.new-{}", digits.to_uppercase()),
            format!("copy.old-{digits}"),
        ];
        for name in &theirs {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join("mine"), "mine").unwrap();
        }
        let empty = folder.path().join(format!("other.new-{digits}"));
        fs::create_dir(&empty).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join(MARK), "").unwrap();
        let link = folder.path().join(format!("link.new-{digits}"));
        symlink(elsewhere.path(), &link).unwrap();

        let next = Staging::beside(&folder.path().join("another")).unwrap();
        assert!(!left.exists() && !empty.exists());
        assert!(at_work.path().join("half").exists());
        for name in &theirs {
            assert!(folder.path().join(name).join("mine").exists(), "{name}");
        }
        assert!(link.exists() && elsewhere.path().join(MARK).exists());
        drop((at_work, next));
        let mut stay: Vec<String> = theirs.into();
        stay.push(format!("link.new-{digits}"));
        stay.sort();
        assert_eq!(names(folder.path()), stay);
    }

    #[test]
    fn one_with_a_note_waits_for_whoever_can_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("copy");
        let at_work = Staging::beside(&place).unwrap();
        at_work.note("at work").unwrap();
        let left = leave(&place);
        fs::write(left.join(NOTE), "ledger 5").unwrap();
        let plain = leave(&place);
        drop(Staging::beside(&place).unwrap());
        assert!(!plain.exists());
        let found = Staging::left(&place).unwrap();
        let notes: Vec<_> = found
            .iter()
            .map(|(one, note)| (one.path(), note.as_str()))
            .collect();
        assert_eq!(notes, [(left.as_path(), "ledger 5")]);
        // Whoever found it has it: no other one does.
        assert!(Staging::left(&place).unwrap().is_empty());
        drop(found);
        assert!(!left.exists() && at_work.path().join(NOTE).exists());
        drop(at_work);
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn a_link_in_the_place_of_the_mark_or_below_leads_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("copy");
        let outside = folder.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "kept").unwrap();
        let left = leave(&place);
        symlink(&outside, left.join("whole/outside")).unwrap();
        symlink(&outside, left.join("outside")).unwrap();
        let odd = leave(&place);
        fs::remove_file(odd.join(MARK)).unwrap();
        symlink(outside.join("kept"), odd.join(MARK)).unwrap();
        drop(Staging::beside(&place).unwrap());
        assert!(!left.exists());
        assert!(odd.exists());
        assert_eq!(names(&outside), ["kept"]);
    }
}
