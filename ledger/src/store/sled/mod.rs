//! The embedded store: a small log in front, on which alone an answer waits; sled behind it.
//!
//! ```text
//! <home>/log     two halves, filled by turns with frames of appends (`log`)
//! <home>/sled    rows (`keys` lists them), none over 7,000 B
//! <home>/tile    history, in files that never change (`tile`)
//! <home>/content sealed contents that are too large for any of them
//! <home>/snapshots states of long runs, sealed: a cache
//! <home>/keys    keys of streams: contents lie everywhere sealed, never in clear
//! <home>/ledger  which ledger it is        <home>/owner  which process has it open
//! <head dir>     how far the store had come, outside of what a backup copies together, and who has
//!                which copy of the store open
//! ```
//!
//! An append is checked and sealed at the caller's, queued, compared and written by the committer
//! (`commit`), and answered once its frame is durable. The mover (`mover`) takes frames into sled
//! behind that, and what is old out of sled into tiles; what is not in sled yet is read from
//! memory. sled's own promises are not relied on: it
//! is synced by us, what it panics about is caught, and what it may have lost is told by the log
//! and by the head file (`recover`, `open`).

mod anchor;
mod blocks;
mod commit;
mod contents;
mod draft;
mod entry;
mod fault;
mod folder;
mod index;
mod keyring;
mod keys;
mod large;
mod log;
mod memory;
mod mover;
mod open;
mod projections;
mod read;
mod recover;
mod refused;
mod rows;
mod shared;
mod snapshots;
#[cfg(test)]
mod tests;
mod tile;
mod unit;
mod values;
mod watch;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use async_trait::async_trait;
use futures_channel::oneshot;

use self::anchor::Anchor;
use self::blocks::Blocks;
use self::commit::{Committer, Request};
use self::memory::Heads;
use self::mover::Mover;
use self::open::Opened;
use self::shared::{Reserved, Shared};
use self::tile::seal::Sealer;
use self::watch::Watch;
use super::check::Attempt;
use super::head::{Head, HeadFile};
use super::projections::ProjectionStore;
use super::snapshots::SnapshotStore;
use super::{
    AppendError, Appended, Batch, EventStore, Expected, ReadError, ReadStore, Show, Stored, Tail,
    Unless, chain,
};
use crate::content::{Commitment, Content, Contents};
use crate::id::{LedgerId, Position, StreamId, Version};

#[cfg(any(test, feature = "conformance"))]
pub use fault::SealsEarly;
pub use fault::{FaultPoint, Faults, NoFaults, Sealing};
pub use folder::Holder;
pub use open::StoreLock;
pub use refused::OpenError;
pub use tile::check::TileFaults;

/// Appends that may wait for the committer; above that an append hears `Busy`.
const QUEUE_APPENDS: usize = 1_024;

/// A ledger in a folder.
pub struct SledStore {
    shared: Arc<Shared>,
    /// Where states of long runs lie.
    snapshots: PathBuf,
    /// `None` once it is closed, and where it was opened to be read.
    threads: Mutex<Option<Threads>>,
}

impl fmt::Debug for SledStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SledStore({})", self.shared.ledger)
    }
}

/// The way to the committer, and the threads that write.
struct Threads {
    queue: SyncSender<Request>,
    committer: JoinHandle<()>,
    mover: JoinHandle<()>,
    watcher: JoinHandle<()>,
    anchorer: JoinHandle<()>,
    watch: Arc<Watch>,
    anchor: Arc<Anchor>,
}

