//! A run that is taken up again goes on under what it recorded: it may become stricter, never
//! wider, and what is no longer as it was refuses it.

use std::sync::Arc;

use placet_engine::engine::{EngineError, Narrowing};
use placet_engine::model::Message;
use placet_ledger::budget::{Limits, Tokens, Usd};
use placet_ledger::event::{Event, FailureKind, Outcome, Stop};
use placet_ledger::id::RunId;
use placet_ledger::policy::{ApprovalPolicy, Attendance};
use placet_ledger::run::{Rejection, Status};
use placet_ledger::view::Card;
use placet_replay::facts::{call, name};
use placet_replay::script::{self, Script};
use placet_replay::tools::{Behaviour, Ran};
use placet_replay::world::{Drove, Options, World, WorldError};
use serde_json::json;

fn set(key: &str) -> placet_engine::model::ReplyCall {
    script::call("set", &json!({"key": key, "value": "1"}))
}

fn note() -> placet_engine::model::ReplyCall {
    script::call("note", &json!({"text": "n"}))
}

/// A run under policy `low-risk` with some tools and caps, parked at its first call.
async fn parked(options: Options) -> (World, RunId) {
    let mut world = World::new().await.unwrap();
    let script = Script::new()
        .calls([set("a")])
        .calls([note(), script::call("act", &json!({"what": "x"}))])
        .says("Done.");
    let (run, drove) = world.run(script, options).await.unwrap();
    assert_eq!(drove, Drove::Waits);
    (world, run)
}

fn low_risk() -> Options {
    Options {
        policy: ApprovalPolicy::LowRisk,
        tools: Some(vec![
            String::from("set"),
            String::from("note"),
            String::from("act"),
        ]),
        ..Options::default()
    }
}

#[tokio::test]
async fn a_resumed_run_has_the_policy_tools_and_words_it_was_started_with() {
    let (mut world, run) = parked(low_risk()).await;
    world.approve(run).await.unwrap();
    // The second batch: a note clears under the recorded policy, an act asks.
    assert_eq!(world.resume(run).await.unwrap(), Drove::Waits);
    let state = world.state(run).await.unwrap();
    assert_eq!(state.policy(), ApprovalPolicy::LowRisk);
    assert!(state.pending().into_keys().eq([call(3)]));
    let requests = world.model(run).unwrap().requests();
    let [first, second] = requests.as_slice() else {
        panic!("asked {} times", requests.len());
    };
    assert_eq!(first.tools, second.tools);
    let names: Vec<_> = second
        .tools
        .iter()
        .map(|tool| tool.spec.name.as_str())
        .collect();
    assert_eq!(names, ["act", "note", "set"]);
    // The conversation only grows, and a person's yes is no part of it.
    assert_eq!(second.messages[..first.messages.len()], first.messages[..]);
    let new: Vec<_> = second.messages[first.messages.len()..].to_vec();
    assert!(
        matches!(new.as_slice(), [said, told]
            if matches!(**said, Message::Assistant { .. })
                && **told == Message::Result { id: "c1".into(), text: "a is set.".into() }),
        "{new:?}"
    );
}

#[tokio::test]
async fn nothing_is_proposed_or_asked_twice() {
    let (mut world, run) = parked(low_risk()).await;
    world.approve(run).await.unwrap();
    world.resume(run).await.unwrap();
    assert_eq!(world.tools.proposals(), 1);
    let names = world.names(run).await.unwrap();
    let asked = names.iter().filter(|name| **name == "approval.requested");
    assert_eq!(asked.count(), 2, "one for each call that asks");
    let Ran::Proposed(tool, arguments) = &world.tools.ran()[0] else {
        panic!("{:?}", world.tools.ran());
    };
    assert_eq!(
        (tool.as_str(), arguments),
        ("set", &json!({"key": "a", "value": "1"}))
    );
}

