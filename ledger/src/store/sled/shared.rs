//! What the callers and the committer of one store share.

use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::keyring::Keyring;
use super::memory::{Heads, Memory, Written};
use super::mover::{MOVE_BYTES, Moving};
use super::read::{Chunks, Reader};
use super::rows::Rows;
use super::tile::Tiles;
use crate::id::{LedgerId, StreamId};
use crate::merkle::Frontier;
use crate::store::Tail;

/// Bytes that may wait for the committer; above that, and not alone, an append hears `Busy`.
const QUEUE_BYTES: usize = 64 * 1024 * 1024;

/// One open store.
pub(super) struct Shared {
    pub(super) ledger: LedgerId,
    pub(super) rows: Rows,
    pub(super) tiles: Tiles,
    /// `None` where the keys are missing and the store was opened to look at it.
    pub(super) keyring: Option<Keyring>,
    memory: RwLock<Memory>,
    chunks: Chunks,
    /// Where large contents lie.
    large: PathBuf,
    /// How far the mover is.
    pub(super) moving: Moving,
    state: Mutex<State>,
    queued: AtomicUsize,
    /// The lock of whoever has the store: held, where it is, until sled has let go of its own.
    owner: Option<File>,
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
        (ledger, keyring): (LedgerId, Option<Keyring>),
        (rows, tiles): (Rows, Tiles),
        large: PathBuf,
        (memory, frontier): (Memory, &Frontier),
    ) -> Self {
        let state = State {
            tail: tail(frontier),
            closed: None,
        };
        Self {
            ledger,
            rows,
            tiles,
            keyring,
            memory: RwLock::new(memory),
            chunks: Chunks::default(),
            large,
            moving: Moving::default(),
            state: Mutex::new(state),
            queued: AtomicUsize::new(0),
            owner: None,
        }
    }

    /// Keeps the lock for as long as the store is open.
    pub(super) fn own(&mut self, owner: File) {
        self.owner = Some(owner);
    }

    /// Reads what was acknowledged by now.
    pub(super) fn reader(&self) -> Reader<'_> {
        Reader {
            rows: &self.rows,
            tiles: &self.tiles,
            memory: &self.memory,
            chunks: &self.chunks,
            large: &self.large,
        }
    }

    /// The end of what was acknowledged.
    pub(super) fn tail(&self) -> Tail {
        self.state().tail
    }

    /// Shows readers a frame that is durable.
    pub(super) fn publish(&self, frame: Arc<Written>, heads: &Heads, begun: &[(StreamId, u32)]) {
        let tail = tail(&frame.frontier);
        let bytes = self.remember(|memory| {
            memory.add(frame, heads.values(), begun);
            memory.bytes()
        });
        self.state().tail = tail;
        if bytes >= MOVE_BYTES {
            self.moving.more();
        }
    }

    /// Changes what is in memory.
    pub(super) fn remember<T>(&self, change: impl FnOnce(&mut Memory) -> T) -> T {
        change(&mut self.memory.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Why nothing is written any more.
    pub(super) fn closed(&self) -> Option<String> {
        self.state().closed.clone()
    }

    /// Closes the store for writing; the first reason stays.
    pub(super) fn close(&self, reason: &str) {
        let mut state = self.state();
        state.closed.get_or_insert_with(|| reason.to_owned());
        drop(state);
        // Whoever waits for the mover, or is the mover, has to look.
        self.moving.more();
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
