//! Spending never passes a cap by more than the one call in flight, whatever dies, fails, parks or
//! is taken up again.

use placet_engine::model::Again;
use placet_ledger::budget::{Cap, Limits, Tokens, Usd};
use placet_ledger::event::{Event, ModelFailure, Outcome};
use placet_ledger::policy::{ApprovalPolicy, Attendance};
use placet_replay::recording;
use placet_replay::script::{Script, call};
use placet_replay::world::{Drove, Options, World};
use proptest::prelude::*;
use serde_json::json;

use super::{events, failure, note, options, reply, terms};

/// What one turn of a random model comes to.
#[derive(Debug, Clone, Copy)]
enum Does {
    Notes(u64, u64),
    Asks(u64, u64),
    FailsForFree,
    FailsAndCharges(u64),
    FailsUnknown,
    Dies,
}

fn does() -> impl Strategy<Value = Does> {
    let tokens = || (0_u64..600, 0_u64..1_500);
    prop_oneof![
        4 => tokens().prop_map(|(i, o)| Does::Notes(i, o)),
        2 => tokens().prop_map(|(i, o)| Does::Asks(i, o)),
        1 => Just(Does::FailsForFree),
        1 => (0_u64..800).prop_map(Does::FailsAndCharges),
        1 => Just(Does::FailsUnknown),
        2 => Just(Does::Dies),
    ]
}

fn script(turns: &[Does]) -> Script {
    let mut script = Script::new();
    let again = || Some(Again::default());
    for does in turns {
        script = match *does {
            Does::Notes(i, o) => script.reply(reply(vec![note("n")], Tokens::new(i, o))),
            Does::Asks(i, o) => {
                let asks = call("set", &json!({"key": "a", "value": "b"}));
                script.reply(reply(vec![asks], Tokens::new(i, o)))
            }
            Does::FailsForFree => {
                let nothing = Some(Tokens::default());
                script.error(failure(ModelFailure::Network, nothing, again()))
            }
            Does::FailsAndCharges(tokens) => {
                let used = Some(Tokens::new(tokens, 0));
                script.error(failure(ModelFailure::Provider, used, again()))
            }
            Does::FailsUnknown => script.error(failure(ModelFailure::Timeout, None, again())),
            Does::Dies => script.vanishes(),
        };
    }
    for number in 0..40 {
        let mut summary = reply(Vec::new(), Tokens::new(300, 60));
        summary.text = format!("Summary {number}.");
        script = script.sums_up(Ok(summary));
    }
    script.says("Done.")
}

