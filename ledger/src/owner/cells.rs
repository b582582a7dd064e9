//! The runs in memory: as many as were used last, and those that must stay.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::lock::Mutex as AsyncMutex;

use super::cell::Cell;
use crate::id::RunId;

/// Runs in memory, each with all its contents; more only where none may go.
pub(super) const CELLS_MAX: usize = 128;

/// Runs that go together where one must: all are looked through for it.
const LEAVING: usize = CELLS_MAX / 16;

/// A run in memory, for whoever has it locked.
pub(super) type Shared = Arc<AsyncMutex<Cell>>;

/// The runs in memory.
#[derive(Default)]
pub(super) struct Cells {
    by_run: BTreeMap<RunId, (Shared, u64)>,
    /// Counts what was asked for: the least of a run is that of the one used longest ago.
    asked: u64,
}

impl Cells {
    /// A run, which becomes the one used last. Where it is new, others make room for it: never one
    /// that is `held`, that somebody has at hand, or that [must stay](Cell::must_stay).
    pub(super) fn take(&mut self, run: RunId, held: impl FnOnce() -> BTreeSet<RunId>) -> Shared {
        self.asked = self.asked.saturating_add(1);
        if !self.by_run.contains_key(&run) && self.by_run.len() >= CELLS_MAX {
            self.make_room(&held());
        }
        let (cell, used) = self.by_run.entry(run).or_default();
        *used = self.asked;
        Arc::clone(cell)
    }

    /// A run that is in memory.
    pub(super) fn peek(&self, run: RunId) -> Option<Shared> {
        self.by_run.get(&run).map(|(cell, _)| Arc::clone(cell))
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<(RunId, Shared)> {
        let cells = self.by_run.iter();
        cells
            .map(|(run, (cell, _))| (*run, Arc::clone(cell)))
            .collect()
    }

    fn make_room(&mut self, held: &BTreeSet<RunId>) {
        let free = self.by_run.iter().filter(|(run, (cell, _))| {
            let unused = Arc::strong_count(cell) == 1;
            let stays = |cell: &AsyncMutex<Cell>| cell.try_lock().is_none_or(|c| c.must_stay());
            unused && !held.contains(*run) && !stays(cell)
        });
        let mut free: Vec<_> = free.map(|(run, (_, used))| (*used, *run)).collect();
        free.sort_unstable();
        let over = self.by_run.len().saturating_add(1);
        let leaving = over.saturating_sub(CELLS_MAX).max(LEAVING);
        for (_, run) in free.into_iter().take(leaving) {
            self.by_run.remove(&run);
        }
    }
}
