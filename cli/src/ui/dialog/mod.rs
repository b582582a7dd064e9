//! The walk over cards that wait for a person: what each key does, as a state machine.
//!
//! [`Walk`] knows which card is on the screen, what was decided so far and what is being written.
//! It has no terminal and sends nothing: [`Walk::press`] says what whoever drives it must do.
//! Nothing is sent but by Enter on the summary, which is reached when every approval has its
//! verdict; what was never on the screen cannot be approved, and what was never wholly there is
//! approved at the second press of a key, after a warning.

mod decided;
pub(crate) mod frame;
mod line;
mod seen;
#[cfg(test)]
mod tests;

use placet_ledger::approval::Miss;
use placet_ledger::digest::Digest;
use placet_ledger::id::{CallId, RunId};

use crate::terminal::Key;
pub(crate) use line::Line;
use seen::Seen;
pub(crate) use seen::{Kept, Warning};

/// Goes on to the next card without a verdict on this one.
pub(crate) const NEXT: char = ' ';

/// A key as people call it.
pub(crate) fn named(key: char) -> String {
    match key {
        ' ' => String::from("Space"),
        key => key.to_string(),
    }
}

/// What a card asks, and which ways of answering it there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asks {
    /// Whether a call may run.
    Approval {
        /// What can be cleared beside it.
        always: Always,
        /// Why an approval by whoever sits here does not count.
        miss: Option<Miss>,
    },
    /// What the agent wants to know.
    Question,
    /// Whether a call took effect.
    InDoubt,
}

/// What can run unasked from then on, beside the call itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Always {
    /// Its tool, for the rest of the run.
    Tool,
    /// Commands of its key, in every run.
    Command,
    /// Nothing, and why.
    Nothing(&'static str),
}

/// A card of the walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Its run.
    pub(crate) run: RunId,
    /// Its call.
    pub(crate) call: CallId,
    /// What an answer to it names: another request of the same call is another card.
    pub(crate) request: Option<Digest>,
    /// What it asks.
    pub(crate) asks: Asks,
}

/// What a person decided about a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The call may run.
    Approve,
    /// The call may run, and so may what its card offers to clear.
    Always,
    /// The call may not run; with the person's words, if there are any.
    Deny(Option<String>),
    /// The answer to a question.
    Reply(String),
    /// The call took effect, or did not; with the person's words.
    Settle {
        /// Whether it took effect.
        done: bool,
        /// How the person knows.
        note: String,
    },
    /// It is left as it is, and goes on waiting.
    Leave,
}

/// What is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writing {
    /// Why this call may not run.
    Deny,
    /// Why none of them may run.
    DenyAll,
    /// An answer to the agent.
    Reply,
    /// How it is known that the call took effect, or did not.
    Settle {
        /// Whether it took effect.
        done: bool,
    },
}

/// What is on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum At {
    /// A card.
    Card(usize),
    /// A line that is being written below a card.
    Writing {
        /// The card.
        card: usize,
        /// What for.
        what: Writing,
        /// As far as it is written.
        line: Line,
    },
    /// What the keys of a card do.
    Help(usize),
    /// What would be sent.
    Summary,
}

/// What whoever drives the walk must do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Move {
    /// Show where the walk is now.
    Show,
    /// Show a whole card in the pager.
    Page(usize),
    /// Have the arguments of a call edited, or an answer to its question.
    Edit(usize),
    /// Send what was decided.
    Send,
    /// Leave everything waiting and end.
    Park,
    /// Stop at once; the run can be resumed.
    Stop,
}

/// The walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Walk {
    asked: Vec<Asked>,
    verdicts: Vec<Option<Verdict>>,
    seen: Vec<Seen>,
    at: At,
    say: Option<String>,
    /// The key of which the next press is the second one.
    warned: Option<char>,
}

impl Walk {
    /// Before the first card that was not decided in an earlier walk; `None` where there is none.
    pub(crate) fn new(asked: Vec<Asked>, kept: &Kept) -> Option<Self> {
        let known = |card: &Asked| kept.0.iter().find(|(known, ..)| known == card);
        let verdicts = asked.iter().map(|card| known(card)?.2.clone()).collect();
        let seen = |card| known(card).map_or(Seen::Never, |(_, seen, _)| *seen);
        let mut walk = Self {
            seen: asked.iter().map(seen).collect(),
            asked,
            verdicts,
            at: At::Summary,
            say: None,
            warned: None,
        };
        walk.at = walk.first_open().map_or(At::Summary, At::Card);
        (!walk.asked.is_empty()).then_some(walk)
    }

    /// What was seen and decided, for the next walk.
    pub(crate) fn keep(&self) -> Kept {
        let cards = self.asked.iter().zip(&self.seen).zip(&self.verdicts);
        let seen = cards.filter(|((_, seen), _)| **seen != Seen::Never);
        let kept = seen.map(|((asked, seen), verdict)| (asked.clone(), *seen, verdict.clone()));
        Kept(kept.collect())
    }

