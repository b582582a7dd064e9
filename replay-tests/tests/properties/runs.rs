//! Whole runs: any script, any answers, deaths and restarts; they reload and replay as they were.

use placet_engine::engine::Narrowing;
use placet_engine::model::ReplyCall;
use placet_engine::policy::Gate;
use placet_engine::replay::replay;
use placet_ledger::approval::Answer;
use placet_ledger::id::{CallId, RunId};
use placet_ledger::policy::{ApprovalPolicy, Attendance};
use placet_ledger::run::{Close, Phase, next};
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
}

#[derive(Debug, Clone)]
struct Story {
    batches: Vec<Vec<(u8, u8)>>,
    policy: u8,
    attendance: u8,
    behaviours: Vec<(u32, u8)>,
    between: Vec<Between>,
    cancel: bool,
}

fn stories() -> impl Strategy<Value = Story> {
    let between = prop_oneof![
        2 => Just(Between::Nothing),
        2 => Just(Between::Restart),
        6 => Just(Between::Approve),
        3 => Just(Between::Deny),
        4 => Just(Between::Mixed),
        1 => Just(Between::Narrow),
        1 => Just(Between::Wait),
    ];
    let batch = prop::collection::vec((0_u8..8, 0_u8..3), 0..5);
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
        drove = turn(&mut world, run, between).await;
        check_process(&world, run).await;
    }
    if story.cancel && !matches!(drove, Drove::Ended(_)) {
        world.cancel(run, "enough").await.unwrap();
    }
    (world, run)
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
        Between::Nothing | Between::Approve | Between::Deny | Between::Mixed => {}
    }
    world.drive(run).await.unwrap()
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
    for call in state.calls() {
        let executions = world.tools.executions(call.id());
        let attempts = usize::try_from(call.attempts()).unwrap();
        assert_eq!(executions, attempts, "{} {:?}", call.id(), call.phase());
        if matches!(call.phase(), Phase::Closed(Close::Denied)) {
            assert_eq!(executions, 0);
        }
        let reads = call.tool().is_some_and(|tool| tool.as_str() == "look");
        let pair = call.tool().is_some_and(|tool| tool.as_str() == "set");
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
