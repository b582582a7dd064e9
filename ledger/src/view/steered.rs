//! The calls of a run that left files that steer programs otherwise than they were.

use serde::Serialize;

use crate::content::{Blob, Contents};
use crate::id::CallId;
use crate::run::RunState;
use crate::steered::Steered;

/// Such calls that a card names, so that the cards of a long run stay short.
const CALLS_MAX: usize = 8;

/// A call that left files that steer programs otherwise than they were.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SteeredBy {
    /// The call.
    pub call: CallId,
    /// What became of them; absent where that cannot be read any more.
    #[serde(flatten)]
    pub what: Option<Steered>,
}

impl SteeredBy {
    /// What a recorded content says of a call.
    pub(super) fn read(contents: &Contents, call: CallId, blob: &Blob) -> Self {
        let what = Steered::read(contents, blob);
        Self { call, what }
    }

    /// All such calls of a run, oldest first.
    pub fn all(state: &RunState, contents: &Contents) -> Vec<Self> {
        let calls = calls(state).map(|(call, blob)| Self::read(contents, call, blob));
        calls.collect()
    }
}

fn calls(state: &RunState) -> impl DoubleEndedIterator<Item = (CallId, &Blob)> {
    let calls = state.calls();
    calls.filter_map(|call| Some((call.id(), call.steered()?)))
}

/// The newest such calls of a run, oldest first, and how many older ones there are.
pub(super) fn newest(state: &RunState) -> (Vec<(CallId, &Blob)>, usize) {
    let mut newest: Vec<_> = calls(state).collect();
    let older = newest.len().saturating_sub(CALLS_MAX);
    newest.drain(..older);
    (newest, older)
}

/// Whether a count is one of nothing.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
pub(super) const fn is_none(count: &usize) -> bool {
    *count == 0
}
