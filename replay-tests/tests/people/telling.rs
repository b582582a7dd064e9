//! Questions and replies, further messages, and what cards and conversations say of earlier calls.

use placet_ledger::containment::Level;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use placet_engine::effects::{Act, Brief, EffectHandler};
use placet_engine::engine::Stopped;
use placet_engine::model::Message;
use placet_engine::runner::Runner;
use placet_engine::stop::Halt;
use placet_ledger::content::{Text, Texts};
use placet_ledger::event::{Outcome, RefusalKind};
use placet_ledger::id::{CallId, RunId};
use placet_ledger::permit::Permit;
use placet_ledger::policy::Attendance;
use placet_ledger::run::{Caller, Close, Command, Phase, Rejection, Status};
use placet_ledger::view::Card;
use placet_replay::facts::call;
use placet_replay::script::{self, Script};
use placet_replay::tools::Behaviour;
use placet_replay::world::{Drove, Options, World, person};
use serde_json::json;

use super::{phase, set};

fn ask(question: &str) -> placet_engine::model::ReplyCall {
    script::call("ask_user", &json!({"question": question}))
}

fn carry(from: &str, to: &str) -> placet_engine::model::ReplyCall {
    script::call("move", &json!({"from": from, "to": to}))
}

async fn parked(script: Script) -> (World, RunId) {
    let mut world = World::new().await.unwrap();
    let (run, drove) = world.run(script, Options::default()).await.unwrap();
    assert_eq!(drove, Drove::Waits);
    (world, run)
}

#[tokio::test]
async fn a_reply_approves_nothing_whatever_it_says() {
    let script = Script::new()
        .calls([ask("May I?"), set("a", "1")])
        .says("Done.");
    let (mut world, run) = parked(script).await;
    let before = world.state(run).await.unwrap();
    let text = "Yes. Approved: c2, and everything else.";
    world.reply(run, CallId::FIRST, text).await.unwrap();
    assert_eq!(world.resume(run).await.unwrap(), Drove::Waits);
    let after = world.state(run).await.unwrap();
    assert_eq!(before.pending(), after.pending());
    assert_eq!(before.set_code(), after.set_code());
    assert_eq!(world.tools.executed(), 0);
    let twice = world.reply(run, CallId::FIRST, "No.").await.unwrap_err();
    let answered = Rejection::AlreadyAnswered(vec![call(1)]);
    assert_eq!(twice.rejection(), Some(&answered));
    world.deny(run, "no").await.unwrap();
    world.resume(run).await.unwrap();
    let told = world.told(run);
    assert_eq!(told[0], format!("The person replied: {text}"));
}

#[tokio::test]
async fn an_answer_does_not_reply_and_a_question_is_no_call_to_approve() {
    let (mut world, run) = parked(Script::new().calls([ask("Which?")]).says("Done.")).await;
    assert!(world.pending(run).await.unwrap().is_empty());
    let answered = world.approve(run).await.unwrap_err();
    assert_eq!(answered.rejection(), Some(&Rejection::NothingPending));
    assert_eq!(world.resume(run).await.unwrap(), Drove::Waits);
    assert_eq!(phase(&world, run, 1).await, Phase::Asked);
}

#[tokio::test]
async fn a_question_for_nobody_is_refused_as_such() {
    let mut world = World::new().await.unwrap();
    let options = Options {
        attendance: Attendance::Nobody,
        ..Options::default()
    };
    let script = Script::new().calls([ask("Which?")]).says("Done.");
    let (run, drove) = world.run(script, options).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    let nobody = Phase::Closed(Close::Refused(RefusalKind::Nobody));
    assert_eq!(phase(&world, run, 1).await, nobody);
    assert!(world.told(run)[0].starts_with("Not authorised: it needs an approval, and nobody"));
}

/// Denies all that waits, so many times, with nothing driven after the last one.
async fn deny_times(world: &mut World, run: RunId, times: usize) {
    for time in 0..times {
        if time > 0 {
            assert_eq!(world.resume(run).await.unwrap(), Drove::Waits);
        }
        world.deny(run, "no").await.unwrap();
    }
}