    /// What is on the screen.
    pub(crate) fn at(&self) -> &At {
        &self.at
    }

    /// The cards.
    pub(crate) fn asked(&self) -> &[Asked] {
        &self.asked
    }

    /// What was decided about a card.
    pub(crate) fn verdict(&self, card: usize) -> Option<&Verdict> {
        self.verdicts.get(card)?.as_ref()
    }

    /// What the person must be told about the last key, if anything.
    pub(crate) fn say(&self) -> Option<&str> {
        self.say.as_deref()
    }

    /// Tells the person something at the next screen.
    pub(crate) fn tell(&mut self, say: impl Into<String>) {
        self.say = Some(say.into());
    }

    /// The keys that do something here, once what is here is on the screen.
    pub(crate) fn keys(&self) -> Vec<char> {
        let card = match &self.at {
            At::Card(card) => *card,
            At::Summary => return vec!['b', 'p', 's'],
            At::Writing { .. } | At::Help(_) => return Vec::new(),
        };
        // Approving all is offered where every card was on the screen: only what was seen can be
        // approved.
        let all_seen = (0..self.asked.len()).all(|other| other == card || self.is_seen(other));
        let all = all_seen && (0..self.asked.len()).any(|other| self.counts(other));
        let mut keys = match self.asks(card) {
            Some(Asks::Approval { always, miss }) => {
                let counts = miss.is_none();
                let mut keys: Vec<_> = counts.then_some('a').into_iter().collect();
                keys.push('d');
                keys.extend(all.then_some('A'));
                keys.push('D');
                let clears = counts && !matches!(always, Always::Nothing(_));
                keys.extend(clears.then_some('t'));
                keys.push('e');
                keys
            }
            Some(Asks::Question) => vec!['r', 'e', 'n'],
            Some(Asks::InDoubt) => vec!['y', 'n', 'l'],
            None => Vec::new(),
        };
        keys.push('v');
        keys.extend((card > 0).then_some('b'));
        let next = card.saturating_add(1) < self.asked.len();
        keys.extend(next.then_some(NEXT));
        keys.extend(['p', 's', '?']);
        keys
    }

    /// The keys that do something now.
    fn keys_now(&self) -> Vec<char> {
        match self.at {
            At::Card(card) if !self.is_seen(card) => vec!['p', 's'],
            At::Card(_) | At::Writing { .. } | At::Help(_) | At::Summary => self.keys(),
        }
    }

