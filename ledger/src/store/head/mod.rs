//! The head file: how far the store had come, kept outside the home that holds the store.
//!
//! A chain cannot tell that its tail was cut, nor that a whole store was put back from a backup;
//! this file can, as long as no copy restores both together. On opening, the store must be at
//! least as large as the head, with the head's root at that size.
//!
//! Two slots of 4 KiB are written by turns, so that a write that dies half-way leaves the other.
//! Both are there from the beginning: no write has to allocate.
//!
//! Copies of a home share one head file. Whoever writes to a store holds a lock on it, so that no
//! two copies are written to at the same time; whoever only reads it locks and changes nothing. A
//! lock is on a file and not on its name: where the name leads to another file by now, nothing is
//! written any more.

#[cfg(test)]
mod tests;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use crate::digest::checksum;
use crate::lock::try_lock;
use crate::merkle::{Frontier, Root};
use crate::regular;

/// The name of the file in its folder.
const FILE_NAME: &str = "head";

/// The first bytes of a slot: what it is, then its format.
const MAGIC: &[u8; 16] = b"placet head\0\0\0\0\x01";

/// Bytes of a slot: a page, so that the slots share none.
const SLOT_BYTES: usize = 4096;

/// Bytes of a slot before its checksum.
const BODY_BYTES: usize = SLOT_BYTES - 16;

/// The first incarnation of a store; each loss that a person accepted begins another.
const FIRST_INCARNATION: u32 = 1;

/// How often the slots are read in a row: whoever has the file may write both of them meanwhile.
const READS_MAX: usize = 8;

/// Why a head was not read or not written.
#[derive(Debug, thiserror::Error)]
pub enum HeadError {
    /// The file system refused.
    #[error("{doing} the head file {} failed", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// Where it lies.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// There is no head file, which is never taken for a first start.
    #[error("there is no head file at {}", .0.display())]
    Missing(PathBuf),
    /// Somebody writes to a store that goes with it.
    #[error("the head file at {} is in use", .0.display())]
    InUse(PathBuf),
    /// Another file has its name, or none has: whoever opens that one does not see our lock.
    #[error(
        "another program has replaced, moved or removed the head file {} while it was in use here",
        .0.display()
    )]
    Replaced(PathBuf),
    /// Neither slot checks, or they do not belong together.
    #[error("the head file {} is damaged", .0.display())]
    Damaged(PathBuf),
    /// A head below the one that was written.
    #[error("the head cannot go back from size {from} to {to}")]
    Shrinks {
        /// The size of the current head.
        from: u64,
        /// The size that was to be written.
        to: u64,
    },
    /// Another history of the same size.
    #[error("the head already has another root at size {0}")]
    Diverges(u64),
    /// The sequence is at the end of its number range.
    #[error("the head file cannot be written any more often")]
    Exhausted,
}

/// For `map_err`: says what was being done.
fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> HeadError {
    let path = path.to_owned();
    move |source| HeadError::Io {
        doing,
        path,
        source,
    }
}

/// How far a store had come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    sequence: u64,
    incarnation: u32,
    frontier: Frontier,
}

impl Head {
    /// Reads the newest head in `dir`, whoever has the file; nothing is changed or locked.
    pub fn read(dir: &Path) -> Result<Self, HeadError> {
        let path = dir.join(FILE_NAME);
        let file = open(OpenOptions::new().read(true), &path)?;
        let mut read = newest(&file, &path);
        for _ in 1..READS_MAX {
            if !matches!(read, Err(HeadError::Damaged(_))) {
                break;
            }
            read = newest(&file, &path);
        }
        read.map(|(head, _)| head)
    }

    /// Whether somebody writes to a store that goes with the head in `dir`; nothing is changed.
    pub fn is_in_use(dir: &Path) -> Result<bool, HeadError> {
        let path = dir.join(FILE_NAME);
        let file = open(OpenOptions::new().read(true), &path)?;
        // Whoever comes meanwhile tries again for longer than this lasts.
        let locked = try_lock(&file, FlockOperation::NonBlockingLockShared);
        locked
            .map(|locked| !locked)
            .map_err(failed("locking", &path))
    }

    /// How often the head was written.
    pub const fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Which life of the store this is.
    pub const fn incarnation(&self) -> u32 {
        self.incarnation
    }

    /// How many events the store held.
    pub const fn size(&self) -> u64 {
        self.frontier.size()
    }

    /// The root over all of them.
    pub fn root(&self) -> Root {
        self.frontier.root()
    }

