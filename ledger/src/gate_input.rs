//! What the gate is given about one call, gathered from the folded run and its contents.
//!
//! The owner gathers it before a verdict, verification once more from what stood before that
//! verdict: both judge the same thing.

use std::collections::BTreeSet;

use crate::content::{Commitment, Contents};
use crate::id::CallId;
use crate::judge::GateInput;
use crate::limits::DENIALS_OF_TARGET_MAX;
use crate::policy::Attendance;
use crate::precondition::Precondition;
use crate::run::{Call, Proposed, RunState};

/// What the gate is given about one proposed call; `None` if there is no proposal of it.
pub fn gate_input<'a>(
    state: &'a RunState,
    contents: &Contents,
    call: CallId,
) -> Option<GateInput<'a>> {
    let call = state.call(call)?;
    let proposed = call.proposed()?;
    Some(GateInput {
        tool: &proposed.tool,
        paired: proposed.execute.is_some(),
        question: proposed.is_question(),
        reach: reach(contents, proposed),
        declared: proposed.declared,
        policy: state.policy(),
        allowlist: state.allowlist(),
        offered: state.offers(&proposed.tool),
        attendance: attendance(state, call),
        repeats: repeats(state, contents, call),
    })
}

/// Who can answer. Whoever amends a call of a run that nobody drives is there, and the run waits
/// already.
fn attendance(state: &RunState, call: &Call) -> Attendance {
    match (state.segment(), call.supersedes()) {
        (None, Some(_)) => Attendance::Park,
        (Some(_), _) | (None, None) => state.attendance(),
    }
}

/// A call that a person denied and that this one repeats: the same tool with equal arguments, given
/// or to be run, or the last of several at the same target. Equal content of one stream has one
/// commitment.
fn repeats(state: &RunState, contents: &Contents, call: &Call) -> Option<CallId> {
    let proposed = call.proposed()?;
    let denied: Vec<_> = denied_before(state, call).collect();
    let runs = |of: &Proposed| of.execute_arguments.unwrap_or(of.arguments).commitment;
    let equal = denied.iter().rfind(|other| {
        other.proposed().is_some_and(|other| {
            // The same change can be asked for in other words.
            other.arguments.commitment == proposed.arguments.commitment
                || runs(other) == runs(proposed)
        })
    });
    if let Some(equal) = equal {
        return Some(equal.id());
    }
    let target = target(contents, call)?;
    // Several denials hold until a person says something more; a single one of the same for ever.
    let lately: Vec<_> = state.denied_lately().map(Call::id).collect();
    let same: Vec<_> = denied
        .iter()
        .filter(|other| lately.contains(&other.id()))
        .filter(|other| self::target(contents, other).as_ref() == Some(&target))
        .collect();
    if same.len() < DENIALS_OF_TARGET_MAX {
        None
    } else {
        same.last().map(|last| last.id())
    }
}

/// Earlier calls of the same tool that a person denied, in order.
pub fn denied_before<'a>(state: &'a RunState, call: &'a Call) -> impl Iterator<Item = &'a Call> {
    state
        .denied()
        .filter(|other| other.id() < call.id() && other.tool() == call.tool())
}

/// The contents that [`gate_input`] reads: where this call and those denied before it aim.
pub fn gate_needs(state: &RunState, call: CallId) -> BTreeSet<Commitment> {
    let Some(call) = state.call(call) else {
        return BTreeSet::new();
    };
    denied_before(state, call)
        .chain([call])
        .filter_map(|aims| Some(aims.proposed()?.precondition?.commitment))
        .collect()
}

/// What has to hold when a call is executed.
fn precondition(contents: &Contents, proposed: &Proposed) -> Option<Precondition> {
    let blob = proposed.precondition.as_ref()?;
    serde_json::from_slice(contents.bytes(&blob.commitment)?).ok()
}

/// Path of what a call would change.
pub fn target(contents: &Contents, call: &Call) -> Option<String> {
    let precondition = precondition(contents, call.proposed()?)?;
    Some(precondition.path().to_owned())
}

/// Every path that a call is about.
pub fn places(contents: &Contents, call: &Call) -> Option<Vec<String>> {
    let precondition = precondition(contents, call.proposed()?)?;
    let places = precondition.places().into_iter();
    Some(places.map(str::to_owned).collect())
}

/// The paths that a call may write or remove; `None` where that cannot be read.
fn reach(contents: &Contents, proposed: &Proposed) -> Option<Vec<String>> {
    match proposed.precondition {
        None => Some(Vec::new()),
        Some(_) => precondition(contents, proposed).map(|found| found.reach()),
    }
}
