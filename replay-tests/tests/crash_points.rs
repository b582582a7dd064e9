//! Crashes at every place: a resumed run comes to the same end, and nothing is done twice.
//!
//! The cuts of [`Moment`]s stand for windows W7, W9, W10, W11, W15, W17 and W26 of the event
//! format's table, and every other window between two records; further tests name theirs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use placet_engine::engine::EngineError;
use placet_ledger::approval::By;
use placet_ledger::clock::Clock;
use placet_ledger::envelope::Envelope;
use placet_ledger::error::LedgerError;
use placet_ledger::event::{ApprovalGranted, Event, Outcome};
use placet_ledger::id::{CallId, RunId};
use placet_ledger::policy::ApprovalPolicy;
use placet_ledger::run::{Close, Phase, RunState};
use placet_ledger::store::memory::MemoryStore;
use placet_ledger::time::Timestamp;
use placet_replay::cut;
use placet_replay::faulty_store::{Fault, FaultyStore};
use placet_replay::play::{End, Play, answered, is_passing, plays, spoken};
use placet_replay::tools::{Ran, Tools};
use placet_replay::world::{World, WorldError, ledger_id};

/// How often a process is started again in one run.
const RESTARTS_MAX: usize = 16;

/// How large the log was just before an append, and what was outside of it.
struct Moment {
    size: usize,
    tools: Arc<Tools>,
    at: Timestamp,
}

/// A play from beginning to end without a crash.
struct Whole {
    world: World,
    run: RunId,
    end: End,
    moments: Vec<Moment>,
}

async fn whole(play: &Play) -> Whole {
    let store = FaultyStore::new(Arc::new(MemoryStore::new(ledger_id())));
    let mut world = play.world(store.clone()).await.unwrap();
    let moments: Arc<Mutex<Vec<Moment>>> = Arc::default();
    let (seen, tools, clock) = (moments.clone(), world.tools.clone(), world.clock.clone());
    store.watch(move |size| {
        let size = usize::try_from(size).unwrap();
        let (tools, at) = (tools.copy(), clock.now());
        seen.lock().unwrap().push(Moment { size, tools, at });
    });
    let run = play.start(&mut world).await.unwrap();
    let end = play.on(&mut world, run).await.unwrap();
    let mut moments = std::mem::take(&mut *moments.lock().unwrap());
    moments.push(Moment {
        size: cut::log(&**world.store()).await.unwrap().len(),
        tools: world.tools.copy(),
        at: world.clock.now(),
    });
    Whole {
        world,
        run,
        end,
        moments,
    }
}

/// What is left of a play that was cut at this size.
async fn left(whole: &Whole, size: usize, moment: &Moment) -> World {
    let store = cut::prefix(&**whole.world.store(), ledger_id(), size).await;
    whole
        .world
        .left_at(store.unwrap(), moment.tools.copy(), moment.at)
        .await
        .unwrap()
}

fn is_executing(state: &RunState, call: CallId) -> bool {
    let phase = state.call(call).unwrap().phase();
    matches!(phase, Phase::Executing { .. })
}

/// Whether two ends are the same but for calls whose end depends on when a person spoke: such a
/// one was done, or was not begun.
fn is_same(play: &Play, end: &End, whole: &End) -> bool {
    let fits = |(call, phase): (&CallId, &Phase)| {
        let done = [Phase::Closed(Close::Succeeded), Phase::Granted];
        match whole.phases.get(call) {
            Some(expected) => phase == expected || (play.is_loose(*call) && done.contains(phase)),
            None => false,
        }
    };
    let loose = end.phases.keys().any(|call| play.is_loose(*call));
    end.outcome == whole.outcome
        && end.phases.len() == whole.phases.len()
        && end.phases.iter().all(fits)
        && (loose || end.values == whole.values)
}

/// Whether the tool of a call can tell what became of it: each can but for one, as long as nobody
/// else changed the target.
fn tells(end: &End, call: CallId) -> bool {
    !end.untold.contains(&call) && end.values[0].as_deref() != Some("theirs")
}

