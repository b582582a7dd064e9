//! States of long runs beside the log: the tail alone is read, what is wrong with one is as if
//! there were none, and nothing is permitted because of one.

use std::sync::Arc;

use placet_ledger::answers::AnswerSet;
use placet_ledger::approval::Answer;
use placet_ledger::containment::Level;
use placet_ledger::content::{Text, Texts};
use placet_ledger::digest::{Purpose, digest};
use placet_ledger::error::LedgerError;
use placet_ledger::event::SegmentReason;
use placet_ledger::id::{HostId, RunId, Version};
use placet_ledger::ledger::Ledger;
use placet_ledger::owner::{Parts, Work};
use placet_ledger::policy::ApprovalPolicy;
use placet_ledger::projection::Query;
use placet_ledger::run::{Caller, Command, RunState, Snapshot};
use placet_ledger::store::EventStore;
use placet_ledger::store::snapshots::{MemorySnapshots, SnapshotStore};
use placet_replay::cut;
use placet_replay::facts::call;
use placet_replay::script::{self, Script};
use placet_replay::world::{Drove, Options, World, ledger_id, person};
use serde_json::json;

/// Calls enough for a run of more than a thousand records.
const CALLS: usize = 180;

/// A run that is long and waits for a person about its last calls but one.
async fn long() -> (World, RunId) {
    let mut world = World::new().await.unwrap();
    let note = |script: Script, number| {
        script.calls([script::call("note", &json!({"text": format!("{number}")}))])
    };
    let set = |script: Script, key| {
        script.calls([script::call("set", &json!({"key": key, "value": "1"}))])
    };
    let script = (0..CALLS).fold(Script::new(), note);
    let script = ["a", "b"].into_iter().fold(script, set).says("Done.");
    let options = Options {
        policy: ApprovalPolicy::LowRisk,
        ..Options::default()
    };
    let (run, drove) = world.run(script, options).await.unwrap();
    assert_eq!(drove, Drove::Waits);
    (world, run)
}

fn parts(world: &World, kept: &Arc<MemorySnapshots>) -> Parts {
    Parts {
        snapshots: Some(kept.clone()),
        ..world.parts()
    }
}

/// The state of a run as a new process finds it, and what finding it took.
async fn found(parts: Parts, run: RunId) -> (RunState, Work) {
    let ledger = Ledger::open(parts).await.unwrap();
    let before = ledger.work();
    let state = ledger.look(run, |state, _| state.clone()).await.unwrap();
    let after = ledger.work();
    let work = Work {
        records_read: after.records_read - before.records_read,
        events_folded: after.events_folded - before.events_folded,
    };
    (state, work)
}

/// The same run with a state of it kept.
async fn kept() -> (World, RunId, Arc<MemorySnapshots>) {
    let (world, run) = long().await;
    let kept = Arc::new(MemorySnapshots::default());
    let (state, work) = found(parts(&world, &kept), run).await;
    assert_eq!(state, world.state(run).await.unwrap());
    assert_eq!(work.events_folded, count(&state));
    (world, run, kept)
}

/// How many records a state comes of.
fn count(state: &RunState) -> u64 {
    u64::from(state.head().version.get()) + 1
}

fn bytes(kept: &MemorySnapshots, run: RunId) -> Vec<u8> {
    kept.read(run.stream()).unwrap().unwrap()
}

#[tokio::test]
async fn a_long_run_is_taken_up_from_its_tail() {
    let (world, run, kept) = kept().await;
    let (state, work) = found(parts(&world, &kept), run).await;
    assert_eq!(state, world.state(run).await.unwrap());
    // The record that vouches for the state, and nothing before it.
    assert_eq!((work.records_read, work.events_folded), (1, 0));
    // What came since is folded, whoever wrote it.
    let before = count(&state);
    world.approve(run).await.unwrap();
    let (state, work) = found(parts(&world, &kept), run).await;
    assert_eq!(state, world.state(run).await.unwrap());
    assert_eq!(work.events_folded, count(&state) - before);
    // It goes on from there as from the fold of everything.
    let ledger = Ledger::open(parts(&world, &kept)).await.unwrap();
    let mut world = world.with_ledger(ledger).unwrap();
    assert_eq!(world.drive(run).await.unwrap(), Drove::Waits);
    world.approve(run).await.unwrap();
    assert!(matches!(world.drive(run).await.unwrap(), Drove::Ended(_)));
    assert_eq!(world.tools.value("b").as_deref(), Some("1"));
    let work = world.ledger().work();
    assert!(work.events_folded < 30, "{work:?}");
    let recording = world.recording(run).await.unwrap();
    assert!(placet_replay::recording::replay(&recording).await.is_ok());
}