impl Threads {
    fn start(
        shared: &Arc<Shared>,
        committer: Committer,
        mover: Mover,
        (watch, anchor): (Arc<Watch>, Arc<Anchor>),
        faults: Arc<dyn Faults>,
    ) -> io::Result<Self> {
        let (queue, waiting) = sync_channel(QUEUE_APPENDS);
        let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| {
            let named = thread::Builder::new().name(format!("placet-{name}"));
            named.spawn(work)
        };
        let (watching, watched) = (Arc::clone(&watch), Arc::clone(shared));
        let patience = faults.patience();
        let watcher = spawn("watch", Box::new(move || watching.run(&watched, patience)))?;
        let anchoring = Arc::clone(&anchor);
        let anchorer = spawn("anchor", Box::new(move || anchoring.run(&*faults)))?;
        let mover = spawn("move", Box::new(move || mover.run()))?;
        let committer = spawn("commit", Box::new(move || committer.run(&waiting)))?;
        Ok(Self {
            queue,
            committer,
            mover,
            watcher,
            anchorer,
            watch,
            anchor,
        })
    }
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
        Self::start(home, open::open(home, head_dir)?, faults)
    }

    /// Takes the lock of a store, where nobody has it: others can be told who will serve them,
    /// before it is open. `None` where somebody has it.
    pub fn try_lock(home: &Path, head_dir: &Path) -> Result<Option<StoreLock>, OpenError> {
        open::try_lock(home, head_dir)
    }

    /// Opens a ledger to read and write it, whose lock was taken.
    pub fn open_locked(lock: StoreLock, home: &Path, head_dir: &Path) -> Result<Self, OpenError> {
        Self::start(home, open::open_locked(lock, head_dir)?, Arc::new(NoFaults))
    }

    /// Who has another copy of a store now, told as opening it to write would; nothing is changed.
    pub fn copy_in_use(head_dir: &Path) -> Option<OpenError> {
        open::copy_in_use(head_dir)
    }

    /// Who has a store, as opening it would tell.
    pub fn in_use(home: &Path) -> OpenError {
        refused::in_use(home)
    }

    /// Who has a store, if they are known to be stopped.
    pub fn stopped_owner_at(home: &Path) -> Option<OpenError> {
        let error = refused::in_use(home);
        matches!(error, OpenError::InUse { stopped: true, .. }).then_some(error)
    }

    /// Opens a ledger to read what is there, and says why it cannot be written, if it cannot.
    pub fn open_read_only(
        home: &Path,
        head_dir: &Path,
    ) -> Result<(Self, Option<OpenError>), OpenError> {
        open::open_to_read(home, head_dir).map(|opened| Self::closed(home, opened))
    }

    /// The same, from a copy in `scratch`, a folder that exists: sled changes what it opens.
    pub fn open_copy(
        home: &Path,
        head_dir: &Path,
        scratch: &Path,
    ) -> Result<(Self, Option<OpenError>), OpenError> {
        open::open_copy(home, head_dir, scratch).map(|opened| Self::closed(home, opened))
    }

    /// Which ledger a home holds, without opening it; what it holds when it is open counts.
    pub fn ledger_at(home: &Path) -> Option<LedgerId> {
        folder::read_ledger(home)
    }

    /// Looks at the files of all tiles, without their records.
    pub fn check_tiles(&self) -> io::Result<TileFaults> {
        self.shared.tiles.check()
    }

    /// The same of a home whose store another process has, which may have more of them by now.
    pub fn check_tiles_at(home: &Path) -> io::Result<TileFaults> {
        tile::check::check(&folder::tile(home), None)
    }

    /// The ledger.
    pub fn ledger(&self) -> LedgerId {
        self.shared.ledger
    }

    /// Where its projections are kept.
    pub fn projections(&self) -> Arc<dyn ProjectionStore> {
        Arc::new(projections::SledRows(Arc::clone(&self.shared)))
    }

    /// Where states of its long runs are kept.
    pub fn snapshots(&self) -> Arc<dyn SnapshotStore> {
        Arc::new(snapshots::SledSnapshots {
            shared: Arc::clone(&self.shared),
            folder: self.snapshots.clone(),
        })
    }

    /// Waits until everything that was acknowledged is in sled, with its index, and what is old
    /// enough in tiles.
    #[cfg(any(test, feature = "conformance"))]
    pub fn settle(&self) {
        self.shared.moving.settle();
    }

    /// Waits until the head file is so far; says how far it is.
    #[cfg(test)]
    fn anchored(&self, size: u64) -> u64 {
        let threads = self.threads.lock().unwrap();
        let anchor = threads.as_ref().map(|threads| Arc::clone(&threads.anchor));
        drop(threads);
        anchor.map_or(0, |anchor| anchor.reached(size))
    }

    /// Writes what waits, then the head file, and stops; later appends hear `Poisoned`.
    pub fn close(&self) {
        let threads = self
            .threads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(threads) = threads else { return };
        drop(threads.queue);
        let committed = threads.committer.join();
        threads.watch.stop();
        threads.anchor.stop();
        self.shared.moving.close();
        let (moved, watched) = (threads.mover.join(), threads.watcher.join());
        let anchored = threads.anchorer.join();
        if committed.and(moved).and(watched).and(anchored).is_err() {
            self.shared.close("a thread of the store panicked");
        }
        self.shared.close("the store was closed");
    }

    fn start(
        home: &Path,
        opened: Opened<HeadFile>,
        faults: Arc<dyn Faults>,
    ) -> Result<Self, OpenError> {
        let Opened {
            shared,
            frontier,
            rows,
            sealed,
            mut pen,
            head,
        } = opened;
        let (head, shared) = (head?, Arc::new(shared));
        let anchor = Arc::new(Anchor::new(Arc::clone(&shared), head));
        let watch = Arc::new(Watch::default());
        let failed = |error| refused::failed("starting the store", home)(error);
        let [first, second] = &pen.halves;
        let mut mover = Mover {
            shared: Arc::clone(&shared),
            rows_file: rows_file(home)?,
            halves: [
                first.try_clone().map_err(failed)?,
                second.try_clone().map_err(failed)?,
            ],
            unsynced: 0,
            end: rows.size(),
            blocks: Blocks::find(&shared.rows)?,
            sealer: Sealer::new(Arc::clone(&shared), Arc::clone(&faults), sealed, rows),
        };
        mover.adopt(home)?;
        let (other, length) = pen.begin_anew().map_err(failed)?;
        shared.moving.give(other, length);
        let committer = Committer {
            shared: Arc::clone(&shared),
            pen,
            anchor: Arc::clone(&anchor),
            frontier,
            known: Heads::new(),
            faults: Arc::clone(&faults),
            watch: Arc::clone(&watch),
        };
        let threads = Threads::start(&shared, committer, mover, (watch, anchor), faults);
        Ok(Self {
            threads: Mutex::new(Some(threads.map_err(failed)?)),
            shared,
            snapshots: folder::snapshots(home),
        })
    }

    fn closed(home: &Path, opened: Opened<Head>) -> (Self, Option<OpenError>) {
        let finding = opened.head.err();
        let reason = finding.as_ref().map_or_else(
            || "it was opened to be read".to_owned(),
            |error| chain(error),
        );
        opened.shared.close(&reason);
        let store = Self {
            shared: Arc::new(opened.shared),
            snapshots: folder::snapshots(home),
            threads: Mutex::new(None),
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
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = || AppendError::Poisoned("the store was closed".to_owned());
        let queue = &threads.as_ref().ok_or_else(gone)?.queue;
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
    let path = folder::sled_file(home);
    let opened = File::options().write(true).open(&path);
    opened.map_err(refused::failed("opening the file of the rows", &path))
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
        let size = self.shared.tail().size;
        self.shared.reader().all(from, size, limit)
    }

    async fn show_all(
        &self,
        from: Position,
        limit: usize,
        show: &mut Show<'_>,
    ) -> Result<(), ReadError> {
        let size = self.shared.tail().size;
        self.shared.reader().show(from, size, limit, show)
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
        if let Some(ordinal) = reader.ordinal(stream)? {
            let keyring = self.shared.keyring.as_ref();
            let mut opening = keyring.map(|keyring| keyring.opening(stream, ordinal));
            reader.each_sealed(ordinal, commitments, |commitment, blob| {
                let opening = opening.as_mut();
                let opening = opening.ok_or_else(|| ReadError::Io("it has no keys".to_owned()))?;
                contents.insert_checked(commitment, opening.open(&commitment, &blob)?);
                Ok(())
            })?;
        }
        let mut missing = commitments
            .iter()
            .filter(|named| contents.get(named).is_none());
        match missing.next() {
            None => Ok(contents),
            Some(missing) => Err(ReadError::NoContent(*missing)),
        }
    }
}
