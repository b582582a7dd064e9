//! What the callers and the committer of one store share.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::keyring::Keyring;
use super::read::Reader;
use super::rows::Rows;
use crate::id::{LedgerId, StreamId};
use crate::merkle::Frontier;
use crate::store::Tail;

/// Bytes that may wait for the committer; above that, and not alone, an append hears `Busy`.
const QUEUE_BYTES: usize = 64 * 1024 * 1024;

/// One open store.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) ledger: LedgerId,
    pub(super) rows: Rows,
    /// `None` where the keys are missing and the store was opened to look at it.
    pub(super) keyring: Option<Keyring>,
    state: Mutex<State>,
    queued: AtomicUsize,
}

#[derive(Debug)]
struct State {
    /// Up to where everything is durable, acknowledged and seen by readers.
    tail: Tail,
    /// Why nothing is written any more.
    closed: Option<String>,
}

impl Shared {
    pub(super) fn new(
        ledger: LedgerId,
        rows: Rows,
        keyring: Option<Keyring>,
        frontier: &Frontier,
    ) -> Self {
        let state = State {
            tail: tail(frontier),
            closed: None,
        };
        Self {
            ledger,
            rows,
            keyring,
            state: Mutex::new(state),
            queued: AtomicUsize::new(0),
        }
    }

    /// Reads what was acknowledged by now.
    pub(super) fn reader(&self) -> Reader<'_> {
        Reader::new(&self.rows, self.tail().size)
    }

    /// The end of what was acknowledged.
    pub(super) fn tail(&self) -> Tail {
        self.state().tail
    }

    /// Shows readers everything up to here.
    pub(super) fn publish(&self, frontier: &Frontier) {
        self.state().tail = tail(frontier);
    }

    /// Why nothing is written any more.
    pub(super) fn closed(&self) -> Option<String> {
        self.state().closed.clone()
    }

    /// Closes the store for writing; the first reason stays.
    pub(super) fn close(&self, reason: &str) {
        let mut state = self.state();
        state.closed.get_or_insert_with(|| reason.to_owned());
    }

    /// The stream is in the store.
    pub(super) fn settle(&self, stream: StreamId) {
        if let Some(keyring) = &self.keyring {
            keyring.settle(stream);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tail(frontier: &Frontier) -> Tail {
    Tail {
        size: frontier.size(),
        root: frontier.root(),
    }
}

/// A share of the bytes that may wait; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Reserved {
    shared: Arc<Shared>,
    bytes: usize,
}

impl Reserved {
    /// Takes a share; `None` where too much waits already.
    pub(super) fn take(shared: &Arc<Shared>, bytes: usize) -> Option<Self> {
        let take = |queued: usize| {
            let sum = queued.saturating_add(bytes);
            (queued == 0 || sum <= QUEUE_BYTES).then_some(sum)
        };
        shared
            .queued
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, take)
            .ok()?;
        let shared = Arc::clone(shared);
        Some(Self { shared, bytes })
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.shared.queued.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}