/// Drives a run until it ends, approving whatever it asks.
async fn to_the_end(
    world: &mut World,
    script: Script,
    options: Options,
) -> (placet_ledger::id::RunId, Outcome) {
    let run = world.start(script, options).await.unwrap();
    for _ in 0..200 {
        match world.drive(run).await.unwrap() {
            Drove::Ended(outcome) => return (run, outcome),
            Drove::Waits => world.approve(run).await.unwrap(),
            Drove::Vanished | Drove::Interrupted => {}
        }
    }
    panic!("the run is stuck");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_call_is_made_once_a_cap_is_passed(
        turns in prop::collection::vec(does(), 1..40),
        cap in 500_u64..12_000,
        by_cost: bool,
        context in prop::option::of(1_500_u64..4_000),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut world = World::new().await.unwrap();
            let mut terms = terms();
            terms.context_tokens = context;
            let price = terms.price.unwrap();
            let limits = if by_cost {
                Limits { cost_usd: Some(Usd::from_micros(cap * 3)), ..Limits::default() }
            } else {
                Limits { tokens: Some(cap), ..Limits::default() }
            };
            let options = Options {
                policy: ApprovalPolicy::LowRisk,
                attendance: Attendance::Park,
                limits,
                ..options(terms)
            };
            let (run, outcome) = to_the_end(&mut world, script(&turns), options).await;
            let charged = world.model(run).unwrap().charged();
            let mut spent = Tokens::default();
            for (number, one) in charged.iter().enumerate() {
                let passed = if by_cost {
                    price.of(spent) > Usd::from_micros(cap * 3)
                } else {
                    spent.total() > cap
                };
                prop_assert!(!passed, "call {number} of {charged:?} came after the cap");
                spent.input += one.input;
                spent.output += one.output;
            }
            let state = world.state(run).await.unwrap();
            // The record never knows of less than was charged.
            prop_assert!(state.usage().tokens >= spent.total());
            prop_assert!(state.usage().cost_usd >= price.of(spent) || !by_cost);
            let capped = if by_cost { Cap::Cost } else { Cap::Tokens };
            prop_assert_eq!(state.cap(), (outcome == Outcome::Budget).then_some(capped));
            let recording = world.recording(run).await.unwrap();
            prop_assert!(recording::replay(&recording).await.is_ok());
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn output_is_asked_for_only_as_far_as_the_caps_go() {
    let mut world = World::new().await.unwrap();
    let limits = Limits {
        tokens: Some(2_500),
        ..Limits::default()
    };
    let used = Tokens::new(300, 900);
    let script = Script::new()
        .reply(reply(vec![note("a")], used))
        .reply(reply(vec![note("b")], used))
        .reply(reply(vec![note("c")], used));
    let options = Options {
        limits,
        ..options(terms())
    };
    let (run, drove) = world.run(script, options).await.unwrap();
    assert_eq!(drove, Drove::Ended(Outcome::Budget));
    let asked: Vec<_> = world
        .model(run)
        .unwrap()
        .requests()
        .iter()
        .map(|request| request.output_tokens.unwrap())
        .collect();
    assert_eq!(asked[0], 1_000);
    // 1,300 are left, of which some 310 go in.
    assert!((900..1_000).contains(&asked[1]), "{asked:?}");
    assert_eq!(asked.len(), 2);
    let events = events(&world, run).await;
    let Some(Event::RunFinished(finished)) = events.last() else {
        panic!("it ended");
    };
    assert_eq!(finished.cap, Some(Cap::Tokens));
}

#[tokio::test]
async fn a_run_taken_up_again_has_what_was_left_and_no_more() {
    let mut world = World::new().await.unwrap();
    let limits = Limits {
        cost_usd: Some("0.02".parse().unwrap()),
        ..Limits::default()
    };
    let asks = call("set", &json!({"key": "a", "value": "b"}));
    let script = Script::new()
        .reply(reply(vec![asks.clone()], Tokens::new(1_000, 1_000)))
        .reply(reply(vec![asks.clone()], Tokens::new(1_000, 1_000)))
        .reply(reply(vec![asks.clone()], Tokens::new(1_000, 1_000)))
        .reply(reply(vec![asks], Tokens::new(1_000, 1_000)));
    let options = Options {
        policy: ApprovalPolicy::LowRisk,
        attendance: Attendance::Park,
        limits,
        ..options(terms())
    };
    let run = world.start(script, options).await.unwrap();
    let mut parks = 0;
    let mut drove = world.drive(run).await.unwrap();
    while drove == Drove::Waits {
        world.approve(run).await.unwrap();
        parks += 1;
        drove = world.resume(run).await.unwrap();
    }
    // Each turn costs 0.006: the fourth had room for less than it took.
    assert_eq!(parks, 3);
    let state = world.state(run).await.unwrap();
    assert_eq!(state.cap(), Some(Cap::Cost));
    assert_eq!(state.usage().cost_usd.to_string(), "0.018");
}

#[tokio::test]
async fn a_cap_on_money_needs_a_price() {
    let mut world = World::new().await.unwrap();
    let mut unknown = terms();
    unknown.price = None;
    let limits = Limits {
        cost_usd: Some(Usd::from_micros(1)),
        ..Limits::default()
    };
    let options = Options {
        limits,
        ..options(unknown)
    };
    let refused = world.start(Script::new(), options).await.unwrap_err();
    assert!(refused.to_string().contains("price"), "{refused}");
}
