//! What is decided about each card, and what can be: a run gets answers to all of its approvals or
//! to none, and only an approval that counts is given.

use placet_ledger::approval::Miss;

use super::{Asks, At, Verdict, Walk};

impl Walk {
    /// Why an approval of this call by whoever sits here does not count.
    pub(super) fn miss(&self, card: usize) -> Option<Miss> {
        match self.asks(card)? {
            Asks::Approval { miss, .. } => miss,
            Asks::Question | Asks::InDoubt => None,
        }
    }

    /// Whether a card asks for an approval, and one by whoever sits here counts.
    pub(super) fn counts(&self, card: usize) -> bool {
        matches!(self.asks(card), Some(Asks::Approval { miss: None, .. }))
    }

    /// Decides about a card and goes on to the next one.
    pub(crate) fn decide(&mut self, card: usize, verdict: Verdict) {
        if matches!(self.asks(card), Some(Asks::Approval { .. })) {
            self.take_up(card);
        }
        self.set(card, verdict);
        let next = card.saturating_add(1);
        self.at = if next < self.asked.len() {
            At::Card(next)
        } else {
            self.first_open().map_or(At::Summary, At::Card)
        };
    }

    pub(super) fn set(&mut self, card: usize, verdict: Verdict) {
        if let Some(slot) = self.verdicts.get_mut(card) {
            *slot = Some(verdict);
        }
    }

    /// The approvals of all runs that are not left waiting.
    pub(super) fn approvals(&self) -> Vec<usize> {
        let cards = self.asked.iter().enumerate();
        cards
            .filter(|(_, asked)| matches!(asked.asks, Asks::Approval { .. }))
            .map(|(card, _)| card)
            .filter(|card| self.verdict(*card) != Some(&Verdict::Leave))
            .collect()
    }

    /// Those of them that have no verdict yet.
    fn open_approvals(&self) -> Vec<usize> {
        let mut open = self.approvals();
        open.retain(|card| self.verdict(*card).is_none());
        open
    }

    /// A run gets answers to all of its approvals or to none: a verdict on one of them takes up
    /// the others that were left.
    fn take_up(&mut self, card: usize) {
        let Some(run) = self.asked.get(card).map(|asked| asked.run) else {
            return;
        };
        for (asked, verdict) in self.asked.iter().zip(&mut self.verdicts) {
            let approval = matches!(asked.asks, Asks::Approval { .. });
            if approval && asked.run == run && *verdict == Some(Verdict::Leave) {
                *verdict = None;
            }
        }
    }

    /// Those of them of which an approval counts.
    pub(super) fn approvable(&self) -> Vec<usize> {
        let mut open = self.open_approvals();
        open.retain(|card| self.counts(*card));
        open
    }

    /// A denial that was given before stands: whoever approves all means what is left.
    pub(super) fn approve_all(&mut self) {
        for card in self.approvable() {
            self.set(card, Verdict::Approve);
        }
        self.at = self.first_open().map_or(At::Summary, At::Card);
    }

    pub(super) fn first_open(&self) -> Option<usize> {
        self.verdicts.iter().position(Option::is_none)
    }
}
