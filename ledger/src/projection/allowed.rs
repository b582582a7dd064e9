//! What was allowed of one tool in the runs of one agent, the newest first, from the rows alone.

use std::collections::BTreeMap;

use super::answer::{each, limit};
use super::batch::{RowsError, decode, run_row};
use super::cursor::Cursor;
use super::query::{Answer, Page};
use super::rows::{Decision, Verdict};
use super::{Failed, keys};
use crate::id::{Name, Position, Principal, RunId};
use crate::store::projections::{Direction, ProjectionStore};

/// Rows that are read at once: each names a row of decisions.
const READ_ROWS: usize = 16;

/// The runs of one agent that one person started, as far as they were looked at.
struct Runs<'a> {
    rows: &'a dyn ProjectionStore,
    agent: &'a Name,
    by: Option<&'a Principal>,
    known: BTreeMap<RunId, bool>,
}

impl Runs<'_> {
    fn holds(&mut self, run: RunId) -> Result<bool, RowsError> {
        if let Some(known) = self.known.get(&run) {
            return Ok(*known);
        }
        let unfit = || RowsError::Unfit(format!("a decision is about run {run}, which has no row"));
        let row = run_row(self.rows, run)?.ok_or_else(unfit)?;
        let holds = row
            .begun
            .is_some_and(|begun| begun.agent == *self.agent && begun.by.as_ref() == self.by);
        self.known.insert(run, holds);
        Ok(holds)
    }
}

/// The answer to [`super::Query::Allowed`].
pub(super) fn allowed(
    rows: &dyn ProjectionStore,
    tool: &Name,
    (agent, by): (&Name, Option<&Principal>),
    page: &Page,
) -> Result<Answer, Failed> {
    let before = page.after.as_ref().map(Cursor::record).transpose()?;
    let (low, high) = keys::all_of_tool(tool);
    // The row in which the part before ended holds older ones, too.
    let high = before.map_or(high, |before| keys::tool(tool, before));
    let mut runs = Runs {
        rows,
        agent,
        by,
        known: BTreeMap::new(),
    };
    let limit = limit(page);
    let (mut found, mut more) = (Vec::<Decision>::new(), false);
    each(rows, (low, high), Direction::Down, READ_ROWS, |(key, _)| {
        for decision in decisions(rows, &key)?.into_iter().rev() {
            let is_wanted = decision.verdict == Verdict::Granted
                && decision.tool.as_ref() == Some(tool)
                && before.is_none_or(|before| decision.position < before);
            if !is_wanted || !runs.holds(decision.run)? {
                continue;
            }
            more = found.len() == limit;
            if more {
                break;
            }
            found.push(decision);
        }
        Ok(!more)
    })?;
    let next = found.last().filter(|_| more);
    let next = next.map(|last| Cursor::at_record(last.position));
    Ok(Answer::Decisions {
        decisions: found,
        next,
    })
}

/// The decisions that a key of a tool is about.
fn decisions(rows: &dyn ProjectionStore, key: &[u8]) -> Result<Vec<Decision>, RowsError> {
    let unfit = || RowsError::Unfit("a tool names decisions that are not there".to_owned());
    let place = key.last_chunk::<8>().ok_or_else(unfit)?;
    let first = Position::new(u64::from_be_bytes(*place));
    let row = rows.get(&keys::decisions(first))?.ok_or_else(unfit)?;
    decode(&row)
}