#[tokio::test]
async fn equal_text_keeps_its_commitment_across_a_kept_state() {
    let (world, run, kept) = kept().await;
    let ledger = Ledger::open(parts(&world, &kept)).await.unwrap();
    let again = || async {
        let said = [(String::from("text"), Text::plain("Do it."))];
        let act = (Command::Prompt, said.into_iter().collect());
        ledger.act(run, &person().unwrap(), act.0, act.1).await
    };
    let prompt = |state: &RunState| state.texts()["prompt"].commitment;
    let first = ledger.look(run, |state, _| prompt(state)).await.unwrap();
    ledger
        .answer(run, &person().unwrap(), denied(&world, run).await)
        .await
        .unwrap();
    let records = again().await.unwrap();
    assert_eq!(records[0].blobs()["text"].commitment, first);
}

async fn denied(world: &World, run: RunId) -> AnswerSet {
    world.answers(run, |_| (Answer::Deny, None)).await.unwrap()
}

#[tokio::test]
async fn a_state_that_is_not_what_was_written_counts_for_nothing() {
    let (mut world, run, kept) = kept().await;
    let good = bytes(&kept, run);
    let whole = world.state(run).await.unwrap();
    let (other, _) = world
        .run(Script::new().says("Done."), Options::default())
        .await
        .unwrap();
    let other = world.state(other).await.unwrap();
    let flipped = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        bytes
    };
    let wrong = [
        ("empty", Vec::new()),
        ("cut", good[..good.len() - 1].to_vec()),
        ("longer", [&good[..], &[0]].concat()),
        // Its first bytes name the build that wrote it.
        ("of another build", flipped(3)),
        ("of another record", flipped(40)),
        ("with another digest", flipped(70)),
        ("changed at its beginning", flipped(97)),
        ("changed in the middle", flipped(good.len() / 2)),
        ("changed at its end", flipped(good.len() - 1)),
        ("of another run", Snapshot::write(&other, [].into_iter())),
    ];
    for (what, bytes) in wrong {
        kept.write(run.stream(), &bytes).unwrap();
        let (state, work) = found(parts(&world, &kept), run).await;
        assert_eq!(state, whole, "{what}");
        assert_eq!(work.events_folded, count(&whole), "{what}");
    }
}

#[tokio::test]
async fn a_state_beyond_the_log_or_beside_it_counts_for_nothing() {
    let (world, run, kept) = kept().await;
    let good = bytes(&kept, run);
    let size = cut::log(&**world.store()).await.unwrap().len();
    let shorter = cut::prefix(&**world.store(), ledger_id(), size - 3);
    let shorter = shorter.await.unwrap();
    let cut_off = |store: &Arc<dyn EventStore>| Parts {
        store: store.clone(),
        ..parts(&world, &kept)
    };
    let (state, work) = found(cut_off(&shorter), run).await;
    assert_eq!(work.events_folded, count(&state));
    assert_eq!(
        state.head().version.get() + 3,
        world.state(run).await.unwrap().head().version.get()
    );
    // Now the log goes on otherwise than the state says.
    kept.write(run.stream(), &good).unwrap();
    let other = Ledger::open(Parts {
        store: shorter.clone(),
        ..world.parts()
    })
    .await
    .unwrap();
    let cancel = Command::Cancel;
    for _ in 0..4 {
        let texts = Texts::new();
        other
            .act(run, &person().unwrap(), cancel.clone(), texts)
            .await
            .unwrap();
    }
    let (state, work) = found(cut_off(&shorter), run).await;
    assert_eq!(work.events_folded, count(&state));
    assert!(state.is_cancelling());
}

