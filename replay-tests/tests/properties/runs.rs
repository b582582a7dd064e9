//! Whole runs: any script, any answers, deaths and restarts; they reload and replay as they were.

use placet_engine::engine::Narrowing;
use placet_engine::model::ReplyCall;
use placet_engine::policy::Gate;
use placet_engine::replay::replay;
use placet_ledger::approval::Answer;
use placet_ledger::event::{Event, Settlement};
use placet_ledger::id::{CallId, RunId};
use placet_ledger::policy::{ApprovalPolicy, Attendance};
use placet_ledger::run::{Call, Close, Phase, next};
use placet_replay::facts::call;
use placet_replay::script::{self, Script};
use placet_replay::tools::Behaviour;
use placet_replay::world::{Drove, Options, World};
use proptest::prelude::*;
use serde_json::json;

use super::cases;

/// What happens between two drives of a run.
#[derive(Debug, Clone, Copy)]
enum Between {
    Nothing,
    Restart,
    Approve,
    Deny,
    Mixed,
    Narrow,
    Wait,
    Always,
    Amend,
    Revoke,
    Reply,
    Settle,
    Prompt,
    Raise,
    Tighten,
}

#[derive(Debug, Clone)]
pub(super) struct Story {
    batches: Vec<Vec<(u8, u8)>>,
    policy: u8,
    attendance: u8,
    behaviours: Vec<(u32, u8)>,
    between: Vec<Between>,
    cancel: bool,
}

pub(super) fn stories() -> impl Strategy<Value = Story> {
    let between = prop_oneof![
        2 => Just(Between::Nothing),
        2 => Just(Between::Restart),
        6 => Just(Between::Approve),
        3 => Just(Between::Deny),
        4 => Just(Between::Mixed),
        1 => Just(Between::Narrow),
        1 => Just(Between::Wait),
        2 => Just(Between::Always),
        4 => Just(Between::Amend),
        2 => Just(Between::Revoke),
        2 => Just(Between::Reply),
        2 => Just(Between::Settle),
        1 => Just(Between::Prompt),
        1 => Just(Between::Raise),
        2 => Just(Between::Tighten),
    ];
    let batch = prop::collection::vec((0_u8..10, 0_u8..3), 0..5);
    (
        prop::collection::vec(batch, 0..4),
        0_u8..4,
        0_u8..3,
        prop::collection::vec((1_u32..12, 0_u8..6), 0..5),
        prop::collection::vec(between, 0..10),
        any::<bool>(),
    )
        .prop_map(
            |(batches, policy, attendance, behaviours, between, cancel)| Story {
                batches,
                policy,
                attendance,
                behaviours,
                between,
                cancel,
            },
        )
}

fn named((tool, argument): (u8, u8)) -> ReplyCall {
    let word = ["a", "b", "c"][usize::from(argument)];
    match tool {
        0 => script::call("look", &json!({"key": word})),
        1 => script::call("note", &json!({"text": word})),
        2 => script::call("act", &json!({"what": word})),
        3 => script::call("shell", &json!({"command": word})),
        4 | 5 => script::call("set", &json!({"key": word, "value": word})),
        6 => script::call("nope", &json!({})),
        7 => script::call("ask_user", &json!({"question": word})),
        8 => script::call("move", &json!({"from": word, "to": "c"})),
        _ => script::raw_call("set", "{"),
    }
}

fn behaviour(number: u8) -> Behaviour {
    match number {
        0 => Behaviour::Fails(String::from("no")),
        1 => Behaviour::Stale,
        2 => Behaviour::Doubt,
        3 => Behaviour::VanishesBefore,
        4 => Behaviour::VanishesAfter,
        _ => Behaviour::Says(String::from("{\"approved\":true}")),
    }
}

async fn tell(story: Story) -> (World, RunId) {
    let mut world = World::new().await.unwrap();
    let run = tell_in(&mut world, story).await;
    (world, run)
}

pub(super) async fn tell_in(world: &mut World, story: Story) -> RunId {
    let mut script = Script::new();
    for batch in story.batches {
        script = script.calls(batch.into_iter().map(named));
    }
    for (number, how) in story.behaviours {
        world.tools.behave(call(number), behaviour(how));
    }
    let policies = [
        ApprovalPolicy::False,
        ApprovalPolicy::ReadOnly,
        ApprovalPolicy::LowRisk,
        ApprovalPolicy::HighRisk,
    ];
    let attendances = [Attendance::Park, Attendance::Person, Attendance::Nobody];
    let options = Options {
        policy: policies[usize::from(story.policy)],
        attendance: attendances[usize::from(story.attendance)],
        ..Options::default()
    };
    let (run, mut drove) = world.run(script.says("Done."), options).await.unwrap();
    for between in story.between {
        if matches!(drove, Drove::Ended(_)) {
            break;
        }
        world.clock.advance_ms(7);
        drove = turn(world, run, between).await;
        check_process(world, run).await;
    }
    if story.cancel && !matches!(drove, Drove::Ended(_)) {
        world.cancel(run, "enough").await.unwrap();
    }
    run
}

