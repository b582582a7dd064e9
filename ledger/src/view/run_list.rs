//! The list of runs: each folded as far as it goes, found by the first digits of its id.

use std::collections::BTreeMap;

use super::Projection;
use super::lookup::{LookupError, PrefixDigits, shortest_prefix_beside};
use crate::envelope::Recorded;
use crate::event::Event;
use crate::id::{Position, RunId, StreamId, Version};
use crate::run::{FoldError, Origin, RunState, evolve};

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
        let digits = PrefixDigits::read(prefix)?;
        let candidates: Vec<RunId> = self
            .runs
            .range(digits.first()..=digits.last())
            .map(|(run, _)| *run)
            .collect();
        if candidates.is_empty() {
            return Err(digits.not_found(self.order.iter().copied()));
        }
        let run = digits.only(candidates)?;
        let missing = || digits.not_found([]);
        self.runs.get(&run).ok_or_else(missing)
    }

    /// The beginning of a run's id that no other run shares: six digits, or as many as it takes.
    pub fn shortest_prefix(&self, run: RunId) -> String {
        let before = self.runs.range(..run).next_back();
        let after = self.runs.range(run..).find(|(other, _)| **other != run);
        shortest_prefix_beside(
            run,
            before.into_iter().chain(after).map(|(other, _)| *other),
        )
    }
}
