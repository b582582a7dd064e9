//! While calls wait for a person nothing new enters a run, and nothing is executed before every
//! call of the reply has its verdict and its answer.

use placet_ledger::budget::Spend;
use placet_ledger::containment::Level;
use placet_ledger::content::{Text, Texts};
use placet_ledger::digest::{Purpose, digest};
use placet_ledger::error::LedgerError;
use placet_ledger::event::{Event, Outcome, SegmentEnd, Stop};
use placet_ledger::id::RunId;
use placet_ledger::run::{Caller, Command, Rejection, RunState, Status, Step, next};
use placet_replay::facts::{
    approved, asked, began, call, called, cleared, denied, last_word, proposed, put_down, refused,
    replied, started, taken_up,
};
use placet_replay::scenario::{Scenario, can_follow, given};
use placet_replay::script::{self, Script};
use placet_replay::world::{Drove, Options, World, person};
use serde_json::json;
use std::collections::BTreeSet;

fn set(key: &str) -> placet_engine::model::ReplyCall {
    script::call("set", &json!({"key": key, "value": "1"}))
}

/// A run that waits, with a call before the question and a call after it cleared already.
async fn parked() -> (World, RunId) {
    let mut world = World::new().await.unwrap();
    let look = script::call("look", &json!({"key": "a"}));
    let calls = [look.clone(), set("a"), set("b"), look];
    let script = Script::new().calls(calls).says("Done.");
    let (run, drove) = world.run(script, Options::default()).await.unwrap();
    assert_eq!(drove, Drove::Waits);
    (world, run)
}

#[tokio::test]
async fn a_batch_is_gated_whole_before_it_parks_and_nothing_of_it_runs() {
    let (world, run) = parked().await;
    let state = world.state(run).await.unwrap();
    assert_eq!(state.status(), Status::Parked);
    let waiting = vec![call(2), call(3)];
    assert_eq!(next(&state), Step::Await(waiting.clone()));
    assert_eq!(state.pending().into_keys().collect::<Vec<_>>(), waiting);
    assert!(state.calls().all(|call| call.proposed().is_some()));
    assert_eq!(world.tools.executed(), 0, "{:?}", world.tools.ran());
}

#[tokio::test]
async fn an_answer_executes_nothing_and_the_next_driver_executes_in_order() {
    let (mut world, run) = parked().await;
    world.approve(run).await.unwrap();
    assert_eq!(world.tools.executed(), 0);
    let drove = world.resume(run).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    let records = world.records(run).await.unwrap();
    let started: Vec<_> = records
        .iter()
        .filter_map(|record| match record.event() {
            Event::ExecutionStarted(started) => Some(started.call),
            _ => None,
        })
        .collect();
    assert_eq!(started, [call(1), call(2), call(3), call(4)]);
    assert_eq!(world.tools.value("a").as_deref(), Some("1"));
}

#[tokio::test]
async fn driving_a_parked_run_changes_nothing_of_it() {
    let (mut world, run) = parked().await;
    let before = world.head(run).await.unwrap();
    for _ in 0..3 {
        assert_eq!(world.resume(run).await.unwrap(), Drove::Waits);
    }
    assert_eq!(world.head(run).await.unwrap(), before);
    assert_eq!(world.model(run).unwrap().requests().len(), 1);
}

#[tokio::test]
async fn a_refused_answer_resumes_nothing() {
    let (mut world, run) = parked().await;
    let before = world.head(run).await.unwrap();
    let empty = std::collections::BTreeMap::new();
    let id = world.answer_id();
    let set = placet_ledger::answers::AnswerSet::covering(id, &empty, []).unwrap();
    let refused = world.ledger().answer(run, &person().unwrap(), set).await;
    assert!(matches!(refused, Err(LedgerError::Rejected(_))));
    assert_eq!(world.resume(run).await.unwrap(), Drove::Waits);
    assert_eq!(world.head(run).await.unwrap(), before);
    assert_eq!(world.tools.executed(), 0);
}

fn call_model(compact: bool) -> Command {
    Command::CallModel {
        compact,
        context: digest(Purpose::Context, b"another"),
        reserved: Spend::default(),
        active_ms: 0,
    }
}

/// Commands that would bring something new into a run, with the texts they need.
fn intruders() -> Vec<(&'static str, Command, Texts)> {
    vec![
        ("a model call", call_model(false), Texts::new()),
        ("a summary", call_model(true), Texts::new()),
        (
            "a reply",
            Command::RecordReply {
                calls: Vec::new(),
                stop: Stop::End,
                used: Spend::default(),
            },
            Texts::from([(String::from("reply"), Text::plain("ha"))]),
        ),
        (
            "an end",
            Command::Finish {
                outcome: Outcome::Completed,
                active_ms: 0,
            },
            Texts::new(),
        ),
        (
            "a spent budget",
            Command::Finish {
                outcome: Outcome::Budget,
                active_ms: 0,
            },
            Texts::new(),
        ),
        (
            "an execution of what is cleared",
            Command::Begin {
                call: call(1),
                active_ms: 0,
                level: Level::of(BTreeSet::new()),
            },
            Texts::new(),
        ),
        (
            "an execution of what is asked",
            Command::Begin {
                call: call(2),
                active_ms: 0,
                level: Level::of(BTreeSet::new()),
            },
            Texts::new(),
        ),
        (
            "a second verdict",
            Command::Gate { call: call(2) },
            Texts::new(),
        ),
    ]
}

