//! Amended calls and approvals taken back: what runs, what does not, and what the model is told.

use placet_engine::model::{Message, ReplyCall};
use placet_ledger::event::{Event, Outcome, RefusalKind};
use placet_ledger::id::{CallId, RunId};
use placet_ledger::policy::Attendance;
use placet_ledger::run::{Close, Phase, Rejection};
use placet_replay::facts::call;
use placet_replay::script::Script;
use placet_replay::tools::Ran;
use placet_replay::world::{Drove, Options, World, WorldError, person};
use serde_json::json;

use super::{phase, set, two};

async fn parked(script: Script) -> (World, RunId) {
    let mut world = World::new().await.unwrap();
    let (run, drove) = world.run(script, Options::default()).await.unwrap();
    assert_eq!(drove, Drove::Waits);
    (world, run)
}

/// How many attempts to answer the journal tells of.
async fn attempts(world: &World) -> usize {
    let journal = world.journal().await.unwrap();
    let refused = journal
        .iter()
        .filter(|record| matches!(record.event(), Event::AttemptRefused(_)));
    refused.count()
}

#[tokio::test]
async fn an_answer_to_what_was_amended_is_refused_and_nothing_runs() {
    let (mut world, run) = parked(two()).await;
    let approve = |_| (placet_ledger::approval::Answer::Approve, None);
    let old = world.answers(run, approve).await.unwrap();
    let code = world.state(run).await.unwrap().set_code();
    let other = json!({"key": "a", "value": "9"});
    let amended = world.amend(run, CallId::FIRST, &other).await.unwrap();
    assert_eq!(amended, call(3));
    let error = world.engine().answer(run, &person().unwrap(), old).await;
    let error = WorldError::from(error.unwrap_err());
    assert_eq!(
        error.rejection(),
        Some(&Rejection::Superseded {
            call: call(1),
            by: call(3)
        })
    );
    assert_eq!(attempts(&world).await, 1);
    assert_eq!(world.resume(run).await.unwrap(), Drove::Waits);
    assert_eq!(world.tools.executed(), 0);
    let state = world.state(run).await.unwrap();
    let pending: Vec<_> = state.pending().into_keys().collect();
    assert_eq!(pending, [call(2), call(3)]);
    assert_ne!(state.set_code(), code);
    assert_eq!(
        phase(&world, run, 1).await,
        Phase::Closed(Close::Superseded)
    );
    let again = world.amend(run, CallId::FIRST, &other).await.unwrap_err();
    assert!(matches!(
        again.rejection(),
        Some(Rejection::Superseded { .. })
    ));
}

#[tokio::test]
async fn the_model_hears_one_result_for_its_id_and_what_it_is_about() {
    let named = ReplyCall {
        id: String::from("toolu_7"),
        ..set("a", "1")
    };
    let script = Script::new().calls([named, set("b", "2")]).says("Done.");
    let (mut world, run) = parked(script).await;
    let mut standing = CallId::FIRST;
    for value in ["8", "9"] {
        let other = json!({"key": "a", "value": value});
        standing = world.amend(run, standing, &other).await.unwrap();
    }
    world.approve(run).await.unwrap();
    world.resume(run).await.unwrap();
    let requests = world.model(run).unwrap().requests();
    let last = &requests.last().unwrap().messages;
    let of_it = last.iter().filter_map(|message| match &**message {
        Message::Result { id, text } if id == "c1" => Some(text.clone()),
        _ => None,
    });
    let expected = "The approver changed the arguments of this call to \
                    {\"key\":\"a\",\"value\":\"9\"}; what follows is about these. a is set.";
    assert_eq!(of_it.collect::<Vec<_>>(), [expected]);
    let results = last
        .iter()
        .filter(|message| matches!(&***message, Message::Result { .. }));
    assert_eq!(results.count(), 2, "one for each call that it named");
    // It is reminded of what it said itself, not of what a person made of it.
    let said = last.iter().find_map(|message| match &**message {
        Message::Assistant { calls, .. } => calls.first().cloned(),
        _ => None,
    });
    let said = said.unwrap();
    // Under our own id: a provider may give the same again.
    assert_eq!(said.id, "c1");
    assert_eq!(
        said.arguments,
        json!({"key": "a", "value": "1"}).to_string()
    );
    assert_eq!(world.tools.value("a").as_deref(), Some("9"));
}

#[tokio::test]
async fn amended_calls_run_in_the_places_of_those_that_the_model_named() {
    let (mut world, run) = parked(two()).await;
    let other = json!({"key": "a", "value": "9"});
    world.amend(run, CallId::FIRST, &other).await.unwrap();
    world.approve(run).await.unwrap();
    world.resume(run).await.unwrap();
    let executed: Vec<_> = world
        .tools
        .ran()
        .into_iter()
        .filter_map(|ran| match ran {
            Ran::Executed(_, call) => Some(call),
            Ran::Proposed(..) | Ran::Reconciled(..) => None,
        })
        .collect();
    assert_eq!(executed, [call(3), call(2)]);
}

