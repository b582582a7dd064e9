//! Commands in any order, and the one that is due often enough for a story to get somewhere.

use placet_ledger::approval::{By, Demands};
use placet_ledger::budget::{Limits, Spend};
use placet_ledger::containment::Level;
use placet_ledger::digest::{Digest, Purpose, digest};
use placet_ledger::event::{
    FailureKind, ModelFailure, Outcome, RefusalKind, RiskSource, SegmentEnd, SegmentReason,
    Settlement, Stop,
};
use placet_ledger::id::CallId;
use placet_ledger::judge::Verdict;
use placet_ledger::policy::{ASK_USER, ApprovalPolicy, Attendance};
use placet_ledger::precondition::PreconditionKind;
use placet_ledger::risk::{DeclaredRisk, RiskTier};
use placet_ledger::run::{
    Assessment, Call, Command, Effect, Ended, Ending, Phase, Proposal, RunState, Step, next,
};
use placet_replay::facts::{EXPIRY_MS, HOST, RESERVED, call, context, driver, name};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A command about one of the first calls, with all it needs to be right at the right moment. From
/// [`DUE`] on it is the one that is due, so that stories get somewhere.
#[derive(Debug, Clone, Copy)]
pub(super) struct Op {
    pub(super) kind: u8,
    pub(super) call: u32,
    pub(super) choice: u8,
    pub(super) later_ms: u64,
}

const DUE: u8 = 24;

/// The command that is due, whatever the number was.
pub(super) fn due(mut op: Op, state: Option<&RunState>) -> Op {
    let Some(state) = state.filter(|_| op.kind >= DUE) else {
        return op;
    };
    let (kind, call) = match next(state) {
        _ if state.segment().is_none() => (0, None),
        Step::Perform(Effect::Prepare { .. }) | Step::Finish(_) if op.kind.is_multiple_of(9) => {
            (22, None)
        }
        Step::Perform(Effect::Prepare { .. }) => (2, None),
        Step::Perform(Effect::Complete { .. } | Effect::Compact { .. }) => {
            (if op.kind.is_multiple_of(11) { 6 } else { 4 }, None)
        }
        Step::Gate(call) if state.is_asking() => (11, Some(call)),
        Step::Perform(Effect::Propose(call)) => (7, Some(call)),
        Step::Perform(Effect::Reconcile(call)) if op.kind.is_multiple_of(2) => (14, Some(call)),
        Step::Perform(Effect::Reconcile(call)) => (15, Some(call)),
        Step::Perform(Effect::Assess(call)) => (11, Some(call)),
        Step::Gate(call) if op.kind.is_multiple_of(5) => (11, Some(call)),
        Step::Gate(call) => (10, Some(call)),
        Step::Execute(call) if op.kind.is_multiple_of(7) => (19, Some(call)),
        Step::Execute(call) => (12, Some(call)),
        Step::Await(calls) => match op.kind % 4 {
            0 => (1, None),
            1 => (17, None),
            _ => said(state, &calls),
        },
        Step::Finish(_) | Step::Finished => (16, None),
    };
    if matches!(next(state), Step::Await(_)) {
        // Parked, or answered in one way or the other.
        op.choice = op.choice % 3 + if kind == 17 { 3 } else { 0 };
    }
    op.kind = kind;
    op.call = call.map_or(op.call, CallId::get);
    op
}

/// The one word that is due about the first of the calls that wait for people.
fn said(state: &RunState, calls: &[CallId]) -> (u8, Option<CallId>) {
    let first = calls.first().and_then(|call| state.call(*call));
    match first.map(|call| (call.phase(), call.id())) {
        Some((Phase::Asked, call)) => (20, Some(call)),
        Some((Phase::InDoubt, call)) => (21, Some(call)),
        Some((_, call)) => (18, Some(call)),
        None => (17, None),
    }
}

pub(super) fn ops() -> impl Strategy<Value = Vec<Op>> {
    let later = prop_oneof![60 => Just(0), 20 => 1_u64..1_000, 1 => Just(EXPIRY_MS)];
    let op = (0_u8..80, 1_u32..8, 0_u8..6, later);
    let op = op.prop_map(|(kind, call, choice, later_ms)| Op {
        kind,
        call,
        choice,
        later_ms,
    });
    prop::collection::vec(op, 1..80)
}

