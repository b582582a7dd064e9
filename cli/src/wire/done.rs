//! The calls of a run that took effect, and what was changed by each.

use placet_ledger::approval::By;
use placet_ledger::content::Contents;
use placet_ledger::event::Settlement;
use placet_ledger::risk::DeclaredRisk;
use placet_ledger::run::{Call, Close, Phase, RunState};
use serde::Serialize;

/// A call that took effect and changed something.
#[derive(Debug, Serialize)]
pub(crate) struct DoneCall {
    /// The call.
    pub(crate) call: String,
    /// The tool.
    pub(crate) tool: String,
    /// Who allowed it: a person, a row of the gate's table, or the list of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
    /// How that is known.
    #[serde(skip)]
    pub(crate) known: Known,
    /// What it did, or what was said of it, in words.
    #[serde(skip)]
    pub(crate) message: Option<String>,
}

/// How it is known that a call took effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// It was executed to its end.
    Executed,
    /// It was in doubt, and then settled.
    Settled,
}

/// The calls that took effect, without those that only read.
pub(super) fn done(state: &RunState, contents: &Contents) -> Vec<DoneCall> {
    state
        .calls()
        .filter_map(|call| one(call, contents))
        .collect()
}

fn one(call: &Call, contents: &Contents) -> Option<DoneCall> {
    let known = known(call.phase())?;
    let proposed = call.proposed()?;
    if proposed.declared == DeclaredRisk::ReadOnly {
        return None;
    }
    let message = match known {
        Known::Executed => proposed.message.as_ref(),
        Known::Settled => call.note().or(proposed.message.as_ref()),
    };
    Some(DoneCall {
        call: call.id().to_string(),
        tool: proposed.tool.to_string(),
        by: call.grant().map(|grant| allowed(&grant.by)),
        known,
        message: message
            .and_then(|blob| contents.text(&blob.commitment))
            .map(str::to_owned),
    })
}

const fn known(phase: Phase) -> Option<Known> {
    match phase {
        Phase::Closed(Close::Succeeded) => Some(Known::Executed),
        Phase::Closed(Close::Settled(Settlement::Done)) => Some(Known::Settled),
        // A reply to a question changes nothing by itself.
        Phase::Closed(
            Close::Answered
            | Close::Failed
            | Close::Stale
            | Close::Interrupted
            | Close::Denied
            | Close::Refused(_)
            | Close::Expired
            | Close::Revoked
            | Close::Superseded
            | Close::Settled(Settlement::NotDone),
        )
        | Phase::Named
        | Phase::Proposed
        | Phase::Pending
        | Phase::Asked
        | Phase::Granted
        | Phase::Executing { .. }
        | Phase::InDoubt => None,
    }
}

/// Who allowed a call, in a word; the journal has the name.
fn allowed(by: &By) -> String {
    match by {
        By::Person { .. } => String::from("person"),
        By::Policy { rule } | By::Rule { rule } => rule.to_string(),
        By::Grant { grant } => grant.to_string(),
        By::List { .. } => String::from("list"),
        By::Tool => String::from("tool"),
    }
}
