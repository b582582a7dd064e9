//! States of long runs beside the log: read where a run is loaded, written behind the answers.
//!
//! What is kept is a cache that the log vouches for: it counts only where the record at its version
//! has its digest, and where it is missing, unreadable or of another build, the run is folded from
//! its start. Nothing is ever permitted because of it: what is started is read back (`begin`).

use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use super::cell::Cell;
use super::{Owner, lock};
use crate::error::LedgerError;
use crate::id::{RunId, StreamId, Version};
use crate::run::Snapshot;
use crate::store::chain;
use crate::store::snapshots::SnapshotStore;

/// Records after which the state of a run is written again.
const RECORDS: u32 = 1_000;

/// A state holds every call of its run: it is written again after this part of a long run, so that
/// all of them together take a fixed number of times the last.
const PART: u32 = 16;

/// States that may wait to be written; where more do, one is left out.
const QUEUE: usize = 4;

/// Where states are kept, and the thread that writes them.
pub(super) struct Snapshots {
    store: Option<Arc<dyn SnapshotStore>>,
    writer: Mutex<Option<Writer>>,
}

struct Writer {
    queue: SyncSender<(StreamId, Vec<u8>)>,
    thread: JoinHandle<()>,
}

impl Writer {
    fn start(store: Arc<dyn SnapshotStore>) -> Option<Self> {
        let (queue, waiting) = sync_channel::<(StreamId, Vec<u8>)>(QUEUE);
        let work = move || {
            for (run, bytes) in waiting {
                if let Err(error) = store.write(run, &bytes) {
                    tracing::debug!(%run, error = chain(&error), "a state was not kept");
                }
            }
        };
        let thread = thread::Builder::new().name("placet-states".to_owned());
        match thread.spawn(work) {
            Ok(thread) => Some(Self { queue, thread }),
            Err(error) => {
                tracing::debug!(error = chain(&error), "states are not kept");
                None
            }
        }
    }
}

impl Snapshots {
    pub(super) fn new(store: Option<Arc<dyn SnapshotStore>>) -> Self {
        Self {
            store,
            writer: Mutex::default(),
        }
    }

    /// Writes bytes behind the caller's back.
    fn write(&self, run: StreamId, bytes: Vec<u8>) {
        let Some(store) = &self.store else { return };
        let mut writer = lock(&self.writer);
        if writer.is_none() {
            *writer = Writer::start(Arc::clone(store));
        }
        let Some(writer) = &*writer else { return };
        match writer.queue.try_send((run, bytes)) {
            Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
        }
    }

    /// Removes what is kept.
    pub(super) fn clear(&self) -> Result<(), LedgerError> {
        self.store
            .as_ref()
            .map_or(Ok(()), |store| Ok(store.clear()?))
    }
}

impl Drop for Snapshots {
    /// What waits is written.
    fn drop(&mut self) {
        let Some(Writer { queue, thread }) = lock(&self.writer).take() else {
            return;
        };
        drop(queue);
        if thread.join().is_err() {
            tracing::warn!("the thread that keeps states panicked");
        }
    }
}

impl Owner {
    /// The kept state of a run, not held against the log yet.
    pub(super) fn kept_state(&self, run: RunId) -> Option<Snapshot> {
        let store = self.snapshots.store.as_ref()?;
        match store.read(run.stream()) {
            Ok(bytes) => Snapshot::read(&bytes?, (self.ledger(), run)),
            Err(error) => {
                tracing::debug!(%run, error = chain(&error), "a kept state cannot be read");
                None
            }
        }
    }

    /// Writes the state of a run, all of which is durable, where the last one is old enough.
    pub(super) fn keep(&self, run: RunId, cell: &mut Cell) {
        let Some(state) = &cell.state else { return };
        let version = state.head().version;
        if self.snapshots.store.is_none() || !is_due(version, cell.kept) {
            return;
        }
        let Some(bytes) = cell.snapshot() else { return };
        cell.kept = Some(version);
        self.snapshots.write(run.stream(), bytes);
    }
}

/// Whether a state at `version` is to be written after one at `last`.
fn is_due(version: Version, last: Option<Version>) -> bool {
    let count = version.get().saturating_add(1);
    let since = last.map_or(count, |last| version.get().saturating_sub(last.get()));
    since >= RECORDS.max(count.checked_div(PART).unwrap_or(0))
}
