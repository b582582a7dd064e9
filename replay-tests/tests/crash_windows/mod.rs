//! Single crash windows of the event format's table, by their names there.

mod words;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use placet_engine::engine::EngineError;
use placet_engine::tool::Reconciled;
use placet_ledger::answers::AnswerSet;
use placet_ledger::approval::{Answer, CallAnswer};
use placet_ledger::content::Text;
use placet_ledger::event::{Event, Outcome};
use placet_ledger::id::{CallId, RunId};
use placet_ledger::policy::ApprovalPolicy;
use placet_ledger::run::{Close, Phase, Rejection};
use placet_ledger::store::memory::MemoryStore;
use placet_replay::cut;
use placet_replay::facts::call;
use placet_replay::faulty_store::{Fault, FaultyStore};
use placet_replay::play::plays;
use placet_replay::script::{self, Script};
use placet_replay::tools::{Behaviour, Ran};
use placet_replay::world::{Drove, Options, World, WorldError, ledger_id, person};
use serde_json::json;

fn set(key: &str, value: &str) -> placet_engine::model::ReplyCall {
    script::call("set", &json!({"key": key, "value": value}))
}

fn two() -> Script {
    Script::new()
        .calls([set("a", "1"), set("b", "2")])
        .says("Done.")
}

fn unasked() -> Options {
    Options {
        policy: ApprovalPolicy::HighRisk,
        ..Options::default()
    }
}

async fn phase(world: &World, run: RunId, number: u32) -> Phase {
    let state = world.state(run).await.unwrap();
    state.call(call(number)).unwrap().phase()
}

fn counted(names: &[&str], name: &str) -> usize {
    names.iter().filter(|found| **found == name).count()
}

/// Polls a future so many times and then drops it, as a process that dies drops its driver.
fn poll<T>(work: impl Future<Output = T>, times: usize) -> Option<T> {
    let mut work = pin!(work);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..times {
        if let Poll::Ready(ready) = work.as_mut().poll(&mut context) {
            return Some(ready);
        }
    }
    None
}

#[tokio::test]
async fn a_driver_that_vanishes_at_any_await_point_leaves_no_second_effect() {
    let mut deaths = 0_usize;
    for play in plays() {
        for times in 1.. {
            let store = FaultyStore::new(Arc::new(MemoryStore::new(ledger_id())));
            let mut world = play.world(store).await.unwrap();
            let mut run = play.start(&mut world).await.unwrap();
            if let Some(end) = poll(play.on(&mut world, run), times) {
                end.unwrap();
                break;
            }
            deaths += 1;
            world.restart().await.unwrap();
            if world.records(run).await.unwrap().is_empty() {
                run = play.start(&mut world).await.unwrap();
            }
            let end = play.on(&mut world, run).await.unwrap();
            for call in end.phases.keys() {
                let ran = world.tools.ran();
                let acts = ran.iter().filter(|ran| match ran {
                    Ran::Executed(tool, of) => of == call && tool == "act",
                    _ => false,
                });
                assert!(
                    acts.count() <= 1,
                    "{}, dead after {times}: {ran:?}",
                    play.name
                );
            }
            assert_settled(&world, run, &format!("{}, dead after {times}", play.name)).await;
        }
    }
    assert!(deaths > 200, "only {deaths} deaths");
}

/// Every start has one end, and no start follows another without a *not done* between them.
async fn assert_settled(world: &World, run: RunId, case: &str) {
    let mut open: Vec<CallId> = Vec::new();
    for record in world.records(run).await.unwrap() {
        match record.event() {
            Event::ExecutionStarted(e) => {
                assert!(
                    !open.contains(&e.call),
                    "{case}: {} was started twice",
                    e.call
                );
                open.push(e.call);
            }
            Event::ExecutionSucceeded(e)
            | Event::ExecutionFailed(e)
            | Event::ExecutionStale(e)
            | Event::ExecutionInterrupted(e) => open.retain(|call| *call != e.call),
            Event::ExecutionSettled(e) => open.retain(|call| *call != e.call),
            Event::ExecutionInDoubt(e) => open.retain(|call| *call != e.call),
            _ => {}
        }
    }
    assert!(
        open.is_empty(),
        "{case}: nobody said what became of {open:?}"
    );
}

