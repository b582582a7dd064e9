//! Deciding: what events a command comes to in a state, or why it comes to none.
//!
//! A decision is a value. It reads no clock and no store, and holds facts and commitments alone:
//! texts travel beside it, already committed to in [`Given::blobs`].

mod amend;
mod approvals;
mod begin;
mod calls;
mod lifecycle;
mod model;

use super::call::{Call, Phase};
use super::command::Command;
use super::given::{Decided, Given};
use super::rejection::Rejection;
use super::state::{RunState, Segment};
use crate::content::Blobs;
use crate::id::CallId;

use lifecycle::end;

type Decision = Result<Vec<Decided>, Rejection>;

/// What events a command comes to. `None` is a run that was not started.
#[expect(clippy::too_many_lines, reason = "one match, an arm a command")]
pub fn decide(state: Option<&RunState>, given: &Given, command: Command) -> Decision {
    let Some(state) = state else {
        return match command {
            Command::Start(start) => lifecycle::start(given, start),
            _ => Err(Rejection::NotStarted),
        };
    };
    if let Some(outcome) = state.outcome() {
        return match command {
            Command::Start(_) => Err(Rejection::Started),
            _ => Err(Rejection::Finished(outcome)),
        };
    }
    match command {
        Command::Start(_) => Err(Rejection::Started),
        Command::TakeUp {
            attendance,
            driver,
            host,
            reason,
        } => {
            let taken = lifecycle::TakenUp {
                attendance,
                driver,
                host,
                reason,
            };
            lifecycle::take_up(state, taken)
        }
        Command::PutDown { reason, active_ms } => lifecycle::put_down(state, reason, active_ms),
        Command::CallModel {
            compact,
            context,
            reserved,
            active_ms,
        } => {
            let asking = model::Asking {
                context,
                reserved,
                active_ms,
            };
            model::call_model(state, compact, asking)
        }
        Command::CallJudge {
            call,
            model,
            context,
            reserved,
            active_ms,
        } => {
            let asking = model::Asking {
                context,
                reserved,
                active_ms,
            };
            model::call_judge(state, call, model, asking)
        }
        Command::RecordReply { calls, stop, used } => {
            let reply = model::Reply { calls, stop, used };
            model::record_reply(state, given, reply)
        }
        Command::RecordModelFailure {
            kind,
            used,
            retry_ms,
        } => {
            let failure = model::Failure {
                kind,
                used,
                retry_ms,
            };
            model::record_failure(state, given, failure)
        }
        Command::RecordSummary { replies, used } => {
            model::record_summary(state, given, replies, used)
        }
        Command::Propose(proposal) => calls::propose(state, given, proposal),
        Command::Refuse { call, kind } => calls::refuse(state, given, call, kind),
        Command::Assess(assessment) => calls::assess(state, given, assessment),
        Command::Gate { call } => calls::gate(state, given, call),
        Command::Begin {
            call,
            active_ms,
            level,
        } => begin::begin(state, given, (call, active_ms), &level),
        Command::RecordOutcome(ended) => calls::record_outcome(state, given, ended),
        Command::RecordDoubt { call } => calls::record_doubt(state, given, call),
        Command::Settle { call, verdict } => calls::settle(state, given, call, verdict),
        Command::Answer(set) => approvals::answer(state, given, &set),
        Command::Amend(proposal) => amend::amend(state, given, proposal),
        Command::Revoke { call } => approvals::revoke(state, given, call),
        Command::Reply { call, request } => approvals::reply(state, given, call, request),
        Command::SettleDoubt {
            call,
            request,
            verdict,
        } => approvals::settle_doubt(state, given, (call, request), verdict),
        Command::Prompt => lifecycle::prompt(state, given),
        Command::ChangePolicy(policy) => lifecycle::change_policy(state, given, policy),
        Command::Expire => approvals::expire(state, given),
        Command::Tighten(limits) => lifecycle::tighten(state, given, limits),
        Command::Narrow(tools) => lifecycle::narrow(state, given, tools),
        Command::Cancel => lifecycle::cancel(state, given),
        Command::Finish { outcome, active_ms } => lifecycle::finish(state, outcome, active_ms),
    }
}

/// The open segment; a command of a driver is for it alone.
fn segment(state: &RunState) -> Result<&Segment, Rejection> {
    state.segment().ok_or(Rejection::NotDriven)
}

/// A call of the newest reply that has come as far as `wanted` says.
fn call_that<'a>(
    state: &'a RunState,
    call: CallId,
    wanted: fn(Phase) -> bool,
    why: &'static str,
) -> Result<&'a Call, Rejection> {
    segment(state)?;
    let call = state
        .batch()
        .find(|open| open.id() == call)
        .ok_or(Rejection::UnknownCall(call))?;
    if wanted(call.phase()) {
        Ok(call)
    } else {
        Err(Rejection::OutOfTurn(why))
    }
}

/// Any call of the run.
fn known(state: &RunState, call: CallId) -> Result<&Call, Rejection> {
    state.call(call).ok_or(Rejection::UnknownCall(call))
}

/// The command's texts under the names that its record gives them: all of `required`, any of
/// `optional`, nothing else.
fn blobs(given: &Given, required: &[&str], optional: &[&str]) -> Result<Blobs, Rejection> {
    if let Some(missing) = required
        .iter()
        .find(|&&name| !given.blobs.contains_key(name))
    {
        return Err(Rejection::Text((*missing).to_owned()));
    }
    let known = |name: &str| required.contains(&name) || optional.contains(&name);
    match given.blobs.keys().find(|name| !known(name)) {
        Some(extra) => Err(Rejection::Text(extra.clone())),
        None => Ok(given.blobs.clone()),
    }
}
