//! What the gate is given for one call, gathered from the state of its run and its contents.
//!
//! The owner gathers it before a verdict and verification gathers it again from the records
//! before that verdict, so that both judge the same thing.

use std::collections::BTreeSet;

use crate::content::{Commitment, Contents};
use crate::id::CallId;
use crate::judge::GateInput;
use crate::limits::DENIALS_OF_TARGET_MAX;
use crate::precondition::Precondition;
use crate::run::{Call, Close, Phase, Proposed, RunState};

/// All that a verdict on `call` may depend on; `None` where it was not proposed.
///
/// `contents` must hold what [`gate_needs`] names: a target that cannot be read counts as none.
pub fn gate_input<'a>(
    state: &'a RunState,
    contents: &Contents,
    call: CallId,
) -> Option<GateInput<'a>> {
    let proposed = state.call(call)?.proposed()?;
    Some(GateInput {
        tool: &proposed.tool,
        paired: proposed.execute.is_some(),
        declared: proposed.declared,
        policy: state.policy(),
        allowlist: state.allowlist(),
        offered: state.offers(&proposed.tool),
        attendance: state.attendance(),
        repeats: repeats(state, contents, call),
    })
}

/// The contents that [`gate_input`] reads: where this call and the denied calls of its tool aim.
pub fn gate_needs(state: &RunState, call: CallId) -> BTreeSet<Commitment> {
    let Some(proposed) = state.call(call).and_then(Call::proposed) else {
        return BTreeSet::new();
    };
    denied(state, call, proposed)
        .chain([proposed])
        .filter_map(|aims| Some(aims.precondition?.commitment))
        .collect()
}

/// The denied call that `call` repeats: one with equal arguments, or else the last of as many
/// denials of its target as are enough.
fn repeats(state: &RunState, contents: &Contents, call: CallId) -> Option<CallId> {
    let proposed = state.call(call)?.proposed()?;
    // Equal contents of one stream have one commitment.
    let arguments = proposed.arguments.commitment;
    let equal = earlier_denied(state, call, proposed)
        .filter(|(_, denied)| denied.arguments.commitment == arguments)
        .last();
    if let Some((equal, _)) = equal {
        return Some(equal);
    }
    let path = target(contents, proposed)?;
    let mut same: Vec<CallId> = earlier_denied(state, call, proposed)
        .filter(|(_, denied)| target(contents, denied).as_deref() == Some(path.as_str()))
        .map(|(id, _)| id)
        .collect();
    if same.len() < DENIALS_OF_TARGET_MAX {
        return None;
    }
    same.pop()
}

/// Earlier calls of the same tool that a person denied, in order.
pub(crate) fn earlier_denied<'a>(
    state: &'a RunState,
    call: CallId,
    proposed: &'a Proposed,
) -> impl Iterator<Item = (CallId, &'a Proposed)> {
    state
        .calls()
        .take_while(move |earlier| earlier.id() < call)
        .filter(|earlier| earlier.phase() == Phase::Closed(Close::Denied))
        .filter_map(|earlier| Some((earlier.id(), earlier.proposed()?)))
        .filter(|(_, earlier)| earlier.tool == proposed.tool)
}

fn denied<'a>(
    state: &'a RunState,
    call: CallId,
    proposed: &'a Proposed,
) -> impl Iterator<Item = &'a Proposed> {
    earlier_denied(state, call, proposed).map(|(_, denied)| denied)
}

/// Path of the target of a proposal, where it has one that can be read.
pub(crate) fn target(contents: &Contents, proposed: &Proposed) -> Option<String> {
    let bytes = contents.bytes(&proposed.precondition?.commitment)?;
    let precondition: Precondition = serde_json::from_slice(bytes).ok()?;
    Some(precondition.path().to_owned())
}
