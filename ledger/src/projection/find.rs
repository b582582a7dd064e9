//! Runs by the first digits of their ids, from the rows beside them alone.

use super::batch::RowsError;
use super::keys;
use super::query::ANSWER_ROWS_MAX;
use crate::id::RunId;
use crate::store::projections::{Direction, ProjectionStore, Row};
use crate::view::{LookupError, PrefixDigits, shortest_prefix_beside};

/// Runs on either side that are held against digits that name none.
const NEAR_RUNS: usize = 64;

fn run_of((key, _): &Row) -> Result<RunId, RowsError> {
    let id = key.get(1..).and_then(|id| <[u8; 16]>::try_from(id).ok());
    let unfit = || RowsError::Unfit("the key of a run is none".to_owned());
    let id = id.ok_or_else(unfit)?;
    Ok(RunId::new(uuid::Uuid::from_bytes(id)))
}

fn beside(
    rows: &dyn ProjectionStore,
    (low, high): (&[u8], &[u8]),
    direction: Direction,
    limit: usize,
) -> Result<Vec<RunId>, RowsError> {
    let found = rows.range(low, high, direction, limit)?;
    found.iter().map(run_of).collect()
}

/// The one run whose id begins with `prefix`: at least six hex digits, hyphens or not.
pub(super) fn find(
    rows: &dyn ProjectionStore,
    prefix: &str,
) -> Result<Result<RunId, LookupError>, RowsError> {
    let digits = match PrefixDigits::read(prefix) {
        Ok(digits) => digits,
        Err(error) => return Ok(Err(error)),
    };
    let (first, last) = (digits.first(), digits.last());
    let (low, high) = (keys::run(first), keys::after(&keys::run(last)));
    let candidates = beside(rows, (&low, &high), Direction::Up, ANSWER_ROWS_MAX)?;
    if candidates.is_empty() {
        let (all, end) = keys::all(keys::RUN);
        let mut near = beside(rows, (&all, &low), Direction::Down, NEAR_RUNS)?;
        near.extend(beside(rows, (&high, &end), Direction::Up, NEAR_RUNS)?);
        return Ok(Err(digits.not_found(near)));
    }
    Ok(digits.only(candidates))
}

/// The beginning of a run's id that no other run shares.
pub(super) fn shortest_prefix(rows: &dyn ProjectionStore, run: RunId) -> Result<String, RowsError> {
    let (all, end) = keys::all(keys::RUN);
    let key = keys::run(run);
    let mut others = beside(rows, (&all, &key), Direction::Down, 1)?;
    others.extend(beside(rows, (&keys::after(&key), &end), Direction::Up, 1)?);
    Ok(shortest_prefix_beside(run, others))
}
