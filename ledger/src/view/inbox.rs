//! The inbox: every call of every run that waits for a person, oldest first.

use std::collections::{BTreeMap, BTreeSet};

use super::card::Card;
use super::run_list::RunList;
use crate::content::{Commitment, Contents};
use crate::id::RunId;

/// The contents that [`inbox`] reads, by run; a run that waits for nobody is not in it.
pub fn inbox_needs(runs: &RunList) -> BTreeMap<RunId, BTreeSet<Commitment>> {
    let mut needs = BTreeMap::new();
    for state in runs.iter().filter_map(|entry| entry.state()) {
        let of_run: BTreeSet<_> = state
            .batch()
            .flat_map(|call| Card::needs(state, call))
            .collect();
        if !of_run.is_empty() {
            needs.insert(state.run(), of_run);
        }
    }
    needs
}

/// All cards, oldest request first; those of one run in call order.
///
/// A run that is not in `contents` has its cards all the same, with everything unreadable: what
/// waits for a person is never hidden.
pub fn inbox(runs: &RunList, contents: &BTreeMap<RunId, Contents>) -> Vec<Card> {
    let none = Contents::default();
    let mut cards = Vec::new();
    for entry in runs.iter() {
        let Some(state) = entry.state() else { continue };
        let contents = contents.get(&state.run()).unwrap_or(&none);
        for call in state.batch() {
            if let Some(card) = Card::of(state, call, contents) {
                // A call in doubt need never have been asked about; it is as old as its run.
                let since = card.requested_at.unwrap_or(state.started_at());
                cards.push(((since, entry.start(), card.call), card));
            }
        }
    }
    cards.sort_by_key(|(order, _)| *order);
    cards.into_iter().map(|(_, card)| card).collect()
}