#[tokio::test]
async fn a_denial_resumes_the_run_as_an_approval_does() {
    let (mut world, run) = parked(low_risk()).await;
    world.deny(run, "not a").await.unwrap();
    assert_eq!(world.resume(run).await.unwrap(), Drove::Waits);
    assert_eq!(world.tools.executed(), 0);
    assert_eq!(world.tools.value("a"), None);
    world.approve(run).await.unwrap();
    let drove = world.resume(run).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    assert_eq!(world.tools.executed(), 2);
}

#[tokio::test]
async fn waiting_is_not_spent_time() {
    let limits = Limits {
        duration_ms: Some(60_000),
        ..Limits::default()
    };
    let (mut world, run) = parked(Options {
        limits,
        ..low_risk()
    })
    .await;
    world.clock.advance_ms(3_600_000);
    world.approve(run).await.unwrap();
    world.clock.advance_ms(3_600_000);
    assert_eq!(world.resume(run).await.unwrap(), Drove::Waits);
    assert_eq!(world.state(run).await.unwrap().usage().active_ms, 0);
}

#[tokio::test]
async fn what_was_used_before_the_pause_counts_after_it() {
    let limits = Limits {
        iterations: Some(1),
        ..Limits::default()
    };
    let (mut world, run) = parked(Options {
        limits,
        ..low_risk()
    })
    .await;
    world.approve(run).await.unwrap();
    // The approved call is still executed: the reply that named it was paid for.
    let drove = world.resume(run).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Budget));
    assert_eq!(world.tools.executions(call(1)), 1);
    assert_eq!(world.model(run).unwrap().requests().len(), 1);
}

#[tokio::test]
async fn each_cap_ends_a_run_as_spent() {
    let used = Tokens::new(1_000, 1_000);
    let none = Limits::default();
    let cost_usd = Some(Usd::from_micros(50));
    for (limits, what) in [
        (Limits { cost_usd, ..none }, "cost"),
        (
            Limits {
                tokens: Some(2_100),
                ..none
            },
            "tokens",
        ),
        (
            Limits {
                iterations: Some(1),
                ..none
            },
            "iterations",
        ),
    ] {
        let mut world = World::new().await.unwrap();
        let reply = placet_engine::model::Reply {
            text: String::new(),
            calls: vec![note()],
            stop: Stop::ToolCalls,
            used,
            told: placet_engine::model::Told::default(),
        };
        // The first turn may take all that the cap allows.
        let terms = placet_engine::record::Terms {
            output_tokens: Some(1_000),
            price: Some(placet_engine::price::Price {
                output: Usd::from_micros(50_000),
                ..placet_engine::price::Price::FREE
            }),
            ..placet_engine::record::Terms::default()
        };
        let config = placet_engine::record::ConfigRecord {
            terms: Some(terms),
            ..placet_engine::record::ConfigRecord::default()
        };
        let options = Options {
            limits,
            config,
            ..low_risk()
        };
        let script = Script::new().reply(reply).says("Never said.");
        let (run, drove) = world.run(script, options).await.unwrap();
        assert_eq!(drove, Drove::Ended(Outcome::Budget), "{what}");
        let state = world.state(run).await.unwrap();
        assert_eq!(state.usage().tokens, 2_000, "{what}");
    }
}

#[tokio::test]
async fn a_spent_duration_starts_no_approved_call() {
    let (mut world, run) = parked(low_risk()).await;
    world.approve(run).await.unwrap();
    let before = world.names(run).await.unwrap().len();
    let narrowing = Narrowing {
        limits: Limits {
            duration_ms: Some(0),
            ..Limits::default()
        },
        ..Narrowing::default()
    };
    let drove = world.resume_narrowed(run, narrowing).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Budget));
    let names = world.names(run).await.unwrap();
    let expected = [
        "limits.tightened",
        "segment.started",
        "execution.refused",
        "call.refused",
        "segment.ended",
        "run.finished",
    ];
    assert_eq!(names[before..], expected);
    assert_eq!(world.tools.executed(), 0);
}

