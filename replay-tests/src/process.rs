//! What one process of a world is made of: a ledger over the store, and an engine over that.

use std::sync::Arc;

use placet_engine::engine::{Engine, Place};
use placet_engine::leases::MemoryLeases;
use placet_engine::stop::Stop;
use placet_ledger::id::IdError;
use placet_ledger::judge::Judge;
use placet_ledger::ledger::{Ledger, local_principal};
use placet_ledger::owner::Parts;
use placet_ledger::store::EventStore;

use crate::facts::HOST;
use crate::reach;
use crate::stamps::{CountingStamps, SimClock};
use crate::tools::{SimOutfit, Tools};

/// What the owner of a world's ledger is made of.
pub(crate) fn parts(
    store: &Arc<dyn EventStore>,
    clock: &Arc<SimClock>,
    stamps: &Arc<CountingStamps>,
    judge: &Arc<dyn Judge>,
) -> Parts {
    Parts {
        store: store.clone(),
        judge: judge.clone(),
        clock: clock.clone(),
        stamps: stamps.clone(),
        rows: None,
        snapshots: None,
    }
}

/// Where every world drives its runs: on this host, under its person.
pub fn place() -> Result<Place, IdError> {
    let (host, user) = (HOST, local_principal(reach::user())?);
    Ok(Place { host, user })
}

/// The engine of a process; the leases are those of all of them.
pub fn engine(
    ledger: Ledger,
    clock: &Arc<SimClock>,
    (tools, stop): (&Arc<Tools>, &Stop),
    leases: &MemoryLeases,
) -> Result<Engine, IdError> {
    let outfit = Arc::new(SimOutfit(tools.clone()));
    let engine = Engine::new(ledger, outfit, clock.clone(), place()?, stop.clone());
    Ok(engine.leased_by(Arc::new(leases.clone())))
}
