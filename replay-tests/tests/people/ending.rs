//! Cancelling while somebody drives, while nobody does, and settling what is in doubt.

use placet_engine::engine::Stopped;
use placet_ledger::content::Texts;
use placet_ledger::event::{Event, Outcome, SegmentEnd, Settlement};
use placet_ledger::id::{CallId, RunId};
use placet_ledger::run::{Close, Command, Phase, Rejection};
use placet_replay::facts::call;
use placet_replay::script::{self, Script};
use placet_replay::tools::Behaviour;
use placet_replay::world::{Drove, Options, World, person};
use serde_json::json;

use super::{act, driving_while, phase, set, two, unasked};

/// How the last segment ended.
async fn last_end(world: &World, run: RunId) -> Option<SegmentEnd> {
    let records = world.records(run).await.unwrap();
    let mut ends = records.iter().filter_map(|record| match record.event() {
        Event::SegmentEnded(ended) => Some(ended.reason),
        _ => None,
    });
    ends.next_back()
}

#[tokio::test]
async fn the_driver_of_a_cancelled_run_ends_it_and_stops_what_only_reads() {
    let mut world = World::new().await.unwrap();
    world.tools.behave(call(1), Behaviour::Waits);
    let look = script::call("look", &json!({"key": "a"}));
    let script = Script::new().calls([look, set("a", "1")]);
    let run = world.start(script, unasked()).await.unwrap();
    let cancel = world.cancel(run, "enough");
    let (drove, cancelled) = driving_while(&world, run, cancel).await;
    let ended = Outcome::Cancelled;
    assert_eq!(drove.unwrap(), Stopped::Ended(ended));
    assert_eq!(cancelled.unwrap(), Drove::Ended(ended));
    let stopped = Phase::Closed(Close::Interrupted);
    assert_eq!(phase(&world, run, 1).await, stopped);
    assert_eq!(phase(&world, run, 2).await, Phase::Granted);
    assert_eq!(world.tools.executed(), 1);
    assert_eq!(last_end(&world, run).await, Some(SegmentEnd::Cancelled));
}

#[tokio::test]
async fn what_changes_things_comes_to_its_end_in_a_cancelled_run() {
    let mut world = World::new().await.unwrap();
    world.tools.behave(call(1), Behaviour::Waits);
    let run = world.start(two(), unasked()).await.unwrap();
    let cancel = async {
        let (cancelled, ()) = tokio::join!(world.cancel(run, "enough"), async {
            // The wish is there before the call may go on.
            while !world.state(run).await.unwrap().is_cancelling() {
                tokio::task::yield_now().await;
            }
            world.tools.release();
        });
        cancelled
    };
    let (drove, cancelled) = driving_while(&world, run, cancel).await;
    assert_eq!(drove.unwrap(), Stopped::Ended(Outcome::Cancelled));
    assert_eq!(cancelled.unwrap(), Drove::Ended(Outcome::Cancelled));
    assert_eq!(phase(&world, run, 1).await, Phase::Closed(Close::Succeeded));
    assert_eq!(world.tools.value("a").as_deref(), Some("1"));
    assert_eq!(world.tools.value("b"), None);
}

#[tokio::test]
async fn nobody_waits_for_the_model_of_a_cancelled_run() {
    let mut world = World::new().await.unwrap();
    let script = Script::new().hangs().says("Never said.");
    let run = world.start(script, Options::default()).await.unwrap();
    let cancel = world.cancel(run, "enough");
    let (drove, cancelled) = driving_while(&world, run, cancel).await;
    assert_eq!(drove.unwrap(), Stopped::Ended(Outcome::Cancelled));
    assert_eq!(cancelled.unwrap(), Drove::Ended(Outcome::Cancelled));
    let names = world.names(run).await.unwrap();
    assert!(!names.contains(&"model.replied"), "{names:?}");
    // What was set aside for the reply stays spent.
    assert!(world.state(run).await.unwrap().usage().tokens > 0);
    let recording = world.recording(run).await.unwrap();
    placet_replay::replay(&recording).await.unwrap();
}

#[tokio::test]
async fn the_next_driver_honours_a_wish_that_the_first_did_not_live_to_see() {
    let mut world = World::new().await.unwrap();
    world.tools.behave(call(1), Behaviour::VanishesAfter);
    let (run, drove) = world.run(two(), unasked()).await.unwrap();
    assert_eq!(drove, Drove::Vanished);
    let somebody = person().unwrap();
    let wish = world
        .ledger()
        .act(run, &somebody, Command::Cancel, Texts::new());
    assert_eq!(wish.await.unwrap().len(), 1);
    let drove = world.resume(run).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Cancelled));
    assert_eq!(phase(&world, run, 1).await, Phase::Closed(Close::Succeeded));
    assert_eq!(phase(&world, run, 2).await, Phase::Granted);
    assert_eq!(world.tools.executed(), 1);
}

