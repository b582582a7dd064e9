//! How much of each card a person had before them, now and in earlier walks; what a key would
//! approve unseen.

use super::{Asked, At, Verdict, Walk};
use crate::ui::card::screen::Cut;

/// How much of a card was on the screen, at its best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// Nothing of it.
    Never,
    /// All but this, the last time.
    InPart(Cut),
    /// All of it, at once or in the pager.
    Whole,
}

impl Seen {
    /// After it stood on the screen without `cut` of it.
    pub(super) const fn with(self, cut: Cut) -> Self {
        match self {
            Self::Whole => Self::Whole,
            Self::Never | Self::InPart(_) if cut.is_nothing() => Self::Whole,
            Self::Never | Self::InPart(_) => Self::InPart(cut),
        }
    }
}

/// What a person saw and decided in earlier walks, card by card. A card that changed is a new one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kept(pub(super) Vec<(Asked, Seen, Option<Verdict>)>);

impl Kept {
    /// Whether all of these cards were left waiting.
    pub(crate) fn left_all(&self, asked: &[Asked]) -> bool {
        let left = Some(Verdict::Leave);
        asked.iter().all(|card| {
            let known = self.0.iter().find(|(known, ..)| known == card);
            known.is_some_and(|(_, _, verdict)| *verdict == left)
        })
    }
}

/// What a key would approve at its second press, though it was not all on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Warning {
    /// The key.
    pub(crate) key: char,
    /// How many cards were cut.
    pub(crate) cards: usize,
    /// What was not on the screen, of all of them.
    pub(crate) cut: Cut,
}

impl Walk {
    /// Notes that the card of this moment stands on the screen, without `cut` of it.
    pub(crate) fn on_screen(&mut self, cut: Cut) {
        if let At::Card(card) | At::Writing { card, .. } = self.at
            && let Some(seen) = self.seen.get_mut(card)
        {
            *seen = seen.with(cut);
        }
    }

    /// Notes that a card was shown whole, however little of it the screen holds.
    pub(crate) fn shown_whole(&mut self, card: usize) {
        if let Some(seen) = self.seen.get_mut(card) {
            *seen = Seen::Whole;
        }
    }

    /// The key whose next press is the second one, after a warning.
    pub(crate) fn warned(&self) -> Option<char> {
        self.warned
    }

    /// What the next press of that key approves unseen, if `now` is cut of the card at hand.
    pub(crate) fn warning(&self, now: Cut) -> Option<Warning> {
        let (key, At::Card(at)) = (self.warned?, &self.at) else {
            return None;
        };
        let cut = |card: &usize| match self.seen.get(*card) {
            Some(Seen::InPart(_)) if card == at => now,
            Some(Seen::InPart(cut)) => *cut,
            Some(Seen::Never | Seen::Whole) | None => Cut::default(),
        };
        let cards = self.cut_by(key, *at);
        Some(Warning {
            key,
            cards: cards.len(),
            cut: cards.iter().map(cut).sum(),
        })
    }

    /// Forgets a first press: the next one is the first again.
    pub(crate) fn forget(&mut self) {
        self.warned = None;
    }

    /// Forgets what was to be told, for which there is no room.
    pub(crate) fn hush(&mut self) {
        self.forget();
        self.say = None;
    }

    /// The cards that a key pressed at `card` would approve, of those that were never whole on the
    /// screen.
    pub(super) fn cut_by(&self, key: char, card: usize) -> Vec<usize> {
        let approved = match key {
            'a' | 't' => vec![card],
            'A' => self.approvable(),
            _ => Vec::new(),
        };
        let cut = |card: &usize| self.seen.get(*card) != Some(&Seen::Whole);
        approved.into_iter().filter(cut).collect()
    }

    pub(super) fn is_seen(&self, card: usize) -> bool {
        let seen = self.seen.get(card);
        seen.is_some_and(|seen| *seen != Seen::Never)
    }
}
