//! What remains to be done, derived from the state alone: the same after a crash as before it.

use super::call::Phase;
use super::state::RunState;
use super::turn::{AsideStands, Turn};
use crate::event::{ModelTask, Outcome, Stop};
use crate::id::CallId;

/// Something to do outside the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Render what the model would be sent.
    Prepare {
        /// Which attempt at this turn it would be.
        attempt: u32,
    },
    /// Call the model.
    Complete {
        /// Which attempt at this turn it is.
        attempt: u32,
    },
    /// Have what was said so far told in fewer words.
    Compact {
        /// Which attempt it is.
        attempt: u32,
    },
    /// Make a proposal of a call, changing nothing.
    Propose(CallId),
    /// Have a proposal judged whose verdict depends on how.
    Assess(CallId),
    /// Find out whether an interrupted execution took effect.
    Reconcile(CallId),
}

/// What remains to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Do something outside and record what came of it.
    Perform(Effect),
    /// Ask the gate for a verdict.
    Gate(CallId),
    /// Execute a call.
    Execute(CallId),
    /// Wait for people.
    Await(Vec<CallId>),
    /// Record the end.
    Finish(Outcome),
    /// Nothing, for ever.
    Finished,
}

/// What remains to be done.
pub fn next(state: &RunState) -> Step {
    if state.outcome().is_some() {
        return Step::Finished;
    }
    // Calls of the newest reply alone can be open: the model is not called again before.
    let first = |wanted: fn(Phase) -> bool| state.batch().find(|call| wanted(call.phase()));
    if let Some(call) = first(|phase| matches!(phase, Phase::Executing { .. })) {
        return Step::Perform(Effect::Reconcile(call.id()));
    }
    if state.is_cancelling() {
        return Step::Finish(Outcome::Cancelled);
    }
    if let Some(call) = first(|phase| matches!(phase, Phase::Named | Phase::Proposed)) {
        return match call.phase() {
            Phase::Named => Step::Perform(Effect::Propose(call.id())),
            Phase::Proposed
            | Phase::Pending
            | Phase::Asked
            | Phase::Granted
            | Phase::Executing { .. }
            | Phase::InDoubt
            | Phase::Closed(_) => Step::Gate(call.id()),
        };
    }
    let waits = |phase| matches!(phase, Phase::Pending | Phase::Asked | Phase::InDoubt);
    let waiting: Vec<_> = state
        .batch()
        .filter(|call| waits(call.phase()))
        .map(super::call::Call::id)
        .collect();
    if !waiting.is_empty() {
        return Step::Await(waiting);
    }
    if let Some(call) = first(|phase| phase == Phase::Granted) {
        return Step::Execute(call.id());
    }
    turn(state)
}

/// What remains to be done once no call is open.
fn turn(state: &RunState) -> Step {
    if let Some(step) = compaction(state) {
        return step;
    }
    match state.turn() {
        Turn::Ready => Step::Perform(Effect::Prepare { attempt: 1 }),
        Turn::Called { attempt, epoch, .. } if *epoch == state.epoch() => {
            Step::Perform(Effect::Complete { attempt: *attempt })
        }
        Turn::Called { attempt, .. } => Step::Perform(Effect::Prepare {
            attempt: attempt.saturating_add(1),
        }),
        Turn::Replied { .. } if state.batch().next().is_some() => {
            Step::Perform(Effect::Prepare { attempt: 1 })
        }
        Turn::Replied {
            stop: Stop::End, ..
        } => Step::Finish(Outcome::Completed),
        Turn::Failed {
            retry: Some(retry), ..
        } => Step::Perform(Effect::Prepare {
            attempt: retry.attempt.saturating_add(1),
        }),
        Turn::Replied { .. } | Turn::Failed { retry: None, .. } => Step::Finish(Outcome::Failed),
    }
}

/// What remains to be done of a summary that was asked for. One that was lost, or is to be tried
/// again, is asked for anew once it is known that it still is to be had.
fn compaction(state: &RunState) -> Option<Step> {
    let aside = state.aside()?;
    if aside.task != ModelTask::Compact {
        return None;
    }
    match aside.stands {
        AsideStands::Called { epoch, .. } if epoch == state.epoch() => {
            Some(Step::Perform(Effect::Compact {
                attempt: aside.attempt,
            }))
        }
        AsideStands::Failed { retry: None, .. } => Some(Step::Finish(Outcome::Failed)),
        AsideStands::Called { .. } | AsideStands::Failed { retry: Some(_), .. } => None,
    }
}