    /// The tree to which events after that size are appended.
    pub const fn frontier(&self) -> &Frontier {
        &self.frontier
    }

    /// The head that follows this one in the same incarnation.
    fn next(&self, frontier: &Frontier) -> Result<Self, HeadError> {
        Ok(Self {
            sequence: self.sequence.checked_add(1).ok_or(HeadError::Exhausted)?,
            incarnation: self.incarnation,
            frontier: frontier.clone(),
        })
    }

    /// The bytes of a slot.
    fn encode(&self) -> Vec<u8> {
        let frontier = self.frontier.to_bytes();
        let mut bytes = Vec::with_capacity(SLOT_BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&self.sequence.to_be_bytes());
        bytes.extend_from_slice(&self.incarnation.to_be_bytes());
        bytes.extend_from_slice(&self.size().to_be_bytes());
        bytes.extend_from_slice(self.root().as_bytes());
        // At most 8 + 64 * 32 bytes, which the body has room for.
        bytes.extend_from_slice(&frontier);
        bytes.resize(BODY_BYTES, 0);
        let sum = checksum(&bytes);
        bytes.extend_from_slice(&sum);
        bytes
    }

    /// Reads what `encode` wrote; `None` is a torn slot.
    fn decode(bytes: &[u8; SLOT_BYTES]) -> Option<Self> {
        let (body, sum) = bytes.split_last_chunk::<16>()?;
        if checksum(body) != *sum {
            return None;
        }
        let rest = body.strip_prefix(MAGIC)?;
        let (sequence, rest) = rest.split_first_chunk::<8>()?;
        let (incarnation, rest) = rest.split_first_chunk::<4>()?;
        let (size, rest) = rest.split_first_chunk::<8>()?;
        let (root, rest) = rest.split_first_chunk::<32>()?;
        let size = u64::from_be_bytes(*size);
        let hashes = usize::try_from(size.count_ones()).ok()?;
        let length = hashes.checked_mul(32)?.checked_add(8)?;
        let head = Self {
            sequence: u64::from_be_bytes(*sequence),
            incarnation: u32::from_be_bytes(*incarnation),
            frontier: Frontier::from_bytes(rest.get(..length)?).ok()?,
        };
        (head.size() == size && head.root().as_bytes() == root).then_some(head)
    }
}

/// The name of an open head file, and the file that had it when it was opened. Another file cannot
/// come to have the same number while that one is open.
#[derive(Debug, Clone)]
pub struct HeadName {
    path: PathBuf,
    device: u64,
    number: u64,
}

impl HeadName {
    fn of(path: PathBuf, file: &File) -> Result<Self, HeadError> {
        let file = file.metadata().map_err(failed("looking at", &path))?;
        Ok(Self {
            path,
            device: file.dev(),
            number: file.ino(),
        })
    }

    /// An error where the name leads to another file by now, or to none: the lock on ours keeps
    /// nobody out any more.
    pub fn check(&self) -> Result<(), HeadError> {
        let replaced = || HeadError::Replaced(self.path.clone());
        match fs::symlink_metadata(&self.path) {
            Ok(there) if (there.dev(), there.ino()) == (self.device, self.number) => Ok(()),
            Ok(_) => Err(replaced()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(replaced()),
            Err(error) => Err(failed("looking at", &self.path)(error)),
        }
    }
}

/// The open head file.
#[derive(Debug)]
pub struct HeadFile {
    name: HeadName,
    file: File,
    current: Head,
    /// The slot that does not hold the current head: 0 or 1.
    older: u64,
}

impl HeadFile {
    /// Makes a head file in `dir`, which is made where it does not exist; the file must not.
    pub fn create(dir: &Path, frontier: &Frontier) -> Result<Self, HeadError> {
        let path = dir.join(FILE_NAME);
        make_folder(dir).map_err(failed("making the folder of", &path))?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed("creating", &path))?;
        let first = Head {
            sequence: 0,
            incarnation: FIRST_INCARNATION,
            frontier: frontier.clone(),
        };
        let current = first.next(frontier)?;
        let bytes = [first.encode(), current.encode()].concat();
        file.write_all_at(&bytes, 0)
            .and_then(|()| file.sync_all())
            .map_err(failed("writing", &path))?;
        sync_folder(dir).map_err(failed("syncing the folder of", &path))?;
        Ok(Self {
            name: HeadName::of(path, &file)?,
            file,
            current,
            older: 0,
        })
    }