#[tokio::test]
async fn after_a_message_several_denials_refuse_no_more_and_an_equal_call_still_does() {
    for speaks in [false, true] {
        let script = Script::new()
            .calls([set("a", "1")])
            .calls([set("a", "2")])
            .calls([set("a", "3")])
            .calls([set("a", "4"), set("a", "1")])
            .says("Done.");
        let (mut world, run) = parked(script).await;
        deny_times(&mut world, run, 3).await;
        if speaks {
            world.prompt(run, "Try again, but well.").await.unwrap();
        }
        let drove = world.resume(run).await.unwrap();
        let refused = Phase::Closed(Close::Refused(RefusalKind::RepeatOf));
        assert_eq!(phase(&world, run, 5).await, refused, "equal to c1");
        if speaks {
            assert_eq!(drove, Drove::Waits);
            assert_eq!(phase(&world, run, 4).await, Phase::Pending);
        } else {
            assert_eq!(drove, Drove::Ended(Outcome::Completed));
            assert_eq!(phase(&world, run, 4).await, refused, "the fourth");
        }
    }
}

#[tokio::test]
async fn denials_at_a_target_count_wherever_things_would_have_come_from() {
    let script = Script::new()
        .calls([carry("x", "a")])
        .calls([carry("y", "a")])
        .calls([carry("z", "a")])
        .calls([carry("w", "a"), carry("w", "b"), set("a", "1")])
        .says("Done.");
    let (mut world, run) = parked(script).await;
    deny_times(&mut world, run, 3).await;
    assert_eq!(world.resume(run).await.unwrap(), Drove::Waits);
    let refused = Phase::Closed(Close::Refused(RefusalKind::RepeatOf));
    assert_eq!(phase(&world, run, 4).await, refused);
    assert_eq!(phase(&world, run, 5).await, Phase::Pending, "another place");
    assert_eq!(phase(&world, run, 6).await, Phase::Pending, "another tool");
}

#[tokio::test]
async fn a_card_names_the_open_call_whose_place_it_touches() {
    let calls = [
        set("src/a", "1"),
        set("srcs", "2"),
        set("src", "3"),
        carry("src/b/c", "d"),
        set("d/e", "4"),
        carry("x", "y"),
    ];
    let (world, run) = parked(Script::new().calls(calls)).await;
    let expected = [None, None, Some(1), Some(3), Some(4), None];
    for (number, on) in (1..).zip(expected) {
        let card = world
            .ledger()
            .look(run, |state, contents| {
                Card::of(state, state.call(call(number)).unwrap(), contents)
            })
            .await
            .unwrap();
        assert_eq!(card.unwrap().depends_on, on.map(call), "c{number}");
    }
}

#[tokio::test]
async fn a_message_reaches_the_model_after_what_it_said_before() {
    let script = Script::new().calls([set("a", "1")]).says("Done.");
    let (mut world, run) = parked(script).await;
    let early = world.prompt(run, "Wait.").await.unwrap_err();
    let open = Rejection::CallsOpen(vec![call(1)]);
    assert_eq!(early.rejection(), Some(&open));
    world.deny(run, "no").await.unwrap();
    world.prompt(run, "Do less.").await.unwrap();
    world.prompt(run, "And be quick.").await.unwrap();
    let drove = world.resume(run).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    let requests = world.model(run).unwrap().requests();
    let said: Vec<_> = requests
        .last()
        .unwrap()
        .messages
        .iter()
        .map(|message| match &**message {
            Message::System(_) => String::from("system"),
            Message::User(text) => text.clone(),
            Message::Assistant { .. } => String::from("assistant"),
            Message::Result { .. } => String::from("result"),
        })
        .collect();
    let expected = [
        "system",
        "Do it.",
        "assistant",
        "result",
        "Do less.",
        "And be quick.",
    ];
    assert_eq!(said, expected);
    let recording = world.recording(run).await.unwrap();
    placet_replay::replay(&recording).await.unwrap();
}

/// A text of 100 KiB in which no two places are alike.
fn large() -> String {
    let lines = (0..).map(|number: u32| format!("line {number} \u{e4}\n"));
    let mut text = String::new();
    for line in lines {
        if text.len() + line.len() > 100 * 1024 {
            return text;
        }
        text.push_str(&line);
    }
    text
}

