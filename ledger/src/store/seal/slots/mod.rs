//! The key file: one slot for each stream, by its ordinal, so that a key can be erased in place.
//!
//! A header of 512 bytes, then slots of 512 bytes. A slot of zeros was never drawn; *erased* is
//! written out; whatever else does not check is damage. None of the three ever seals. Keys are
//! drawn and synced ahead, so that a new run waits for no sync and no record names a content
//! whose key could be lost. The owner alone opens this file and holds its lock.

mod cell;
#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use uuid::Uuid;
use zeroize::Zeroizing;

use self::cell::{SLOT_BYTES, Slot};
use super::RunKey;
use crate::digest::{Digest, checksum};
use crate::id::LedgerId;
use crate::regular;

/// The first bytes of a key file.
const MAGIC: &[u8; 16] = b"placet keys\0\0\0\0\0";

/// The only format of a key file so far.
const FORMAT: u16 = 1;

/// Bytes of the header, and of a slot.
const BLOCK: u64 = SLOT_BYTES as u64;

/// Keys are drawn up to a multiple of this, for one sync.
const DRAWN_AHEAD: u64 = 1024;

/// No stream has an ordinal from here on.
const ORDINALS: u64 = 1 << 32;

/// Why the key file gave no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// The file system refused.
    #[error("{doing} the key file failed")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// The operating system gave no random bytes.
    #[error("drawing run keys failed")]
    Random(#[source] getrandom::Error),
    /// The header does not check.
    #[error("the header of the key file is damaged, or it is no key file")]
    Header,
    /// A format that this version does not know.
    #[error("key files of format {0} are not known here")]
    Format(u16),
    /// The key file of another ledger.
    #[error("the key file belongs to ledger {0}")]
    WrongLedger(LedgerId),
    /// Others than the owner may use the file.
    #[error("the key file is open to others: its mode is {0:03o}, not 600")]
    Exposed(u32),
    /// No key was ever drawn for this ordinal.
    #[error("no key was drawn in slot {0} of the key file")]
    NeverDrawn(u32),
    /// A redaction took the key.
    #[error("the key in slot {ordinal} was erased by the redaction {redaction}")]
    Erased {
        /// The slot.
        ordinal: u32,
        /// The digest of the record that ordered it.
        redaction: Digest,
    },
    /// The slot does not check.
    #[error("slot {0} of the key file is damaged")]
    Damaged(u32),
    /// The slot has keys, none of them of this generation.
    #[error("slot {ordinal} of the key file has no key of generation {generation}")]
    Generation {
        /// The slot.
        ordinal: u32,
        /// The generation that was asked for.
        generation: u16,
    },
    /// A slot above the last stream of the store is not fresh: the store has lost something.
    #[error("slot {0} of the key file was in use, and the store knows no such stream")]
    InUse(u32),
    /// The ordinals are used up.
    #[error("there are no ordinals left for another stream")]
    Full,
}

/// For `map_err`: says what was being done.
fn failed(doing: &'static str) -> impl FnOnce(io::Error) -> KeyFileError {
    move |source| KeyFileError::Io { doing, source }
}

/// The keys of all streams of one ledger.
#[derive(Debug)]
pub struct KeyFile {
    file: File,
    ledger: LedgerId,
    /// Slots that were seen to be fresh and synced. Streams take them from the front.
    fresh: Range<u64>,
}

