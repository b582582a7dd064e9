//! One page of the log on its way into the rows: what it changes is gathered and written at once,
//! together with the mark.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::decided::decision;
use super::fold::RunFold;
use super::keys;
use super::rows::{CallRow, Decision, PendingRow, RunRow, RunStatus};
use crate::digest::Digest;
use crate::envelope::Recorded;
use crate::event::Event;
use crate::id::{LedgerId, Position, RunId, StreamId, Version};
use crate::limits::ROW_BYTES_MAX;
use crate::run::Origin;
use crate::store::ReadError;
use crate::store::projections::{Changes, ProjectionStore};

/// Format of the rows.
pub(super) const FORMAT: u32 = 2;

/// Open calls in one row: names are bounded, so that many always fit.
const CALLS_PER_ROW: usize = 12;

/// Why rows are built anew.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum RowsError {
    /// They do not fit one another, or cannot be read.
    #[error("the rows of a projection do not fit: {0}")]
    Unfit(String),
    /// They, or the log, cannot be reached.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// How far the rows come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mark {
    pub(super) format: u32,
    /// Records that are in the rows.
    pub(super) size: u64,
    /// The digest of the last of them.
    pub(super) digest: Option<Digest>,
    /// The ledger and the digest of the record that created it.
    pub(super) origin: Option<(LedgerId, Digest)>,
    pub(super) journal: Option<StreamId>,
    pub(super) runs: u64,
    pub(super) finished: u64,
    /// Where the last row of decisions begins.
    pub(super) decisions: Option<Position>,
}

impl Mark {
    /// Nothing is there yet.
    pub(super) const EMPTY: Self = Self {
        format: FORMAT,
        size: 0,
        digest: None,
        origin: None,
        journal: None,
        runs: 0,
        finished: 0,
        decisions: None,
    };

    fn origin(&self) -> Option<Origin> {
        self.origin
            .map(|(ledger, created)| Origin { ledger, created })
    }
}

/// A value as it lies in a row.
pub(super) fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, RowsError> {
    serde_json::to_vec(value).map_err(|error| RowsError::Unfit(error.to_string()))
}

/// Reads a row.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, RowsError> {
    serde_json::from_slice(bytes).map_err(|error| RowsError::Unfit(error.to_string()))
}

struct Touched {
    /// As it lies in the rows; `None` where the run is new.
    before: Option<RunFold>,
    fold: RunFold,
}

/// What a page of the log changes.
pub(super) struct Batch<'a> {
    rows: &'a dyn ProjectionStore,
    pub(super) mark: Mark,
    /// Whether the rows are built from the first record on.
    anew: bool,
    runs: BTreeMap<RunId, Touched>,
    changes: Changes,
    /// The decisions of the row that is filled, and how long it is.
    open: Vec<Decision>,
    open_bytes: usize,
    open_is_read: bool,
}

impl<'a> Batch<'a> {
    pub(super) fn new(rows: &'a dyn ProjectionStore, mark: Mark, anew: bool) -> Self {
        Self {
            rows,
            mark,
            anew,
            runs: BTreeMap::new(),
            changes: Changes::new(),
            open: Vec::new(),
            open_bytes: 0,
            open_is_read: false,
        }
    }

    /// Takes in the next record.
    pub(super) fn apply(&mut self, recorded: &Recorded) -> Result<(), RowsError> {
        let envelope = &recorded.envelope;
        let (stream, header) = (envelope.stream(), envelope.header());
        if stream == header.ledger.authority() {
            if let (Event::LedgerCreated(created), None) = (envelope.event(), self.mark.origin) {
                self.mark.origin = Some((header.ledger, envelope.digest()));
                self.mark.journal = Some(created.journal);
            }
        } else if Some(stream) != self.mark.journal {
            self.apply_to_run(recorded)?;
        }
        self.mark.size = recorded.position.get().saturating_add(1);
        self.mark.digest = Some(envelope.digest());
        Ok(())
    }

    fn apply_to_run(&mut self, recorded: &Recorded) -> Result<(), RowsError> {
        let run = recorded.envelope.stream().run();
        if !self.runs.contains_key(&run) {
            let before = load(self.rows, run)?;
            if before.is_none() {
                if recorded.envelope.version() != Version::ZERO && !self.anew {
                    return Err(RowsError::Unfit(format!("the row of run {run} is missing")));
                }
                self.mark.runs = self.mark.runs.saturating_add(1);
            }
            let fold = before.clone().unwrap_or_else(|| RunFold::new(recorded));
            self.runs.insert(run, Touched { before, fold });
        }
        let origin = self.mark.origin();
        let Some(touched) = self.runs.get_mut(&run) else {
            return Ok(());
        };
        let decision = decision(Some(&touched.fold), recorded);
        let was_finished = touched.fold.row.state == RunStatus::Finished;
        let was_broken = touched.fold.row.broken.is_some();
        touched.fold.apply(origin.as_ref(), recorded);
        // Either the log is damaged, or the row is an old one: built anew, it is known which.
        if touched.fold.row.broken.is_some() && !was_broken && !self.anew {
            return Err(RowsError::Unfit(format!(
                "run {run} does not go on from its row"
            )));
        }
        let is_finished = touched.fold.row.state == RunStatus::Finished;
        match (was_finished, is_finished) {
            (false, true) => self.mark.finished = self.mark.finished.saturating_add(1),
            (true, false) => self.mark.finished = self.mark.finished.saturating_sub(1),
            (true, true) | (false, false) => {}
        }
        decision.map_or(Ok(()), |decision| self.decided(decision))
    }

