//! A store over another one that fails, hangs, or loses the answer at the append a test names.
//!
//! Appends are counted from 0, refused ones and retries too. What the wrapped store refuses is
//! refused as it says; reads are never disturbed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use placet_ledger::content::{Commitment, Contents};
use placet_ledger::id::{Position, StreamId, Version};
use placet_ledger::store::{
    AppendError, Appended, Batch, EventStore, Expected, ReadError, ReadStore, Stored, Tail, Unless,
};
use tokio::sync::Notify;

/// What goes wrong with an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The store has no room in its queue; nothing is written.
    Busy,
    /// It says that somebody else was first; nothing is written.
    Conflict,
    /// It says that authority moved; nothing is written.
    Moved,
    /// The disk fails: nothing is written, now or by any later append.
    Poisoned,
    /// The answer is lost; the records are there.
    LostAfter,
    /// The answer is lost; the records are not there.
    LostBefore,
    /// The process dies with the records written.
    DiesAfter,
    /// The process dies with nothing written.
    DiesBefore,
}

impl Fault {
    /// Every one of them.
    pub const ALL: [Self; 8] = [
        Self::Busy,
        Self::Conflict,
        Self::Moved,
        Self::Poisoned,
        Self::LostAfter,
        Self::LostBefore,
        Self::DiesAfter,
        Self::DiesBefore,
    ];
}

type Watch = Box<dyn Fn(u64) + Send + Sync>;

#[derive(Default)]
struct Plan {
    faults: BTreeMap<usize, Fault>,
    appends: usize,
    poisoned: bool,
    watch: Option<Watch>,
}

/// A store over another one, with faults.
pub struct FaultyStore {
    inner: Arc<dyn EventStore>,
    plan: Mutex<Plan>,
    dead: Notify,
}

impl FaultyStore {
    /// A store without faults so far.
    pub fn new(inner: Arc<dyn EventStore>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            plan: Mutex::default(),
            dead: Notify::new(),
        })
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets `times` appends from the `append`th on go wrong.
    pub fn fail(&self, append: usize, times: usize, fault: Fault) {
        let mut plan = self.plan();
        for append in append..append.saturating_add(times) {
            plan.faults.insert(append, fault);
        }
    }

    /// Takes back every fault that was not met, and opens the store for writing again.
    pub fn heal(&self) {
        let mut plan = self.plan();
        plan.faults.clear();
        plan.poisoned = false;
    }

    /// Tells `watch` the size of the log before each append.
    pub fn watch(&self, watch: impl Fn(u64) + Send + Sync + 'static) {
        self.plan().watch = Some(Box::new(watch));
    }

    /// How many appends were made or tried.
    pub fn appends(&self) -> usize {
        self.plan().appends
    }

    /// Waits until the process is to die: whoever drives is dropped then.
    pub async fn died(&self) {
        self.dead.notified().await;
    }

    /// Counts an append and says what is to go wrong with it.
    fn next(&self, size: u64) -> Option<Fault> {
        let mut plan = self.plan();
        if let Some(watch) = &plan.watch {
            watch(size);
        }
        let append = plan.appends;
        plan.appends = append.saturating_add(1);
        let fault = plan.faults.remove(&append);
        plan.poisoned |= fault == Some(Fault::Poisoned);
        if plan.poisoned {
            Some(Fault::Poisoned)
        } else {
            fault
        }
    }

    async fn die<T>(&self) -> T {
        self.dead.notify_one();
        std::future::pending().await
    }
}

#[async_trait]
impl EventStore for FaultyStore {
    async fn append(
        &self,
        stream: StreamId,
        expected: Expected,
        batch: Batch,
        unless: &[Unless],
    ) -> Result<Appended, AppendError> {
        let size = self.inner.tail().await.map_or(0, |tail| tail.size);
        let lost = || AppendError::Unknown(String::from("the answer was lost"));
        // A driver can be dropped just before and just after the records are written.
        tokio::task::yield_now().await;
        let write = async || {
            let written = self.inner.append(stream, expected, batch, unless).await;
            tokio::task::yield_now().await;
            written
        };
        match self.next(size) {
            None => write().await,
            // Only an append that names other streams can hear that one of them moved.
            Some(Fault::Moved) if unless.is_empty() => write().await,
            Some(Fault::Busy) => Err(AppendError::Busy),
            Some(Fault::Conflict) => Err(AppendError::Conflict { actual: None }),
            Some(Fault::Moved) => {
                let version = Version::ZERO;
                Err(AppendError::Moved { stream, version })
            }
            Some(Fault::Poisoned) => Err(AppendError::Poisoned(String::from("the disk failed"))),
            Some(Fault::LostAfter) => {
                write().await?;
                Err(lost())
            }
            Some(Fault::LostBefore) => Err(lost()),
            Some(Fault::DiesAfter) => {
                write().await?;
                self.die().await
            }
            Some(Fault::DiesBefore) => self.die().await,
        }
    }
}

#[async_trait]
impl ReadStore for FaultyStore {
    async fn read_run(
        &self,
        stream: StreamId,
        from: Version,
        limit: usize,
    ) -> Result<Vec<Stored>, ReadError> {
        tokio::task::yield_now().await;
        self.inner.read_run(stream, from, limit).await
    }

    async fn read_all(&self, from: Position, limit: usize) -> Result<Vec<Stored>, ReadError> {
        self.inner.read_all(from, limit).await
    }

    async fn tail(&self) -> Result<Tail, ReadError> {
        self.inner.tail().await
    }

    async fn content(
        &self,
        stream: StreamId,
        commitments: &[Commitment],
    ) -> Result<Contents, ReadError> {
        self.inner.content(stream, commitments).await
    }
}