impl KeyFile {
    /// Makes an empty key file, which must not exist yet.
    pub fn create(path: &Path, ledger: LedgerId) -> Result<Self, KeyFileError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(failed("creating"))?;
        file.write_all_at(&header(ledger), 0)
            .and_then(|()| file.sync_all())
            .map_err(failed("writing"))?;
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        File::open(folder.unwrap_or(Path::new(".")))
            .and_then(|folder| folder.sync_all())
            .map_err(failed("syncing the folder of"))?;
        Ok(Self {
            file,
            ledger,
            fresh: 0..0,
        })
    }

    /// Opens the key file of this ledger.
    pub fn open(path: &Path, ledger: LedgerId) -> Result<Self, KeyFileError> {
        Self::open_with(OpenOptions::new().read(true).write(true), path, ledger)
    }

    /// The same where it may lie where nothing can be changed; no key is drawn in it.
    pub fn open_to_read(path: &Path, ledger: LedgerId) -> Result<Self, KeyFileError> {
        Self::open_with(OpenOptions::new().read(true), path, ledger)
    }

    fn open_with(
        options: &mut OpenOptions,
        path: &Path,
        ledger: LedgerId,
    ) -> Result<Self, KeyFileError> {
        let file = regular::open(options, path).map_err(failed("opening"))?;
        let metadata = file.metadata().map_err(failed("opening"))?;
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(KeyFileError::Exposed(mode));
        }
        let mut bytes = [0; SLOT_BYTES];
        if read_up_to(&file, &mut bytes, 0)? < SLOT_BYTES {
            return Err(KeyFileError::Header);
        }
        check_header(&bytes, ledger)?;
        Ok(Self {
            file,
            ledger,
            fresh: 0..0,
        })
    }

    /// The key that seals contents of this stream, with its generation.
    ///
    /// For a new stream `draw_ahead` comes first: it is what syncs the key.
    pub fn key(&self, ordinal: u32) -> Result<(u16, RunKey), KeyFileError> {
        self.slot(ordinal)?.sealing()
    }

    /// The key of one generation, which opens what was sealed under it.
    pub fn key_of(&self, ordinal: u32, generation: u16) -> Result<RunKey, KeyFileError> {
        self.slot(ordinal)?.opening(generation)
    }

    /// Makes sure that the next stream has a fresh key on disk, and draws up to 1,024 at once.
    ///
    /// `last_used` is the store's last ordinal. A slot above it that does not check was being
    /// written when a process died; nothing can be sealed under it, so it is drawn anew. A slot
    /// above it that is in use means that the store has lost its stream: an error.
    pub fn draw_ahead(&mut self, last_used: Option<u32>) -> Result<(), KeyFileError> {
        let (next, end) = range_above(last_used)?;
        if self.fresh.contains(&next) {
            return Ok(());
        }
        self.draw(next, end, Which::NotFresh)?;
        // Also where nothing was written: what a dead process drew may not have been synced.
        self.sync()?;
        self.fresh = next..end;
        Ok(())
    }

    /// Draws all keys above the store's last ordinal anew, after a recovery: what was sealed
    /// under them belongs to streams that the store has lost.
    pub fn redraw_above(&mut self, last_used: Option<u32>) -> Result<(), KeyFileError> {
        let (next, end) = range_above(last_used)?;
        self.fresh = 0..0;
        let bytes = self.file.metadata().map_err(failed("reading"))?.len();
        let slots = bytes.div_ceil(BLOCK).saturating_sub(1).min(ORDINALS);
        let mut first = next;
        while first < end.max(slots) {
            let last = first.saturating_add(DRAWN_AHEAD).min(end.max(slots));
            self.draw(first, last, Which::All)?;
            first = last;
        }
        self.sync()?;
        self.fresh = next..end;
        Ok(())
    }

    /// Draws keys for the slots from `first` to before `end`.
    fn draw(&self, first: u64, end: u64, which: Which) -> Result<(), KeyFileError> {
        let count = usize::try_from(end.saturating_sub(first)).map_err(|_| KeyFileError::Full)?;
        let mut bytes = Zeroizing::new(vec![0; count.saturating_mul(SLOT_BYTES)]);
        read_up_to(&self.file, &mut bytes, offset(first))?;
        let mut changed = false;
        let (slots, _) = bytes.as_chunks_mut::<SLOT_BYTES>();
        for (slot, ordinal) in slots.iter_mut().zip(first..) {
            let ordinal = u32::try_from(ordinal).map_err(|_| KeyFileError::Full)?;
            if which == Which::NotFresh && self.is_fresh(slot, ordinal)? {
                continue;
            }
            let drawn = Slot::draw(ordinal)?.encode(self.ledger);
            slot.iter_mut()
                .zip(drawn.iter())
                .for_each(|(to, from)| *to = *from);
            changed = true;
        }
        if changed {
            self.file
                .write_all_at(&bytes, offset(first))
                .map_err(failed("writing"))?;
        }
        Ok(())
    }

    /// Whether a slot above the last stream is fresh; an error where it is in use.
    fn is_fresh(&self, bytes: &[u8], ordinal: u32) -> Result<bool, KeyFileError> {
        match Slot::decode(bytes, self.ledger, ordinal) {
            Ok(slot) if slot.is_fresh() => Ok(true),
            Ok(slot) if slot.is_never_drawn() => Ok(false),
            Ok(_) => Err(KeyFileError::InUse(ordinal)),
            Err(KeyFileError::Damaged(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn slot(&self, ordinal: u32) -> Result<Slot, KeyFileError> {
        let mut bytes = Zeroizing::new([0; SLOT_BYTES]);
        let read = read_up_to(&self.file, bytes.as_mut_slice(), offset(ordinal.into()))?;
        if read != 0 && read != SLOT_BYTES {
            return Err(KeyFileError::Damaged(ordinal));
        }
        Slot::decode(bytes.as_slice(), self.ledger, ordinal)
    }

    fn sync(&self) -> Result<(), KeyFileError> {
        self.file.sync_data().map_err(failed("syncing"))
    }
}

/// Which slots are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    NotFresh,
    All,
}

/// Where a slot begins.
const fn offset(ordinal: u64) -> u64 {
    ordinal.saturating_add(1).saturating_mul(BLOCK)
}

/// The ordinal of the next stream, and up to where keys are to be drawn for it.
fn range_above(last_used: Option<u32>) -> Result<(u64, u64), KeyFileError> {
    let next = last_used.map_or(0, |last| u64::from(last).saturating_add(1));
    if next >= ORDINALS {
        return Err(KeyFileError::Full);
    }
    let end = next.saturating_add(1).next_multiple_of(DRAWN_AHEAD);
    Ok((next, end))
}

/// Magic, format, ledger id and checksum, then zeros.
fn header(ledger: LedgerId) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(SLOT_BYTES);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&FORMAT.to_be_bytes());
    bytes.extend_from_slice(ledger.as_bytes());
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum);
    bytes.resize(SLOT_BYTES, 0);
    bytes
}