/// What a gate may say of the call that the command is about.
pub(super) fn verdict(op: Op, state: Option<&RunState>) -> Verdict {
    let tier = DeclaredRisk::HighRisk;
    let tool = state.and_then(|state| state.call(call(op.call))?.tool());
    let asks = tool.is_some_and(|tool| tool.as_str() == ASK_USER);
    match op.choice {
        0..=3 if asks => Verdict::Question,
        0 | 1 => Verdict::Approve {
            by: By::Policy {
                rule: name("policy:high-risk"),
            },
            tier,
            network: BTreeSet::new(),
        },
        2 | 3 => Verdict::Ask {
            rule: name("policy:false"),
            demands: Demands::default(),
            tier,
            expires_ms: (op.choice == 3).then_some(EXPIRY_MS / 2),
        },
        4 => Verdict::Decline {
            kind: RefusalKind::Nobody,
            of: None,
            rule: None,
        },
        _ => Verdict::Decline {
            kind: RefusalKind::Rule,
            of: None,
            rule: None,
        },
    }
}

const TOOLS: [&str; 4] = ["set", "act", "look", ASK_USER];

/// The command, with the names of its texts.
pub(super) fn command(op: Op, state: Option<&RunState>) -> (Command, Vec<String>) {
    let (id, none) = (call(op.call), Vec::new);
    let named = |count: u8| -> Vec<_> {
        let tools = TOOLS.iter().cycle().skip(usize::from(op.choice));
        tools
            .take(usize::from(count))
            .map(|tool| Some(name(tool)))
            .collect()
    };
    match op.kind {
        0 => (
            Command::TakeUp {
                attendance: Attendance::Park,
                driver: driver(u128::from(op.choice)),
                host: HOST,
                reason: SegmentReason::Resumed,
            },
            none(),
        ),
        1 => {
            let reason = [
                SegmentEnd::Parked,
                SegmentEnd::Waiting,
                SegmentEnd::Interrupted,
            ];
            let reason = reason[usize::from(op.choice) % 3];
            (
                Command::PutDown {
                    reason,
                    active_ms: 1,
                },
                none(),
            )
        }
        2 | 3 => (
            Command::CallModel {
                compact: op.choice % 5 == 4,
                context: context(),
                reserved: RESERVED,
                active_ms: 0,
            },
            none(),
        ),
        4 | 5 if is_compacting(state) => {
            let replies = state.map_or(0, |state| state.replies().len());
            let replies = replies.saturating_sub(usize::from(op.choice % 2));
            let used = Spend::default();
            let summary = Command::RecordSummary { replies, used };
            (summary, vec![String::from("summary")])
        }
        4 | 5 => {
            let count = op.choice % 4;
            let first = state.and_then(RunState::next_call);
            let ids = (0..u32::from(count)).filter_map(|offset| first?.plus(offset));
            let texts = ids.map(|id| format!("arguments.{id}")).collect();
            let stop = if count == 0 {
                Stop::End
            } else {
                Stop::ToolCalls
            };
            let reply = Command::RecordReply {
                calls: named(count),
                stop,
                used: Spend::default(),
            };
            (reply, texts)
        }
        6..14 => call_command(op, state),
        18.. => person_command(op, state),
        _ => (later_command(op, id), none()),
    }
}

/// The model's failure, and commands that bring a call to its start.
fn call_command(op: Op, state: Option<&RunState>) -> (Command, Vec<String>) {
    let (id, none) = (call(op.call), Vec::new);
    match op.kind {
        6 => (
            Command::RecordModelFailure {
                kind: ModelFailure::Timeout,
                used: None,
                retry_ms: op.choice.is_multiple_of(2).then_some(0),
            },
            none(),
        ),
        7 | 8 => {
            let proposal = proposal(id, state);
            (Command::Propose(proposal), vec![String::from("arguments")])
        }
        9 => (
            Command::Refuse {
                call: id,
                kind: RefusalKind::BadArguments,
            },
            none(),
        ),
        10 => (Command::Gate { call: id }, none()),
        11 => (assess(id, state, op.choice), none()),
        _ => (
            Command::Begin {
                call: id,
                active_ms: 0,
                level: Level::of(BTreeSet::new()),
            },
            none(),
        ),
    }
}