#[tokio::test]
async fn arguments_that_make_no_proposal_amend_nothing() {
    let (world, run) = parked(two()).await;
    let before = world.head(run).await.unwrap();
    for wrong in [
        json!({"key": "a"}),
        json!({"key": 1, "value": "2"}),
        json!({"key": "a", "value": "1", "more": "2"}),
        json!({"key": "forbidden", "value": "1"}),
        json!("a"),
    ] {
        let refused = world.amend(run, CallId::FIRST, &wrong).await;
        assert!(refused.is_err(), "{wrong}");
    }
    assert_eq!(world.head(run).await.unwrap(), before);
    assert_eq!(world.pending(run).await.unwrap().len(), 2);
}

#[tokio::test]
async fn an_amendment_to_what_was_denied_before_is_refused_as_a_repeat() {
    let script = Script::new()
        .calls([set("a", "1")])
        .calls([set("a", "2")])
        .says("Done.");
    let (mut world, run) = parked(script).await;
    world.deny(run, "no").await.unwrap();
    assert_eq!(world.resume(run).await.unwrap(), Drove::Waits);
    let denied = json!({"key": "a", "value": "1"});
    let amended = world.amend(run, call(2), &denied).await.unwrap();
    let refused = Phase::Closed(Close::Refused(RefusalKind::RepeatOf));
    assert_eq!(phase(&world, run, amended.get()).await, refused);
    let drove = world.resume(run).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    assert_eq!(world.tools.executed(), 0);
}

#[tokio::test]
async fn an_approval_that_is_taken_back_runs_nothing_and_is_not_asked_again() {
    let script = Script::new()
        .calls([set("a", "1"), set("b", "2")])
        .calls([set("a", "1"), set("a", "3")])
        .says("Done.");
    let (mut world, run) = parked(script).await;
    world.approve(run).await.unwrap();
    let note = Some("not that one");
    world.revoke(run, CallId::FIRST, note).await.unwrap();
    let again = world.revoke(run, CallId::FIRST, note).await.unwrap_err();
    let over = Rejection::OutOfTurn("the call is over");
    assert_eq!(again.rejection(), Some(&over));
    assert_eq!(world.resume(run).await.unwrap(), Drove::Waits);
    assert_eq!(world.tools.executions(call(1)), 0);
    assert_eq!(world.tools.executions(call(2)), 1);
    assert_eq!(
        world.told(run)[0],
        "Not authorised. The approver took the approval back before it was run: \"not that one\"."
    );
    let refused = Phase::Closed(Close::Refused(RefusalKind::RepeatOf));
    assert_eq!(phase(&world, run, 3).await, refused);
    assert_eq!(phase(&world, run, 4).await, Phase::Pending);
}

#[tokio::test]
async fn an_execution_that_has_begun_cannot_be_taken_back() {
    use placet_replay::tools::Behaviour;

    let (mut world, run) = parked(two()).await;
    world.tools.behave(call(1), Behaviour::VanishesAfter);
    world.approve(run).await.unwrap();
    assert_eq!(world.resume(run).await.unwrap(), Drove::Vanished);
    let begun = world.revoke(run, CallId::FIRST, None).await.unwrap_err();
    let why = Rejection::OutOfTurn("its execution has started");
    assert_eq!(begun.rejection(), Some(&why));
    // The one that is queued behind it can.
    world.revoke(run, call(2), None).await.unwrap();
    let drove = world.resume(run).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    assert_eq!(world.tools.value("b"), None);
}

#[tokio::test]
async fn the_note_of_an_approval_is_no_reason_for_taking_it_back() {
    use placet_ledger::approval::Answer;

    let script = Script::new().calls([set("a", "1")]).says("Done.");
    let (mut world, run) = parked(script).await;
    let verdict = |_| (Answer::Approve, Some(String::from("looks good")));
    world.answer(run, verdict).await.unwrap();
    world.revoke(run, CallId::FIRST, None).await.unwrap();
    world.resume(run).await.unwrap();
    assert_eq!(
        world.told(run),
        ["Not authorised. The approver took the approval back before it was run."]
    );
}

#[tokio::test]
async fn whoever_amends_is_there_although_the_run_was_started_for_nobody() {
    let mut world = World::new().await.unwrap();
    let options = Options {
        attendance: Attendance::Nobody,
        ..Options::default()
    };
    world.stop();
    let script = Script::new().calls([set("a", "1")]).says("Done.");
    let (run, drove) = world.run(script, options).await.unwrap();
    assert_eq!(drove, Drove::Interrupted);
    world.restart().await.unwrap();
    let attended = world.drive_as(run, Some(Attendance::Person)).await;
    assert_eq!(attended.unwrap(), Drove::Waits);
    let other = json!({"key": "a", "value": "9"});
    let amended = world.amend(run, CallId::FIRST, &other).await.unwrap();
    assert_eq!(phase(&world, run, amended.get()).await, Phase::Pending);
    let recording = world.recording(run).await.unwrap();
    placet_replay::replay(&recording).await.unwrap();
}

placet_replay::through_socket!(
    an_answer_to_what_was_amended_is_refused_and_nothing_runs,
    the_model_hears_one_result_for_its_id_and_what_it_is_about,
    amended_calls_run_in_the_places_of_those_that_the_model_named,
    arguments_that_make_no_proposal_amend_nothing,
    an_amendment_to_what_was_denied_before_is_refused_as_a_repeat,
    an_approval_that_is_taken_back_runs_nothing_and_is_not_asked_again,
    an_execution_that_has_begun_cannot_be_taken_back,
    the_note_of_an_approval_is_no_reason_for_taking_it_back,
    whoever_amends_is_there_although_the_run_was_started_for_nobody,
);