#[tokio::test]
async fn a_large_result_is_clipped_for_the_model_and_whole_in_the_ledger() {
    let whole = large();
    let mut world = World::new().await.unwrap();
    world.tools.behave(call(1), Behaviour::Says(whole.clone()));
    let look = script::call("look", &json!({"key": "a"}));
    let retrieve =
        |from: usize| script::call("retrieve_result", &json!({"call": "c1", "from": from}));
    let piece = placet_engine::tool::retrieve::PIECE_BYTES_MAX;
    // Each piece begins where the one before ended; a piece ends at the end of a character.
    let mut from = 0;
    let mut script = Script::new().calls([look]);
    while from < whole.len() {
        script = script.calls([retrieve(from)]);
        from = whole.floor_char_boundary(from + piece);
    }
    let (run, drove) = world
        .run(script.says("Done."), Options::default())
        .await
        .unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    let told = world.told(run);
    assert!(told[0].len() < 32 * 1024, "{}", told[0].len());
    assert!(whole.starts_with(told[0].split("\n[").next().unwrap()));
    assert!(told[0].contains("bytes left out here of"), "{}", told[0]);
    assert!(told[0].contains("retrieve_result with {\"call\":\"c1\",\"from\":"));
    let kept = world
        .ledger()
        .look(run, |state, contents| {
            let blob = state.call(call(1)).unwrap().result().copied().unwrap();
            contents.text(&blob.commitment).map(str::to_owned)
        })
        .await
        .unwrap();
    assert_eq!(kept.as_deref(), Some(whole.as_str()));
    let pieces = told[1..]
        .iter()
        .map(|piece| piece.rsplit_once("\n(").unwrap().0);
    assert_eq!(pieces.collect::<String>(), whole);
    let recording = world.recording(run).await.unwrap();
    placet_replay::replay(&recording).await.unwrap();
}

/// Effects of a driver into whose preparing a person's message comes, once.
struct Overtaken {
    ledger: placet_ledger::ledger::Ledger,
    run: RunId,
    spoken: AtomicBool,
}

#[async_trait::async_trait]
impl EffectHandler for Overtaken {
    async fn perform(&self, brief: Brief) -> Act {
        let Brief::Prepare { context, .. } = brief else {
            return Act::bare(Command::RecordReply {
                calls: Vec::new(),
                stop: placet_ledger::event::Stop::End,
                used: placet_replay::facts::RESERVED,
            });
        };
        if !self.spoken.swap(true, Ordering::Relaxed) {
            let text = Text::plain("Wait, do less.");
            let texts = Texts::from([(String::from("text"), text)]);
            let (ledger, somebody) = (&self.ledger, person().unwrap());
            let said = ledger.act(self.run, &somebody, Command::Prompt, texts);
            said.await.unwrap();
        }
        Act::bare(Command::CallModel {
            compact: false,
            context,
            reserved: placet_replay::facts::RESERVED,
            active_ms: 0,
        })
    }

    async fn execute(&self, permit: Permit, _: &Halt) -> Act {
        let call = permit.call();
        Act::bare(Command::RecordDoubt { call })
    }

    fn level(&self, _: &BTreeSet<u16>) -> Level {
        Level::IN_PROCESS
    }

    fn active_ms(&self) -> u64 {
        0
    }
}

#[tokio::test]
async fn a_message_that_comes_while_the_context_is_prepared_is_part_of_it() {
    let mut world = World::new().await.unwrap();
    let run = world
        .start(Script::new(), Options::default())
        .await
        .unwrap();
    let ledger = world.ledger().clone();
    let driver = ledger.new_driver().await.unwrap();
    let take_up = Command::TakeUp {
        attendance: Attendance::Park,
        driver,
        host: placet_replay::facts::HOST,
        reason: placet_ledger::event::SegmentReason::Start,
    };
    ledger
        .handle(run, &Caller::Driver, take_up, Texts::new())
        .await
        .unwrap();
    let handler = Overtaken {
        ledger: ledger.clone(),
        run,
        spoken: AtomicBool::new(false),
    };
    let mut runner = Runner::new(ledger, Arc::new(handler), run, None);
    runner.drive(driver, &Halt::default()).await.unwrap();
    let names = world.names(run).await.unwrap();
    let expected = [
        "run.started",
        "segment.started",
        "prompt.added",
        "model.called",
        "model.replied",
        "segment.ended",
        "run.finished",
    ];
    assert_eq!(names, expected);
    // What is replayed renders the message before it calls the model.
    let recording = world.recording(run).await.unwrap();
    placet_replay::replay(&recording).await.unwrap();
}

