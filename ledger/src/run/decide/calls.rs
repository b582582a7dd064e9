//! Decisions about one call: proposed, gated, started, and what came of it.

use super::{Decision, blobs, call_that, known, segment};
use crate::approval::By;
use crate::content::Blobs;
use crate::digest::Digest;
use crate::event::{
    ApprovalExpired, ApprovalGranted, ApprovalRequested, Automatic, CallProposed, CallRefused,
    DoubtReason, Event, ExecutionEnded, ExecutionInDoubt, ExecutionRefused, ExecutionSettled,
    ExecutionStarted, QuestionAsked, RefusalKind, Settlement, StartRefusal,
};
use crate::id::CallId;
use crate::judge::Verdict;
use crate::run::call::{Call, Phase, Proposed};
use crate::run::command::{Ended, Ending, Proposal};
use crate::run::given::{Decided, Given};
use crate::run::rejection::Rejection;
use crate::run::state::{RunState, Turn};
use crate::time::Timestamp;

const fn named(phase: Phase) -> bool {
    matches!(phase, Phase::Named)
}

const fn proposed(phase: Phase) -> bool {
    matches!(phase, Phase::Proposed)
}

const fn granted(phase: Phase) -> bool {
    matches!(phase, Phase::Granted)
}

const fn executing(phase: Phase) -> bool {
    matches!(phase, Phase::Executing { .. })
}

pub(super) fn propose(state: &RunState, given: &Given, proposal: Proposal) -> Decision {
    let why = "the call was proposed or refused before";
    let call = call_that(state, proposal.call, named, why)?;
    in_order(state, proposal.call)?;
    if call.tool() != Some(&proposal.tool) {
        return Err(Rejection::OutOfTurn("the model named another tool"));
    }
    if !state.offers(&proposal.tool) {
        // It was taken away while the proposal was being made.
        let kind = RefusalKind::DeniedTool;
        return Ok(vec![refused(
            given,
            proposal.call,
            kind,
            None,
            Blobs::new(),
        )]);
    }
    let blobs = blobs(given, &["arguments"], &PROPOSAL_TEXTS)?;
    let event = proposed_event(proposal.call, None, proposal);
    Ok(vec![Decided { event, blobs }])
}

/// The texts that a proposal may bring beside its arguments.
pub(super) const PROPOSAL_TEXTS: [&str; 4] =
    ["execute_arguments", "message", "precondition", "preview"];

/// The record of a proposal.
pub(super) fn proposed_event(
    call: CallId,
    supersedes: Option<CallId>,
    proposal: Proposal,
) -> Event {
    Event::CallProposed(CallProposed {
        call,
        containment: proposal.containment,
        definition: proposal.definition,
        execute: proposal.execute,
        precondition: proposal.precondition,
        risk: proposal.risk,
        supersedes,
        tool: proposal.tool,
    })
}

/// Calls of one reply come to their verdicts in the model's order.
fn in_order(state: &RunState, call: CallId) -> Result<(), Rejection> {
    let open = |earlier: &Call| matches!(earlier.phase(), Phase::Named | Phase::Proposed);
    let mut earlier = state.batch().take_while(|earlier| earlier.id() != call);
    if earlier.any(open) {
        return Err(Rejection::OutOfTurn(
            "an earlier call of the reply has no verdict yet",
        ));
    }
    Ok(())
}

pub(super) fn refuse(state: &RunState, given: &Given, call: CallId, kind: RefusalKind) -> Decision {
    call_that(
        state,
        call,
        named,
        "the call was proposed or refused before",
    )?;
    if let RefusalKind::RepeatOf | RefusalKind::Rule | RefusalKind::Nobody = kind {
        return Err(Rejection::OutOfTurn("that is for the gate to say"));
    }
    in_order(state, call)?;
    let blobs = blobs(given, &[], &["detail"])?;
    Ok(vec![refused(given, call, kind, None, blobs)])
}

fn refused(
    given: &Given,
    call: CallId,
    kind: RefusalKind,
    of: Option<CallId>,
    blobs: Blobs,
) -> Decided {
    let event = Event::CallRefused(CallRefused {
        authority: given.authority,
        call,
        kind,
        of,
    });
    Decided { event, blobs }
}

