//! Answers, from the rows alone.

use std::collections::BTreeMap;

use super::batch::{Mark, RowsError, decode, run_row};
use super::cursor::Cursor;
use super::query::{ANSWER_ROWS_MAX, Answer, Decided, DecisionFilter, Page, Query, RunFilter};
use super::rows::{Approver, Decision, RunRow, RunStatus, Verdict};
use super::{Failed, allowed, find, keys};
use crate::id::{Name, RunId};
use crate::store::projections::{Direction, ProjectionStore, Row};
use crate::time::Timestamp;

/// Rows that are read at once.
const READ_ROWS: usize = 64;

/// Bytes of a key of runs in order, or of decisions.
const PLACE_BYTES: usize = 9;

/// Bytes of a key of what waits.
const PENDING_BYTES: usize = 21;

/// The answer to a query; the rows are at the end of the log.
pub(super) fn answer(
    rows: &dyn ProjectionStore,
    mark: &Mark,
    query: &Query,
) -> Result<Answer, Failed> {
    match query {
        Query::Runs { filter, page } => runs(rows, mark, filter, page),
        Query::Pending { page } => pending(rows, page),
        Query::Decisions { filter, page } => decisions(rows, filter, page),
        Query::Allowed {
            tool,
            agent,
            by,
            page,
        } => allowed::allowed(rows, tool, (agent, by.as_ref()), page),
        Query::Who { tool, since } => {
            let who = who(rows, tool.as_ref(), *since)?;
            Ok(Answer::Who { who })
        }
        Query::Find { prefix } => Ok(Answer::Find(find::find(rows, prefix)?)),
        Query::Prefixes { runs } => {
            let prefixes: Result<Vec<_>, RowsError> = runs
                .iter()
                .map(|run| find::shortest_prefix(rows, *run))
                .collect();
            Ok(Answer::Prefixes {
                prefixes: prefixes?,
            })
        }
        // The projector does that itself.
        Query::Rebuild {} => Err(RowsError::Unfit("they are built anew".to_owned()).into()),
    }
}

/// Rows of a range, a few at a time, until one is not wanted any more.
pub(super) fn each(
    rows: &dyn ProjectionStore,
    (mut low, mut high): (Vec<u8>, Vec<u8>),
    direction: Direction,
    read_at_once: usize,
    mut take: impl FnMut(Row) -> Result<bool, RowsError>,
) -> Result<(), RowsError> {
    loop {
        let page = rows.range(&low, &high, direction, read_at_once)?;
        let full = page.len() == read_at_once;
        for row in page {
            match direction {
                Direction::Up => low = keys::after(&row.0),
                Direction::Down => high.clone_from(&row.0),
            }
            if !take(row)? {
                return Ok(());
            }
        }
        if !full {
            return Ok(());
        }
    }
}

pub(super) fn limit(page: &Page) -> usize {
    page.limit.clamp(1, ANSWER_ROWS_MAX)
}

fn runs(
    rows: &dyn ProjectionStore,
    mark: &Mark,
    filter: &RunFilter,
    page: &Page,
) -> Result<Answer, Failed> {
    let with_finished =
        filter.state == Some(RunStatus::Finished) || filter.state.is_none() && filter.finished;
    let list = if with_finished {
        keys::ORDER
    } else {
        keys::UNFINISHED
    };
    let (low, mut high) = keys::all(list);
    if let Some(after) = &page.after {
        // The list with finished runs holds all of the other, so a cursor fits both.
        let key = after.key(keys::ORDER, PLACE_BYTES)?;
        high = [&[list], key.get(1..).unwrap_or_default()].concat();
    }
    let limit = limit(page);
    let (mut found, mut more) = (Vec::new(), false);
    let read_at_once = limit.saturating_add(1).min(READ_ROWS);
    each(rows, (low, high), Direction::Down, read_at_once, |row| {
        let run = run_of(rows, &row)?;
        if meets(filter, &run) {
            more = found.len() == limit;
            if !more {
                found.push(run);
            }
        }
        Ok(!more)
    })?;
    let last = found.last().filter(|_| more);
    let next = last.map(|run| Cursor::at(keys::start(keys::ORDER, run.start)));
    Ok(Answer::Runs {
        runs: found,
        next,
        finished: mark.finished,
    })
}

