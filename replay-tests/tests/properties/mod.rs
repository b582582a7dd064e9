//! Whatever commands come in whatever order: what was decided folds, what folds is the state that
//! was live, and a new process goes on where the old one was.

mod commands;
mod kept;
mod projections;
mod runs;

use std::collections::{BTreeMap, BTreeSet};

use placet_ledger::approval::Answer;
use placet_ledger::event::{ApprovalGranted, Event, Settlement};
use placet_ledger::id::CallId;
use placet_ledger::run::{Command, RunState, next};
use placet_replay::facts::{
    Fact, amended, began, called, called_again, prompted, replied_to, revoked, settled_by_person,
    started, taken_up,
};
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
    let known = |call: &CallId| state.and_then(|run| run.call(*call)).is_some();
    match command {
        Command::CallModel { compact: false, .. } => {
            vec![called(), called_again(2), called_again(3)]
        }
        Command::Begin { call, .. } if known(call) => vec![began(call.get())],
        Command::Amend(proposal) if state.is_some_and(|run| run.offers(&proposal.tool)) => {
            let next = state.and_then(RunState::next_call);
            let next = next.filter(|_| known(&proposal.call));
            next.map(|next| amended(next.get(), proposal.call.get()))
                .into_iter()
                .collect()
        }
        Command::Revoke { call } if known(call) => vec![revoked(call.get())],
        Command::Reply { call, .. } if known(call) => vec![replied_to(call.get())],
        Command::SettleDoubt { call, .. } if known(call) => vec![
            settled_by_person(call.get(), Settlement::Done),
            settled_by_person(call.get(), Settlement::NotDone),
        ],
        Command::Prompt => vec![prompted()],
        _ => Vec::new(),
    }
}

/// What is known of each call while its events are read.
#[derive(Default)]
struct Seen {
    granted: BTreeMap<CallId, bool>,
    running: BTreeMap<CallId, bool>,
    pending: BTreeSet<CallId>,
    over: BTreeSet<CallId>,
}

impl Seen {
    fn over(&mut self, call: CallId) {
        self.pending.remove(&call);
        assert!(self.over.insert(call), "{call} is over twice");
    }

    fn read(&mut self, event: &Event) {
        match event {
            Event::ApprovalRequested(asked) => {
                self.pending.insert(asked.call);
            }
            Event::ApprovalGranted(grant) => {
                let waited = self.pending.remove(&grant.call());
                let by_person = matches!(grant, ApprovalGranted::ByPerson(_));
                assert_eq!(waited, by_person, "{} by somebody else", grant.call());
                self.granted.insert(grant.call(), true);
            }
            Event::ExecutionRefused(refused) => {
                self.granted.insert(refused.call, false);
            }
            Event::ExecutionStarted(started) => {
                let call = started.call;
                assert_eq!(self.granted.get(&call), Some(&true), "without a grant");
                assert!(!self.over.contains(&call), "{call} was over");
                assert!(self.pending.is_empty(), "{call} before {:?}", self.pending);
                let before = self.running.insert(call, true);
                assert!(before != Some(true), "a second start of {call}");
            }
            Event::ExecutionSettled(settled) if settled.by.is_person() => self.over(settled.call),
            Event::ExecutionSettled(settled) if settled.verdict == Settlement::NotDone => {
                self.running.insert(settled.call, false);
            }
            Event::CallProposed(proposed) => {
                if let Some(old) = proposed.supersedes {
                    assert!(self.pending.contains(&old), "{old} did not wait");
                    self.over(old);
                }
            }
            Event::ApprovalDenied(denied) => self.over(denied.call),
            Event::ApprovalRevoked(revoked) => self.over(revoked.call),
            Event::ApprovalExpired(expired) => self.over(expired.call),
            Event::QuestionAnswered(answered) => self.over(answered.call),
            _ => {}
        }
    }
}

fn check_safety(scenario: &Scenario) {
    let mut seen = Seen::default();
    for record in scenario.records() {
        seen.read(record.event());
    }
}

/// Answers all that is pending, `choice` says how.
fn answered(scenario: Scenario, choice: u8) -> Then {
    let pending = scenario.state().map(RunState::pending);
    let answer = match choice {
        3 => Answer::Deny,
        4 => Answer::Approve,
        _ => Answer::ApproveAlways,
    };
    let lines: Vec<_> = pending
        .unwrap_or_default()
        .keys()
        .map(|call| (call.get(), answer))
        .collect();
    scenario.when_told(lines)
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn what_is_decided_folds_and_what_is_rejected_could_not_have_been_recorded(ops in ops()) {
        let mut scenario = given([started(), taken_up(9)]);
        for op in ops {
            scenario = scenario.later(op.later_ms);
            let op = due(op, scenario.state());
            // One number of the many is an answer in place of the command.
            if op.kind == 17 && op.choice > 2 {
                let then = answered(scenario, op.choice);
                scenario = then.keep();
                continue;
            }
            let (command, texts) = command(op, scenario.state());
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let forbidden = forbidden(&command, scenario.state());
            let verdict = verdict(op, scenario.state());
            let pending = scenario.state().map(|run| (run.pending(), run.set_code()));
            let asked = scenario.with(&texts).gate_says(verdict);
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
            if matches!(command, Command::ChangePolicy(_)) {
                let after = scenario.state().map(|run| (run.pending(), run.set_code()));
                prop_assert_eq!(pending, after, "a policy answered something");
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
            let verdict = verdict(op, scenario.state());
            let asked = scenario.with(&texts).gate_says(verdict);
            scenario = asked.when(command).keep();
        }
        for record in scenario.records() {
            *names.entry(record.event().name()).or_insert(0) += 1;
        }
    }
    let of_runs = |name: &&&str| {
        let others = ["ledger", "rules", "grant", "clock", "attempt"];
        !others.contains(&name.split('.').next().unwrap_or_default())
    };
    for name in Event::NAMES.iter().filter(of_runs) {
        assert!(
            names.get(name).copied().unwrap_or(0) > 3,
            "{name}: {names:?}"
        );
    }
}