#[tokio::test]
async fn nothing_new_enters_a_run_that_waits() {
    let (world, run) = parked().await;
    let ledger = world.ledger();
    let driver = Command::TakeUp {
        attendance: placet_ledger::policy::Attendance::Park,
        driver: placet_replay::facts::driver(99),
        host: placet_replay::facts::HOST,
        reason: placet_ledger::event::SegmentReason::Resumed,
    };
    ledger
        .handle(run, &Caller::Driver, driver, Texts::new())
        .await
        .unwrap();
    ledger.commit(run).await.unwrap();
    let before = world.head(run).await.unwrap();
    for (what, command, texts) in intruders() {
        let told = ledger.handle(run, &Caller::Driver, command, texts).await;
        let Err(LedgerError::Rejected(Rejection::OutOfTurn(_))) = told else {
            panic!("{what}: {told:?}");
        };
    }
    let begun = ledger
        .begin_execution(run, call(1), 0, Level::IN_PROCESS)
        .await;
    assert!(matches!(begun, Err(LedgerError::Rejected(_))), "{begun:?}");
    ledger.commit(run).await.unwrap();
    assert_eq!(world.head(run).await.unwrap(), before);
}

/// One call cleared, one asked about, one that was only named.
fn waiting() -> Scenario {
    given([
        started(),
        taken_up(1),
        called(),
        replied(&["set", "set", "set"]),
        proposed(1),
        cleared(1),
        proposed(2),
        asked(2),
    ])
}

/// Whether the fold takes this fact after the story.
fn follows(story: Scenario, fact: &placet_replay::facts::Fact) -> Result<(), String> {
    let decided = fact.build(story.state());
    can_follow(story, decided.event, decided.blobs)
}

#[test]
fn a_log_in_which_something_new_entered_does_not_fold() {
    for fact in [
        called(),
        last_word(),
        began(1),
        asked(2),
        cleared(2),
        began(2),
    ] {
        let found = follows(waiting(), &fact);
        assert!(
            found.is_err(),
            "{}",
            fact.build(waiting().state()).event.name()
        );
    }
}

#[test]
fn a_log_in_which_an_execution_came_before_a_verdict_or_an_answer_does_not_fold() {
    let two = || {
        given([
            started(),
            taken_up(1),
            called(),
            replied(&["set", "set"]),
            proposed(1),
            cleared(1),
        ])
    };
    let why = "another call of the reply is without a verdict, or being executed";
    let told = |story| follows(story, &began(1)).unwrap_err();
    // Named, proposed, asked.
    assert!(told(two()).contains(why));
    assert!(told(extended(two(), [proposed(2)])).contains(why));
    assert!(told(extended(two(), [proposed(2), asked(2)])).contains(why));
    // Cleared, approved, denied, refused.
    let refusal = placet_ledger::event::RefusalKind::BadArguments;
    for verdict in [
        vec![proposed(2), cleared(2)],
        vec![proposed(2), asked(2), approved(2)],
        vec![proposed(2), asked(2), denied(2)],
        vec![refused(2, refusal)],
    ] {
        assert_eq!(follows(extended(two(), verdict), &began(1)), Ok(()));
    }
}

/// A story that goes on.
fn extended(
    story: Scenario,
    more: impl IntoIterator<Item = placet_replay::facts::Fact>,
) -> Scenario {
    let mut story = story;
    for fact in more {
        story = story.and(&fact);
    }
    story
}

#[test]
fn a_run_parks_once_and_with_all_that_waits() {
    let complete = [
        replied(&["set", "act"]),
        proposed(1),
        asked(1),
        proposed(2),
        asked(2),
    ];
    let story = extended(given([started(), taken_up(1), called()]), complete);
    let parking = |story: Scenario, calls| follows(story, &placet_replay::facts::parked(calls));
    let down = || put_down(SegmentEnd::Parked);
    let why = "the run does not wait for exactly these calls";
    // With a segment open, with a call missing, and with one too many.
    let open = extended(
        given([started(), taken_up(1), called()]),
        [replied(&["set"])],
    );
    assert!(parking(open, &[1]).unwrap_err().contains(why));
    let story = story.and(&down());
    assert_eq!(RunState::pending(story.state().unwrap()).len(), 2);
    for wrong in [&[][..], &[1], &[2, 1], &[1, 2, 3]] {
        let story = extended(
            given([started(), taken_up(1), called()]),
            [
                replied(&["set", "act"]),
                proposed(1),
                asked(1),
                proposed(2),
                asked(2),
                down(),
            ],
        );
        assert!(
            parking(story, wrong).unwrap_err().contains(why),
            "{wrong:?}"
        );
    }
    assert_eq!(parking(story, &[1, 2]), Ok(()));
}

placet_replay::through_socket!(
    a_batch_is_gated_whole_before_it_parks_and_nothing_of_it_runs,
    an_answer_executes_nothing_and_the_next_driver_executes_in_order,
    driving_a_parked_run_changes_nothing_of_it,
    a_refused_answer_resumes_nothing,
);