/// The run that a row of one of the lists names.
fn run_of(rows: &dyn ProjectionStore, (key, id): &Row) -> Result<RunRow, RowsError> {
    let unfit = || RowsError::Unfit("a list names a run that has no row".to_owned());
    let bytes: [u8; 16] = id.as_slice().try_into().map_err(|_| unfit())?;
    let run = RunId::new(uuid::Uuid::from_bytes(bytes));
    let row = run_row(rows, run)?.ok_or_else(unfit)?;
    let list = key.first().copied().unwrap_or_default();
    let is_open = list == keys::UNFINISHED;
    if keys::start(list, row.start) != *key || is_open && row.state == RunStatus::Finished {
        return Err(unfit());
    }
    Ok(row)
}

fn meets(filter: &RunFilter, run: &RunRow) -> bool {
    let begun = run.begun.as_ref().filter(|_| run.broken.is_none());
    let agent = filter.agent.as_deref();
    let of_agent = |agent: &str| begun.is_some_and(|begun| begun.agent.as_str() == agent);
    filter.state.is_none_or(|state| run.state == state)
        && agent.is_none_or(of_agent)
        && filter
            .since
            .is_none_or(|since| begun.is_some_and(|begun| begun.at >= since))
}

fn pending(rows: &dyn ProjectionStore, page: &Page) -> Result<Answer, Failed> {
    let (mut low, high) = keys::all(keys::PENDING);
    if let Some(after) = &page.after {
        low = keys::after(after.key(keys::PENDING, PENDING_BYTES)?);
    }
    let limit = limit(page);
    let mut read = rows.range(&low, &high, Direction::Up, limit.saturating_add(1))?;
    let more = read.len() > limit;
    read.truncate(limit);
    let next = read.last().filter(|_| more);
    let next = next.map(|(key, _)| Cursor::at(key.clone()));
    let pending: Result<Vec<_>, _> = read.iter().map(|(_, row)| decode(row)).collect();
    Ok(Answer::Pending {
        pending: pending?,
        next,
    })
}

fn decisions(
    rows: &dyn ProjectionStore,
    filter: &DecisionFilter,
    page: &Page,
) -> Result<Answer, Failed> {
    let (mut low, high) = keys::all(keys::DECISIONS);
    let mut after = None;
    if let Some(cursor) = &page.after {
        let place = cursor.record()?;
        after = Some(place);
        // It may lie within a row, which begins before it.
        let before = rows.range(
            &low,
            &keys::after(&keys::decisions(place)),
            Direction::Down,
            1,
        )?;
        if let Some((key, _)) = before.into_iter().next() {
            low = key;
        }
    }
    let limit = limit(page);
    let (mut found, mut more) = (Vec::<Decision>::new(), false);
    each(rows, (low, high), Direction::Up, 4, |(_, row)| {
        for decision in decode::<Vec<Decision>>(&row)? {
            if after.is_none_or(|after| decision.position > after) && filter.meets(&decision) {
                more = found.len() == limit;
                if more {
                    break;
                }
                found.push(decision);
            }
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

fn who(
    rows: &dyn ProjectionStore,
    tool: Option<&Name>,
    since: Option<Timestamp>,
) -> Result<Vec<Decided>, RowsError> {
    let filter = DecisionFilter {
        tool: tool.cloned(),
        since,
        ..DecisionFilter::default()
    };
    let mut who: BTreeMap<Approver, (Decided, Vec<u64>)> = BTreeMap::new();
    let all = keys::all(keys::DECISIONS);
    each(rows, all, Direction::Up, READ_ROWS, |(_, row)| {
        for decision in decode::<Vec<Decision>>(&row)? {
            if filter.meets(&decision) {
                let (decided, waits) = who
                    .entry(decision.by.clone())
                    .or_insert_with(|| (nothing(decision.by.clone()), Vec::new()));
                let count = match decision.verdict {
                    Verdict::Granted => &mut decided.granted,
                    Verdict::Denied => &mut decided.denied,
                    Verdict::Revoked => &mut decided.revoked,
                    Verdict::Expired => &mut decided.expired,
                    Verdict::Refused => &mut decided.refused,
                    Verdict::Settled => &mut decided.settled,
                };
                *count = count.saturating_add(1);
                waits.extend(decision.waited_ms);
            }
        }
        Ok(true)
    })?;
    let summed = who.into_values().map(|(mut decided, mut waits)| {
        waits.sort_unstable();
        // The middle one; of two, the shorter.
        let middle = waits.len().saturating_sub(1).div_euclid(2);
        decided.waited_p50_ms = waits.get(middle).copied();
        decided.waited_max_ms = waits.last().copied();
        decided
    });
    Ok(summed.collect())
}

fn nothing(by: Approver) -> Decided {
    Decided {
        by,
        granted: 0,
        denied: 0,
        revoked: 0,
        expired: 0,
        refused: 0,
        settled: 0,
        waited_p50_ms: None,
        waited_max_ms: None,
    }
}
