//! A step costs the same late in a run as early in it: counted work per call of a long run.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use placet_engine::model::{Message, Request};
use placet_ledger::event::Outcome;
use placet_ledger::id::RunId;
use placet_ledger::owner::Work;
use placet_ledger::policy::ApprovalPolicy;
use placet_ledger::store::memory::MemoryStore;
use placet_ledger::store::sled::SledStore;
use placet_replay::faulty_store::FaultyStore;
use placet_replay::script::{self, Script};
use placet_replay::world::{Drove, Options, World, ledger_id};
use serde_json::json;

/// Calls of a long run, each in a reply of its own.
const CALLS: usize = 1_000;

/// The most that a call may take on disk: its records, its contents, and what sled adds.
const DISK_BYTES_MAX: u64 = 40 * 1_024;

/// So many turns, each with a call as long as every other one.
fn long(calls: usize) -> Script {
    let script = (0..calls).fold(Script::new(), |script, number| {
        let arguments = json!({"key": format!("k{number:04}"), "value": "1"});
        script.calls([script::call("set", &arguments)])
    });
    script.says("Done.")
}

fn unasked() -> Options {
    Options {
        policy: ApprovalPolicy::HighRisk,
        ..Options::default()
    }
}

fn less(after: Work, before: Work) -> Work {
    Work {
        records_read: after.records_read - before.records_read,
        events_folded: after.events_folded - before.events_folded,
    }
}

/// How many messages of a request were not rendered for the one before it already.
fn rendered(before: &Request, after: &Request) -> usize {
    let kept = before.messages.iter().zip(&after.messages);
    let kept = kept.filter(|(one, other): &(&Arc<Message>, &Arc<Message>)| Arc::ptr_eq(one, other));
    after.messages.len() - kept.count()
}

fn assert_renders_alike(world: &World, run: RunId) {
    let requests = world.model(run).unwrap().requests();
    assert_eq!(requests.len(), CALLS + 1);
    let of_call = |number: usize| rendered(&requests[number - 1], &requests[number]);
    assert_eq!(of_call(10), 2, "the call and its result");
    assert_eq!(of_call(CALLS), of_call(10));
}

#[tokio::test]
async fn the_thousandth_call_that_nobody_is_asked_about_costs_what_the_tenth_does() {
    let store = FaultyStore::new(Arc::new(MemoryStore::new(ledger_id())));
    let mut world = World::over(store.clone()).await.unwrap();
    let samples: Arc<Mutex<Vec<Work>>> = Arc::default();
    let (taken, ledger) = (samples.clone(), world.ledger().clone());
    store.watch(move |_| taken.lock().unwrap().push(ledger.work()));
    let (run, drove) = world.run(long(CALLS), unasked()).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    let samples = samples.lock().unwrap();
    // All appends but the first and the last one are those of the calls.
    let per_call = (samples.len() - 1) / CALLS;
    let of_call = |number: usize| {
        let first = (number - 1) * per_call;
        less(samples[first + per_call], samples[first])
    };
    assert!(of_call(10).events_folded >= 6, "{:?}", of_call(10));
    assert!(of_call(10).records_read > 0, "what is started is read back");
    assert_eq!(of_call(CALLS - 1), of_call(10));
    assert_renders_alike(&world, run);
}

#[tokio::test]
async fn the_thousandth_call_that_a_person_approves_costs_what_the_tenth_does() {
    let mut world = World::new().await.unwrap();
    let (run, mut drove) = world.run(long(CALLS), Options::default()).await.unwrap();
    let mut costs = Vec::new();
    while drove == Drove::Waits {
        let before = world.ledger().work();
        world.approve(run).await.unwrap();
        drove = world.drive(run).await.unwrap();
        costs.push(less(world.ledger().work(), before));
    }
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    assert_eq!(costs.len(), CALLS);
    assert!(costs[9].events_folded >= 10, "{:?}", costs[9]);
    // The very last one ends the run, and so proposes nothing any more.
    assert_eq!(costs[CALLS - 2], costs[9]);
    assert_renders_alike(&world, run);
}

/// Bytes of all files below a folder.
fn bytes_below(folder: &Path) -> u64 {
    let size = |entry: fs::DirEntry| {
        let data = entry.metadata().unwrap();
        if data.is_dir() {
            bytes_below(&entry.path())
        } else {
            data.len()
        }
    };
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| size(entry.unwrap()))
        .sum()
}

#[tokio::test]
async fn a_call_takes_no_more_of_the_disk_late_in_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let (home, head) = (folder.path().join("home"), folder.path().join("head"));
    let store = FaultyStore::new(Arc::new(
        SledStore::create(&home, ledger_id(), &head).unwrap(),
    ));
    let mut world = World::over(store.clone()).await.unwrap();
    let sizes: Arc<Mutex<Vec<u64>>> = Arc::default();
    let (taken, sled) = (sizes.clone(), home.join("sled"));
    store.watch(move |_| taken.lock().unwrap().push(bytes_below(&sled)));
    let calls = 300;
    let (_, drove) = world.run(long(calls), unasked()).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    let sizes = sizes.lock().unwrap();
    let (third, last) = (sizes.len() / 3, sizes.len() - 1);
    // Over a hundred calls each, since sled grows by whole segments.
    for (from, to) in [(0, third), (third, 2 * third), (2 * third, last)] {
        let per_call = (sizes[to] - sizes[from]) / (calls as u64 / 3);
        assert!(per_call <= DISK_BYTES_MAX, "{per_call} bytes a call");
    }
}