#[tokio::test]
async fn a_message_after_a_question_to_the_model_was_dropped_opens_a_turn_of_its_own() {
    let mut world = World::new().await.unwrap();
    let script = Script::new().hangs().says("Done.");
    let run = world.start(script, Options::default()).await.unwrap();
    let stop = async { world.stop() };
    let (drove, ()) = super::driving_while(&world, run, stop).await;
    assert_eq!(drove.unwrap(), Stopped::Interrupted);
    let before = world.state(run).await.unwrap().usage().tokens;
    world.prompt(run, "Do less.").await.unwrap();
    let drove = world.resume(run).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    let after = world.state(run).await.unwrap().usage().tokens;
    assert_eq!(after, before + 15, "what was set aside stays spent");
    let recording = world.recording(run).await.unwrap();
    placet_replay::replay(&recording).await.unwrap();
}

#[tokio::test]
async fn a_message_after_a_driver_died_while_it_asked_the_model_is_heard() {
    for restarted in [false, true] {
        let mut world = World::new().await.unwrap();
        let script = Script::new().vanishes().says("Done.");
        let (run, drove) = world.run(script, Options::default()).await.unwrap();
        assert_eq!(drove, Drove::Vanished);
        if restarted {
            world.restart().await.unwrap();
        }
        world.prompt(run, "Do less.").await.unwrap();
        world.prompt(run, "And be quick.").await.unwrap();
        let names = world.names(run).await.unwrap();
        let since = names.iter().rposition(|name| *name == "model.called");
        assert_eq!(
            names[since.unwrap()..],
            [
                "model.called",
                "segment.ended",
                "segment.started",
                "segment.ended",
                "prompt.added",
                "prompt.added"
            ]
        );
        let drove = world.resume(run).await.unwrap();
        assert_eq!(drove, Drove::Ended(Outcome::Completed));
        let recording = world.recording(run).await.unwrap();
        placet_replay::replay(&recording).await.unwrap();
    }
}

#[tokio::test]
async fn a_message_while_a_living_driver_asks_the_model_is_refused() {
    let mut world = World::new().await.unwrap();
    let script = Script::new().hangs().says("Done.");
    let run = world.start(script, Options::default()).await.unwrap();
    let early = async {
        let refused = world.prompt(run, "Do less.").await.unwrap_err();
        world.stop();
        refused
    };
    let (drove, refused) = super::driving_while(&world, run, early).await;
    assert_eq!(drove.unwrap(), Stopped::Interrupted);
    let asked = Rejection::OutOfTurn("the model is being asked");
    assert_eq!(refused.rejection(), Some(&asked));
}

#[tokio::test]
async fn a_run_that_somebody_attended_is_left_to_whoever_answers_later() {
    let mut world = World::new().await.unwrap();
    let options = Options {
        attendance: Attendance::Person,
        ..Options::default()
    };
    let script = Script::new()
        .calls([ask("Which?"), set("a", "1")])
        .says("Done.");
    let (run, drove) = world.run(script, options).await.unwrap();
    assert_eq!(drove, Drove::Waits);
    assert_eq!(world.state(run).await.unwrap().status(), Status::Waiting);
    let before = world.pending(run).await.unwrap();
    world.engine().park(run).await.unwrap();
    let state = world.state(run).await.unwrap();
    assert_eq!(state.status(), Status::Parked);
    assert_eq!(state.pending(), before, "as it was displayed");
    world.reply(run, CallId::FIRST, "either").await.unwrap();
    world.approve(run).await.unwrap();
    let drove = world.resume(run).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    assert!(world.engine().park(run).await.is_err(), "nothing waits");
    let recording = world.recording(run).await.unwrap();
    placet_replay::replay(&recording).await.unwrap();
}

placet_replay::through_socket!(
    a_reply_approves_nothing_whatever_it_says,
    an_answer_does_not_reply_and_a_question_is_no_call_to_approve,
    a_question_for_nobody_is_refused_as_such,
    after_a_message_several_denials_refuse_no_more_and_an_equal_call_still_does,
    denials_at_a_target_count_wherever_things_would_have_come_from,
    a_card_names_the_open_call_whose_place_it_touches,
    a_message_reaches_the_model_after_what_it_said_before,
    a_large_result_is_clipped_for_the_model_and_whole_in_the_ledger,
    a_message_that_comes_while_the_context_is_prepared_is_part_of_it,
    a_message_after_a_question_to_the_model_was_dropped_opens_a_turn_of_its_own,
    a_message_after_a_driver_died_while_it_asked_the_model_is_heard,
    a_message_while_a_living_driver_asks_the_model_is_refused,
    a_run_that_somebody_attended_is_left_to_whoever_answers_later,
);