#[tokio::test]
async fn nothing_is_permitted_because_of_a_forged_state() {
    let (world, run, kept) = kept().await;
    let size = cut::log(&**world.store()).await.unwrap().len();
    // Elsewhere a person approves what is denied here, and that state is passed off as one of
    // here, with every digest as it should be.
    let elsewhere = cut::prefix(&**world.store(), ledger_id(), size)
        .await
        .unwrap();
    let elsewhere = Ledger::open(Parts {
        store: elsewhere,
        ..world.parts()
    })
    .await
    .unwrap();
    let approved = world
        .answers(run, |_| (Answer::Approve, None))
        .await
        .unwrap();
    elsewhere
        .answer(run, &person().unwrap(), approved)
        .await
        .unwrap();
    world.deny(run, "no").await.unwrap();
    let here = world.state(run).await.unwrap();
    let there = elsewhere.look(run, |state, contents| {
        assert!(!contents.is_empty());
        state.clone()
    });
    let there = there.await.unwrap();
    assert_eq!(there.head().version, here.head().version);
    let mut forged = Snapshot::write(&there, [].into_iter());
    let (old, new) = (there.head().digest, here.head().digest);
    for at in 0..forged.len() - 32 {
        if forged[at..at + 32] == *old.as_bytes() {
            forged[at..at + 32].copy_from_slice(new.as_bytes());
        }
    }
    let covered = [&forged[..64], &forged[96..]].concat();
    forged[64..96].copy_from_slice(digest(Purpose::Snapshot, &covered).as_bytes());
    kept.write(run.stream(), &forged).unwrap();
    let ledger = Ledger::open(parts(&world, &kept)).await.unwrap();
    let waits = call(u32::try_from(CALLS).unwrap() + 1);
    let granted = ledger.look(run, |state, _| state.call(waits).unwrap().grant().is_some());
    assert!(granted.await.unwrap(), "the forged state was taken");
    let begun = ledger
        .begin_execution(run, waits, 0, Level::IN_PROCESS)
        .await;
    assert!(
        matches!(begun, Err(LedgerError::Unproven(of)) if of == waits),
        "{begun:?}"
    );
    let records = world.records(run).await.unwrap();
    let about = records
        .iter()
        .filter(|record| record.event().call() == Some(waits));
    let names: Vec<_> = about.map(|record| record.event().name()).collect();
    assert_eq!(
        names,
        ["call.proposed", "approval.requested", "approval.denied"]
    );
    // Without it the denial stands.
    kept.clear().unwrap();
    let (state, _) = found(parts(&world, &kept), run).await;
    assert_eq!(state, here);
}

#[tokio::test]
async fn a_rebuild_removes_what_is_kept() {
    let (world, run, kept) = kept().await;
    let ledger = Ledger::open(parts(&world, &kept)).await.unwrap();
    ledger.query(Query::Rebuild {}).await.unwrap();
    assert_eq!(kept.read(run.stream()).unwrap(), None);
    let (state, work) = found(parts(&world, &kept), run).await;
    assert_eq!(work.events_folded, count(&state));
}

#[tokio::test]
async fn a_short_run_is_not_kept() {
    let mut world = World::new().await.unwrap();
    let kept = Arc::new(MemorySnapshots::default());
    let ledger = Ledger::open(parts(&world, &kept)).await.unwrap();
    world = world.with_ledger(ledger).unwrap();
    let script = Script::new().says("Done.");
    let (run, _) = world.run(script, Options::default()).await.unwrap();
    drop(world);
    assert_eq!(kept.read(run.stream()).unwrap(), None);
}

/// More runs than are held in memory.
const RUNS: usize = 150;

#[tokio::test]
async fn runs_that_were_not_used_for_long_are_forgotten_and_those_at_work_are_not() {
    let world = World::new().await.unwrap();
    let ledger = world.another_ledger().await.unwrap();
    let mut world = world.with_ledger(ledger.clone()).unwrap();
    let one = || Script::new().calls([script::call("set", &json!({"key": "a", "value": "1"}))]);
    let driven = world.start(one(), Options::default()).await.unwrap();
    let taken_up = Command::TakeUp {
        attendance: placet_ledger::policy::Attendance::Park,
        driver: ledger.new_driver().await.unwrap(),
        host: HostId::new(uuid::Uuid::from_u128(1)),
        reason: SegmentReason::Start,
    };
    let texts = Texts::new();
    ledger
        .handle(driven, &Caller::Driver, taken_up, texts)
        .await
        .unwrap();
    let first = world.run(one(), Options::default()).await.unwrap().0;
    let mut last = first;
    for _ in 0..RUNS {
        last = world.run(one(), Options::default()).await.unwrap().0;
    }
    let read = async |run: RunId| {
        let before = ledger.work().records_read;
        let version = ledger.look(run, |state, _| state.head().version);
        (version.await.unwrap(), ledger.work().records_read - before)
    };
    // What is staged for the one that is driven lies in memory alone.
    let (version, records) = read(driven).await;
    assert_eq!((version, records), (Version::new(1), 0));
    assert_eq!(read(last).await.1, 0);
    let (version, records) = read(first).await;
    assert_eq!(records, u64::from(version.get()) + 1);
    assert_eq!(read(first).await.1, 0);
}
