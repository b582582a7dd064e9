//! The owner: the one place that decides, asks the gate, stamps, and appends.
//!
//! A command is decided against the folded state, what comes of it is stamped and folded, and
//! waits (*staged*) until one append makes everything decided since the last durable. What
//! `evolve` refuses is never stored.

mod answer;
mod authority;
mod begin;
mod cell;
mod cells;
mod commit;
mod journal;
mod kept;
mod news;
mod seats;
mod sent;
mod snapshots;
mod stage;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::lock::Mutex as AsyncMutex;

use crate::authority::AuthorityState;
use crate::clock::{Clock, Stamps};
use crate::content::{Contents, Texts};
use crate::envelope::Envelope;
use crate::error::LedgerError;
use crate::gate_input::Bench;
use crate::id::{CallId, DriverId, LedgerId, Position, RunId, Version};
use crate::judge::{Judge, Verdict};
use crate::projection::{Answer, Projector, Query};
use crate::run::{Command, Origin, Rejection, RunState};
use crate::store::projections::{MemoryRows, ProjectionStore};
use crate::store::snapshots::SnapshotStore;
use crate::store::{EventStore, Stored};
use crate::time::Timestamp;

use authority::Authority;
use cells::Cells;
use journal::Journal;
use kept::Kept;
use seats::Seats;
use snapshots::Snapshots;

pub use begin::Begun;
pub(crate) use sent::{Seat, Sending, Sent};

/// What the owner is made of.
pub struct Parts {
    /// Where records are kept.
    pub store: Arc<dyn EventStore>,
    /// The gate.
    pub judge: Arc<dyn Judge>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Ids, times and salts.
    pub stamps: Arc<dyn Stamps>,
    /// Where projections are kept; in memory if nowhere.
    pub rows: Option<Arc<dyn ProjectionStore>>,
    /// Where states of long runs are kept, if anywhere.
    pub snapshots: Option<Arc<dyn SnapshotStore>>,
}

/// How much work was done: counted, so that a test can show that it does not grow with a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// Records read from the store.
    pub records_read: u64,
    /// Events folded.
    pub events_folded: u64,
}

pub(crate) struct Owner {
    parts: Parts,
    kept: Arc<Kept>,
    projector: Projector,
    snapshots: Snapshots,
    authority: Mutex<Arc<Authority>>,
    cells: Mutex<Cells>,
    newest: Mutex<Timestamp>,
    journal: AsyncMutex<Journal>,
    seats: Mutex<Seats>,
    records_read: AtomicU64,
    events_folded: AtomicU64,
}

