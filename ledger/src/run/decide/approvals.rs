//! Decisions about a person's words: answers, a whole set at once, replies to questions, doubts
//! settled, approvals taken back; and about what nobody answered in time.

use std::collections::BTreeSet;

use super::calls::expired;
use super::lifecycle::finished;
use super::{Decision, blobs, known};
use crate::answers::{AnswerSet, CoverageError};
use crate::approval::{Answer, Assurance};
use crate::content::Blobs;
use crate::digest::Digest;
use crate::event::{
    ApprovalDenied, ApprovalGranted, ApprovalRevoked, ByPerson, Event, ExecutionSettled, OpenCall,
    OpenWhy, Outcome, QuestionAnswered, SegmentEnd, SegmentEnded, Settlement, ToolAllowed,
};
use crate::id::{CallId, Name, Principal};
use crate::policy::EXECUTE_COMMAND;
use crate::run::call::{Call, Close, Phase};
use crate::run::given::{Decided, Given};
use crate::run::rejection::Rejection;
use crate::run::state::RunState;

pub(super) fn answer(state: &RunState, given: &Given, set: &AnswerSet) -> Decision {
    let by = given.caller.person().ok_or(Rejection::NotAPerson)?;
    let person = by.person().ok_or(Rejection::NotAPerson)?;
    let pending = state.pending();
    if state.answered_in(set.id()).next().is_some() {
        let calls = state.answered_in(set.id()).map(Call::id).collect();
        return Err(Rejection::AlreadyAnswered(calls));
    }
    covers(state, set)?;
    for line in set.iter() {
        let call = known(state, line.call)?;
        on_time(call, given)?;
        match line.answer {
            Answer::Approve | Answer::ApproveAlways => accepted(state, call, person)?,
            Answer::Deny => {}
        }
    }
    let mut left = given.blobs.clone();
    let mut decided = Vec::with_capacity(pending.len());
    for line in set.iter() {
        let note = left.remove(&format!("note.{}", line.call));
        let blobs: Blobs = note
            .map(|note| (String::from("note"), note))
            .into_iter()
            .collect();
        let (answer, authority, by, call) = (set.id(), given.authority, by.clone(), line.call);
        let request = line.request;
        let event = match line.answer {
            Answer::Approve | Answer::ApproveAlways => {
                Event::ApprovalGranted(ApprovalGranted::ByPerson(ByPerson {
                    answer,
                    authority,
                    by,
                    call,
                    request,
                }))
            }
            Answer::Deny => Event::ApprovalDenied(ApprovalDenied {
                answer,
                authority,
                by,
                call,
                request,
            }),
        };
        decided.push(Decided { event, blobs });
    }
    if let Some(extra) = left.into_keys().next() {
        return Err(Rejection::Text(extra));
    }
    for tool in always(state, set)? {
        let by = by.clone();
        decided.push(Decided::fact(Event::ToolAllowed(ToolAllowed { by, tool })));
    }
    Ok(decided)
}

/// The tools that run unasked from here on, by this set; those that do already are none of them.
fn always(state: &RunState, set: &AnswerSet) -> Result<BTreeSet<Name>, Rejection> {
    let mut tools = BTreeSet::new();
    let lines = set
        .iter()
        .filter(|line| line.answer == Answer::ApproveAlways);
    for line in lines {
        let tool = known(state, line.call)?.tool();
        let tool = tool.filter(|tool| state.offers(tool));
        let tool = tool.ok_or(Rejection::OutOfTurn("the run no longer has the tool"))?;
        // One command says nothing about the next.
        if tool.as_str() == EXECUTE_COMMAND {
            return Err(Rejection::OutOfTurn(
                "a command is allowed by its key: placet grants add",
            ));
        }
        if !state.allowlist().contains(tool) {
            tools.insert(tool.clone());
        }
    }
    Ok(tools)
}