    /// Why nothing can be cleared beside this call.
    fn offers_nothing(&self, card: usize) -> Option<&'static str> {
        match self.asks(card)? {
            Asks::Approval {
                always: Always::Nothing(why),
                ..
            } => Some(why),
            Asks::Approval { .. } | Asks::Question | Asks::InDoubt => None,
        }
    }

    fn asks(&self, card: usize) -> Option<Asks> {
        self.asked.get(card).map(|asked| asked.asks)
    }

    /// What a key does.
    pub(crate) fn press(&mut self, key: &Key) -> Move {
        self.say = None;
        let warned = self.warned.take();
        match self.at.clone() {
            At::Card(card) => self.on_card(card, key, warned),
            At::Help(card) => {
                self.at = At::Card(card);
                match key {
                    Key::Interrupt => Move::Stop,
                    _ => Move::Show,
                }
            }
            At::Writing { card, what, line } => self.on_line(card, what, line, key),
            At::Summary => self.on_summary(key),
        }
    }

    fn on_card(&mut self, card: usize, key: &Key, warned: Option<char>) -> Move {
        let c = match key {
            Key::Interrupt => return Move::Stop,
            Key::Char(c) if self.keys_now().contains(c) => *c,
            Key::Char(c @ ('a' | 'A' | 't')) if self.miss(card).is_some() => {
                let why = self.miss(card).map_or("", Miss::as_str);
                self.tell(format!("{c} does nothing here, since {why}; d denies"));
                return Move::Show;
            }
            Key::Char('A') if matches!(self.asks(card), Some(Asks::Approval { .. })) => {
                self.tell("A comes after every card was on the screen");
                return Move::Show;
            }
            Key::Char('t') if self.offers_nothing(card).is_some() => {
                let why = self.offers_nothing(card).unwrap_or_default();
                self.tell(format!("t does nothing here: {why}"));
                return Move::Show;
            }
            Key::Paste(_) => {
                self.tell("pasted text is not taken for keys");
                return Move::Show;
            }
            other => return self.no_such_key(other),
        };
        if warned != Some(c) && !self.cut_by(c, card).is_empty() {
            self.warned = Some(c);
            return Move::Show;
        }
        match (c, self.asks(card)) {
            ('p', _) => return self.park(card),
            ('s', _) => return Move::Stop,
            ('v', _) => return Move::Page(card),
            ('e', _) => return Move::Edit(card),
            ('b', _) => self.at = At::Card(card.saturating_sub(1)),
            (NEXT, _) => self.at = At::Card(card.saturating_add(1)),
            ('?', _) => self.at = At::Help(card),
            ('a', _) => self.decide(card, Verdict::Approve),
            ('t', _) => {
                self.decide(card, Verdict::Always);
                let open = self.verdicts.iter().filter(|one| one.is_none()).count();
                self.tell(format!("allowed once you send; still to answer: {open}"));
            }
            ('A', _) => self.approve_all(),
            ('d', _) => self.write(card, Writing::Deny),
            ('D', _) => self.write(card, Writing::DenyAll),
            ('r', _) => self.write(card, Writing::Reply),
            ('y', _) => self.write(card, Writing::Settle { done: true }),
            ('n', Some(Asks::InDoubt)) => self.write(card, Writing::Settle { done: false }),
            ('n' | 'l', _) => self.decide(card, Verdict::Leave),
            (_, _) => {}
        }
        Move::Show
    }

    fn no_such_key(&mut self, key: &Key) -> Move {
        let keys = self.keys_now();
        let keys = keys.iter().map(|key| named(*key)).collect::<Vec<_>>();
        let named = match key {
            Key::Char(c) => crate::ui::text::inline(&named(*c)),
            Key::Enter => String::from("Enter"),
            Key::Escape => String::from("Esc"),
            Key::Backspace => String::from("Backspace"),
            Key::Interrupt => String::from("Ctrl-C"),
            Key::Clear => String::from("Ctrl-U"),
            Key::Paste(_) | Key::Other => String::from("that"),
        };
        self.tell(format!(
            "{named} does nothing here; keys: {}",
            keys.join(" ")
        ));
        Move::Show
    }

    fn write(&mut self, card: usize, what: Writing) {
        self.at = At::Writing {
            card,
            what,
            line: Line::default(),
        };
    }

    fn on_line(&mut self, card: usize, what: Writing, mut line: Line, key: &Key) -> Move {
        match key {
            Key::Interrupt | Key::Escape => {
                self.at = At::Card(card);
                return Move::Show;
            }
            Key::Enter => return self.written(card, what, line),
            Key::Char(c) => line.push(*c),
            Key::Paste(text) => line.paste(text),
            Key::Backspace => line.pop(),
            Key::Clear => line.clear(),
            Key::Other => {}
        }
        self.at = At::Writing { card, what, line };
        Move::Show
    }

    fn written(&mut self, card: usize, what: Writing, line: Line) -> Move {
        let text = line.text().trim().to_owned();
        let note = (!text.is_empty()).then(|| text.clone());
        match what {
            Writing::Deny => self.decide(card, Verdict::Deny(note)),
            Writing::DenyAll => {
                for other in self.approvals() {
                    self.set(other, Verdict::Deny(note.clone()));
                }
                self.at = self.first_open().map_or(At::Summary, At::Card);
            }
            Writing::Reply if note.is_some() => self.decide(card, Verdict::Reply(text)),
            Writing::Settle { done } if note.is_some() => {
                self.decide(card, Verdict::Settle { done, note: text });
            }
            Writing::Reply | Writing::Settle { .. } => {
                self.at = At::Writing { card, what, line };
                self.tell("write something, or Esc to go back");
            }
        }
        Move::Show
    }

    fn on_summary(&mut self, key: &Key) -> Move {
        match key {
            Key::Enter => Move::Send,
            Key::Interrupt | Key::Char('s') => Move::Stop,
            Key::Char('p') => Move::Park,
            Key::Char('b') => {
                self.at = At::Card(self.asked.len().saturating_sub(1));
                Move::Show
            }
            _ => {
                self.tell("Enter sends it; b back, p park, s stop");
                Move::Show
            }
        }
    }

    /// Leaves a run as it is; where that was the only one, the walk ends.
    fn park(&mut self, card: usize) -> Move {
        let Some(run) = self.asked.get(card).map(|asked| asked.run) else {
            return Move::Park;
        };
        let of_run: Vec<usize> = (0..self.asked.len())
            .filter(|other| self.asked.get(*other).is_some_and(|asked| asked.run == run))
            .collect();
        if of_run.len() == self.asked.len() {
            return Move::Park;
        }
        for other in of_run {
            self.set(other, Verdict::Leave);
        }
        let next = self.first_open();
        let left = |verdict: &Option<Verdict>| *verdict == Some(Verdict::Leave);
        if next.is_none() && self.verdicts.iter().all(left) {
            return Move::Park;
        }
        self.at = next.map_or(At::Summary, At::Card);
        Move::Show
    }
}