#[tokio::test]
async fn a_resume_may_make_caps_and_tools_stricter() {
    let (mut world, run) = parked(low_risk()).await;
    world.approve(run).await.unwrap();
    let narrowing = Narrowing {
        limits: Limits {
            tokens: Some(100_000),
            ..Limits::default()
        },
        tools: Some(vec![String::from("set"), String::from("note")]),
        denied: Vec::new(),
    };
    // The act of the second batch is refused, so nothing waits.
    let drove = world.resume_narrowed(run, narrowing).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    let state = world.state(run).await.unwrap();
    assert_eq!(state.limits().tokens, Some(100_000));
    assert!(!state.offers(&name("act")));
    let requests = world.model(run).unwrap().requests();
    let names: Vec<_> = requests[1]
        .tools
        .iter()
        .map(|tool| tool.spec.name.to_string())
        .collect();
    assert_eq!(names, ["note", "set"]);
    assert!(world.told(run)[2].contains("does not have that tool"));
    assert_eq!(world.tools.executions(call(3)), 0);
}

#[tokio::test]
async fn a_resume_never_makes_anything_wider() {
    let caps = Limits {
        cost_usd: Some(Usd::from_micros(10)),
        duration_ms: Some(10_000),
        iterations: Some(10),
        tokens: Some(10_000),
    };
    let (mut world, run) = parked(Options {
        limits: caps,
        ..low_risk()
    })
    .await;
    world.approve(run).await.unwrap();
    let before = world.head(run).await.unwrap();
    let none = Limits::default();
    for limits in [
        Limits {
            cost_usd: Some(Usd::from_micros(11)),
            ..none
        },
        Limits {
            duration_ms: Some(10_001),
            ..none
        },
        Limits {
            iterations: Some(11),
            ..none
        },
        Limits {
            tokens: Some(10_001),
            ..none
        },
    ] {
        let narrowing = Narrowing {
            limits,
            ..Narrowing::default()
        };
        let error = world.resume_narrowed(run, narrowing).await.unwrap_err();
        assert!(
            matches!(error.rejection(), Some(Rejection::Widened(_))),
            "{error}"
        );
    }
    // Tools that the run never had: one that was withheld, and one that does not exist.
    for tool in ["look", "nope"] {
        for narrowing in [
            Narrowing {
                tools: Some(vec![tool.to_owned()]),
                ..Narrowing::default()
            },
            Narrowing {
                denied: vec![tool.to_owned()],
                ..Narrowing::default()
            },
        ] {
            let error = world.resume_narrowed(run, narrowing).await.unwrap_err();
            let known = matches!(&error, WorldError::Engine(EngineError::NoSuchTool { name, .. })
                if name == tool);
            assert!(known, "{error}");
        }
    }
    assert_eq!(world.head(run).await.unwrap(), before);
}

#[tokio::test]
async fn a_resume_that_is_refused_narrows_nothing_either() {
    let (mut world, run) = parked(low_risk()).await;
    world.approve(run).await.unwrap();
    let before = world.head(run).await.unwrap();
    let narrowing = Narrowing {
        limits: Limits {
            iterations: Some(1),
            ..Limits::default()
        },
        tools: Some(vec![String::from("nope")]),
        denied: Vec::new(),
    };
    let refused = world.resume_narrowed(run, narrowing).await;
    assert!(refused.is_err());
    // Nothing of it lies in wait for the next append of the same process.
    world.ledger().commit(run).await.unwrap();
    assert_eq!(world.head(run).await.unwrap(), before);
}

#[tokio::test]
async fn a_tool_that_was_narrowed_away_does_not_come_back() {
    let (mut world, run) = parked(low_risk()).await;
    let without = Narrowing {
        denied: vec![String::from("act")],
        ..Narrowing::default()
    };
    world.resume_narrowed(run, without).await.unwrap();
    let back = Narrowing {
        tools: Some(vec![String::from("act"), String::from("set")]),
        ..Narrowing::default()
    };
    let error = world.resume_narrowed(run, back).await.unwrap_err();
    let known =
        matches!(&error, WorldError::Engine(EngineError::NoSuchTool { name, .. }) if name == "act");
    assert!(known, "{error}");
}

