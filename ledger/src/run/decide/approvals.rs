//! Decisions about answers: a whole set at once, and what nobody answered in time.

use super::Decision;
use super::calls::expired;
use super::lifecycle::finished;
use crate::answers::{AnswerSet, CoverageError};
use crate::approval::Answer;
use crate::content::Blobs;
use crate::event::{
    ApprovalDenied, ApprovalGranted, ByPerson, Event, OpenCall, OpenWhy, Outcome, SegmentEnd,
    SegmentEnded,
};
use crate::run::call::{Call, Phase};
use crate::run::given::{Decided, Given};
use crate::run::rejection::Rejection;
use crate::run::state::RunState;

pub(super) fn answer(state: &RunState, given: &Given, set: &AnswerSet) -> Decision {
    let by = given.caller.person().ok_or(Rejection::NotAPerson)?;
    let pending = state.pending();
    if state.answered_in(set.id()).next().is_some() {
        let calls = set.iter().map(|line| line.call).collect();
        return Err(Rejection::AlreadyAnswered(calls));
    }
    covers(state, set)?;
    if let Some(late) = expired_calls(state, given).next() {
        return Err(Rejection::Expired(late.id()));
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
            Answer::Approve => Event::ApprovalGranted(ApprovalGranted::ByPerson(ByPerson {
                answer,
                authority,
                by,
                call,
                request,
            })),
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
    match left.into_keys().next() {
        Some(extra) => Err(Rejection::Text(extra)),
        None => Ok(decided),
    }
}

/// Whether the set covers what is pending now; if not, whether somebody else was first.
fn covers(state: &RunState, set: &AnswerSet) -> Result<(), Rejection> {
    let pending = state.pending();
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
    state.batch().filter(|call| {
        let asked = call.requested();
        call.phase() == Phase::Pending && asked.is_some_and(|asked| given.at >= asked.expires_at)
    })
}

/// The park's expiry closes every pending call and ends the run.
pub(super) fn expire(state: &RunState, given: &Given) -> Decision {
    let mut decided: Vec<_> = expired_calls(state, given)
        .filter_map(|call| Some(expired(call.id(), call.requested()?.digest)))
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
    decided.push(finished(state, Outcome::Expired, open));
    Ok(decided)
}
