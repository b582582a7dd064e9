//! Decisions about talking to models: what may be asked, and how what came of it is recorded.

use super::{Decision, blobs, end, segment};
use crate::budget::Spend;
use crate::content::Blobs;
use crate::digest::Digest;
use crate::event::{
    ContextCompacted, Event, ModelCalled, ModelFailed, ModelFailure, ModelReplied, ModelTask,
    NamedCall, Outcome, Stop,
};
use crate::id::{CallId, Name};
use crate::limits::PENDING_CALLS_MAX;
use crate::run::call::Phase;
use crate::run::given::{Decided, Given};
use crate::run::next::{Effect, Step, next};
use crate::run::rejection::Rejection;
use crate::run::state::RunState;
use crate::run::turn::Turn;

/// What is asked of a model, and what that may take.
#[derive(Clone, Copy)]
pub(super) struct Asking {
    /// Digest of what is sent.
    pub(super) context: Digest,
    /// What is set aside.
    pub(super) reserved: Spend,
    /// How long the segment was active.
    pub(super) active_ms: u64,
}

/// Another turn, or first a summary of those before; where no cap has room for it, the end.
pub(super) fn call_model(state: &RunState, compact: bool, asking: Asking) -> Decision {
    segment(state)?;
    if state.is_asking() {
        return Err(Rejection::OutOfTurn("the model is being asked"));
    }
    let Step::Perform(Effect::Prepare { attempt }) = next(state) else {
        return Err(Rejection::OutOfTurn("the model is not to be called now"));
    };
    let mut usage = *state.usage();
    usage.active_ms = usage.active_ms.saturating_add(asking.active_ms);
    if let Some(cap) = usage.blocks_turn(state.limits(), asking.reserved) {
        return end(state, Outcome::Budget, Some(cap), asking.active_ms);
    }
    let (attempt, task) = if compact {
        let attempt = state.next_attempt(ModelTask::Compact);
        let attempt = attempt.ok_or(Rejection::Exhausted("attempts"))?;
        (attempt, ModelTask::Compact)
    } else {
        (attempt, ModelTask::Turn)
    };
    let model = state.started().model.clone();
    Ok(vec![called((attempt, task), model, asking)])
}

/// A judgement of a call that waits for one.
pub(super) fn call_judge(state: &RunState, call: CallId, model: Name, asking: Asking) -> Decision {
    segment(state)?;
    let waits = "the call does not wait for a verdict";
    let open = super::call_that(state, call, |phase| phase == Phase::Proposed, waits)?;
    if open.assessed().is_some() || state.is_asking() || state.is_cancelling() {
        return Err(Rejection::OutOfTurn(waits));
    }
    let mut usage = *state.usage();
    usage.active_ms = usage.active_ms.saturating_add(asking.active_ms);
    if usage
        .blocks_spending(state.limits(), asking.reserved)
        .is_some()
    {
        return Err(Rejection::OutOfTurn("no cap has room for a judgement"));
    }
    let task = ModelTask::Classify(call);
    let attempt = state.next_attempt(task);
    let attempt = attempt.ok_or(Rejection::Exhausted("attempts"))?;
    Ok(vec![called((attempt, task), model, asking)])
}

fn called((attempt, task): (u32, ModelTask), model: Name, asking: Asking) -> Decided {
    Decided::fact(Event::ModelCalled(ModelCalled {
        attempt,
        context: asking.context,
        model,
        reserved: asking.reserved.tokens,
        reserved_usd: asking.reserved.cost_usd,
        task,
    }))
}

/// What a model said.
pub(super) struct Reply {
    pub(super) calls: Vec<Option<Name>>,
    pub(super) stop: Stop,
    pub(super) used: Spend,
}

/// The attempt whose reply is due.
fn called_for_turn(state: &RunState) -> Result<u32, Rejection> {
    let open = segment(state)?;
    match state.turn() {
        // Also while the run is being cancelled: what was said is said.
        Turn::Called { attempt, epoch, .. } if *epoch == open.epoch => Ok(*attempt),
        Turn::Ready | Turn::Called { .. } | Turn::Replied { .. } | Turn::Failed { .. } => {
            Err(Rejection::OutOfTurn("no reply of the model is due"))
        }
    }
}

/// The attempt at a summary that is due.
fn called_to_compact(state: &RunState) -> Option<u32> {
    let epoch = state.segment()?.epoch;
    let aside = state.aside()?;
    (aside.task == ModelTask::Compact && aside.is_open_in(epoch)).then_some(aside.attempt)
}

pub(super) fn record_reply(state: &RunState, given: &Given, reply: Reply) -> Decision {
    let attempt = called_for_turn(state)?;
    let first = state.next_call().ok_or(Rejection::Exhausted("call ids"))?;
    let mut calls = Vec::with_capacity(reply.calls.len());
    let mut names = Vec::with_capacity(reply.calls.len());
    for (offset, tool) in (0_u32..).zip(reply.calls) {
        let call = first.plus(offset).ok_or(Rejection::Exhausted("call ids"))?;
        names.push(format!("arguments.{call}"));
        calls.push(NamedCall { call, tool });
    }
    if calls.len() > PENDING_CALLS_MAX {
        return Err(Rejection::Exhausted("calls in one reply"));
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let blobs = blobs(given, &names, &["provider", "reply"])?;
    let event = Event::ModelReplied(ModelReplied {
        attempt,
        calls,
        cost_usd: reply.used.cost_usd,
        stop: reply.stop,
        used: reply.used.tokens,
    });
    Ok(vec![Decided { event, blobs }])
}

/// Why there is no reply.
#[derive(Clone, Copy)]
pub(super) struct Failure {
    pub(super) kind: ModelFailure,
    pub(super) used: Option<Spend>,
    pub(super) retry_ms: Option<u64>,
}

pub(super) fn record_failure(state: &RunState, given: &Given, failure: Failure) -> Decision {
    let attempt = match called_to_compact(state) {
        Some(attempt) => attempt,
        None => called_for_turn(state)?,
    };
    let blobs = blobs(given, &[], &["detail"])?;
    let used = failure.used.unwrap_or_default();
    let event = Event::ModelFailed(ModelFailed {
        attempt,
        cost_usd: used.cost_usd,
        kind: failure.kind,
        retry_ms: failure.retry_ms,
        used: failure.used.map(|used| used.tokens),
    });
    Ok(vec![Decided { event, blobs }])
}

/// A summary of the first replies of a run.
pub(super) fn record_summary(
    state: &RunState,
    given: &Given,
    replies: usize,
    used: Spend,
) -> Decision {
    if called_to_compact(state).is_none() {
        return Err(Rejection::OutOfTurn("no summary is due"));
    }
    let none = Rejection::OutOfTurn("nothing more is made shorter");
    if replies <= state.compacted().map_or(0, |compacted| compacted.replies) {
        return Err(none);
    }
    let covered = state.replies().get(..replies).unwrap_or_default();
    let (Some(first), Some(last)) = (covered.first(), covered.last()) else {
        return Err(none);
    };
    let blobs: Blobs = blobs(given, &["summary"], &[])?;
    let event = Event::ContextCompacted(ContextCompacted {
        cost_usd: used.cost_usd,
        from: first.version,
        model: state.started().model.clone(),
        to: last.version,
        used: used.tokens,
    });
    Ok(vec![Decided { event, blobs }])
}