#[tokio::test]
async fn a_run_does_not_go_on_without_its_tools_as_they_were() {
    type Change = fn(&World);
    let changes: [(Change, &str); 2] = [
        (|world| world.tools.remove("act"), "gone"),
        (|world| world.tools.redefine("act"), "changed"),
    ];
    for (change, what) in changes {
        let (mut world, run) = parked(low_risk()).await;
        world.approve(run).await.unwrap();
        let before = world.head(run).await.unwrap();
        change(&world);
        let error = world.resume(run).await.unwrap_err();
        let told = matches!(&error, WorldError::Engine(EngineError::ToolChanged(tool))
            if tool.as_str() == "act");
        assert!(told, "{what}: {error}");
        assert_eq!(world.head(run).await.unwrap(), before);
        assert_eq!(world.tools.executed(), 0);
    }
    // A tool that the run never had is none of its business.
    let (mut world, run) = parked(low_risk()).await;
    world.approve(run).await.unwrap();
    world.tools.remove("look");
    assert_eq!(world.resume(run).await.unwrap(), Drove::Waits);
}

#[tokio::test]
async fn a_run_does_not_go_on_in_another_folder() {
    let (mut world, run) = parked(low_risk()).await;
    world.approve(run).await.unwrap();
    let before = world.head(run).await.unwrap();
    world.tools.replace_workspace();
    let error = world.resume(run).await.unwrap_err();
    let told = matches!(
        error,
        WorldError::Engine(EngineError::WorkspaceReplaced { .. })
    );
    assert!(told, "{error}");
    assert_eq!(world.head(run).await.unwrap(), before);
    assert_eq!(world.tools.executed(), 0);
}

#[tokio::test]
async fn who_attends_a_resumed_run_decides_what_asks_and_never_what_clears() {
    let (mut world, run) = parked(low_risk()).await;
    world.approve(run).await.unwrap();
    world.restart().await.unwrap();
    let nobody = Some(Attendance::Nobody);
    let drove = world.drive_as(run, nobody).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    // What a person approved runs, what clears runs, what would ask is refused.
    let told = world.told(run);
    assert_eq!(told[..2], ["a is set.", "note is done."]);
    assert!(told[2].contains("nobody is there"), "{}", told[2]);
    assert_eq!(world.tools.executions(call(3)), 0);
}

#[tokio::test]
async fn an_interrupted_run_goes_on_where_it_was() {
    let mut world = World::new().await.unwrap();
    let options = Options {
        policy: ApprovalPolicy::HighRisk,
        ..Options::default()
    };
    let script = Script::new().calls([set("a"), set("b")]).says("Done.");
    world.tools.behave(call(2), Behaviour::VanishesBefore);
    let (run, drove) = world.run(script, options).await.unwrap();
    assert_eq!(drove, Drove::Vanished);
    assert_eq!(world.state(run).await.unwrap().status(), Status::Running);
    let drove = world.resume(run).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    assert_eq!(world.tools.executions(call(1)), 1, "done before the death");
    assert_eq!(
        world.tools.executions(call(2)),
        2,
        "provably not done, so again"
    );
    assert_eq!(world.told(run), ["a is set.", "b is set."]);
}

#[tokio::test]
async fn a_death_at_any_call_leads_to_the_same_end_and_to_no_second_effect() {
    for (tool, behaviour, again, end) in [
        (
            "set",
            Behaviour::VanishesAfter,
            1,
            Drove::Ended(Outcome::Completed),
        ),
        (
            "set",
            Behaviour::VanishesBefore,
            2,
            Drove::Ended(Outcome::Completed),
        ),
        (
            "look",
            Behaviour::VanishesAfter,
            2,
            Drove::Ended(Outcome::Completed),
        ),
        ("act", Behaviour::VanishesAfter, 1, Drove::Waits),
        ("act", Behaviour::VanishesBefore, 1, Drove::Waits),
    ] {
        let mut world = World::new().await.unwrap();
        let arguments = match tool {
            "set" => json!({"key": "a", "value": "1"}),
            "look" => json!({"key": "a"}),
            _ => json!({"what": "a"}),
        };
        let options = Options {
            policy: ApprovalPolicy::HighRisk,
            ..Options::default()
        };
        let script = Script::new()
            .calls([script::call(tool, &arguments)])
            .says("Done.");
        world.tools.behave(call(1), behaviour.clone());
        let (run, drove) = world.run(script, options).await.unwrap();
        assert_eq!(drove, Drove::Vanished);
        for _ in 0..3 {
            assert_eq!(
                world.resume(run).await.unwrap(),
                end,
                "{tool} {behaviour:?}"
            );
        }
        assert_eq!(
            world.tools.executions(call(1)),
            again,
            "{tool} {behaviour:?}"
        );
        if end == Drove::Waits {
            let state = world.state(run).await.unwrap();
            assert_eq!(state.status(), Status::InDoubt);
        }
    }
}

