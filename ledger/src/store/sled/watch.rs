//! Watching over the disk: a sync that does not come back closes the store for writing, and
//! whoever waits for it hears that the outcome is unknown.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_channel::oneshot;

use super::commit::Answer;
use super::shared::Shared;
use crate::store::AppendError;

/// Looks in the time that a group may take: a group is overdue at most one of them late.
const LOOKS: u32 = 30;

/// Who waits for a group; one that was told already is `None`.
type Waiting = Vec<Option<oneshot::Sender<Answer>>>;

/// The group that is being written, if one is.
#[derive(Default)]
pub(super) struct Watch {
    state: Mutex<State>,
    stopped: Condvar,
}

#[derive(Default)]
struct State {
    /// Counts groups, so that one that takes long is told from the next.
    group: u64,
    waiting: Option<Waiting>,
    ended: bool,
}

impl Watch {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A group begins to be written. Whoever watches is not woken: it looks by itself.
    pub(super) fn begin(&self, waiting: Waiting) {
        let mut state = self.state();
        state.group = state.group.wrapping_add(1);
        state.waiting = Some(waiting);
    }

    /// It is written, or was not; gives back who was not told yet.
    pub(super) fn end(&self) -> Waiting {
        self.state().waiting.take().unwrap_or_default()
    }

    /// Nothing is written any more.
    pub(super) fn stop(&self) {
        self.state().ended = true;
        self.stopped.notify_all();
    }

    /// Watches until nothing is written any more.
    pub(super) fn run(&self, shared: &Arc<Shared>, patience: Duration) {
        let pause = patience.checked_div(LOOKS).unwrap_or(patience);
        let (mut seen, mut looks) = (0, 0_u32);
        let mut state = self.state();
        while !state.ended {
            let waited = self.stopped.wait_timeout(state, pause);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if state.group != seen || state.waiting.is_none() {
                (seen, looks) = (state.group, 0);
                continue;
            }
            looks = looks.saturating_add(1);
            if looks < LOOKS {
                continue;
            }
            let reason = "the disk did not take what was written in time";
            shared.close(reason);
            for sender in state.waiting.iter_mut().flatten().filter_map(Option::take) {
                tracing::error!(error = reason, "an append has no outcome");
                drop(sender.send(Err(AppendError::Unknown(reason.to_owned()))));
            }
        }
    }
}
