//! Whatever commands come in whatever order: what was decided folds, what folds is the state that
//! was live, and a new process goes on where the old one was.

mod commands;
mod runs;

use std::collections::BTreeMap;

use placet_ledger::event::{Event, Settlement};
use placet_ledger::run::{Command, RunState, next};
use placet_replay::facts::{Fact, began, called, called_again, started, taken_up};
use placet_replay::scenario::{Scenario, Then, can_follow, given};
use proptest::prelude::*;

use commands::{command, due, ops, verdict};

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Facts that no log may hold where the command for them is turned down.
fn forbidden(command: &Command, state: Option<&RunState>) -> Vec<Fact> {
    match command {
        Command::CallModel { .. } => vec![called(), called_again(2), called_again(3)],
        Command::Begin { call, .. } if state.is_some_and(|run| run.call(*call).is_some()) => {
            vec![began(call.get())]
        }
        _ => Vec::new(),
    }
}

fn check_safety(scenario: &Scenario) {
    let mut running = BTreeMap::new();
    let mut granted = BTreeMap::new();
    for record in scenario.records() {
        match record.event() {
            Event::ApprovalGranted(grant) => {
                granted.insert(grant.call(), true);
            }
            Event::ExecutionRefused(refused) => {
                granted.insert(refused.call, false);
            }
            Event::ExecutionStarted(started) => {
                assert_eq!(granted.get(&started.call), Some(&true), "without a grant");
                let before = running.insert(started.call, true);
                assert!(before != Some(true), "a second start of {}", started.call);
            }
            Event::ExecutionSettled(settled) if settled.verdict == Settlement::NotDone => {
                running.insert(settled.call, false);
            }
            _ => {}
        }
    }
}

/// Answers all that is pending, `choice` says how.
fn answered(scenario: Scenario, choice: u8) -> Then {
    let pending = scenario.state().map(RunState::pending);
    let lines: Vec<_> = pending
        .unwrap_or_default()
        .keys()
        .map(|call| (call.get(), choice & 1 == 0))
        .collect();
    scenario.when_answered(&lines)
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn what_is_decided_folds_and_what_is_rejected_could_not_have_been_recorded(ops in ops()) {
        let mut scenario = given([started(), taken_up(9)]);
        for op in ops {
            scenario = scenario.later(op.later_ms);
            let op = due(op, scenario.state());
            // One number in eighteen is an answer in place of the command.
            if op.kind == 17 && op.choice > 2 {
                let then = answered(scenario, op.choice);
                scenario = then.keep();
                continue;
            }
            let (command, texts) = command(op, scenario.state());
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let forbidden = forbidden(&command, scenario.state());
            let asked = scenario.with(&texts).gate_says(verdict(op.choice));
            let then = asked.when(command.clone());
            let rejected = then.is_rejected();
            let before = then.scenario().records().len();
            scenario = then.keep();
            if rejected {
                prop_assert_eq!(scenario.records().len(), before);
                for fact in forbidden {
                    let decided = fact.build(scenario.state());
                    let follows = can_follow(scenario.clone(), decided.event, decided.blobs);
                    prop_assert!(follows.is_err(), "{command:?} was rejected and can be recorded");
                }
            }
            // The fold of what is recorded is the state that is live, and says the same is next.
            let folded = scenario.folded();
            prop_assert_eq!(folded.as_ref(), scenario.state());
            prop_assert_eq!(folded.as_ref().map(next), scenario.state().map(next));
        }
        check_safety(&scenario);
    }
}

#[test]
fn the_stories_of_the_properties_reach_every_phase_of_a_call() {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let mut names = BTreeMap::new();
    for _ in 0..400 {
        let mut scenario = given([started(), taken_up(9)]);
        for op in ops().new_tree(&mut runner).unwrap().current() {
            scenario = scenario.later(op.later_ms);
            let op = due(op, scenario.state());
            if op.kind == 17 && op.choice > 2 {
                scenario = answered(scenario, op.choice).keep();
                continue;
            }
            let (command, texts) = command(op, scenario.state());
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let asked = scenario.with(&texts).gate_says(verdict(op.choice));
            scenario = asked.when(command).keep();
        }
        for record in scenario.records() {
            *names.entry(record.event().name()).or_insert(0) += 1;
        }
    }
    for name in Event::NAMES.iter().take(25) {
        assert!(
            names.get(name).copied().unwrap_or(0) > 3,
            "{name}: {names:?}"
        );
    }
}