/// A lock whose holder panicked guards plain values that are replaced whole: go on with them.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Owner {
    pub(crate) async fn open(mut parts: Parts) -> Result<Self, LedgerError> {
        let rows = parts.rows.take();
        let rows = rows.unwrap_or_else(|| Arc::new(MemoryRows::default()));
        let states = parts.snapshots.take();
        let keeps = states.is_some();
        let kept = Arc::new(Kept::new(parts.store, rows, states, parts.clock.clone()));
        parts.store = kept.clone();
        let ledger = first_record(&parts.store).await?.header().ledger;
        let authority = Authority::load(&*parts.store, ledger).await?;
        let size = parts.store.tail().await?.size;
        let last = Position::new(size.saturating_sub(1));
        let newest = match parts.store.read_all(last, 1).await?.pop() {
            Some(stored) => stored.parse()?.envelope.at(),
            None => Timestamp::EPOCH,
        };
        let projector = Projector::new(kept.clone(), kept.clone());
        let snapshots = Snapshots::new(keeps.then(|| kept.clone() as Arc<dyn SnapshotStore>));
        let owner = Self {
            parts,
            kept,
            projector,
            snapshots,
            authority: Mutex::new(Arc::new(authority)),
            cells: Mutex::default(),
            newest: Mutex::new(newest),
            journal: AsyncMutex::default(),
            seats: Mutex::default(),
            records_read: AtomicU64::new(0),
            events_folded: AtomicU64::new(0),
        };
        owner.note_clock().await?;
        Ok(owner)
    }

    /// Which ledger it is.
    pub(crate) fn ledger(&self) -> LedgerId {
        self.standing().state.ledger()
    }

    pub(crate) fn store(&self) -> &Arc<dyn EventStore> {
        &self.parts.store
    }

    pub(crate) fn kept(&self) -> &Arc<Kept> {
        &self.kept
    }

    /// Answers from the projections of all that is durable.
    pub(crate) async fn query(&self, query: &Query) -> Result<Answer, LedgerError> {
        if matches!(query, Query::Rebuild {}) {
            self.snapshots.clear()?;
        }
        Ok(self.projector.query(query).await?)
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.parts.clock
    }

    pub(crate) fn new_driver(&self) -> DriverId {
        self.parts.stamps.driver()
    }

    pub(crate) fn authority(&self) -> AuthorityState {
        self.standing().state.clone()
    }

    pub(crate) fn origin(&self) -> Origin {
        let authority = self.standing();
        Origin {
            ledger: authority.state.ledger(),
            created: *authority.state.created(),
        }
    }

    pub(crate) fn work(&self) -> Work {
        Work {
            records_read: self.records_read.load(Ordering::Relaxed),
            events_folded: self.events_folded.load(Ordering::Relaxed),
        }
    }

    /// The owner's time: never behind the log.
    pub(crate) fn now(&self) -> Timestamp {
        self.parts.clock.now().max(*lock(&self.newest))
    }

    fn saw(&self, at: Timestamp) {
        let mut newest = lock(&self.newest);
        *newest = at.max(*newest);
    }

    /// Whether a call must be judged before it can have a verdict.
    pub(crate) async fn is_unjudged(&self, run: RunId, call: CallId) -> Result<bool, LedgerError> {
        let cell = self.cell(run).await?;
        let at = self.at(run, cell.state.as_ref());
        let verdict = self.verdict(at, &cell, &Command::Gate { call });
        Ok(verdict == Some(Verdict::Unjudged))
    }

    /// Looks at a run with its contents, and at who and what is trusted now.
    pub(crate) async fn look_with<T>(
        &self,
        run: RunId,
        look: impl FnOnce(&RunState, &Contents, Bench<'_>) -> T,
    ) -> Result<T, LedgerError> {
        let cell = self.cell(run).await?;
        let authority = self.standing();
        let bench = Bench {
            standing: authority.standing(),
            at: self.now(),
            weaker: None,
        };
        Ok(look(cell.state(run)?, &cell.contents, bench))
    }

    /// Looks at who and what is trusted now.
    pub(crate) fn look_at_authority<T>(&self, look: impl FnOnce(Bench<'_>) -> T) -> T {
        let authority = self.standing();
        look(Bench {
            standing: authority.standing(),
            at: self.now(),
            weaker: None,
        })
    }

    /// Decides a command and stages what comes of it.
    pub(crate) async fn handle(
        &self,
        run: RunId,
        sent: Sent<'_>,
        act: (Command, Texts),
    ) -> Result<Vec<Envelope>, LedgerError> {
        self.admit_sent(run, sent, &act.0)?;
        let mut cell = self.cell(run).await?;
        if cell.is_nearly_full() {
            self.commit_cell(run, &mut cell).await?;
        }
        self.stage(run, &mut cell, sent, act)
    }

    /// The same for a command that rests on what the run was at a version.
    pub(crate) async fn handle_at(
        &self,
        run: RunId,
        sent: Sent<'_>,
        seen: Version,
        act: (Command, Texts),
    ) -> Result<Vec<Envelope>, LedgerError> {
        self.admit_sent(run, sent, &act.0)?;
        let mut cell = self.cell(run).await?;
        if cell.is_nearly_full() {
            self.commit_cell(run, &mut cell).await?;
        }
        if cell.state(run)?.head().version != seen {
            let why = "the run went on since the command was made";
            return Err(Rejection::OutOfTurn(why).into());
        }
        self.stage(run, &mut cell, sent, act)
    }

    /// Closes what nobody answered in time. Says whether anything was.
    pub(crate) async fn expire(&self, run: RunId) -> Result<bool, LedgerError> {
        let mut cell = self.cell(run).await?;
        self.expire_cell(run, &mut cell).await
    }

    /// Makes everything staged for a run durable.
    pub(crate) async fn commit(&self, run: RunId) -> Result<(), LedgerError> {
        let mut cell = self.cell(run).await?;
        self.commit_cell(run, &mut cell).await
    }

    fn parse(&self, stored: Stored) -> Result<Envelope, LedgerError> {
        self.records_read.fetch_add(1, Ordering::Relaxed);
        Ok(stored.parse()?.envelope)
    }
}

async fn first_record(store: &Arc<dyn EventStore>) -> Result<Envelope, LedgerError> {
    let first = store.read_all(Position::ZERO, 1).await?.pop();
    let missing = || LedgerError::Integrity(String::from("the store is empty"));
    Ok(first.ok_or_else(missing)?.parse()?.envelope)
}