/// Accepts the one header of this ledger and says what is wrong with any other.
fn check_header(bytes: &[u8; SLOT_BYTES], ledger: LedgerId) -> Result<(), KeyFileError> {
    if *bytes == *header(ledger) {
        return Ok(());
    }
    let parts = bytes
        .strip_prefix(MAGIC)
        .and_then(|rest| rest.split_first_chunk::<2>())
        .and_then(|(format, rest)| Some((format, rest.first_chunk::<16>()?)));
    let (format, other) = parts.ok_or(KeyFileError::Header)?;
    let format = u16::from_be_bytes(*format);
    let other = LedgerId::new(Uuid::from_bytes(*other));
    if *bytes == *header(other) {
        Err(KeyFileError::WrongLedger(other))
    } else if format == FORMAT {
        Err(KeyFileError::Header)
    } else {
        Err(KeyFileError::Format(format))
    }
}

/// Reads until `bytes` is full or the file ends; says how much was read.
fn read_up_to(file: &File, bytes: &mut [u8], offset: u64) -> Result<usize, KeyFileError> {
    let mut read = 0_usize;
    while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset.saturating_add(read as u64)) {
            Ok(0) => break,
            Ok(count) => read = read.saturating_add(count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed("reading")(error)),
        }
    }
    Ok(read)
}