#[tokio::test]
async fn what_is_in_doubt_at_once_waits_for_a_person_too() {
    let mut world = World::new().await.unwrap();
    world.tools.behave(call(1), Behaviour::Doubt);
    let options = Options {
        policy: ApprovalPolicy::HighRisk,
        ..Options::default()
    };
    let script = Script::new().calls([set("a")]).says("Done.");
    let (run, drove) = world.run(script, options).await.unwrap();
    assert_eq!(drove, Drove::Waits);
    assert_eq!(world.resume(run).await.unwrap(), Drove::Waits);
    assert_eq!(world.tools.executions(call(1)), 1);
    // What the tool knows is kept, and stands on the card.
    let known = world.ledger().look(run, |state, contents| {
        let card = Card::of(state, state.call(call(1)).unwrap(), contents);
        card.and_then(|card| card.detail)
    });
    assert_eq!(known.await.unwrap().as_deref(), Some("it broke off"));
    let cancelled = world.cancel(run, "enough").await.unwrap();
    assert_eq!(cancelled, Drove::Ended(Outcome::Cancelled));
    let records = world.records(run).await.unwrap();
    let Event::RunFinished(finished) = records.last().unwrap().event() else {
        panic!("the run has not ended");
    };
    assert_eq!(finished.open.len(), 1);
}

#[tokio::test]
async fn a_model_call_that_died_stays_spent_and_is_made_anew() {
    let mut world = World::new().await.unwrap();
    let script = Script::new().vanishes().says("Done.");
    let (run, drove) = world.run(script, Options::default()).await.unwrap();
    assert_eq!(drove, Drove::Vanished);
    let drove = world.resume(run).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    let records = world.records(run).await.unwrap();
    let reserved: Vec<_> = records
        .iter()
        .filter_map(|record| match record.event() {
            Event::ModelCalled(called) => Some((called.attempt, called.reserved.total())),
            _ => None,
        })
        .collect();
    assert_eq!(
        reserved
            .iter()
            .map(|(attempt, _)| *attempt)
            .collect::<Vec<_>>(),
        [1, 2]
    );
    let usage = *world.state(run).await.unwrap().usage();
    assert_eq!(usage.iterations, 2);
    assert_eq!(usage.tokens, reserved[0].1 + 15);
}

#[tokio::test]
async fn a_run_that_ended_stays_as_it_is() {
    let mut world = World::new().await.unwrap();
    let (run, _) = world
        .run(Script::new().says("Done."), Options::default())
        .await
        .unwrap();
    let before = world.head(run).await.unwrap();
    let drove = world.resume(run).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    let narrowing = Narrowing {
        limits: Limits {
            tokens: Some(1),
            ..Limits::default()
        },
        ..Narrowing::default()
    };
    let error = world.resume_narrowed(run, narrowing).await.unwrap_err();
    assert_eq!(
        error.rejection(),
        Some(&Rejection::Finished(Outcome::Completed))
    );
    assert_eq!(world.head(run).await.unwrap(), before);
}

