//! The timeline of a run: a line for each record, and the beginning of what was said with it.

use placet_ledger::approval::Actor;
use placet_ledger::id::RunId;
use placet_ledger::time::Timestamp;
use placet_ledger::view::Row;

use super::table::table;
use super::text;
use crate::wire::runs::EventRow;

/// Columns of what somebody said that the timeline shows; --json has all of it.
const SAID_COLUMNS: usize = 60;

/// A time as people read it: UTC, to the second.
pub(crate) fn time(at: Timestamp) -> String {
    let text = at.to_string();
    match text.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => text,
    }
}

/// Who caused a record, in a word.
pub(crate) fn actor(actor: &Actor) -> String {
    match actor {
        Actor::Person { name } => text::marked(name.as_str()),
        Actor::Policy => "policy".to_owned(),
        Actor::Allowlist => "allowlist".to_owned(),
        Actor::Engine => "engine".to_owned(),
        Actor::Clock => "clock".to_owned(),
    }
}

/// The rows of the whole log; `prefix` is how a run is named.
pub(crate) fn log(rows: &[Row], prefix: impl Fn(RunId) -> String) -> String {
    let lines: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![
                format!("#{}", row.position),
                format!("{}@{}", prefix(row.run.run()), row.version),
                time(row.at),
                actor(&row.actor),
                text::inline(&row.summary),
            ]
        })
        .collect();
    table(&[], &lines)
}

/// The rows of one run; `events`, where there are any, say what was said with each.
pub(crate) fn rows(rows: &[Row], events: &[EventRow]) -> String {
    let lines: Vec<Vec<String>> = rows
        .iter()
        .enumerate()
        .map(|(index, row)| {
            let said = events.get(index).and_then(|event| event.said.as_deref());
            let said = said.map(|said| {
                let said = text::excerpt(said, SAID_COLUMNS);
                format!(": {said}")
            });
            vec![
                format!("{:>4}", row.version.get()),
                time(row.at),
                actor(&row.actor),
                text::inline(&row.summary) + &said.unwrap_or_default(),
            ]
        })
        .collect();
    table(&[], &lines)
}