    /// Opens the head file in `dir` to write it, and locks it for as long as it is open. Where one
    /// slot is torn, the other one counts.
    pub fn open(dir: &Path) -> Result<Self, HeadError> {
        let path = dir.join(FILE_NAME);
        let file = open(OpenOptions::new().read(true).write(true), &path)?;
        let locked = try_lock(&file, FlockOperation::NonBlockingLockExclusive);
        if !locked.map_err(failed("locking", &path))? {
            return Err(HeadError::InUse(path));
        }
        // It may have lost its name before it was locked.
        let name = HeadName::of(path.clone(), &file)?;
        name.check()?;
        let (current, older) = newest(&file, &path)?;
        // A dead process may have written the current slot and not synced it; the next write
        // goes over the other one, and one of the two must always be on disk.
        file.sync_data().map_err(failed("syncing", &path))?;
        Ok(Self {
            name,
            file,
            current,
            older,
        })
    }

    /// Its name, to look at while somebody else writes it.
    pub const fn name(&self) -> &HeadName {
        &self.name
    }

    /// The newest head on disk.
    pub const fn current(&self) -> &Head {
        &self.current
    }

    /// Writes a head that extends the current one; it is on disk when this returns.
    ///
    /// After an error of the file system nothing is known of the older slot: open again. Where
    /// another file has its name by now, nothing is written: the lock keeps nobody out any more.
    pub fn write(&mut self, frontier: &Frontier) -> Result<(), HeadError> {
        self.name.check()?;
        let (from, to) = (self.current.size(), frontier.size());
        if to < from {
            return Err(HeadError::Shrinks { from, to });
        }
        if to == from {
            return if *frontier == self.current.frontier {
                Ok(())
            } else {
                Err(HeadError::Diverges(to))
            };
        }
        let head = self.current.next(frontier)?;
        self.file
            .write_all_at(&head.encode(), offset(self.older))
            .and_then(|()| self.file.sync_data())
            .map_err(failed("writing", &self.name.path))?;
        self.current = head;
        self.older = 1_u64.saturating_sub(self.older);
        Ok(())
    }
}

impl AsRef<Head> for HeadFile {
    fn as_ref(&self) -> &Head {
        &self.current
    }
}

impl AsRef<Head> for Head {
    fn as_ref(&self) -> &Head {
        self
    }
}

fn open(options: &mut OpenOptions, path: &Path) -> Result<File, HeadError> {
    match regular::open(options, path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(HeadError::Missing(path.to_owned()))
        }
        other => other.map_err(failed("opening", path)),
    }
}

/// The newest head, and the slot that does not hold it.
fn newest(file: &File, path: &Path) -> Result<(Head, u64), HeadError> {
    let read = |slot| read_slot(file, slot).map_err(failed("reading", path));
    match (read(0)?, read(1)?) {
        (Some(head), None) => Ok((head, 1)),
        (None, Some(head)) => Ok((head, 0)),
        (Some(first), Some(second)) if follows(&first, &second) => Ok((second, 0)),
        (Some(first), Some(second)) if follows(&second, &first) => Ok((first, 1)),
        (Some(_), Some(_)) | (None, None) => Err(HeadError::Damaged(path.to_owned())),
    }
}

/// Whether `newer` can have been written right after `older`.
fn follows(older: &Head, newer: &Head) -> bool {
    older.sequence.checked_add(1) == Some(newer.sequence)
        && older.incarnation <= newer.incarnation
        && (older.incarnation < newer.incarnation || older.size() <= newer.size())
}

/// Where a slot begins.
const fn offset(slot: u64) -> u64 {
    slot.saturating_mul(SLOT_BYTES as u64)
}

/// The head in a slot; `None` where the slot is torn or the file too short.
fn read_slot(file: &File, slot: u64) -> io::Result<Option<Head>> {
    let mut bytes = [0; SLOT_BYTES];
    match file.read_exact_at(&mut bytes, offset(slot)) {
        Ok(()) => Ok(Head::decode(&bytes)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes a folder for its owner alone; each folder that was made is synced into its parent.
fn make_folder(dir: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = dir
        .ancestors()
        .take_while(|folder| *folder != Path::new("") && !folder.exists())
        .collect();
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    missing
        .iter()
        .filter_map(|folder| folder.parent())
        .try_for_each(sync_folder)
}

fn sync_folder(dir: &Path) -> io::Result<()> {
    let here = Path::new(".");
    File::open(if dir == Path::new("") { here } else { dir })?.sync_all()
}
