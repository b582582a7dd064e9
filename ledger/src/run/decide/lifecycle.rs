//! Decisions about the run as a whole: start, take up, talk to the model, narrow, park, end.

use super::{Decision, blobs, segment};
use crate::budget::{Cap, Limits};
use crate::content::Blobs;
use crate::event::{
    Event, LimitsTightened, OpenCall, Outcome, PolicyChanged, PromptAdded, RunCancelRequested,
    RunFinished, RunParked, RunStarted, SegmentEnd, SegmentEnded, SegmentReason, SegmentStarted,
    ToolsNarrowed,
};
use crate::id::{DriverId, HostId, Name};
use crate::policy::{ApprovalPolicy, Attendance};
use crate::run::call::Call;
use crate::run::command::Start;
use crate::run::given::{Decided, Given};
use crate::run::next::{Step, next};
use crate::run::rejection::Rejection;
use crate::run::state::RunState;
use crate::run::turn::Turn;

pub(super) fn start(given: &Given, start: Start) -> Decision {
    given.caller.person().ok_or(Rejection::NotAPerson)?;
    let blobs = blobs(
        given,
        &["prompt", "scope", "system", "workspace"],
        &["config", "narrowing"],
    )?;
    let event = Event::RunStarted(RunStarted {
        agent: start.agent,
        attendance: start.attendance,
        authority: given.authority,
        binary: start.binary,
        containment: start.containment,
        http_approval: start.http_approval,
        limits: start.limits,
        model: start.model,
        park_expiry_ms: start.park_expiry_ms,
        plugin: start.plugin,
        policy: start.policy,
        rules: given.rules,
        tool_allowlist: start.tool_allowlist,
        tools: start.tools,
    });
    Ok(vec![Decided { event, blobs }])
}

/// Who takes a run up, and why.
#[derive(Clone, Copy)]
pub(super) struct TakenUp {
    pub(super) attendance: Attendance,
    pub(super) driver: DriverId,
    pub(super) host: HostId,
    pub(super) reason: SegmentReason,
}

pub(super) fn take_up(state: &RunState, taken: TakenUp) -> Decision {
    let mut decided = Vec::new();
    if let Some(open) = state.segment() {
        if open.driver == taken.driver {
            return Err(Rejection::OutOfTurn("the driver has the run already"));
        }
        // Its driver holds no lock any more, or this one could not have taken it.
        let active_ms = open.proven_ms();
        decided.push(end_segment(state, SegmentEnd::Lost, active_ms)?);
    }
    let epoch = state
        .epoch()
        .checked_add(1)
        .ok_or(Rejection::Exhausted("segments"))?;
    let TakenUp {
        attendance,
        driver,
        host,
        reason,
    } = taken;
    let event = SegmentStarted {
        attendance,
        driver,
        epoch,
        host,
        reason,
    };
    decided.push(Decided::fact(Event::SegmentStarted(event)));
    Ok(decided)
}

fn end_segment(state: &RunState, reason: SegmentEnd, active_ms: u64) -> Result<Decided, Rejection> {
    let open = segment(state)?;
    let event = SegmentEnded {
        active_ms,
        driver: open.driver,
        epoch: open.epoch,
        reason,
    };
    Ok(Decided::fact(Event::SegmentEnded(event)))
}

pub(super) fn put_down(state: &RunState, reason: SegmentEnd, active_ms: u64) -> Decision {
    let mut decided = vec![end_segment(state, reason, active_ms)?];
    if let SegmentEnd::Cancelled | SegmentEnd::Finished | SegmentEnd::Lost = reason {
        return Err(Rejection::OutOfTurn(
            "a driver does not put a run down that way",
        ));
    }
    if reason == SegmentEnd::Parked {
        let pending: Vec<_> = state.awaited().map(Call::id).collect();
        if pending.is_empty() || !matches!(next(state), Step::Await(_)) {
            return Err(Rejection::OutOfTurn(
                "the run does not wait for an approval or a reply",
            ));
        }
        decided.push(Decided::fact(Event::RunParked(RunParked { pending })));
    }
    Ok(decided)
}

pub(super) fn tighten(state: &RunState, given: &Given, limits: Limits) -> Decision {
    let by = given.caller.person().ok_or(Rejection::NotAPerson)?;
    let now = state.limits();
    let wider = |new: Option<u64>, old: Option<u64>| new.zip(old).is_some_and(|(n, o)| n > o);
    let micros = |limits: &Limits| limits.cost_usd;
    if micros(&limits)
        .zip(micros(now))
        .is_some_and(|(new, old)| new > old)
    {
        return Err(Rejection::Widened("max-cost-usd"));
    }
    if wider(limits.duration_ms, now.duration_ms) {
        return Err(Rejection::Widened("max-duration"));
    }
    if wider(limits.iterations, now.iterations) {
        return Err(Rejection::Widened("max-iterations"));
    }
    if wider(limits.tokens, now.tokens) {
        return Err(Rejection::Widened("max-tokens"));
    }
    let limits = limits.strictest(*now);
    if limits == *now {
        return Ok(Vec::new());
    }
    Ok(vec![Decided::fact(Event::LimitsTightened(
        LimitsTightened { by, limits },
    ))])
}