fn proposal_of(call: &Call) -> Result<&Proposed, Rejection> {
    call.proposed()
        .ok_or(Rejection::OutOfTurn("the call has no proposal"))
}

pub(super) fn gate(state: &RunState, given: &Given, call: CallId) -> Decision {
    let why = "the call does not wait for a verdict";
    let call = match known(state, call)? {
        // Whoever amends a call drives no run.
        amended if amended.supersedes().is_some() => amended,
        other => call_that(state, other.id(), proposed, why)?,
    };
    if !proposed(call.phase()) {
        return Err(Rejection::OutOfTurn(why));
    }
    verdict(state, given, call).map(|decided| vec![decided])
}

/// The record of the gate's verdict on a call.
fn verdict(state: &RunState, given: &Given, call: &Call) -> Result<Decided, Rejection> {
    let proposal = proposal_of(call)?;
    let message = proposal.message;
    let proposal = proposal.digest;
    let verdict = given
        .verdict
        .clone()
        .ok_or(Rejection::OutOfTurn("the gate was not asked"))?;
    let (authority, id) = (given.authority, call.id());
    Ok(match verdict {
        Verdict::Approve { by, tier } => {
            let grant = Automatic {
                authority,
                by,
                call: id,
                proposal,
                tier,
            };
            Decided::fact(Event::ApprovalGranted(ApprovalGranted::Automatic(grant)))
        }
        Verdict::Question => {
            let expires_at = expires_at(state, None)?;
            let event = QuestionAsked {
                call: id,
                expires_at,
            };
            Decided {
                event: Event::QuestionAsked(event),
                blobs: message
                    .map(|text| (String::from("text"), text))
                    .into_iter()
                    .collect(),
            }
        }
        Verdict::Ask {
            rule,
            quorum,
            tier,
            expires_ms,
        } => {
            let expires_at = expires_at(state, expires_ms)?;
            let rules = given.rules;
            Decided::fact(Event::ApprovalRequested(ApprovalRequested {
                authority,
                call: id,
                expires_at,
                proposal,
                quorum,
                rule,
                rules,
                tier,
            }))
        }
        Verdict::Decline { kind, of } => refused(given, id, kind, of, Blobs::new()),
    })
}

/// When an unanswered request is too late: a rule may say so before the park does. Both count from
/// the reply that named the call.
fn expires_at(state: &RunState, rule_ms: Option<u64>) -> Result<Timestamp, Rejection> {
    let Turn::Replied { at, .. } = state.turn() else {
        return Err(Rejection::OutOfTurn("the call belongs to no reply"));
    };
    let park_ms = state.started().park_expiry_ms;
    Ok(at.plus_ms(rule_ms.map_or(park_ms, |ms| ms.min(park_ms))))
}

pub(super) fn begin(state: &RunState, given: &Given, call: CallId, active_ms: u64) -> Decision {
    let call = call_that(
        state,
        call,
        granted,
        "the call is not allowed, or was started",
    )?;
    its_turn(state, call)?;
    let proposal = proposal_of(call)?;
    let attempt = call
        .attempts()
        .checked_add(1)
        .ok_or(Rejection::Exhausted("attempts"))?;
    let Some(reason) = start_refusal(state, given, call, active_ms) else {
        return Ok(vec![Decided::fact(Event::ExecutionStarted(
            ExecutionStarted {
                attempt,
                authority: given.authority,
                call: call.id(),
                containment: proposal.containment,
                epoch: segment(state)?.epoch,
                proposal: proposal.digest,
            },
        ))]);
    };
    let void = Event::ExecutionRefused(ExecutionRefused {
        attempt,
        authority: given.authority,
        call: call.id(),
        proposal: proposal.digest,
        reason,
    });
    let after = match (reason, call.requested()) {
        (StartRefusal::Expired, Some(asked)) => expired(call.id(), asked.digest),
        (StartRefusal::Budget, _) => {
            refused(given, call.id(), RefusalKind::OverLimit, None, Blobs::new())
        }
        (_, _) => verdict(state, given, call)?,
    };
    Ok(vec![Decided::fact(void), after])
}

