//! The list of runs: each folded as far as it goes, found by the first digits of its id.

use std::collections::BTreeMap;

use super::Projection;
use crate::envelope::Recorded;
use crate::event::Event;
use crate::id::{Position, RunId, StreamId, Version};
use crate::run::{FoldError, Origin, RunState, evolve};

/// The fewest digits that name a run: fewer are soon shared by two.
const PREFIX_DIGITS_MIN: usize = 6;

/// Digits of a whole id.
const ID_DIGITS: usize = 32;

/// Why a run does not fold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuarantineReason {
    /// No ledger was created before it.
    #[error("no ledger.created stands before its first record")]
    NoLedger,
    /// A record cannot follow.
    #[error(transparent)]
    Fold(#[from] FoldError),
}

/// A run that does not fold: shown, exported, never driven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantine {
    /// Position of the first record that cannot follow.
    pub position: Position,
    /// Its version, as it says itself.
    pub version: Version,
    /// Why it cannot.
    pub reason: QuarantineReason,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEntry {
    run: RunId,
    start: Position,
    last: Position,
    folded: Result<Option<RunState>, Quarantine>,
}

impl RunEntry {
    /// The run.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// Position of its first record.
    pub fn start(&self) -> Position {
        self.start
    }

    /// Position of its newest record.
    pub fn last(&self) -> Position {
        self.last
    }

    /// Its state; `None` where it does not fold.
    pub fn state(&self) -> Option<&RunState> {
        self.folded.as_ref().ok().and_then(Option::as_ref)
    }

    /// Why it does not fold.
    pub fn quarantine(&self) -> Option<&Quarantine> {
        self.folded.as_ref().err()
    }

    fn apply(&mut self, origin: Option<&Origin>, recorded: &Recorded) {
        self.last = recorded.position;
        let Ok(state) = &mut self.folded else { return };
        let step = match origin {
            None => Err(QuarantineReason::NoLedger),
            Some(origin) => advance(origin, self.run.stream(), state.take(), recorded)
                .map_err(QuarantineReason::Fold),
        };
        self.folded = match step {
            Ok(state) => Ok(Some(state)),
            Err(reason) => Err(Quarantine {
                position: recorded.position,
                version: recorded.envelope.version(),
                reason,
            }),
        };
    }
}

/// The state after one more record, whose link is checked first.
fn advance(
    origin: &Origin,
    stream: StreamId,
    state: Option<RunState>,
    recorded: &Recorded,
) -> Result<RunState, FoldError> {
    origin.verify_link(stream, state.as_ref(), &recorded.envelope)?;
    Ok(evolve(state, &recorded.envelope)?)
}

/// Why a prefix names no run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// Not the beginning of an id.
    #[error("expected the first {PREFIX_DIGITS_MIN} or more hex digits of a run's id, found {0:?}")]
    Malformed(String),
    /// No run begins so.
    #[error("no run begins with {prefix}")]
    NotFound {
        /// What was looked for.
        prefix: String,
        /// The run whose id agrees in most digits, if at least half of them agree.
        nearest: Option<RunId>,
    },
    /// Several runs begin so.
    #[error("{prefix} is the beginning of {} runs: {}", candidates.len(), list(candidates))]
    Ambiguous {
        /// What was looked for.
        prefix: String,
        /// The runs, in the order of their ids.
        candidates: Vec<RunId>,
    },
}

fn list(runs: &[RunId]) -> String {
    let runs: Vec<_> = runs.iter().map(RunId::to_string).collect();
    runs.join(", ")
}

/// Every run of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunList {
    origin: Option<Origin>,
    journal: Option<StreamId>,
    runs: BTreeMap<RunId, RunEntry>,
    order: Vec<RunId>,
}

impl Projection for RunList {
    fn apply(&mut self, recorded: &Recorded) {
        let envelope = &recorded.envelope;
        let stream = envelope.stream();
        if stream == envelope.header().ledger.authority() {
            self.apply_authority(recorded);
        } else if Some(stream) != self.journal {
            let run = stream.run();
            let order = &mut self.order;
            let entry = self.runs.entry(run).or_insert_with(|| {
                order.push(run);
                RunEntry {
                    run,
                    start: recorded.position,
                    last: recorded.position,
                    folded: Ok(None),
                }
            });
            entry.apply(self.origin.as_ref(), recorded);
        }
    }
}

impl RunList {
    /// The list before any record.
    pub fn new() -> Self {
        Self::default()
    }

    fn apply_authority(&mut self, recorded: &Recorded) {
        let envelope = &recorded.envelope;
        if let (Event::LedgerCreated(created), None) = (envelope.event(), self.origin) {
            self.journal = Some(created.journal);
            self.origin = Some(Origin {
                ledger: envelope.header().ledger,
                created: envelope.digest(),
            });
        }
    }

    /// All runs, by the position of their first record.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &RunEntry> {
        self.order.iter().filter_map(|run| self.runs.get(run))
    }

    /// How many runs there are.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// One run.
    pub fn get(&self, run: RunId) -> Option<&RunEntry> {
        self.runs.get(&run)
    }

    /// The one run whose id begins with `prefix`: at least six hex digits, hyphens or not.
    pub fn find(&self, prefix: &str) -> Result<&RunEntry, LookupError> {
        let digits: String = prefix.chars().filter(|&c| c != '-').collect();
        let hex = digits
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if !hex || !(PREFIX_DIGITS_MIN..=ID_DIGITS).contains(&digits.len()) {
            return Err(LookupError::Malformed(prefix.chars().take(80).collect()));
        }
        let mut found = self
            .runs
            .values()
            .filter(|entry| simple(entry.run).starts_with(&digits));
        match (found.next(), found.next()) {
            (Some(only), None) => Ok(only),
            (Some(first), Some(second)) => Err(LookupError::Ambiguous {
                prefix: prefix.to_owned(),
                candidates: [first, second]
                    .into_iter()
                    .chain(found)
                    .map(RunEntry::run)
                    .collect(),
            }),
            (None, _) => Err(LookupError::NotFound {
                prefix: prefix.chars().take(80).collect(),
                nearest: self.nearest(&digits),
            }),
        }
    }

    fn nearest(&self, digits: &str) -> Option<RunId> {
        let agreeing = |run: RunId| {
            let id = simple(run);
            id.bytes()
                .zip(digits.bytes())
                .filter(|(a, b)| a == b)
                .count()
        };
        let best = self
            .order
            .iter()
            .copied()
            .max_by_key(|&run| agreeing(run))?;
        (agreeing(best).saturating_mul(2) >= digits.len()).then_some(best)
    }

    /// The beginning of a run's id that no other run shares: six digits, or as many as it takes.
    pub fn shortest_prefix(&self, run: RunId) -> String {
        let before = self.runs.range(..run).next_back();
        let after = self.runs.range(run..).find(|(other, _)| **other != run);
        // Ids are in order, so the two beside this one share the most with it.
        let shared = before
            .into_iter()
            .chain(after)
            .map(|(&other, _)| shared_digits(run, other))
            .max()
            .unwrap_or(0);
        let digits = shared.saturating_add(1).clamp(PREFIX_DIGITS_MIN, ID_DIGITS);
        let mut left = digits;
        run.to_string()
            .chars()
            .take_while(|&c| {
                let more = left > 0;
                if c != '-' {
                    left = left.saturating_sub(1);
                }
                more
            })
            .collect()
    }
}

fn simple(run: RunId) -> String {
    run.uuid().as_simple().to_string()
}

fn shared_digits(a: RunId, b: RunId) -> usize {
    let (a, b) = (simple(a), simple(b));
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}
