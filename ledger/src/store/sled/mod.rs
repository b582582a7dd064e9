//! The embedded store: sled holds the rows, and one thread of ours makes them durable.
//!
//! ```text
//! <home>/sled    rows (`keys` lists them), none over 7,000 B
//! <home>/keys    keys of streams: contents lie in sled sealed, never in clear
//! <home>/ledger  which ledger it is        <home>/owner  which process has it open
//! <head dir>     how far the store had come, outside of what a backup copies together
//! ```
//!
//! An append is checked and sealed at the caller's, queued, compared and written by the committer
//! (`commit`), and answered once it is durable. Reads go to sled at once and see what was
//! answered. sled's own promises are not relied on: it is synced by us, what it panics about is
//! caught, and what it may have lost is told by the head file (`open`).

mod commit;
mod draft;
mod fault;
mod folder;
mod keyring;
mod keys;
mod open;
mod projections;
mod read;
mod rows;
mod shared;
#[cfg(test)]
mod tests;
mod unit;
mod values;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use async_trait::async_trait;
use futures_channel::oneshot;

use self::commit::{Committer, Request};
use self::open::Opened;
use self::shared::{Reserved, Shared};
use super::check::Attempt;
use super::projections::ProjectionStore;
use super::{
    AppendError, Appended, Batch, EventStore, Expected, ReadError, ReadStore, Stored, Tail, Unless,
    chain,
};
use crate::content::{Commitment, Content, Contents};
use crate::id::{LedgerId, Position, StreamId, Version};

pub use fault::{FaultPoint, Faults, NoFaults};
pub use open::OpenError;

/// Appends that may wait for the committer; above that an append hears `Busy`.
const QUEUE_APPENDS: usize = 1_024;

/// A ledger in a folder.
#[derive(Debug)]
pub struct SledStore {
    shared: Arc<Shared>,
    /// `None` once it is closed, and where it was opened to be read.
    committer: Mutex<Option<Handle>>,
}

/// The way to the committer, and what is left of it when that way is closed.
#[derive(Debug)]
struct Handle {
    queue: SyncSender<Request>,
    thread: JoinHandle<()>,
}

impl SledStore {
    /// Makes an empty ledger in `home`, which must not exist or be empty, and opens it.
    pub fn create(home: &Path, ledger: LedgerId, head_dir: &Path) -> Result<Self, OpenError> {
        open::create(home, ledger, head_dir)?;
        Self::open(home, head_dir)
    }

    /// Opens a ledger to read and write it.
    pub fn open(home: &Path, head_dir: &Path) -> Result<Self, OpenError> {
        Self::open_with(home, head_dir, Arc::new(NoFaults))
    }

    /// The same, with places where a test can interfere.
    pub fn open_with(
        home: &Path,
        head_dir: &Path,
        faults: Arc<dyn Faults>,
    ) -> Result<Self, OpenError> {
        let Opened {
            shared,
            frontier,
            head,
        } = open::open(home, head_dir)?;
        let committer = Committer {
            shared: Arc::new(shared),
            rows_file: rows_file(home)?,
            head: head?,
            frontier,
            known: BTreeMap::new(),
            faults,
        };
        Self::start(committer)
    }

    /// Opens a ledger to read what is there, and says why it cannot be written, if it cannot.
    pub fn open_read_only(
        home: &Path,
        head_dir: &Path,
    ) -> Result<(Self, Option<OpenError>), OpenError> {
        open::open(home, head_dir).map(Self::closed)
    }

    /// The same, from a copy in `scratch`, a folder that exists: sled changes what it opens.
    pub fn open_copy(
        home: &Path,
        head_dir: &Path,
        scratch: &Path,
    ) -> Result<(Self, Option<OpenError>), OpenError> {
        open::open_copy(home, head_dir, scratch).map(Self::closed)
    }

    /// Which ledger a home holds, without opening it; what it holds when it is open counts.
    pub fn ledger_at(home: &Path) -> Option<LedgerId> {
        folder::read_ledger(home)
    }

    /// The ledger.
    pub fn ledger(&self) -> LedgerId {
        self.shared.ledger
    }

    /// Where its projections are kept.
    pub fn projections(&self) -> Arc<dyn ProjectionStore> {
        Arc::new(projections::SledRows(Arc::clone(&self.shared)))
    }

    /// Writes what waits, then the head file, and stops; later appends hear `Poisoned`.
    pub fn close(&self) {
        let handle = self
            .committer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(Handle { queue, thread }) = handle {
            drop(queue);
            if thread.join().is_err() {
                self.shared.close("the committer panicked");
            }
            self.shared.close("the store was closed");
        }
    }