#[tokio::test]
async fn w5_a_model_call_without_reply_is_made_again_and_what_was_set_aside_stays_spent() {
    let mut world = World::new().await.unwrap();
    let script = Script::new().vanishes().says("Done.");
    let (run, drove) = world.run(script, unasked()).await.unwrap();
    assert_eq!(drove, Drove::Vanished);
    let before = world.state(run).await.unwrap().usage().tokens;
    assert_eq!(
        world.resume(run).await.unwrap(),
        Drove::Ended(Outcome::Completed)
    );
    let names = world.names(run).await.unwrap();
    assert_eq!(counted(&names, "model.called"), 2);
    assert_eq!(counted(&names, "model.replied"), 1);
    let after = world.state(run).await.unwrap().usage().tokens;
    let lost = after - 15;
    assert!(
        lost >= 400,
        "the lost reservation was given back: {before:?}, {after:?}"
    );
}

/// A world that was cut after the first record of that name, before anything of it was executed.
async fn cut_after(name: &str, options: Options) -> (World, RunId) {
    cut_at(name, 1, options).await
}

/// The same, cut before that record.
async fn cut_before(name: &str, options: Options) -> (World, RunId) {
    cut_at(name, 0, options).await
}

async fn cut_at(name: &str, more: usize, options: Options) -> (World, RunId) {
    let mut world = World::new().await.unwrap();
    let tools = world.tools.copy();
    let (run, drove) = world.run(two(), options).await.unwrap();
    if drove == Drove::Waits {
        world.approve(run).await.unwrap();
        world.resume(run).await.unwrap();
    }
    let log = cut::log(&**world.store()).await.unwrap();
    let at = log.iter().position(|record| record.event().name() == name);
    let store = cut::prefix(&**world.store(), ledger_id(), at.unwrap() + more).await;
    // The model is that of the first world, which was added after the copy.
    let model = world.model(run).unwrap().clone();
    let model_name = world.state(run).await.unwrap().started().model.clone();
    tools.add_model(model_name, model);
    (world.left(store.unwrap(), tools).await.unwrap(), run)
}

#[tokio::test]
async fn w7_of_a_reply_half_of_which_was_proposed_only_the_rest_is_proposed() {
    let (mut world, run) = cut_after("call.proposed", unasked()).await;
    assert_eq!(
        world.drive(run).await.unwrap(),
        Drove::Ended(Outcome::Completed)
    );
    let names = world.names(run).await.unwrap();
    assert_eq!(counted(&names, "call.proposed"), 2);
    assert_eq!(
        counted(&names, "model.replied"),
        2,
        "the calls, and the last word"
    );
    assert_eq!(world.tools.proposals(), 1, "c1 was proposed before the cut");
}

#[tokio::test]
async fn w7_a_tool_list_that_changed_refuses_and_skips_nothing() {
    let (mut world, run) = cut_after("call.proposed", unasked()).await;
    world.tools.redefine("set");
    let before = world.names(run).await.unwrap();
    let error = world.drive(run).await.unwrap_err();
    assert!(
        matches!(error, WorldError::Engine(EngineError::ToolChanged(_))),
        "{error}"
    );
    assert_eq!(world.names(run).await.unwrap(), before);
    assert_eq!(world.tools.executed(), 0);
}

#[tokio::test]
async fn w10_with_some_of_a_batch_gated_nothing_runs_before_the_rest_is() {
    let (mut world, run) = cut_after("approval.granted", unasked()).await;
    world.drive(run).await.unwrap();
    let names = world.names(run).await.unwrap();
    let last_grant = names
        .iter()
        .rposition(|name| *name == "approval.granted")
        .unwrap();
    let first_start = names
        .iter()
        .position(|name| *name == "execution.started")
        .unwrap();
    assert!(last_grant < first_start, "{names:?}");
}

#[tokio::test]
async fn w11_a_run_that_was_cut_before_it_parked_waits_and_can_be_answered() {
    let (mut world, run) = cut_after("approval.requested", Options::default()).await;
    assert_eq!(world.drive(run).await.unwrap(), Drove::Waits);
    assert_eq!(world.pending(run).await.unwrap().len(), 2);
    assert_eq!(world.tools.executed(), 0);
    world.approve(run).await.unwrap();
    assert_eq!(
        world.resume(run).await.unwrap(),
        Drove::Ended(Outcome::Completed)
    );
}