/// Why a call that does not wait for an approval takes none.
pub(super) fn not_pending(call: &Call) -> Rejection {
    match (call.superseded_by(), call.answered()) {
        (Some(by), _) => Rejection::Superseded {
            call: call.id(),
            by,
        },
        (None, Some(_)) => Rejection::AlreadyAnswered(vec![call.id()]),
        (None, None) => CoverageError::Unknown(call.id()).into(),
    }
}

/// A person's word on a call, before it is too late.
pub(super) fn on_time(call: &Call, given: &Given) -> Result<(), Rejection> {
    match call.expires_at() {
        Some(at) if given.at >= at => Err(Rejection::Expired(call.id())),
        Some(_) | None => Ok(()),
    }
}

/// An approval is what the call demands, or the whole set is turned down.
fn accepted(
    state: &RunState,
    call: &Call,
    person: (&Principal, Assurance),
) -> Result<(), Rejection> {
    state
        .accepts(call, person)
        .map_err(|unmet| Rejection::Unmet {
            call: call.id(),
            unmet: Box::new(unmet),
        })
}

/// What was displayed is what is asked now.
fn displayed(call: CallId, displayed: Digest, now: Option<Digest>) -> Result<(), Rejection> {
    match now {
        Some(pending) if pending != displayed => Err(CoverageError::Changed {
            call,
            displayed,
            pending,
        }
        .into()),
        Some(_) | None => Ok(()),
    }
}

pub(super) fn revoke(state: &RunState, given: &Given, call: CallId) -> Decision {
    let by = given.caller.person().ok_or(Rejection::NotAPerson)?;
    let found = known(state, call)?;
    let why = match (found.phase(), found.grant()) {
        (Phase::Granted, Some(grant)) if grant.by_person() => None,
        (Phase::Granted, _) => Some("no person approved it: tighten the policy instead"),
        (Phase::Pending, _) => Some("it is not approved yet: deny it instead"),
        (Phase::Executing { .. } | Phase::InDoubt, _) => Some("its execution has started"),
        (Phase::Closed(_), _) => Some("the call is over"),
        (Phase::Named | Phase::Proposed | Phase::Asked, _) => Some("nobody approved it"),
    };
    if let Some(why) = why {
        return Err(Rejection::OutOfTurn(why));
    }
    let request = found.requested().map(|asked| asked.digest);
    let request = request.ok_or(Rejection::OutOfTurn("nobody was asked about it"))?;
    let blobs = blobs(given, &[], &["note"])?;
    let event = Event::ApprovalRevoked(ApprovalRevoked { by, call, request });
    Ok(vec![Decided { event, blobs }])
}

pub(super) fn reply(state: &RunState, given: &Given, call: CallId, request: Digest) -> Decision {
    let by = given.caller.person().ok_or(Rejection::NotAPerson)?;
    let found = known(state, call)?;
    match found.phase() {
        Phase::Asked => {}
        Phase::Closed(Close::Answered) => return Err(Rejection::AlreadyAnswered(vec![call])),
        Phase::Closed(Close::Expired) if found.question().is_some() => {
            return Err(Rejection::Expired(call));
        }
        Phase::Named
        | Phase::Proposed
        | Phase::Pending
        | Phase::Granted
        | Phase::Executing { .. }
        | Phase::InDoubt
        | Phase::Closed(_) => {
            return Err(Rejection::OutOfTurn("the call does not ask a question"));
        }
    }
    displayed(call, request, found.question().map(|asked| asked.digest))?;
    on_time(found, given)?;
    let blobs = blobs(given, &["text"], &[])?;
    let event = Event::QuestionAnswered(QuestionAnswered { by, call, request });
    Ok(vec![Decided { event, blobs }])
}

