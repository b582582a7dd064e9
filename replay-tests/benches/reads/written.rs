//! The ledger that is read: written by the engine through its scripted model and counted tools.

use std::path::Path;
use std::sync::Arc;

use placet_engine::policy::Gate;
use placet_ledger::event::Outcome;
use placet_ledger::id::RunId;
use placet_ledger::ledger::Ledger;
use placet_ledger::owner::Parts;
use placet_ledger::policy::ApprovalPolicy;
use placet_ledger::store::sled::SledStore;
use placet_replay::script::{self, Script};
use placet_replay::stamps::{CountingStamps, SimClock};
use placet_replay::world::{Drove, Options, World, ledger_id};
use serde_json::json;

/// Short runs that are begun before the first of them is driven, so that none lies in one piece.
const BEGUN_AT_ONCE: usize = 32;

/// Writes one long run of so many calls, which ends, and so many short ones that wait.
pub(crate) async fn ledger(folder: &Path, calls: usize, waiting: usize) -> RunId {
    let (home, head) = (folder.join("home"), folder.join("head"));
    let store = Arc::new(SledStore::create(&home, ledger_id(), &head).unwrap());
    let mut world = World::over(store.clone()).await.unwrap();
    let unasked = Options {
        policy: ApprovalPolicy::HighRisk,
        ..Options::default()
    };
    let (run, drove) = world.run(long(calls), unasked).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    let mut left = waiting;
    while left > 0 {
        let mut begun = Vec::new();
        for _ in 0..left.min(BEGUN_AT_ONCE) {
            begun.push(world.start(long(1), Options::default()).await.unwrap());
        }
        left -= begun.len();
        for run in begun {
            assert_eq!(world.drive(run).await.unwrap(), Drove::Waits);
        }
    }
    store.close();
    run
}

/// Opens it again, as the process that decides has it, with states of long runs or without.
pub(crate) async fn owned(store: &Arc<SledStore>, kept: bool) -> Ledger {
    let clock = Arc::new(SimClock::default());
    let parts = Parts {
        store: store.clone(),
        judge: Arc::new(Gate),
        stamps: Arc::new(CountingStamps::new(clock.clone())),
        clock,
        rows: None,
        snapshots: kept.then(|| store.snapshots()),
    };
    Ledger::open(parts).await.unwrap()
}

/// Opens it again.
pub(crate) fn open(folder: &Path) -> SledStore {
    SledStore::open(&folder.join("home"), &folder.join("head")).unwrap()
}

fn long(calls: usize) -> Script {
    let script = (0..calls).fold(Script::new(), |script, number| {
        let arguments = json!({"key": format!("k{number:04}"), "value": "1"});
        script.calls([script::call("set", &arguments)])
    });
    script.says("Done.")
}