#[tokio::test]
async fn w11_pending_calls_of_a_run_that_never_parked_expire_as_its_start_says() {
    let (mut world, run) = cut_after("approval.requested", Options::default()).await;
    world.drive(run).await.unwrap();
    world.clock.advance_ms(86_400_000);
    assert_eq!(
        world.resume(run).await.unwrap(),
        Drove::Ended(Outcome::Expired)
    );
    assert_eq!(world.tools.executed(), 0);
}

#[tokio::test]
async fn w14_the_same_answer_again_hears_the_same_and_another_one_under_its_id_does_not() {
    let mut world = World::new().await.unwrap();
    let (run, _) = world.run(two(), Options::default()).await.unwrap();
    let pending = world.pending(run).await.unwrap();
    let id = world.answer_id();
    let answers = |answer: Answer, note: Option<&str>| {
        let note = note.map(str::to_owned);
        let lines = pending.iter().map(|(&call, &request)| CallAnswer {
            call,
            request,
            answer,
            note: note.clone(),
        });
        AnswerSet::covering(id, &pending, lines).unwrap()
    };
    let somebody = person().unwrap();
    let approved = answers(Answer::Approve, Some("go on"));
    world
        .ledger()
        .answer(run, &somebody, approved.clone())
        .await
        .unwrap();
    world.restart().await.unwrap();
    let before = world.names(run).await.unwrap();
    world
        .ledger()
        .answer(run, &somebody, approved)
        .await
        .unwrap();
    for other in [
        answers(Answer::Deny, Some("go on")),
        answers(Answer::Approve, Some("go on, but slowly")),
        answers(Answer::Approve, None),
    ] {
        let error = world
            .ledger()
            .answer(run, &somebody, other)
            .await
            .unwrap_err();
        let error = WorldError::from(error);
        assert!(
            matches!(error.rejection(), Some(Rejection::AlreadyAnswered(_))),
            "{error}"
        );
    }
    assert_eq!(world.names(run).await.unwrap(), before);
}

#[tokio::test]
async fn w15_answers_that_nobody_took_up_are_there_for_the_next_process() {
    let mut world = World::new().await.unwrap();
    let (run, _) = world.run(two(), Options::default()).await.unwrap();
    world.approve(run).await.unwrap();
    assert_eq!(world.tools.executed(), 0, "an answer executes nothing");
    assert_eq!(
        world.resume(run).await.unwrap(),
        Drove::Ended(Outcome::Completed)
    );
    assert_eq!(
        (
            world.tools.executions(call(1)),
            world.tools.executions(call(2))
        ),
        (1, 1)
    );
}

/// Which append of a run of `two`, counted from its own first one, starts the first execution.
async fn starting_append() -> usize {
    let store = FaultyStore::new(Arc::new(MemoryStore::new(ledger_id())));
    let mut world = World::over(store.clone()).await.unwrap();
    let sizes: Arc<std::sync::Mutex<Vec<u64>>> = Arc::default();
    let seen = sizes.clone();
    store.watch(move |size| seen.lock().unwrap().push(size));
    world.run(two(), unasked()).await.unwrap();
    let log = cut::log(&**world.store()).await.unwrap();
    let start = log
        .iter()
        .position(|record| record.event().name() == "execution.started");
    let start = start.unwrap() as u64;
    let sizes = sizes.lock().unwrap();
    sizes.iter().rposition(|size| *size <= start).unwrap()
}

#[tokio::test]
async fn w19_an_unknown_start_is_looked_for_and_gone_on_with_only_if_it_is_there() {
    let starting = starting_append().await;
    for (fault, times, executed) in [
        (Fault::LostAfter, 1, true),
        (Fault::LostBefore, 1, true),
        (Fault::LostBefore, 8, false),
        (Fault::LostAfter, 8, false),
    ] {
        let store = FaultyStore::new(Arc::new(MemoryStore::new(ledger_id())));
        let mut world = World::over(store.clone()).await.unwrap();
        store.fail(store.appends() + starting, times, fault);
        let run = world.start(two(), unasked()).await.unwrap();
        let drove = world.drive(run).await;
        assert_eq!(drove.is_ok(), executed, "{fault:?} x {times}: {drove:?}");
        assert_eq!(
            world.tools.executions(call(1)),
            usize::from(executed),
            "{fault:?} x {times}"
        );
        store.heal();
        world.resume(run).await.unwrap();
        assert_eq!(world.tools.executions(call(1)), 1, "{fault:?} x {times}");
        assert_eq!(world.tools.value("a").as_deref(), Some("1"));
    }
}