pub(super) fn settle_doubt(
    state: &RunState,
    given: &Given,
    (call, request): (CallId, Digest),
    verdict: Settlement,
) -> Decision {
    let by = given.caller.person().ok_or(Rejection::NotAPerson)?;
    let found = known(state, call)?;
    match found.phase() {
        Phase::InDoubt => {}
        Phase::Closed(Close::Settled(_)) => return Err(Rejection::AlreadyAnswered(vec![call])),
        Phase::Named
        | Phase::Proposed
        | Phase::Pending
        | Phase::Asked
        | Phase::Granted
        | Phase::Executing { .. }
        | Phase::Closed(_) => return Err(Rejection::OutOfTurn("the call is not in doubt")),
    }
    displayed(call, request, found.doubt())?;
    let blobs = blobs(given, &[], &["note"])?;
    let event = Event::ExecutionSettled(ExecutionSettled {
        attempt: found.attempts(),
        by,
        call,
        request: Some(request),
        verdict,
    });
    Ok(vec![Decided { event, blobs }])
}

/// Whether the set covers what is pending now; if not, whether somebody else was first.
fn covers(state: &RunState, set: &AnswerSet) -> Result<(), Rejection> {
    let pending = state.pending();
    let superseded = set.iter().find_map(|line| {
        let call = state.call(line.call)?;
        call.superseded_by().map(|by| (call.id(), by))
    });
    if let Some((call, by)) = superseded {
        return Err(Rejection::Superseded { call, by });
    }
    let answered: Vec<_> = set
        .iter()
        .filter_map(|line| {
            state
                .call(line.call)
                .filter(|call| !pending.contains_key(&call.id()))
        })
        .filter(|call| call.answered().is_some())
        .map(Call::id)
        .collect();
    if !answered.is_empty() {
        return Err(Rejection::AlreadyAnswered(answered));
    }
    match set.covers(&pending) {
        Ok(()) if pending.is_empty() => Err(Rejection::NothingPending),
        Ok(()) => Ok(()),
        Err(CoverageError::Missing(_)) if set.iter().next().is_none() => Err(Rejection::Coverage(
            CoverageError::Missing(pending.into_keys().collect()),
        )),
        Err(error) => Err(error.into()),
    }
}

fn expired_calls<'a>(state: &'a RunState, given: &'a Given) -> impl Iterator<Item = &'a Call> {
    state
        .awaited()
        .filter(|call| call.expires_at().is_some_and(|at| given.at >= at))
}

/// The digest of what a call asks of a person.
fn request(call: &Call) -> Option<Digest> {
    let asked = call.requested().map(|asked| asked.digest);
    asked.or(call.question().map(|asked| asked.digest))
}

/// A rule's expiry closes its call, and the run goes on; the park's closes every call that still
/// waits and ends the run.
pub(super) fn expire(state: &RunState, given: &Given) -> Decision {
    let mut decided: Vec<_> = expired_calls(state, given)
        .filter_map(|call| Some(expired(call.id(), request(call)?)))
        .collect();
    if decided.is_empty() {
        return Err(Rejection::NotExpired);
    }
    if state
        .batch()
        .any(|call| matches!(call.phase(), Phase::Executing { .. }))
    {
        return Err(Rejection::OutOfTurn("a call is being executed"));
    }
    if state.park_expires_at().is_none_or(|at| given.at < at) {
        return Ok(decided);
    }
    if let Some(open) = state.segment() {
        decided.push(Decided::fact(Event::SegmentEnded(SegmentEnded {
            active_ms: open.proven_ms(),
            driver: open.driver,
            epoch: open.epoch,
            reason: SegmentEnd::Finished,
        })));
    }
    let closed = |open: &OpenCall| {
        open.why == OpenWhy::Pending
            && state
                .call(open.call)
                .is_some_and(|c| expired_calls(state, given).any(|e| e == c))
    };
    let open = state
        .open_calls()
        .into_iter()
        .filter(|open| !closed(open))
        .collect();
    decided.push(finished(state, (Outcome::Expired, None), open));
    Ok(decided)
}
