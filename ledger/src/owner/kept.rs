//! The store as its owner keeps it: one that is busy is tried again, and one that takes no more
//! writes is let go of, so that it can be opened anew.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use async_trait::async_trait;

use super::lock;
use crate::clock::Clock;
use crate::content::{Commitment, Contents};
use crate::id::{Position, StreamId, Version};
use crate::store::projections::{Changes, Direction, ProjectionStore, Row};
use crate::store::snapshots::SnapshotStore;
use crate::store::{
    AppendError, Appended, Batch, EventStore, Expected, ReadError, ReadStore, Show, Stored, Tail,
    Unless,
};

/// What lies between two tries of an append, in milliseconds: ten seconds in all, since a disk
/// may be slow, and nobody is to take it for dead before the store does.
const PAUSES_MS: [u64; 12] = [2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 3_000, 3_000];

const GONE: &str = "the ledger was let go of, since its store took no more writes";

/// A store, as long as it is kept.
pub(crate) struct Kept {
    inside: RwLock<Option<Inside>>,
    clock: Arc<dyn Clock>,
    closed: Mutex<Closed>,
}

#[derive(Clone)]
struct Inside {
    store: Arc<dyn EventStore>,
    rows: Arc<dyn ProjectionStore>,
    snapshots: Option<Arc<dyn SnapshotStore>>,
}

/// Whether the store takes no more writes, and who lets go of it then.
#[derive(Default)]
struct Closed {
    is: bool,
    told: Option<Sender<()>>,
}

impl Kept {
    pub(super) fn new(
        store: Arc<dyn EventStore>,
        rows: Arc<dyn ProjectionStore>,
        snapshots: Option<Arc<dyn SnapshotStore>>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let inside = Inside {
            store,
            rows,
            snapshots,
        };
        Self {
            inside: RwLock::new(Some(inside)),
            clock,
            closed: Mutex::default(),
        }
    }

    /// Where it is said, once, that the store takes no more writes.
    pub(crate) fn when_closed(&self) -> Receiver<()> {
        let (sender, receiver) = channel();
        let mut closed = lock(&self.closed);
        if closed.is {
            tell(&sender);
        }
        closed.told = Some(sender);
        receiver
    }

    /// Whether the store takes no more writes, and somebody is about to let go of it.
    pub(crate) fn is_leaving(&self) -> bool {
        let closed = lock(&self.closed);
        closed.is && closed.told.is_some()
    }

    /// Has the store no longer. What is being read or appended is still ended with it.
    pub(crate) fn let_go(&self) {
        let gone = {
            let mut inside = self.inside.write().unwrap_or_else(PoisonError::into_inner);
            inside.take()
        };
        // It may have to end its threads, while others hear already that it is gone.
        drop(gone);
    }

    fn inside(&self) -> Option<Inside> {
        let inside = self.inside.read().unwrap_or_else(PoisonError::into_inner);
        inside.clone()
    }

    fn reads(&self) -> Result<Inside, ReadError> {
        self.inside().ok_or_else(|| ReadError::Io(GONE.to_owned()))
    }

    fn note(&self, answer: &Result<Appended, AppendError>) {
        let Err(AppendError::Poisoned(_)) = answer else {
            return;
        };
        let mut closed = lock(&self.closed);
        if let (false, Some(told)) = (closed.is, &closed.told) {
            tell(told);
        }
        closed.is = true;
    }
}

fn tell(whom: &Sender<()>) {
    if whom.send(()).is_err() {
        tracing::debug!("whoever would let go of the store is gone");
    }
}

#[async_trait]
impl EventStore for Kept {
    async fn append(
        &self,
        stream: StreamId,
        expected: Expected,
        batch: Batch,
        unless: &[Unless],
    ) -> Result<Appended, AppendError> {
        let mut pauses = PAUSES_MS.iter();
        loop {
            let gone = || AppendError::Poisoned(GONE.to_owned());
            let store = self.inside().ok_or_else(gone)?.store;
            let answer = store.append(stream, expected, batch.clone(), unless).await;
            drop(store);
            match (answer, pauses.next()) {
                (Err(AppendError::Busy), Some(ms)) => self.clock.pause(*ms).await,
                (answer, _) => {
                    self.note(&answer);
                    return answer;
                }
            }
        }
    }
}

#[async_trait]
impl ReadStore for Kept {
    async fn read_run(
        &self,
        stream: StreamId,
        from: Version,
        limit: usize,
    ) -> Result<Vec<Stored>, ReadError> {
        self.reads()?.store.read_run(stream, from, limit).await
    }

    async fn read_all(&self, from: Position, limit: usize) -> Result<Vec<Stored>, ReadError> {
        self.reads()?.store.read_all(from, limit).await
    }

    async fn show_all(
        &self,
        from: Position,
        limit: usize,
        show: &mut Show<'_>,
    ) -> Result<(), ReadError> {
        self.reads()?.store.show_all(from, limit, show).await
    }

    async fn tail(&self) -> Result<Tail, ReadError> {
        self.reads()?.store.tail().await
    }

    async fn content(
        &self,
        stream: StreamId,
        commitments: &[Commitment],
    ) -> Result<Contents, ReadError> {
        self.reads()?.store.content(stream, commitments).await
    }
}

impl SnapshotStore for Kept {
    fn read(&self, run: StreamId) -> Result<Option<Vec<u8>>, ReadError> {
        let store = self.reads()?.snapshots;
        store.map_or(Ok(None), |store| store.read(run))
    }

    fn write(&self, run: StreamId, bytes: &[u8]) -> Result<(), ReadError> {
        let store = self.reads()?.snapshots;
        store.map_or(Ok(()), |store| store.write(run, bytes))
    }

    fn clear(&self) -> Result<(), ReadError> {
        let store = self.reads()?.snapshots;
        store.map_or(Ok(()), |store| store.clear())
    }
}

impl ProjectionStore for Kept {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
        self.reads()?.rows.get(key)
    }

    fn range(
        &self,
        low: &[u8],
        high: &[u8],
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<Row>, ReadError> {
        self.reads()?.rows.range(low, high, direction, limit)
    }

    fn apply(&self, changes: &Changes) -> Result<(), ReadError> {
        self.reads()?.rows.apply(changes)
    }

    fn clear(&self) -> Result<(), ReadError> {
        self.reads()?.rows.clear()
    }
}
