//! Decisions about starting a call: whether its grant still holds at this moment.

use std::collections::BTreeSet;

use super::calls::{Refusal, expired, proposal_of, refused, verdict};
use super::{Decision, call_that, segment};
use crate::containment::{Containment, Level};
use crate::content::Blobs;
use crate::event::{Event, ExecutionRefused, ExecutionStarted, RefusalKind, StartRefusal};
use crate::id::CallId;
use crate::judge::Verdict;
use crate::run::call::{Call, Grant, Phase};
use crate::run::given::{Decided, Given};
use crate::run::rejection::Rejection;
use crate::run::state::RunState;

const fn granted(phase: Phase) -> bool {
    matches!(phase, Phase::Granted)
}

/// Starts a call whose grant still holds; where it does not, the grant is void and a new verdict
/// follows.
pub(super) fn begin(
    state: &RunState,
    given: &Given,
    (call, active_ms): (CallId, u64),
    level: &Level,
) -> Decision {
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
    let shown = call.shown_level().unwrap_or(&proposal.level);
    let in_process = shown.containment() == Containment::InProcess;
    let level = if in_process { shown } else { level };
    let weaker = !level.holds_for(shown);
    let refusal = start_refusal(state, given, call, active_ms);
    let refusal = refusal.or(weaker.then_some(StartRefusal::Containment));
    let Some(reason) = refusal else {
        return Ok(vec![Decided::fact(Event::ExecutionStarted(
            ExecutionStarted {
                attempt,
                authority: given.authority,
                call: call.id(),
                containment: level.containment(),
                epoch: segment(state)?.epoch,
                missing: level.missing().clone(),
                network: network(given, call),
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
        (StartRefusal::Expired, Some(asked)) => Some(expired(call.id(), asked.digest)),
        (StartRefusal::Budget, _) => {
            let why = Refusal::of(RefusalKind::OverLimit);
            Some(refused(given, call.id(), why, Blobs::new()))
        }
        // It is judged first; its verdict follows then.
        (_, _) if given.verdict == Some(Verdict::Unjudged) => None,
        (_, _) => Some(verdict(state, given, call, weaker.then_some(level))?),
    };
    Ok([Decided::fact(void)].into_iter().chain(after).collect())
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
        (
            Some(
                Verdict::Ask { .. }
                | Verdict::Question
                | Verdict::Decline { .. }
                | Verdict::Unjudged,
            ),
            false,
        )
        | (None, _) => Some(StartRefusal::Policy),
    }
}

/// The ports that the process may have: those that a person was shown, or those that the entry or
/// rule names which allows it.
fn network(given: &Given, call: &Call) -> BTreeSet<u16> {
    let by_person = call.grant().is_some_and(Grant::by_person);
    match (&given.verdict, call.proposed()) {
        (_, Some(proposed)) if by_person => proposed.network.clone(),
        (Some(Verdict::Approve { network, .. }), _) => network.clone(),
        (_, _) => BTreeSet::new(),
    }
}
