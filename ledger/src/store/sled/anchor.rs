//! The anchor: a thread that brings the head file up to the store once appends pause, so that what
//! was acknowledged cannot be cut off the log unseen, whatever becomes of this process.
//!
//! No answer waits for it, but for those on which something outside rests: these are in the head
//! file before they are given, and the committer writes it for them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::fault::{FaultPoint, Faults};
use super::shared::Shared;
use crate::merkle::Frontier;
use crate::store::chain;
use crate::store::head::{HeadError, HeadFile, HeadName};

/// Looks after which the head is written, whether appends pause or not.
const LOOKS_MAX: u32 = 20;

/// Why a head was not written behind the answers.
#[derive(Debug, thiserror::Error)]
enum AnchorError {
    #[error("writing the head failed")]
    Head(#[from] HeadError),
    #[error("writing the head was stopped")]
    Fault(#[source] std::io::Error),
}

/// The head file of a store that is open to be written.
pub(super) struct Anchor {
    shared: Arc<Shared>,
    head: Mutex<HeadFile>,
    name: HeadName,
    /// How far the head file is: whoever asks waits for no sync.
    size: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The tree of what was acknowledged, where the head file is behind it.
    due: Option<Frontier>,
    ended: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Anchor {
    pub(super) fn new(shared: Arc<Shared>, head: HeadFile) -> Self {
        let size = head.current().size();
        shared.tiles.anchor(size);
        Self {
            shared,
            name: head.name().clone(),
            head: Mutex::new(head),
            size: AtomicU64::new(size),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// How far the head file is.
    pub(super) fn size(&self) -> u64 {
        self.size.load(Ordering::Acquire)
    }

    /// An error where the head file lost its name: another process may write to a copy by now.
    pub(super) fn check(&self) -> Result<(), HeadError> {
        self.name.check()
    }

    /// Writes the head now; it is on disk when this returns.
    pub(super) fn write(&self, frontier: &Frontier) -> Result<(), HeadError> {
        self.put(&mut lock(&self.head), frontier)
    }

    fn put(&self, head: &mut HeadFile, frontier: &Frontier) -> Result<(), HeadError> {
        head.write(frontier)?;
        self.size.store(frontier.size(), Ordering::Release);
        self.shared.tiles.anchor(frontier.size());
        let reached = |due: &mut Frontier| due.size() <= frontier.size();
        lock(&self.state).due.take_if(reached);
        self.changed.notify_all();
        Ok(())
    }

    /// The head is to come up to this soon. Whoever waits for a pause is not woken.
    pub(super) fn later(&self, frontier: &Frontier) {
        if frontier.size() <= self.size() {
            return;
        }
        if lock(&self.state).due.replace(frontier.clone()).is_none() {
            self.changed.notify_all();
        }
    }

    /// Waits until the head file is so far; gives back how far it is if that takes too long.
    #[cfg(test)]
    pub(super) fn reached(&self, size: u64) -> u64 {
        let state = lock(&self.state);
        let long = Duration::from_secs(20);
        let behind = |_: &mut State| self.size() < size;
        drop(self.changed.wait_timeout_while(state, long, behind));
        self.size()
    }

    /// Nothing is written any more.
    pub(super) fn stop(&self) {
        lock(&self.state).ended = true;
        self.changed.notify_all();
    }

    /// Writes behind the answers until it is stopped. A head that cannot be written closes the
    /// store, as one does that somebody waits for: nothing is known of its older slot then.
    pub(super) fn run(&self, faults: &dyn Faults) {
        while let Some(due) = self.next(faults.idle()) {
            if self.shared.closed().is_some() {
                continue;
            }
            if let Err(error) = self.keep_up(&due, faults) {
                let reason = chain(&error);
                tracing::error!(error = reason, "the store is closed for writing");
                self.shared.close(&reason);
            }
        }
    }

    /// Waits until the head is behind, and then until no append came for a while, or many did.
    fn next(&self, idle: Duration) -> Option<Frontier> {
        let (mut seen, mut looks) = (0, 0_u32);
        let mut state = lock(&self.state);
        while !state.ended {
            let Some(due) = state.due.as_ref().map(Frontier::size) else {
                (seen, looks) = (0, 0);
                let woken = self.changed.wait(state);
                state = woken.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            if due == seen || looks >= LOOKS_MAX {
                return state.due.take();
            }
            (seen, looks) = (due, looks.saturating_add(1));
            let woken = self.changed.wait_timeout(state, idle);
            (state, _) = woken.unwrap_or_else(PoisonError::into_inner);
        }
        None
    }

    fn keep_up(&self, due: &Frontier, faults: &dyn Faults) -> Result<(), AnchorError> {
        let mut head = lock(&self.head);
        if due.size() <= head.current().size() {
            return Ok(());
        }
        let reached = faults.reach(FaultPoint::HeadBehind);
        reached.map_err(AnchorError::Fault)?;
        Ok(self.put(&mut head, due)?)
    }
}