    /// Adds a decision to the row that is filled, or begins the next one.
    fn decided(&mut self, decision: Decision) -> Result<(), RowsError> {
        if !self.open_is_read {
            self.open_is_read = true;
            if let Some(first) = self.mark.decisions {
                let row = self.rows.get(&keys::decisions(first))?;
                let missing = || RowsError::Unfit(format!("no decisions at {first}"));
                let row = row.ok_or_else(missing)?;
                self.open = decode(&row)?;
                self.open_bytes = row.len();
            }
        }
        let bytes = encode(&decision)?.len().saturating_add(1);
        if self.open_bytes.saturating_add(bytes) > ROW_BYTES_MAX {
            self.put_decisions()?;
            self.open.clear();
            self.open_bytes = 0;
        }
        if self.open.is_empty() {
            self.mark.decisions = Some(decision.position);
            // The brackets, less the comma that is not there.
            self.open_bytes = 1;
        }
        if let (Some(tool), Some(first)) = (&decision.tool, self.mark.decisions) {
            let key = keys::tool(tool, first);
            self.changes.insert(key, Some(Vec::new()));
        }
        self.open.push(decision);
        self.open_bytes = self.open_bytes.saturating_add(bytes);
        Ok(())
    }

    fn put_decisions(&mut self) -> Result<(), RowsError> {
        if let Some(first) = self.open.first() {
            let key = keys::decisions(first.position);
            self.changes.insert(key, Some(encode(&self.open)?));
        }
        Ok(())
    }

    /// Writes all of it, with the mark.
    pub(super) fn write(mut self) -> Result<Mark, RowsError> {
        self.put_decisions()?;
        let runs = std::mem::take(&mut self.runs);
        for (run, touched) in runs {
            self.put_run(run, touched)?;
        }
        let mark = encode(&self.mark)?;
        self.changes.insert(keys::MARK.to_vec(), Some(mark));
        self.rows.apply(&self.changes)?;
        Ok(self.mark)
    }

    fn put_run(&mut self, run: RunId, touched: Touched) -> Result<(), RowsError> {
        let Touched { before, mut fold } = touched;
        let start = fold.row.start;
        if before.is_none() {
            let id = Some(run.as_bytes().to_vec());
            self.changes.insert(keys::start(keys::ORDER, start), id);
        }
        let unfinished = |fold: &RunFold| fold.row.state != RunStatus::Finished;
        let (was, is) = (before.as_ref().is_some_and(unfinished), unfinished(&fold));
        if was != is {
            let id = is.then(|| run.as_bytes().to_vec());
            self.changes
                .insert(keys::start(keys::UNFINISHED, start), id);
        }
        let waiting = |fold: &RunFold| -> BTreeMap<Vec<u8>, PendingRow> {
            let key = |row: PendingRow| (keys::pending(row.since, start, row.call), row);
            fold.pending().map(key).collect()
        };
        let old = before.as_ref().map(waiting).unwrap_or_default();
        let new = waiting(&fold);
        for key in old.keys().filter(|key| !new.contains_key(*key)) {
            self.changes.insert(key.clone(), None);
        }
        for (key, row) in new {
            if old.get(&key) != Some(&row) {
                self.changes.insert(key, Some(encode(&row)?));
            }
        }
        self.put_calls(before.as_ref(), &mut fold)?;
        self.changes
            .insert(keys::run(run), Some(encode(&fold.row)?));
        Ok(())
    }

    fn put_calls(&mut self, before: Option<&RunFold>, fold: &mut RunFold) -> Result<(), RowsError> {
        let run = fold.row.run;
        if before.is_none_or(|before| before.calls != fold.calls) {
            let mut parts = 0_u8;
            for part in fold.calls.chunks(CALLS_PER_ROW) {
                let row = encode(&part)?;
                self.changes.insert(keys::calls(run, parts), Some(row));
                parts = parts.saturating_add(1);
            }
            for gone in parts..fold.row.fold.parts {
                self.changes.insert(keys::calls(run, gone), None);
            }
            fold.row.fold.parts = parts;
        }
        Ok(())
    }
}

/// The row of a run.
pub(super) fn run_row(rows: &dyn ProjectionStore, run: RunId) -> Result<Option<RunRow>, RowsError> {
    let Some(bytes) = rows.get(&keys::run(run))? else {
        return Ok(None);
    };
    let row: RunRow = decode(&bytes)?;
    if row.run == run {
        Ok(Some(row))
    } else {
        Err(RowsError::Unfit(format!(
            "the row of run {run} is another one's"
        )))
    }
}

/// A run with its open calls.
fn load(rows: &dyn ProjectionStore, run: RunId) -> Result<Option<RunFold>, RowsError> {
    let Some(row) = run_row(rows, run)? else {
        return Ok(None);
    };
    let mut calls: Vec<CallRow> = Vec::new();
    for part in 0..row.fold.parts {
        let bytes = rows.get(&keys::calls(run, part))?;
        let missing = || RowsError::Unfit(format!("open calls of run {run} are missing"));
        calls.extend(decode::<Vec<CallRow>>(&bytes.ok_or_else(missing)?)?);
    }
    Ok(Some(RunFold { row, calls }))
}