#[tokio::test]
async fn a_failed_execution_is_no_timeout_and_the_run_goes_on() {
    let mut world = World::new().await.unwrap();
    let fails = Behaviour::Fails(String::from("it is locked"));
    world.tools.behave(call(1), fails);
    let options = Options {
        policy: ApprovalPolicy::HighRisk,
        ..Options::default()
    };
    let script = Script::new().calls([set("a")]).says("Done.");
    let (run, drove) = world.run(script, options).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    let records = world.records(run).await.unwrap();
    let kinds: Vec<_> = records
        .iter()
        .filter_map(|record| match record.event() {
            Event::ExecutionFailed(failed) => Some(failed.kind),
            _ => None,
        })
        .collect();
    assert_eq!(kinds, [Some(FailureKind::Tool)]);
    let model = Arc::clone(world.model(run).unwrap());
    assert_eq!(model.told(), ["Failed: it is locked"]);
}

#[tokio::test]
async fn time_in_which_nobody_drove_a_lost_run_is_not_spent_whatever_people_did() {
    let mut world = World::new().await.unwrap();
    let script = Script::new().vanishes().says("Done.");
    let (run, _) = world.run(script, Options::default()).await.unwrap();
    world.clock.advance_ms(3_600_000);
    let tokens = Narrowing {
        limits: Limits {
            tokens: Some(1_000_000),
            ..Limits::default()
        },
        ..Narrowing::default()
    };
    let drove = world.resume_narrowed(run, tokens).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Completed));
    assert_eq!(world.state(run).await.unwrap().usage().active_ms, 0);
}

#[tokio::test]
async fn a_run_is_ended_although_nothing_that_drives_it_is_left() {
    let mut world = World::new().await.unwrap();
    world.tools.behave(call(1), Behaviour::VanishesBefore);
    let options = Options {
        policy: ApprovalPolicy::HighRisk,
        ..Options::default()
    };
    let script = Script::new().calls([set("a")]).says("Done.");
    let (run, drove) = world.run(script, options).await.unwrap();
    assert_eq!(drove, Drove::Vanished);
    world.tools.replace_workspace();
    world.restart().await.unwrap();
    let drove = world.cancel(run, "over").await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Cancelled));
    let names = world.names(run).await.unwrap();
    assert!(names.contains(&"execution.in_doubt"), "{names:?}");
    assert_eq!(names.last(), Some(&"run.finished"));
}

#[tokio::test]
async fn nothing_of_a_cancelled_run_waits() {
    let (world, run) = parked(low_risk()).await;
    world.cancel(run, "over").await.unwrap();
    let state = world.state(run).await.unwrap();
    assert!(state.pending().is_empty());
    assert_eq!((state.set_code(), state.expires_at()), (None, None));
}

placet_replay::through_socket!(
    a_resumed_run_has_the_policy_tools_and_words_it_was_started_with,
    nothing_is_proposed_or_asked_twice,
    a_denial_resumes_the_run_as_an_approval_does,
    waiting_is_not_spent_time,
    what_was_used_before_the_pause_counts_after_it,
    each_cap_ends_a_run_as_spent,
    a_spent_duration_starts_no_approved_call,
    a_resume_may_make_caps_and_tools_stricter,
    a_resume_never_makes_anything_wider,
    a_resume_that_is_refused_narrows_nothing_either,
    a_tool_that_was_narrowed_away_does_not_come_back,
    a_run_does_not_go_on_without_its_tools_as_they_were,
    a_run_does_not_go_on_in_another_folder,
    who_attends_a_resumed_run_decides_what_asks_and_never_what_clears,
    an_interrupted_run_goes_on_where_it_was,
    a_death_at_any_call_leads_to_the_same_end_and_to_no_second_effect,
    what_is_in_doubt_at_once_waits_for_a_person_too,
    a_model_call_that_died_stays_spent_and_is_made_anew,
    a_run_that_ended_stays_as_it_is,
    a_failed_execution_is_no_timeout_and_the_run_goes_on,
    time_in_which_nobody_drove_a_lost_run_is_not_spent_whatever_people_did,
    a_run_is_ended_although_nothing_that_drives_it_is_left,
    nothing_of_a_cancelled_run_waits,
);