pub(super) fn narrow(state: &RunState, given: &Given, mut tools: Vec<Name>) -> Decision {
    let by = given.caller.person().ok_or(Rejection::NotAPerson)?;
    if let Some(wider) = tools.iter().find(|tool| !state.offers(tool)) {
        return Err(Rejection::ToolWidened(wider.clone()));
    }
    tools.sort_unstable();
    tools.dedup();
    if state.narrowed().is_some_and(|now| now.iter().eq(&tools)) {
        return Ok(Vec::new());
    }
    Ok(vec![Decided::fact(Event::ToolsNarrowed(ToolsNarrowed {
        by,
        tools,
    }))])
}

/// Nothing new enters a run while calls are open: what they come to would be told beside it.
pub(super) fn prompt(state: &RunState, given: &Given) -> Decision {
    let by = given.caller.person().ok_or(Rejection::NotAPerson)?;
    let open = state.batch().filter(|call| !call.is_closed());
    let open: Vec<_> = open.map(Call::id).collect();
    if !open.is_empty() {
        return Err(Rejection::CallsOpen(open));
    }
    if state.is_cancelling() {
        return Err(Rejection::OutOfTurn("the run is being cancelled"));
    }
    if state.is_asking() {
        return Err(Rejection::OutOfTurn("the model is being asked"));
    }
    let blobs = blobs(given, &["text"], &[])?;
    let event = Event::PromptAdded(PromptAdded { by });
    Ok(vec![Decided { event, blobs }])
}

pub(super) fn change_policy(state: &RunState, given: &Given, policy: ApprovalPolicy) -> Decision {
    let by = given.caller.person().ok_or(Rejection::NotAPerson)?;
    let blobs = blobs(given, &[], &["reason"])?;
    if state.policy() == policy {
        return Ok(Vec::new());
    }
    let event = Event::PolicyChanged(PolicyChanged { by, policy });
    Ok(vec![Decided { event, blobs }])
}

pub(super) fn cancel(state: &RunState, given: &Given) -> Decision {
    let by = given.caller.person().ok_or(Rejection::NotAPerson)?;
    if state.is_cancelling() {
        return Ok(Vec::new());
    }
    let blobs = blobs(given, &[], &["note"])?;
    let event = Event::RunCancelRequested(RunCancelRequested { by });
    Ok(vec![Decided { event, blobs }])
}

pub(super) fn finish(state: &RunState, outcome: Outcome, active_ms: u64) -> Decision {
    // A spent cap and a late answer are found out here and never a driver's to say.
    if next(state) != Step::Finish(outcome) {
        return Err(Rejection::OutOfTurn("the run does not end that way now"));
    }
    end(state, outcome, None, active_ms)
}

/// The end of a run, for which a cap may be the reason.
pub(super) fn end(
    state: &RunState,
    outcome: Outcome,
    cap: Option<Cap>,
    active_ms: u64,
) -> Decision {
    let mut decided = Vec::with_capacity(2);
    if state.segment().is_some() {
        let reason = match outcome {
            Outcome::Cancelled => SegmentEnd::Cancelled,
            Outcome::Completed | Outcome::Failed | Outcome::Budget | Outcome::Expired => {
                SegmentEnd::Finished
            }
        };
        decided.push(end_segment(state, reason, active_ms)?);
    }
    decided.push(finished(state, (outcome, cap), state.open_calls()));
    Ok(decided)
}

/// `run.finished`, with what the model said last as its text.
pub(super) fn finished(
    state: &RunState,
    (outcome, cap): (Outcome, Option<Cap>),
    open: Vec<OpenCall>,
) -> Decided {
    let last = match (state.turn(), outcome) {
        (Turn::Replied { reply, .. }, Outcome::Completed) => *reply,
        (Turn::Ready | Turn::Called { .. } | Turn::Replied { .. } | Turn::Failed { .. }, _) => None,
    };
    let blobs: Blobs = last
        .map(|blob| (String::from("text"), blob))
        .into_iter()
        .collect();
    Decided {
        event: Event::RunFinished(RunFinished { cap, open, outcome }),
        blobs,
    }
}