/// Executions run one by one, in the model's order, once every call of the reply has its verdict
/// and its answer, and none in a run that is being cancelled.
fn its_turn(state: &RunState, call: &Call) -> Result<(), Rejection> {
    if state.is_cancelling() {
        return Err(Rejection::OutOfTurn("the run is being cancelled"));
    }
    // By their places in the reply: an amended call has a later id than those after it.
    let place = |of: &Call| state.batch().position(|call| call.id() == of.id());
    let comes_first = |other: &Call| match other.phase() {
        Phase::Closed(_) => false,
        Phase::Granted => place(other) < place(call),
        Phase::Named
        | Phase::Proposed
        | Phase::Pending
        | Phase::Asked
        | Phase::Executing { .. }
        | Phase::InDoubt => true,
    };
    if state.batch().any(comes_first) {
        return Err(Rejection::OutOfTurn(
            "another call of the reply comes first",
        ));
    }
    Ok(())
}

/// Why a grant no longer holds.
fn start_refusal(
    state: &RunState,
    given: &Given,
    call: &Call,
    active_ms: u64,
) -> Option<StartRefusal> {
    let mut usage = *state.usage();
    usage.active_ms = usage.active_ms.saturating_add(active_ms);
    let grant = call.grant()?;
    if grant.expires_at.is_some_and(|end| given.at >= end) {
        return Some(StartRefusal::Expired);
    }
    if usage.blocks_execution(state.limits()).is_some() {
        return Some(StartRefusal::Budget);
    }
    if call
        .proposed()
        .is_none_or(|proposed| !state.offers(&proposed.tool))
    {
        return Some(StartRefusal::List);
    }
    match (&given.verdict, grant.by_person()) {
        (
            Some(Verdict::Decline {
                kind: RefusalKind::Rule,
                ..
            }),
            true,
        ) => Some(StartRefusal::Rule),
        // A person's grant falls to no policy, and not to nobody being there now.
        (Some(_), true) | (Some(Verdict::Approve { .. }), false) => None,
        (Some(Verdict::Ask { .. } | Verdict::Question | Verdict::Decline { .. }), false)
        | (None, _) => Some(StartRefusal::Policy),
    }
}

pub(super) fn expired(call: CallId, request: Digest) -> Decided {
    Decided::fact(Event::ApprovalExpired(ApprovalExpired { call, request }))
}

pub(super) fn record_outcome(state: &RunState, given: &Given, ended: Ended) -> Decision {
    let call = call_that(
        state,
        ended.call,
        executing,
        "the call is not being executed",
    )?;
    let blobs = blobs(given, &[], &["result"])?;
    let kind = match ended.ending {
        Ending::Failed(kind) => Some(kind),
        Ending::Succeeded | Ending::Stale | Ending::Interrupted => None,
    };
    let body = ExecutionEnded {
        attempt: call.attempts(),
        call: ended.call,
        duration_ms: ended.duration_ms,
        kind,
    };
    let event = match ended.ending {
        Ending::Succeeded => Event::ExecutionSucceeded(body),
        Ending::Failed(_) => Event::ExecutionFailed(body),
        Ending::Stale => Event::ExecutionStale(body),
        Ending::Interrupted => Event::ExecutionInterrupted(body),
    };
    Ok(vec![Decided { event, blobs }])
}

pub(super) fn record_doubt(state: &RunState, given: &Given, call: CallId) -> Decision {
    let found = call_that(state, call, executing, "the call is not being executed")?;
    let blobs = blobs(given, &[], &["detail"])?;
    let event = Event::ExecutionInDoubt(ExecutionInDoubt {
        attempt: found.attempts(),
        call,
        reason: DoubtReason::Unknown,
    });
    Ok(vec![Decided { event, blobs }])
}

pub(super) fn settle(
    state: &RunState,
    given: &Given,
    call: CallId,
    verdict: Settlement,
) -> Decision {
    let found = call_that(state, call, executing, "the call is not being executed")?;
    let blobs = blobs(given, &[], &["result"])?;
    let event = ExecutionSettled {
        attempt: found.attempts(),
        by: By::Tool,
        call,
        request: None,
        verdict,
    };
    Ok(vec![Decided {
        event: Event::ExecutionSettled(event),
        blobs,
    }])
}