#[tokio::test]
async fn w20_a_driver_that_died_before_the_effect_is_followed_by_a_second_attempt() {
    for number in [1, 2] {
        let mut world = World::new().await.unwrap();
        world.tools.behave(call(number), Behaviour::VanishesBefore);
        let (run, drove) = world.run(two(), unasked()).await.unwrap();
        assert_eq!(drove, Drove::Vanished);
        assert_eq!(
            world.resume(run).await.unwrap(),
            Drove::Ended(Outcome::Completed)
        );
        let state = world.state(run).await.unwrap();
        assert_eq!(state.call(call(number)).unwrap().attempts(), 2);
        assert_eq!(
            counted(&world.names(run).await.unwrap(), "execution.settled"),
            1
        );
        assert_eq!(world.tools.executions(call(3 - number)), 1);
    }
}

#[tokio::test]
async fn w22_a_driver_that_died_after_the_effect_is_followed_by_no_second_one() {
    for number in [1, 2] {
        let mut world = World::new().await.unwrap();
        world.tools.behave(call(number), Behaviour::VanishesAfter);
        let (run, drove) = world.run(two(), unasked()).await.unwrap();
        assert_eq!(drove, Drove::Vanished);
        assert_eq!(
            world.resume(run).await.unwrap(),
            Drove::Ended(Outcome::Completed)
        );
        assert_eq!(world.tools.executions(call(number)), 1);
        let state = world.state(run).await.unwrap();
        let call = state.call(call(number)).unwrap();
        assert_eq!(
            (call.attempts(), call.phase()),
            (1, Phase::Closed(Close::Succeeded))
        );
    }
}

#[tokio::test]
async fn w20_to_w22_what_the_tool_says_decides_and_what_it_cannot_say_is_in_doubt() {
    let done = Reconciled::Done(Text::plain("it was done"));
    for (answer, behaviour, executions) in [
        (done.clone(), Behaviour::VanishesBefore, 1),
        (done, Behaviour::VanishesAfter, 1),
        (Reconciled::NotDone, Behaviour::VanishesBefore, 2),
        (Reconciled::Unknown, Behaviour::VanishesBefore, 1),
        (Reconciled::Unknown, Behaviour::VanishesAfter, 1),
    ] {
        let mut world = World::new().await.unwrap();
        world.tools.behave(call(1), behaviour);
        world.tools.reconcile_as(call(1), answer.clone());
        let (run, _) = world.run(two(), unasked()).await.unwrap();
        let drove = world.resume(run).await.unwrap();
        assert_eq!(world.tools.executions(call(1)), executions, "{answer:?}");
        if answer == Reconciled::Unknown {
            assert_eq!(drove, Drove::Waits);
            assert_eq!(phase(&world, run, 1).await, Phase::InDoubt);
            assert_eq!(world.resume(run).await.unwrap(), Drove::Waits);
            assert_eq!(world.tools.executed(), 1, "c2 waits for the doubt");
        } else {
            assert_eq!(drove, Drove::Ended(Outcome::Completed));
        }
    }
}

#[tokio::test]
async fn w26_a_crash_between_outcome_and_next_model_call_repeats_nothing() {
    let mut world = World::new().await.unwrap();
    let script = Script::new()
        .calls([set("a", "1")])
        .vanishes()
        .says("Done.");
    let (run, drove) = world.run(script, unasked()).await.unwrap();
    assert_eq!(drove, Drove::Vanished);
    assert_eq!(
        world.resume(run).await.unwrap(),
        Drove::Ended(Outcome::Completed)
    );
    assert_eq!(world.tools.executions(call(1)), 1);
    assert_eq!(world.told(run), ["a is set."]);
}
