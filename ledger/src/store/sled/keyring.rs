//! Ordinals and keys of streams, so that contents are sealed before they are queued.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::read::{Reader, damaged};
use super::{entry, large};
use crate::content::{Commitment, Content};
use crate::id::{LedgerId, StreamId};
use crate::store::seal::{
    self, KeyFile, KeyFileError, Opener, Place, RunKey, SealError, Sealer, SnapshotSealer,
};
use crate::store::{ReadError, chain};

/// Streams that are kept with their sealers: a kilobyte each, which saves looking for the ordinal
/// and two derivations.
const KEPT_MAX: usize = 4_096;

/// Why contents could not be sealed.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeyringError {
    /// The key file failed.
    #[error("taking the key of a stream failed")]
    Keys(#[from] KeyFileError),
    /// Sealing failed.
    #[error("sealing a content failed")]
    Seal(#[from] SealError),
    /// The store cannot be read.
    #[error("looking for the ordinal of a stream failed")]
    Read(#[from] ReadError),
    /// A large content could not be written.
    #[error("writing a content failed")]
    Large(#[from] io::Error),
    /// There is no ordinal left.
    #[error("there are as many streams as a ledger can have")]
    Full,
}

/// The contents of one append, sealed.
#[derive(Debug)]
pub(super) struct Sealed {
    pub(super) ordinal: u32,
    pub(super) blobs: BTreeMap<Commitment, entry::Sealed>,
}

/// All keys of a ledger.
#[derive(Debug)]
pub(super) struct Keyring {
    ledger: LedgerId,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: KeyFile,
    /// Ordinals of streams that are not in the store yet. One that was given is never given to
    /// another stream, even where its first append fails: what was sealed may still be queued.
    reserved: BTreeMap<StreamId, u32>,
    /// The last ordinal that was given.
    last: Option<u32>,
    /// Streams to which contents came. Neither ordinal nor key of a stream ever changes.
    kept: BTreeMap<StreamId, Kept>,
}

/// A stream as it is kept.
#[derive(Debug, Clone)]
struct Kept {
    ordinal: u32,
    sealer: Arc<Mutex<Sealer>>,
}

impl Keyring {
    /// `last` is the last ordinal in the store.
    pub(super) fn new(ledger: LedgerId, file: KeyFile, last: Option<u32>) -> Self {
        let state = State {
            file,
            reserved: BTreeMap::new(),
            last,
            kept: BTreeMap::new(),
        };
        Self {
            ledger,
            state: Mutex::new(state),
        }
    }

    /// Seals contents of a stream, which gets an ordinal if it has none yet.
    pub(super) fn seal(
        &self,
        reader: Reader<'_>,
        stream: StreamId,
        contents: &BTreeMap<Commitment, Content>,
    ) -> Result<Sealed, KeyringError> {
        let mut blobs = BTreeMap::new();
        if contents.is_empty() {
            let ordinal = self.ordinal(reader, stream)?;
            return Ok(Sealed { ordinal, blobs });
        }
        let Kept { ordinal, sealer } = self.kept(reader, stream)?;
        let mut sealer = lock(&sealer);
        for (commitment, content) in contents {
            // It was checked that they belong together.
            let sealed = sealer.seal_as(commitment, content)?;
            let sealed = if sealed.len() > large::INLINE_BYTES_MAX {
                large::write(reader.large, ordinal, commitment, &sealed)?;
                entry::Sealed::Apart(u32::try_from(sealed.len()).unwrap_or(u32::MAX))
            } else {
                entry::Sealed::Inline(sealed.into())
            };
            blobs.insert(*commitment, sealed);
        }
        Ok(Sealed { ordinal, blobs })
    }

    /// Opens contents of a stream.
    pub(super) fn opening(&self, stream: StreamId, ordinal: u32) -> Opening<'_> {
        Opening {
            keyring: self,
            stream,
            ordinal,
            opener: None,
        }
    }

    /// Seals the state of a stream that is in the store.
    pub(super) fn seal_snapshot(
        &self,
        stream: StreamId,
        ordinal: u32,
        state: &[u8],
    ) -> Result<Vec<u8>, KeyringError> {
        let (generation, key) = lock(&self.state).file.key(ordinal)?;
        let sealer = SnapshotSealer::new(self.place(stream, generation), &key);
        Ok(sealer.seal(state)?)
    }

    /// Opens a sealed state.
    pub(super) fn open_snapshot(
        &self,
        stream: StreamId,
        ordinal: u32,
        blob: &[u8],
    ) -> Result<Vec<u8>, ReadError> {
        let sealed = |error: SealError| damaged(None, format!("a kept state: {}", chain(&error)));
        let generation = seal::generation(blob).map_err(sealed)?;
        let key = self.key_of(stream, ordinal, generation)?;
        let sealer = SnapshotSealer::new(self.place(stream, generation), &key);
        sealer.open(blob).map_err(sealed)
    }

    fn key_of(&self, stream: StreamId, ordinal: u32, generation: u16) -> Result<RunKey, ReadError> {
        let key = lock(&self.state).file.key_of(ordinal, generation);
        key.map_err(|error| {
            damaged(
                None,
                format!("the key of stream {stream}: {}", chain(&error)),
            )
        })
    }

    /// The stream is in the store with its ordinal.
    pub(super) fn settle(&self, stream: StreamId) {
        lock(&self.state).reserved.remove(&stream);
    }

    fn ordinal(&self, reader: Reader<'_>, stream: StreamId) -> Result<u32, KeyringError> {
        let mut state = lock(&self.state);
        if let Some(kept) = state.kept.get(&stream) {
            return Ok(kept.ordinal);
        }
        if let Some(&ordinal) = state.reserved.get(&stream) {
            return Ok(ordinal);
        }
        if let Some(ordinal) = reader.ordinal(stream)? {
            return Ok(ordinal);
        }
        let last = state.last;
        // Synced before it seals anything.
        state.file.draw_ahead(last)?;
        let next = last.map_or(Some(0), |last| last.checked_add(1));
        let next = next.ok_or(KeyringError::Full)?;
        state.last = Some(next);
        state.reserved.insert(stream, next);
        Ok(next)
    }

    /// Ordinal and sealer of a stream, which are kept from here on.
    fn kept(&self, reader: Reader<'_>, stream: StreamId) -> Result<Kept, KeyringError> {
        if let Some(kept) = lock(&self.state).kept.get(&stream) {
            return Ok(kept.clone());
        }
        let ordinal = self.ordinal(reader, stream)?;
        let mut state = lock(&self.state);
        let (generation, key) = state.file.key(ordinal)?;
        let sealer = Sealer::new(self.place(stream, generation), &key)?;
        let sealer = Arc::new(Mutex::new(sealer));
        if state.kept.len() >= KEPT_MAX {
            state.kept.pop_first();
        }
        let kept = Kept { ordinal, sealer };
        state.kept.insert(stream, kept.clone());
        Ok(kept)
    }

    fn place(&self, stream: StreamId, generation: u16) -> Place {
        Place {
            ledger: self.ledger,
            stream,
            generation,
        }
    }
}

/// Opens contents of one stream; the key that opened the last one is kept for the next.
pub(super) struct Opening<'a> {
    keyring: &'a Keyring,
    stream: StreamId,
    ordinal: u32,
    opener: Option<Opener>,
}

impl Opening<'_> {
    /// Opens a sealed content and checks its commitment.
    pub(super) fn open(
        &mut self,
        commitment: &Commitment,
        blob: &[u8],
    ) -> Result<Content, ReadError> {
        let sealed =
            |error: SealError| damaged(None, format!("content {commitment}: {}", chain(&error)));
        let generation = seal::generation(blob).map_err(sealed)?;
        let known = self.opener.take();
        let known = known.filter(|known| known.place().generation == generation);
        let opener = known.map_or_else(|| self.opener(generation), Ok)?;
        let opened = opener.open(commitment, blob).map_err(sealed);
        self.opener = Some(opener);
        opened
    }

    fn opener(&self, generation: u16) -> Result<Opener, ReadError> {
        let keyring = self.keyring;
        let key = keyring.key_of(self.stream, self.ordinal, generation)?;
        Ok(Opener::new(keyring.place(self.stream, generation), &key))
    }
}

/// Both kinds of state are whole between any two statements.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