/// The end is the one without a crash, or the run waits because of an execution that the cut hit
/// and whose tool cannot tell what became of it.
fn assert_same_end(play: &Play, case: &str, (end, whole): (&End, &End), before: &RunState) {
    if is_same(play, end, whole) {
        return;
    }
    assert_eq!(
        end.outcome, None,
        "{case}: another end: {end:?}, not {whole:?}"
    );
    let doubt = |call: &CallId| is_executing(before, *call) && !tells(end, *call);
    let doubts = end
        .phases
        .iter()
        .filter(|(_, phase)| **phase == Phase::InDoubt);
    let doubts: Vec<_> = doubts.map(|(call, _)| call).collect();
    assert!(
        !doubts.is_empty() && doubts.into_iter().all(doubt),
        "{case}: {end:?}"
    );
}

/// No call that changes something ran twice, counting from the very beginning.
fn assert_once(case: &str, tools: &Tools, end: &End) {
    for call in end.phases.keys() {
        let of_call =
            |ran: &Ran| matches!(ran, Ran::Executed(tool, of) if of == call && tool != "look");
        let ran = tools.ran();
        let times = ran.iter().filter(|ran| of_call(ran)).count();
        assert!(times <= 1, "{case}: {call} ran {times} times: {ran:?}");
    }
}

/// Drives once, with nobody answering, and holds all that was done to what the prefix permits.
async fn assert_permitted(
    play: &Play,
    case: &str,
    (world, run): (&mut World, RunId),
    before: &RunState,
) {
    let ran = world.tools.ran().len();
    play.drive(world, run).await.unwrap();
    let records = world.records(run).await.unwrap();
    let since = usize::try_from(before.head().version.get()).unwrap() + 1;
    let started = |call: CallId| {
        let of = |event: &Event| matches!(event, Event::ExecutionStarted(e) if e.call == call);
        records[since..].iter().filter(|r| of(r.event())).count()
    };
    for ran in &world.tools.ran()[ran..] {
        let Ran::Executed(_, call) = ran else {
            continue;
        };
        assert!(
            started(*call) > 0,
            "{case}: {call} ran without a durable start"
        );
        let known = before.call(*call);
        let asked = known.is_some_and(|known| known.requested().is_some());
        let granted = known.is_some_and(|known| known.grant().is_some());
        assert!(granted || !asked, "{case}: {call} was pending and ran");
    }
    for call in before.pending().keys() {
        let phase = world.state(run).await.unwrap().call(*call).unwrap().phase();
        let expires_at = before.call(*call).unwrap().expires_at().unwrap();
        let late = world.clock.now() >= expires_at && phase == Phase::Closed(Close::Expired);
        assert!(
            phase == Phase::Pending || late,
            "{case}: nobody answered {call}"
        );
    }
}

