//! From the words of the command line to one set of answers: every pending call once.

use placet_ledger::answers::AnswerSet;
use placet_ledger::approval::{Answer, CallAnswer};
use placet_ledger::error::LedgerError;
use placet_ledger::event::SegmentReason;
use placet_ledger::id::{AnswerId, CallId, RunId};
use placet_ledger::run::{Rejection, RunState};

use crate::commands::run::Attend;
use crate::commands::runs::{drive, report};
use crate::error::{CommandError, Kind};
use crate::exit::ExitStatus;
use crate::wiring::{Open, Wiring};

/// Which calls are approved, and which are turned down.
pub(crate) struct Verdicts {
    pub(crate) approve: Vec<CallId>,
    pub(crate) reject: Vec<CallId>,
    /// What happens to all if none was named.
    pub(crate) all: Answer,
    pub(crate) note: Option<String>,
    /// The set code that was displayed.
    pub(crate) set: Option<String>,
}

/// What happens once the answer is recorded.
#[derive(Clone, Copy)]
pub(crate) struct Next {
    /// Whether the run is driven on.
    pub(crate) resume: bool,
    /// Whether somebody at the terminal is asked from then on.
    pub(crate) attend: Option<Attend>,
}

/// Answers what is pending, then drives the run on unless told not to.
pub(crate) fn answer(
    wiring: &mut Wiring<'_>,
    open: &Open,
    run: RunId,
    verdicts: &Verdicts,
    next: Next,
) -> Result<ExitStatus, CommandError> {
    let caller = wiring.caller()?;
    wiring.block_on(open.ledger.expire(run))?;
    let set = wiring.block_on(open.ledger.look(run, |state, _| cover(state, verdicts)))?;
    match set {
        Ok(set) => send(wiring, open, run, set, next),
        Err(error) => {
            wiring.block_on(open.ledger.note_refused(run, &caller));
            Err(error)
        }
    }
}

/// Records a set of answers, then drives the run on unless told not to.
pub(crate) fn send(
    wiring: &mut Wiring<'_>,
    open: &Open,
    run: RunId,
    set: AnswerSet,
    next: Next,
) -> Result<ExitStatus, CommandError> {
    let caller = wiring.caller()?;
    wiring.block_on(open.engine.answer(run, &caller, set))?;
    if next.resume {
        let driven = drive(wiring, open, run, SegmentReason::Answered, next.attend);
        return driven.map_err(|error| {
            error.hint("the answer is recorded; placet runs resume RUN goes on with it")
        });
    }
    report(wiring, open, run)?;
    Ok(ExitStatus::Done)
}

/// The set that these verdicts make of what is pending now.
fn cover(state: &RunState, verdicts: &Verdicts) -> Result<AnswerSet, CommandError> {
    let rejected = |rejection: Rejection| CommandError::from(LedgerError::from(rejection));
    if let Some(outcome) = state.outcome() {
        return Err(rejected(already_or(state, Rejection::Finished(outcome))));
    }
    let pending = state.pending();
    if pending.is_empty() {
        return Err(rejected(already_or(state, Rejection::NothingPending)));
    }
    if let (Some(named), Some(now)) = (&verdicts.set, state.set_code())
        && *named != now
    {
        let what = format!("what is pending now has the set code {now}, not {named}");
        return Err(CommandError::new(Kind::Refused, what)
            .hint("placet runs show RUN displays it; nothing was answered"));
    }
    let all: Vec<CallId> = pending.keys().copied().collect();
    let (approve, reject) = match (&verdicts.approve[..], &verdicts.reject[..], &verdicts.all) {
        ([], [], Answer::Approve) => (all, Vec::new()),
        ([], [], Answer::Deny) => (Vec::new(), all),
        (approve, reject, _) => (approve.to_vec(), reject.to_vec()),
    };
    let to_denials = !reject.is_empty();
    let line = |call: CallId, answer: Answer| {
        let request = match pending.get(&call) {
            Some(request) => *request,
            None if state
                .call(call)
                .is_some_and(|call| call.answered().is_some()) =>
            {
                return Err(rejected(Rejection::AlreadyAnswered(vec![call])));
            }
            None => {
                return Err(rejected(
                    placet_ledger::answers::CoverageError::Unknown(call).into(),
                ));
            }
        };
        // The note goes to the denials, or to all if there are none.
        let noted = answer == Answer::Deny || !to_denials;
        let note = verdicts.note.clone().filter(|_| noted);
        Ok(CallAnswer {
            call,
            request,
            answer,
            note,
        })
    };
    let approved = approve.into_iter().map(|call| line(call, Answer::Approve));
    let denied = reject.into_iter().map(|call| line(call, Answer::Deny));
    let lines: Vec<CallAnswer> = approved.chain(denied).collect::<Result<_, _>>()?;
    let id = AnswerId::new(uuid::Uuid::new_v4());
    AnswerSet::covering(id, &pending, lines).map_err(|error| rejected(error.into()))
}

/// Whether the last set was answered: then somebody else was first, which is another error.
pub(super) fn already_or(state: &RunState, otherwise: Rejection) -> Rejection {
    let answered = state.asked().filter(|call| call.answered().is_some());
    let answered: Vec<CallId> = answered.map(placet_ledger::run::Call::id).collect();
    if answered.is_empty() {
        otherwise
    } else {
        Rejection::AlreadyAnswered(answered)
    }
}
