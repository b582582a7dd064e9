//! Commands in any order, and the one that is due often enough for a story to get somewhere.

use placet_ledger::approval::By;
use placet_ledger::budget::{Limits, Tokens, Usd};
use placet_ledger::containment::Containment;
use placet_ledger::digest::{Purpose, digest};
use placet_ledger::event::{
    FailureKind, ModelFailure, Outcome, RefusalKind, SegmentEnd, SegmentReason, Settlement, Stop,
};
use placet_ledger::id::CallId;
use placet_ledger::judge::Verdict;
use placet_ledger::policy::Attendance;
use placet_ledger::precondition::PreconditionKind;
use placet_ledger::risk::DeclaredRisk;
use placet_ledger::run::{Command, Effect, Ended, Ending, Proposal, RunState, Step, next};
use placet_replay::facts::{EXPIRY_MS, HOST, RESERVED, call, context, driver, name};
use proptest::prelude::*;

/// A command about one of the first calls, with all it needs to be right at the right moment. From
/// [`DUE`] on it is the one that is due, so that stories get somewhere.
#[derive(Debug, Clone, Copy)]
pub(super) struct Op {
    pub(super) kind: u8,
    pub(super) call: u32,
    pub(super) choice: u8,
    pub(super) later_ms: u64,
}

const DUE: u8 = 18;

/// The command that is due, whatever the number was.
pub(super) fn due(mut op: Op, state: Option<&RunState>) -> Op {
    let Some(state) = state.filter(|_| op.kind >= DUE) else {
        return op;
    };
    let (kind, call) = match next(state) {
        _ if state.segment().is_none() => (0, None),
        Step::Perform(Effect::Prepare { .. }) => (2, None),
        Step::Perform(Effect::Complete { .. }) => (4, None),
        Step::Perform(Effect::Propose(call)) => (7, Some(call)),
        Step::Perform(Effect::Reconcile(call)) if op.kind.is_multiple_of(2) => (14, Some(call)),
        Step::Perform(Effect::Reconcile(call)) => (15, Some(call)),
        Step::Gate(call) => (10, Some(call)),
        Step::Execute(call) => (12, Some(call)),
        Step::Await(_) if op.kind.is_multiple_of(2) => (1, None),
        Step::Await(_) => (17, None),
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

pub(super) fn verdict(choice: u8) -> Verdict {
    let tier = DeclaredRisk::HighRisk;
    match choice {
        0 | 1 => Verdict::Approve {
            by: By::Policy {
                rule: name("policy:high-risk"),
            },
            tier,
        },
        2 | 3 => Verdict::Ask {
            rule: name("policy:false"),
            quorum: 1,
            tier,
            expires_ms: None,
        },
        4 => Verdict::Decline {
            kind: RefusalKind::Nobody,
            of: None,
        },
        _ => Verdict::Decline {
            kind: RefusalKind::Rule,
            of: None,
        },
    }
}

const TOOLS: [&str; 3] = ["set", "act", "look"];

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
                context: context(),
                reserved: RESERVED,
                active_ms: 0,
            },
            none(),
        ),
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
                cost_usd: Usd::ZERO,
                stop,
                used: Tokens::default(),
            };
            (reply, texts)
        }
        6..14 => call_command(op, state),
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
            },
            none(),
        ),
        7 | 8 => {
            let known = state.and_then(|state| state.call(id)?.tool().cloned());
            let tool = known.unwrap_or_else(|| name("set"));
            let proposal = Proposal {
                call: id,
                containment: Containment::InProcess,
                definition: digest(Purpose::Tool, b"t"),
                execute: None,
                precondition: PreconditionKind::None,
                risk: DeclaredRisk::HighRisk,
                tool,
            };
            (Command::Propose(proposal), vec![String::from("arguments")])
        }
        9 => (
            Command::Refuse {
                call: id,
                kind: RefusalKind::BadArguments,
            },
            none(),
        ),
        10 | 11 => (Command::Gate { call: id }, none()),
        _ => (
            Command::Begin {
                call: id,
                active_ms: 0,
            },
            none(),
        ),
    }
}

fn later_command(op: Op, id: CallId) -> Command {
    match op.kind {
        14 => Command::RecordOutcome(Ended {
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
        16 if op.choice == 1 => Command::Narrow(vec![name("act"), name("set")]),
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