/// Nothing began that the policy of that moment did not clear, and nothing that was over.
fn assert_lawful(case: &str, records: &[Envelope]) {
    let (mut policy, mut by, mut over) = (None, BTreeMap::new(), BTreeSet::new());
    for record in records {
        match record.event() {
            Event::RunStarted(started) => policy = Some(started.policy),
            Event::PolicyChanged(changed) => policy = Some(changed.policy),
            Event::ApprovalGranted(ApprovalGranted::Automatic(grant)) => {
                by.insert(grant.call, grant.by.clone());
            }
            Event::ApprovalGranted(ApprovalGranted::ByPerson(grant)) => {
                by.insert(grant.call, grant.by.clone());
            }
            Event::CallProposed(proposed) => over.extend(proposed.supersedes),
            Event::ApprovalDenied(denied) => over.extend([denied.call]),
            Event::ApprovalRevoked(revoked) => over.extend([revoked.call]),
            Event::ApprovalExpired(expired) => over.extend([expired.call]),
            Event::ExecutionStarted(started) => {
                let call = started.call;
                assert!(!over.contains(&call), "{case}: {call} was over");
                if let Some(By::Policy { rule }) = by.get(&call) {
                    let row: Option<ApprovalPolicy> = rule
                        .as_str()
                        .strip_prefix("policy:")
                        .map(|row| row.parse().unwrap());
                    assert!(row <= policy, "{case}: {call} by {rule} under {policy:?}");
                }
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_run_cut_after_any_record_does_what_the_prefix_permits_and_comes_to_the_same_end() {
    let cuts = cut_everywhere(answered()).await;
    assert!(cuts > 150, "only {cuts} cuts");
}

#[tokio::test]
async fn a_run_in_which_people_speak_comes_to_the_same_end_wherever_it_is_cut() {
    let cuts = cut_everywhere(spoken()).await;
    assert!(cuts > 300, "only {cuts} cuts");
}

/// Cuts each play after each record; returns how often.
async fn cut_everywhere(plays: Vec<Play>) -> usize {
    let mut cuts = 0_usize;
    for play in plays {
        let whole = whole(&play).await;
        for pair in whole.moments.windows(2) {
            let [moment, after] = pair else {
                unreachable!()
            };
            for size in moment.size..=after.size {
                let case = format!("{}, cut at {size}", play.name);
                let mut world = left(&whole, size, moment).await;
                let Ok(before) = world.state(whole.run).await else {
                    assert_eq!(
                        size, whole.moments[0].size,
                        "{case}: the prefix does not fold"
                    );
                    continue;
                };
                assert_permitted(&play, &case, (&mut world, whole.run), &before).await;
                // Gone on with by a driver alone, and from the start by people and drivers.
                let mut other = left(&whole, size, moment).await;
                let end = play.on(&mut other, whole.run).await.unwrap();
                // No store tears an append. One that did could hold half of what was said or
                // closed at once, and the other half be too late.
                let torn = size != moment.size && size != after.size;
                if !torn || !play.is_slow() {
                    assert_same_end(&play, &case, (&end, &whole.end), &before);
                }
                assert_once(&case, &other.tools, &end);
                world.restart().await.unwrap();
                let end = play.on(&mut world, whole.run).await.unwrap();
                assert_once(&case, &world.tools, &end);
                for world in [world, other] {
                    let records = world.records(whole.run).await.unwrap();
                    assert_lawful(&case, &records);
                }
                cuts += 1;
            }
        }
    }
    cuts
}

/// Plays a run through while the process dies, and the ledger fails, as the store's plan says.
async fn through(play: &Play, store: &FaultyStore, world: &mut World) -> Result<End, WorldError> {
    let mut run = play.start(world).await?;
    for _ in 0..RESTARTS_MAX {
        let played = tokio::select! {
            played = play.on(world, run) => Some(played),
            () = store.died() => None,
        };
        match played {
            Some(Ok(end)) => return Ok(end),
            Some(Err(error)) if !is_passing(&error) => return Err(error),
            Some(Err(_)) | None => {}
        }
        store.heal();
        world.restart().await?;
        if world.records(run).await?.is_empty() {
            // Its first record was never acknowledged: whoever asked for it asks again.
            run = play.start(world).await?;
        }
    }
    panic!("{}: the ledger does not recover", play.name)
}

#[tokio::test]
async fn no_fault_of_the_store_at_any_append_makes_an_effect_happen_twice() {
    let runs = fail_everywhere(answered()).await;
    assert!(runs > 300, "only {runs} runs");
}

#[tokio::test]
async fn no_fault_of_the_store_loses_or_halves_what_people_say() {
    let runs = fail_everywhere(spoken()).await;
    assert!(runs > 600, "only {runs} runs");
}

/// Lets the store fail in each way at each append of each play; returns how often.
async fn fail_everywhere(plays: Vec<Play>) -> usize {
    let mut runs = 0_usize;
    for play in plays {
        let whole = whole(&play).await;
        for fault in Fault::ALL {
            let lost = matches!(fault, Fault::LostAfter | Fault::LostBefore);
            // Once, the owner asks again by itself; more often, it must say that it does not know.
            for times in if lost { vec![1, 8] } else { vec![1] } {
                for append in 0..=whole.moments.len() {
                    let store = FaultyStore::new(Arc::new(MemoryStore::new(ledger_id())));
                    let mut world = play.world(store.clone()).await.unwrap();
                    store.fail(store.appends() + append, times, fault);
                    let case = format!("{}, {fault:?} x {times} at {append}", play.name);
                    let end = through(&play, &store, &mut world).await;
                    let end = end.unwrap_or_else(|error| panic!("{case}: {error}"));
                    assert_once(&case, &world.tools, &end);
                    assert_end_under_fault(&play, &case, &end, &whole.end);
                    runs += 1;
                }
            }
        }
    }
    runs
}

/// The end is the one without a fault, or a tool that cannot tell left a doubt.
fn assert_end_under_fault(play: &Play, case: &str, end: &End, whole: &End) {
    if is_same(play, end, whole) {
        return;
    }
    assert_eq!(
        end.outcome, None,
        "{case}: another end: {end:?}, not {whole:?}"
    );
    let in_doubt = |(_, phase): &(&CallId, &Phase)| **phase == Phase::InDoubt;
    let doubts: Vec<_> = end.phases.iter().filter(in_doubt).collect();
    assert!(!doubts.is_empty(), "{case}: {end:?}");
    for (call, _) in doubts {
        assert!(
            !tells(end, *call),
            "{case}: the tool of {call} tells: {end:?}"
        );
    }
}

#[tokio::test]
async fn a_run_in_doubt_can_be_cancelled_and_executes_nothing_more() {
    let play = &plays()[0];
    let whole = whole(play).await;
    let size = started_size(&whole, 2).await;
    let mut world = left(&whole, size, &whole.moments[0]).await;
    let end = play.on(&mut world, whole.run).await.unwrap();
    assert_eq!(end.outcome, None);
    let executed = world.tools.executed();
    world.cancel(whole.run, "enough").await.unwrap();
    let state = world.state(whole.run).await.unwrap();
    assert_eq!(state.outcome(), Some(Outcome::Cancelled));
    assert_eq!(world.tools.executed(), executed);
}

/// The size of the log just after a call was started.
async fn started_size(whole: &Whole, number: u32) -> usize {
    let wanted = placet_replay::facts::call(number);
    let log = cut::log(&**whole.world.store()).await.unwrap();
    let at = log.iter().position(
        |record| matches!(record.event(), Event::ExecutionStarted(e) if e.call == wanted),
    );
    at.unwrap() + 1
}

/// Tries of an append before it is said that the store is busy.
const TRIES: usize = 13;

#[tokio::test]
async fn a_busy_store_is_tried_again_and_said_to_be_busy_only_in_the_end() {
    let play = &answered()[0];
    let whole = whole(play).await;
    // The last moment is the end, after all appends.
    for append in 0..whole.moments.len() - 1 {
        for times in [1, TRIES - 1, TRIES] {
            let store = FaultyStore::new(Arc::new(MemoryStore::new(ledger_id())));
            let mut world = play.world(store.clone()).await.unwrap();
            store.fail(store.appends() + append, times, Fault::Busy);
            let case = format!("busy x {times} at {append}");
            let played = match play.start(&mut world).await {
                Ok(run) => play.on(&mut world, run).await,
                Err(error) => Err(error),
            };
            if times < TRIES {
                assert_eq!(played.unwrap(), whole.end, "{case}");
                continue;
            }
            let error = played.expect_err(&case);
            assert!(is_busy(&error), "{case}: {error:?}");
            store.heal();
            let end = through(play, &store, &mut world).await.unwrap();
            assert_eq!(end.outcome, whole.end.outcome, "{case}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_the_store_was_too_busy_for_is_not_recorded_later() {
    let play = &plays()[0];
    let store = FaultyStore::new(Arc::new(MemoryStore::new(ledger_id())));
    let mut world = play.world(store.clone()).await.unwrap();
    let run = play.start(&mut world).await.unwrap();
    play.drive(&mut world, run).await.unwrap();
    let pending = world.pending(run).await.unwrap();
    assert!(!pending.is_empty());
    store.fail(store.appends(), TRIES, Fault::Busy);
    let error = world.approve(run).await.unwrap_err();
    assert!(is_busy(&error), "{error:?}");
    assert_eq!(world.pending(run).await.unwrap(), pending);
    world.cancel(run, "enough").await.unwrap();
    let records = world.records(run).await.unwrap();
    let by_person = |record: &Envelope| {
        let event = record.event();
        matches!(event, Event::ApprovalGranted(ApprovalGranted::ByPerson(_)))
    };
    assert!(!records.iter().any(by_person), "{records:?}");
}

fn is_busy(error: &WorldError) -> bool {
    matches!(
        error,
        WorldError::Engine(EngineError::Ledger(LedgerError::Busy))
            | WorldError::Ledger(LedgerError::Busy)
    )
}

placet_replay::through_socket!(
    a_run_cut_after_any_record_does_what_the_prefix_permits_and_comes_to_the_same_end,
    a_run_in_which_people_speak_comes_to_the_same_end_wherever_it_is_cut,
    no_fault_of_the_store_at_any_append_makes_an_effect_happen_twice,
    no_fault_of_the_store_loses_or_halves_what_people_say,
    a_run_in_doubt_can_be_cancelled_and_executes_nothing_more,
    a_busy_store_is_tried_again_and_said_to_be_busy_only_in_the_end,
    an_answer_that_the_store_was_too_busy_for_is_not_recorded_later,
);
