//! Lists in parts: as many rows as were asked for, however many one answer holds.

use placet_ledger::projection::{
    ANSWER_ROWS_MAX, Answer, Cursor, Decision, DecisionFilter, Page, PendingRow, Query, RunFilter,
    RunRow,
};

use crate::answers;
use crate::error::CommandError;
use crate::reading::Reading;
use crate::wiring::Wiring;

/// Rows at most, as people write it.
pub(super) fn limit(text: &str) -> Result<usize, String> {
    let wanted = text.parse().ok().filter(|limit| *limit > 0);
    wanted.ok_or_else(|| String::from("expected how many rows, from 1"))
}

/// Says how to see what is left of a list.
pub(super) fn tell_of_more(wiring: &mut Wiring<'_>, next: Option<Cursor>) {
    if let Some(next) = next {
        let what = format!("there is more; it goes on with --after {next}");
        wiring.printer.note(&what);
    }
}

/// A part of a list.
type Part<T> = (Vec<T>, Option<Cursor>);

async fn gathered<T>(
    reading: &Reading,
    limit: usize,
    after: Option<&Cursor>,
    query: impl Fn(Page) -> Query,
    part: impl Fn(Answer) -> Option<Part<T>>,
) -> Result<Part<T>, CommandError> {
    let (mut all, mut after) = (Vec::new(), after.cloned());
    loop {
        let left = limit.saturating_sub(all.len());
        let limit = left.min(ANSWER_ROWS_MAX);
        let answer = reading.query(query(Page { after, limit })).await?;
        let (rows, next) = part(answer).ok_or_else(answers::unexpected)?;
        all.extend(rows);
        if next.is_none() || left <= limit {
            return Ok((all, next));
        }
        after = next;
    }
}

/// Runs, the newest first.
pub(super) async fn runs(
    reading: &Reading,
    (limit, after): (usize, Option<&Cursor>),
    filter: &RunFilter,
) -> Result<Part<RunRow>, CommandError> {
    let query = |page| Query::Runs {
        filter: filter.clone(),
        page,
    };
    let part = |answer| match answer {
        Answer::Runs { runs, next, .. } => Some((runs, next)),
        _ => None,
    };
    gathered(reading, limit, after, query, part).await
}

/// Calls that wait for people, the oldest first.
pub(super) async fn pending(
    reading: &Reading,
    limit: usize,
    after: Option<&Cursor>,
) -> Result<Part<PendingRow>, CommandError> {
    let query = |page| Query::Pending { page };
    let part = |answer| match answer {
        Answer::Pending { pending, next } => Some((pending, next)),
        _ => None,
    };
    gathered(reading, limit, after, query, part).await
}

/// Decisions, the oldest first.
pub(super) async fn decisions(
    reading: &Reading,
    (limit, after): (usize, Option<&Cursor>),
    filter: &DecisionFilter,
) -> Result<Part<Decision>, CommandError> {
    let query = |page| Query::Decisions {
        filter: filter.clone(),
        page,
    };
    let part = |answer| match answer {
        Answer::Decisions { decisions, next } => Some((decisions, next)),
        _ => None,
    };
    gathered(reading, limit, after, query, part).await
}
