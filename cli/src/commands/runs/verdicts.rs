//! From the words of the command line to one set of answers: every pending call once.

use std::collections::BTreeMap;

use placet_ledger::answers::{AnswerSet, CoverageError};
use placet_ledger::approval::{Answer, CallAnswer};
use placet_ledger::digest::Digest;
use placet_ledger::error::LedgerError;
use placet_ledger::event::SegmentReason;
use placet_ledger::id::{AnswerId, CallId, RunId};
use placet_ledger::run::{Rejection, RunState};

use crate::commands::attend;
use crate::commands::run::Attend;
use crate::commands::runs::said;
use crate::error::{CommandError, Kind};
use crate::exit::ExitStatus;
use crate::open::Open;
use crate::wiring::Wiring;

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

/// What happens once something is recorded.
#[derive(Clone, Copy)]
pub(crate) struct Next {
    /// Whether the run is driven on.
    pub(crate) resume: bool,
    /// Whether somebody at the terminal is asked from then on.
    pub(crate) attend: Option<Attend>,
}

impl Verdicts {
    /// Whether something is approved by them.
    pub(super) fn approve(&self) -> bool {
        let named = !self.approve.is_empty() || !self.reject.is_empty();
        !self.approve.is_empty() || (!named && self.all != Answer::Deny)
    }
}

/// Opens the ledger for a set of answers. What approves needs the rules of the config in force;
/// to turn down, nobody needs a config that can be read.
pub(super) fn open(wiring: &mut Wiring<'_>, approves: bool) -> Result<Open, CommandError> {
    if approves {
        wiring.open()
    } else {
        wiring.open_as_it_is()
    }
}

/// Records the set that `cover` makes of a run's state, then drives the run on unless told not to.
///
/// What makes no set changes nothing and is told in the journal.
pub(crate) fn answer(
    wiring: &mut Wiring<'_>,
    open: &mut Open,
    run: RunId,
    cover: impl FnOnce(&RunState) -> Result<AnswerSet, CommandError>,
    next: Next,
) -> Result<ExitStatus, CommandError> {
    if wiring.attended() {
        attend::show_cards(wiring, open, run)?;
    }
    said::record(wiring, open, run, cover, async |set, caller| {
        Ok(open.engine.answer(run, caller, set).await?)
    })?;
    said::go_on(wiring, open, run, SegmentReason::Answered, next)
}

/// The set that these verdicts make of what is pending now.
pub(super) fn cover(state: &RunState, verdicts: &Verdicts) -> Result<AnswerSet, CommandError> {
    let pending = pending(state, verdicts.set.as_deref())?;
    let all: Vec<CallId> = pending.keys().copied().collect();
    let (approve, reject) = match (&verdicts.approve[..], &verdicts.reject[..], &verdicts.all) {
        ([], [], Answer::Approve) => (all, Vec::new()),
        ([], [], Answer::Deny) => (Vec::new(), all),
        (approve, reject, _) => (approve.to_vec(), reject.to_vec()),
    };
    let to_denials = !reject.is_empty();
    let line = |call: CallId, answer: Answer| {
        let Some(request) = pending.get(&call).copied() else {
            let unknown = CoverageError::Unknown(call);
            return Err(rejected(not_pending(state, call).unwrap_or(unknown.into())));
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

/// What is pending, if there is something and it has the set code that was displayed.
pub(super) fn pending(
    state: &RunState,
    displayed: Option<&str>,
) -> Result<BTreeMap<CallId, Digest>, CommandError> {
    let pending = state.pending();
    let Some(now) = state.set_code() else {
        let otherwise = state.outcome();
        let otherwise = otherwise.map_or(Rejection::NothingPending, Rejection::Finished);
        return Err(rejected(already_or(state, otherwise)));
    };
    if let Some(displayed) = displayed.filter(|displayed| *displayed != now) {
        let what = format!("what is pending now has the set code {now}, not {displayed}");
        return Err(CommandError::new(Kind::Refused, what)
            .hint("placet runs show RUN displays it; nothing was answered"));
    }
    Ok(pending)
}

/// Why a call does not wait any more: a person gave it other arguments, or answered.
pub(super) fn not_pending(state: &RunState, call: CallId) -> Option<Rejection> {
    let found = state.call(call)?;
    match found.superseded_by() {
        Some(by) => Some(Rejection::Superseded { call, by }),
        None => found
            .answered()
            .map(|_| Rejection::AlreadyAnswered(vec![call])),
    }
}

/// A rejection, as the command's error.
pub(super) fn rejected(rejection: Rejection) -> CommandError {
    CommandError::from(LedgerError::from(rejection))
}

/// Whether the last set was answered: then somebody else was first, which is another error.
fn already_or(state: &RunState, otherwise: Rejection) -> Rejection {
    let answered = state.asked().filter(|call| call.answered().is_some());
    let answered: Vec<CallId> = answered.map(placet_ledger::run::Call::id).collect();
    if answered.is_empty() {
        otherwise
    } else {
        Rejection::AlreadyAnswered(answered)
    }
}