fn is_compacting(state: Option<&RunState>) -> bool {
    matches!(state.map(next), Some(Step::Perform(Effect::Compact { .. })))
}

/// A judgement of what was proposed, or that a model is asked for one.
fn assess(call: CallId, state: Option<&RunState>, choice: u8) -> Command {
    let asking = state.is_some_and(RunState::is_asking);
    if choice.is_multiple_of(3) && !asking {
        return Command::CallJudge {
            call,
            model: name("judge"),
            context: digest(Purpose::Inputs, b"i"),
            reserved: RESERVED,
            active_ms: 0,
        };
    }
    let proposed = state.and_then(|state| state.call(call)?.proposed());
    let nothing = Digest::from_bytes([0; 32]);
    Command::Assess(Assessment {
        call,
        demand: None,
        inputs: digest(Purpose::Inputs, b"i"),
        model: None,
        prompt: None,
        proposal: proposed.map_or(nothing, |proposed| proposed.digest),
        source: if asking {
            RiskSource::Model
        } else {
            RiskSource::Floor
        },
        tier: RiskTier::HighRisk,
        used: asking
            .then_some(RESERVED)
            .filter(|_| choice.is_multiple_of(2)),
    })
}

fn proposal(call: CallId, state: Option<&RunState>) -> Proposal {
    let known = state.and_then(|state| state.call(call)?.tool().cloned());
    Proposal {
        call,
        level: Level::IN_PROCESS,
        network: BTreeSet::new(),
        program: None,
        definition: digest(Purpose::Tool, b"t"),
        execute: None,
        precondition: PreconditionKind::None,
        risk: DeclaredRisk::HighRisk,
        tool: known.unwrap_or_else(|| name("set")),
    }
}

/// What people say beside answering, with the digest that a card would display.
fn person_command(op: Op, state: Option<&RunState>) -> (Command, Vec<String>) {
    let id = call(op.call);
    let found = state.and_then(|state| state.call(id));
    let nothing = Digest::from_bytes([0; 32]);
    let text = |name: &str| vec![name.to_owned()];
    match op.kind {
        18 => (Command::Amend(proposal(id, state)), text("arguments")),
        19 => (Command::Revoke { call: id }, Vec::new()),
        20 => {
            let question = found.and_then(Call::question);
            let request = question.map_or(nothing, |asked| asked.digest);
            (Command::Reply { call: id, request }, text("text"))
        }
        21 => {
            let request = found.and_then(Call::doubt).unwrap_or(nothing);
            let verdicts = [Settlement::Done, Settlement::NotDone];
            let verdict = verdicts[usize::from(op.choice) % 2];
            let settle = Command::SettleDoubt {
                call: id,
                request,
                verdict,
            };
            (settle, Vec::new())
        }
        22 => (Command::Prompt, text("text")),
        _ => {
            let policies = [
                ApprovalPolicy::False,
                ApprovalPolicy::ReadOnly,
                ApprovalPolicy::HighRisk,
            ];
            let policy = policies[usize::from(op.choice) % 3];
            (Command::ChangePolicy(policy), text("reason"))
        }
    }
}

fn later_command(op: Op, id: CallId) -> Command {
    match op.kind {
        14 => Command::RecordOutcome(Ended {
            exit: None,
            call: id,
            ending: [
                Ending::Succeeded,
                Ending::Failed(FailureKind::Tool),
                Ending::Stale,
                Ending::Interrupted,
            ][usize::from(op.choice) % 4],
            duration_ms: 1,
        }),
        15 if op.choice < 3 => Command::RecordDoubt { call: id },
        15 => Command::Settle {
            call: id,
            verdict: if op.choice == 3 {
                Settlement::Done
            } else {
                Settlement::NotDone
            },
        },
        16 if op.choice == 0 => Command::Cancel,
        16 if op.choice == 1 => Command::Narrow(vec![name("act"), name(ASK_USER), name("set")]),
        16 if op.choice == 2 => Command::Tighten(Limits {
            iterations: Some(20),
            ..Limits::default()
        }),
        16 => Command::Expire,
        _ => Command::Finish {
            outcome: [Outcome::Completed, Outcome::Failed, Outcome::Cancelled]
                [usize::from(op.choice) % 3],
            active_ms: 0,
        },
    }
}
