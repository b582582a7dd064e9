//! Decisions about amendments: a person gives a pending call other arguments.

use super::approvals::on_time;
use super::calls::{PROPOSAL_TEXTS, proposed_event};
use super::{Decision, blobs, known};
use crate::run::call::Phase;
use crate::run::command::Proposal;
use crate::run::given::{Decided, Given};
use crate::run::rejection::Rejection;
use crate::run::state::RunState;

/// The proposal bears the id of the call in whose place it comes. It is gated like any other.
pub(super) fn amend(state: &RunState, given: &Given, proposal: Proposal) -> Decision {
    given.caller.person().ok_or(Rejection::NotAPerson)?;
    let old = known(state, proposal.call)?;
    match old.phase() {
        Phase::Pending => {}
        Phase::Asked => {
            let why = "a question has no arguments to amend: reply to it";
            return Err(Rejection::OutOfTurn(why));
        }
        Phase::Named
        | Phase::Proposed
        | Phase::Granted
        | Phase::Executing { .. }
        | Phase::InDoubt
        | Phase::Closed(_) => return Err(super::approvals::not_pending(old)),
    }
    on_time(old, given)?;
    if old.tool() != Some(&proposal.tool) {
        let why = "an amendment keeps the tool of its call";
        return Err(Rejection::OutOfTurn(why));
    }
    if !state.offers(&proposal.tool) {
        return Err(Rejection::OutOfTurn("the run no longer has the tool"));
    }
    let blobs = blobs(given, &["arguments"], &PROPOSAL_TEXTS)?;
    let call = state.next_call().ok_or(Rejection::Exhausted("call ids"))?;
    let supersedes = Some(old.id());
    let event = proposed_event(call, supersedes, proposal);
    Ok(vec![Decided { event, blobs }])
}