#[tokio::test]
async fn a_cancelled_run_asks_nobody_and_takes_no_more_words() {
    let mut world = World::new().await.unwrap();
    let (run, _) = world.run(two(), Options::default()).await.unwrap();
    let approve = |_| (placet_ledger::approval::Answer::Approve, None);
    let set = world.answers(run, approve).await.unwrap();
    world.cancel(run, "enough").await.unwrap();
    let ended = Rejection::Finished(Outcome::Cancelled);
    let other = json!({"key": "a", "value": "9"});
    let somebody = person().unwrap();
    let answered = world.engine().answer(run, &somebody, set).await;
    for error in [
        answered.unwrap_err().into(),
        world.amend(run, CallId::FIRST, &other).await.unwrap_err(),
        world.revoke(run, CallId::FIRST, None).await.unwrap_err(),
        world.prompt(run, "go on").await.unwrap_err(),
    ] {
        assert_eq!(error.rejection(), Some(&ended), "{error}");
    }
    assert_eq!(world.tools.executed(), 0);
}

#[tokio::test]
async fn a_doubt_that_a_person_settles_leads_to_no_second_attempt() {
    let rows = [
        (
            Settlement::Done,
            "It was broken off, and a person looked what became of it: it took effect. They say: \
             \"I looked\". It is not run again.",
        ),
        (
            Settlement::NotDone,
            "It was broken off, and a person looked what became of it: it did not take effect. \
             They say: \"I looked\". It is not run again.",
        ),
    ];
    for (verdict, told) in rows {
        let mut world = World::new().await.unwrap();
        world.tools.behave(call(1), Behaviour::VanishesAfter);
        let script = Script::new().calls([act(), set("a", "1")]).says("Done.");
        let (run, _) = world.run(script, unasked()).await.unwrap();
        assert_eq!(world.resume(run).await.unwrap(), Drove::Waits);
        assert_eq!(phase(&world, run, 1).await, Phase::InDoubt);
        let note = Some("I looked");
        world
            .settle(run, CallId::FIRST, verdict, note)
            .await
            .unwrap();
        let twice = world.settle(run, CallId::FIRST, verdict, note).await;
        let before = Rejection::AlreadyAnswered(vec![call(1)]);
        assert_eq!(twice.unwrap_err().rejection(), Some(&before));
        let drove = world.resume(run).await.unwrap();
        assert_eq!(drove, Drove::Ended(Outcome::Completed));
        let settled = Phase::Closed(Close::Settled(verdict));
        assert_eq!(phase(&world, run, 1).await, settled);
        assert_eq!(world.tools.executions(call(1)), 1, "{verdict:?}");
        assert_eq!(world.tools.executions(call(2)), 1, "{verdict:?}");
        assert_eq!(world.told(run), [told, "a is set."]);
    }
}

#[tokio::test]
async fn a_cancelled_run_ends_although_its_driver_was_asked_to_stop_as_well() {
    let mut world = World::new().await.unwrap();
    let script = Script::new().hangs().says("Never said.");
    let run = world.start(script, Options::default()).await.unwrap();
    let cancel = async {
        world.stop();
        world.cancel(run, "enough").await
    };
    let (drove, cancelled) = driving_while(&world, run, cancel).await;
    assert_eq!(drove.unwrap(), Stopped::Interrupted);
    assert_eq!(cancelled.unwrap(), Drove::Ended(Outcome::Cancelled));
    let state = world.state(run).await.unwrap();
    assert_eq!(state.outcome(), Some(Outcome::Cancelled));
}

placet_replay::through_socket!(
    the_driver_of_a_cancelled_run_ends_it_and_stops_what_only_reads,
    what_changes_things_comes_to_its_end_in_a_cancelled_run,
    nobody_waits_for_the_model_of_a_cancelled_run,
    the_next_driver_honours_a_wish_that_the_first_did_not_live_to_see,
    a_cancelled_run_asks_nobody_and_takes_no_more_words,
    a_doubt_that_a_person_settles_leads_to_no_second_attempt,
    a_cancelled_run_ends_although_its_driver_was_asked_to_stop_as_well,
);
