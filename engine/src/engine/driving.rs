//! Who drives which run in this process: one driver each, who can be told that the run is to end.

use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};

use placet_ledger::id::RunId;

use super::{Engine, EngineError};
use crate::stop::Stop;

/// What is known here of a run that is being driven here.
#[derive(Debug, Clone, Default)]
pub(super) struct Driven {
    /// The wish that the run end.
    pub(super) cancel: Stop,
    /// Raised when nobody drives it any more.
    pub(super) free: Stop,
}

/// A run that is being driven here, until this is dropped.
pub(super) struct Driving<'a> {
    engine: &'a Engine,
    run: RunId,
    pub(super) driven: Driven,
}

impl Drop for Driving<'_> {
    fn drop(&mut self) {
        self.engine.driving().remove(&self.run);
        self.driven.free.raise();
    }
}

impl Engine {
    fn driving(&self) -> MutexGuard<'_, BTreeMap<RunId, Driven>> {
        self.driving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims a run for one driver of this process; another process cannot have the ledger open.
    pub(super) fn take(&self, run: RunId) -> Result<Driving<'_>, EngineError> {
        let mut driving = self.driving();
        if driving.contains_key(&run) {
            return Err(EngineError::Driven(run));
        }
        let driven = Driven::default();
        driving.insert(run, driven.clone());
        Ok(Driving {
            engine: self,
            run,
            driven,
        })
    }

    /// Who drives a run here, if anybody does.
    pub(super) fn driven(&self, run: RunId) -> Option<Driven> {
        self.driving().get(&run).cloned()
    }
}