    fn start(committer: Committer) -> Result<Self, OpenError> {
        let shared = Arc::clone(&committer.shared);
        let (queue, waiting) = sync_channel(QUEUE_APPENDS);
        let thread = thread::Builder::new()
            .name("placet-commit".to_owned())
            .spawn(move || committer.run(&waiting))
            .map_err(|source| OpenError::Io {
                doing: "starting the committer",
                source,
            })?;
        Ok(Self {
            shared,
            committer: Mutex::new(Some(Handle { queue, thread })),
        })
    }

    fn closed(opened: Opened) -> (Self, Option<OpenError>) {
        let finding = opened.head.err();
        let reason = finding.as_ref().map_or_else(
            || "it was opened to be read".to_owned(),
            |error| chain(error),
        );
        opened.shared.close(&reason);
        let store = Self {
            shared: Arc::new(opened.shared),
            committer: Mutex::new(None),
        };
        (store, finding)
    }

    /// Seals and queues an append.
    fn queue(
        &self,
        attempt: Attempt,
        contents: &BTreeMap<Commitment, Content>,
    ) -> Result<oneshot::Receiver<Result<Appended, AppendError>>, AppendError> {
        let records = attempt.records.iter().map(|record| record.bytes().len());
        let texts = contents.values().map(|content| content.bytes.len());
        let bytes = records.chain(texts).fold(0, usize::saturating_add);
        let reserved = Reserved::take(&self.shared, bytes).ok_or(AppendError::Busy)?;
        let keyring = self.shared.keyring.as_ref();
        let keyring = keyring.ok_or_else(|| AppendError::Poisoned("it has no keys".to_owned()))?;
        let sealed = keyring
            .seal(self.shared.reader(), attempt.stream, contents)
            .map_err(|error| {
                let reason = chain(&error);
                self.shared.close(&reason);
                AppendError::Poisoned(reason)
            })?;
        let (answer, answered) = oneshot::channel();
        let request = Request {
            attempt,
            sealed,
            reserved,
            answer,
        };
        let committer = self
            .committer
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let gone = || AppendError::Poisoned("the store was closed".to_owned());
        let queue = &committer.as_ref().ok_or_else(gone)?.queue;
        match queue.try_send(request) {
            Ok(()) => Ok(answered),
            Err(TrySendError::Full(_)) => Err(AppendError::Busy),
            Err(TrySendError::Disconnected(_)) => Err(gone()),
        }
    }
}

impl Drop for SledStore {
    fn drop(&mut self) {
        self.close();
    }
}

/// A second descriptor of sled's file: sled keeps its own to itself.
fn rows_file(home: &Path) -> Result<File, OpenError> {
    File::options()
        .write(true)
        .open(folder::sled_file(home))
        .map_err(|source| OpenError::Io {
            doing: "opening the file of the rows",
            source,
        })
}

#[async_trait]
impl EventStore for SledStore {
    async fn append(
        &self,
        stream: StreamId,
        expected: Expected,
        batch: Batch,
        unless: &[Unless],
    ) -> Result<Appended, AppendError> {
        if let Some(reason) = self.shared.closed() {
            return Err(AppendError::Poisoned(reason));
        }
        let ledger = self.shared.ledger;
        let (attempt, contents) = Attempt::check(ledger, stream, expected, batch, unless)?;
        let answered = self.queue(attempt, &contents)?;
        drop(contents);
        if let Ok(answer) = answered.await {
            return answer;
        }
        let reason = "the committer ended before it answered";
        self.shared.close(reason);
        Err(AppendError::Unknown(reason.to_owned()))
    }
}

#[async_trait]
impl ReadStore for SledStore {
    async fn read_run(
        &self,
        stream: StreamId,
        from: Version,
        limit: usize,
    ) -> Result<Vec<Stored>, ReadError> {
        self.shared.reader().run(stream, from, limit)
    }

    async fn read_all(&self, from: Position, limit: usize) -> Result<Vec<Stored>, ReadError> {
        self.shared.reader().all(from, limit)
    }

    async fn tail(&self) -> Result<Tail, ReadError> {
        Ok(self.shared.tail())
    }

    async fn content(
        &self,
        stream: StreamId,
        commitments: &[Commitment],
    ) -> Result<Contents, ReadError> {
        let mut contents = Contents::default();
        let reader = self.shared.reader();
        let ordinal = reader.ordinal(stream)?;
        for commitment in commitments {
            let missing = ReadError::NoContent(*commitment);
            let Some(ordinal) = ordinal else {
                return Err(missing);
            };
            let blob = reader.sealed(ordinal, commitment)?.ok_or(missing)?;
            let keyring = self.shared.keyring.as_ref();
            let keyring = keyring.ok_or_else(|| ReadError::Io("it has no keys".to_owned()))?;
            let content = keyring.open(stream, ordinal, commitment, &blob)?;
            contents.insert_checked(*commitment, content);
        }
        Ok(contents)
    }
}