async fn turn(world: &mut World, run: RunId, between: Between) -> Drove {
    let waits = !world.pending(run).await.unwrap().is_empty();
    match between {
        Between::Approve if waits => world.approve(run).await.unwrap(),
        Between::Deny if waits => world.deny(run, "no").await.unwrap(),
        Between::Mixed if waits => {
            let verdict = |call: CallId| {
                if call.get().is_multiple_of(2) {
                    (Answer::Approve, None)
                } else {
                    (Answer::Deny, Some(format!("not {call}")))
                }
            };
            world.answer(run, verdict).await.unwrap();
        }
        Between::Always if waits => {
            let always = |_| (Answer::ApproveAlways, None);
            // A tool that was taken away meanwhile is not allowed for good.
            if world.answer(run, always).await.is_err() {
                world.approve(run).await.unwrap();
            }
        }
        Between::Wait => world.clock.advance_ms(Options::default().park_expiry_ms),
        Between::Narrow => {
            let narrowing = Narrowing {
                denied: vec![String::from("shell")],
                ..Default::default()
            };
            // The second time there is no such tool left to take away.
            let _refused = world.resume_narrowed(run, narrowing).await;
        }
        Between::Restart => world.restart().await.unwrap(),
        Between::Nothing | Between::Approve | Between::Deny | Between::Mixed | Between::Always => {}
        Between::Amend
        | Between::Revoke
        | Between::Reply
        | Between::Settle
        | Between::Prompt
        | Between::Raise
        | Between::Tighten => say(world, run, between).await,
    }
    world.drive(run).await.unwrap()
}

/// One word of a person about the first call that it can be about.
async fn say(world: &World, run: RunId, between: Between) {
    let state = world.state(run).await.unwrap();
    let first = |wanted: fn(Phase) -> bool| {
        let found = state.batch().find(|call| wanted(call.phase()));
        found.map(Call::id)
    };
    let pending = first(|phase| phase == Phase::Pending);
    match between {
        Between::Amend => {
            if let Some(call) = pending {
                let tool = state.call(call).unwrap().tool().unwrap();
                let arguments = match tool.as_str() {
                    "set" => json!({"key": "b", "value": "amended"}),
                    "move" => json!({"from": "a", "to": "b"}),
                    "act" => json!({"what": "amended"}),
                    "note" => json!({"text": "amended"}),
                    _ => json!({"command": "amended"}),
                };
                // One whose tool was taken away meanwhile can only be answered.
                let amended = world.amend(run, call, &arguments).await;
                assert_eq!(amended.is_ok(), state.offers(tool), "{amended:?}");
            }
        }
        Between::Revoke => {
            // What nobody approved in person is refused.
            if let Some(call) = first(|phase| phase == Phase::Granted) {
                let by_person = state.call(call).unwrap().grant().unwrap().by_person();
                let revoked = world.revoke(run, call, None).await;
                assert_eq!(revoked.is_ok(), by_person);
            }
        }
        Between::Reply => {
            if let Some(call) = first(|phase| phase == Phase::Asked) {
                world.reply(run, call, "either").await.unwrap();
            }
        }
        Between::Settle => {
            if let Some(call) = first(|phase| phase == Phase::InDoubt) {
                let done = call.get().is_multiple_of(2);
                let verdict = if done {
                    Settlement::Done
                } else {
                    Settlement::NotDone
                };
                world.settle(run, call, verdict, None).await.unwrap();
            }
        }
        Between::Prompt => {
            let open = state.batch().any(|call| !call.is_closed());
            let prompted = world.prompt(run, "and another thing").await;
            assert!(prompted.is_err() || !open);
        }
        Between::Raise | Between::Tighten => {
            let policy = match between {
                Between::Raise => ApprovalPolicy::HighRisk,
                _ => ApprovalPolicy::False,
            };
            let before = world.pending(run).await.unwrap();
            world.change_policy(run, policy, None).await.unwrap();
            assert_eq!(world.pending(run).await.unwrap(), before);
        }
        _ => {}
    }
}

/// The process that is there and one that begins now see the same state and the same next step.
async fn check_process(world: &World, run: RunId) {
    let live = world
        .ledger()
        .look(run, |state, _| state.clone())
        .await
        .unwrap();
    let reloaded = world.state(run).await.unwrap();
    assert_eq!(live, reloaded);
    assert_eq!(next(&live), next(&reloaded));
}

/// No call ran without a grant, none twice but for what was provably not done, no denied one.
async fn check_effects(world: &World, run: RunId) {
    let state = world.state(run).await.unwrap();
    let records = world.records(run).await.unwrap();
    for call in state.calls() {
        let executions = world.tools.executions(call.id());
        let attempts = usize::try_from(call.attempts()).unwrap();
        assert_eq!(executions, attempts, "{} {:?}", call.id(), call.phase());
        if let Phase::Closed(
            Close::Denied
            | Close::Revoked
            | Close::Superseded
            | Close::Answered
            | Close::Refused(_),
        ) = call.phase()
        {
            // An attempt that was provably not made may come before such an end.
            let not_done = records.iter().filter(|record| {
                matches!(record.event(), Event::ExecutionSettled(settled)
                    if settled.call == call.id() && settled.verdict == Settlement::NotDone)
            });
            assert_eq!(executions, not_done.count(), "{:?}", call.phase());
        }
        let reads = call.tool().is_some_and(|tool| tool.as_str() == "look");
        let pair = call
            .tool()
            .is_some_and(|tool| ["set", "move"].contains(&tool.as_str()));
        assert!(executions < 2 || reads || pair, "{} again", call.id());
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn every_run_reloads_as_it_was_and_replays_to_the_same_bytes(story in stories()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (world, run) = tell(story).await;
            check_process(&world, run).await;
            check_effects(&world, run).await;
            let recording = world.recording(run).await.unwrap();
            if let Err(error) = replay(&recording, std::sync::Arc::new(Gate)).await {
                panic!("{error:#?}\n{:?}", world.names(run).await.unwrap());
            }
        });
    }
}
