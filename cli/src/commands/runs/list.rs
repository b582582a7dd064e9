//! `placet runs list`: what runs there are.

use std::collections::BTreeSet;

use clap::{Args, ValueEnum};
use placet_ledger::content::Contents;
use placet_ledger::projection::{Answer, Cursor, Page, Query, RunFilter, RunRow, RunStatus};

use crate::answers;
use crate::args::When;
use crate::commands::page;
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::reading::{self, Reading};
use crate::ui::{table, text, timeline};
use crate::wire::runs::{Driving, RunItem, RunList};
use crate::wiring::Wiring;

/// Columns of the prompt that the list shows.
const PROMPT_COLUMNS: usize = 40;

/// List runs that are not finished, the newest first
///
/// Example: placet runs list --state parked --since 7d
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Runs in this state alone
    #[arg(long, value_enum, value_name = "S")]
    state: Option<State>,

    /// Runs of this agent alone
    #[arg(long, value_name = "A")]
    agent: Option<String>,

    /// Runs that began at this time or later: a UTC time, a day, or how long ago (24h, 7d)
    #[arg(long, value_name = "T", value_parser = When::parse)]
    since: Option<When>,

    /// Finished runs too
    #[arg(long)]
    all: bool,

    /// Runs at most
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = page::limit)]
    limit: usize,

    /// Go on where the part before ended, by the cursor that it gave
    #[arg(long, value_name = "C")]
    after: Option<Cursor>,
}

/// A state that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum State {
    /// A driver has it, or vanished with it.
    Running,
    /// Nobody drives it, and it is not parked.
    Waiting,
    /// It waits for answers.
    Parked,
    /// An execution started, and nobody knows whether it took effect.
    InDoubt,
    /// It ended.
    Finished,
    /// Its records do not follow one another.
    Quarantined,
}

impl From<State> for RunStatus {
    fn from(state: State) -> Self {
        match state {
            State::Running => Self::Running,
            State::Waiting => Self::Waiting,
            State::Parked => Self::Parked,
            State::InDoubt => Self::InDoubt,
            State::Finished => Self::Finished,
            State::Quarantined => Self::Quarantined,
        }
    }
}

/// Lists runs.
pub(crate) fn run(args: &ListArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let reading = Reading::open(wiring)?;
    let now = reading::now();
    let filter = RunFilter {
        state: args.state.map(RunStatus::from),
        finished: args.all,
        agent: args.agent.clone(),
        since: args.since.map(|since| since.at(now)),
    };
    let part = (args.limit, args.after.as_ref());
    let (shown, next) = wiring.block_on(page::runs(&reading, part, &filter))?;
    let hidden = if args.all || args.state.is_some() {
        0
    } else {
        wiring.block_on(finished(&reading, &filter))?
    };
    let driving = |row: &RunRow| match row.state {
        RunStatus::Finished | RunStatus::Quarantined => Driving::Nobody,
        RunStatus::Running | RunStatus::Waiting | RunStatus::Parked | RunStatus::InDoubt => {
            reading.driving(&wiring.home, row.run)
        }
    };
    let items = shown.iter().map(|row| RunItem::of(row, now, driving(row)));
    let items: Vec<_> = items.collect();
    let left = |item: &RunItem| item.facts.as_ref().is_some_and(|facts| facts.undriven);
    let left = items.iter().any(left);
    if wiring.printer.json() {
        let next = next.clone().map(String::from);
        wiring.printer.value(&RunList { runs: items, next })?;
    } else if !items.is_empty() {
        let prefixes = wiring.block_on(reading.prefixes(shown.iter().map(|row| row.run)))?;
        let mut rows = Vec::new();
        for (found, item) in shown.iter().zip(&items) {
            let prompt = wiring.block_on(prompt(&reading, found));
            rows.push(row(item, prefixes.get(item.run), prompt));
        }
        let header = ["RUN", "STATE", "WAITS", "STARTED", "AGENT", "PROMPT"];
        wiring.printer.data(&table::table(&header, &rows))?;
    }
    if left {
        let program = reading::look(wiring).program;
        wiring.printer.note(&format!(
            "a run that is not driven goes on with: {program} runs resume RUN"
        ));
    }
    page::tell_of_more(wiring, next);
    if hidden > 0 {
        let are = if hidden == 1 { "run is" } else { "runs are" };
        wiring
            .printer
            .note(&format!("{hidden} finished {are} hidden; --all shows them"));
    } else if shown.is_empty() {
        wiring.printer.note("there are no such runs");
    }
    Ok(ExitStatus::Done)
}

/// How many finished runs meet the rest of what is asked.
async fn finished(reading: &Reading, filter: &RunFilter) -> Result<u64, CommandError> {
    if filter.agent.is_none() && filter.since.is_none() {
        let one = Query::Runs {
            filter: filter.clone(),
            page: Page {
                after: None,
                limit: 1,
            },
        };
        return match reading.query(one).await? {
            Answer::Runs { finished, .. } => Ok(finished),
            _ => Err(answers::unexpected()),
        };
    }
    let filter = RunFilter {
        state: Some(RunStatus::Finished),
        ..filter.clone()
    };
    let (runs, _) = page::runs(reading, (usize::MAX, None), &filter).await?;
    Ok(u64::try_from(runs.len()).unwrap_or(u64::MAX))
}

/// What the run was asked, as far as it can be read.
async fn prompt(reading: &Reading, row: &RunRow) -> Option<String> {
    let commitment = row.begun.as_ref()?.prompt?;
    let wanted = BTreeSet::from([commitment]);
    let contents: Contents = reading.contents(row.run.stream(), &wanted).await;
    contents.text(&commitment).map(str::to_owned)
}

fn row(item: &RunItem, prefix: String, prompt: Option<String>) -> Vec<String> {
    let Some(facts) = &item.facts else {
        let quarantine = item.quarantine.as_ref();
        let position = quarantine.map(|found| format!("from position {}", found.position));
        let (none, why) = (String::new, position.unwrap_or_default());
        return vec![prefix, "quarantined".into(), none(), none(), none(), why];
    };
    let mut state = item.outcome.or(item.state).unwrap_or_default().to_owned();
    if facts.expired {
        state.push_str(", expired");
    }
    if facts.undriven {
        state.push_str(", not driven");
    }
    if let Some(driver) = facts.driver {
        state = format!("{state}, by {driver}");
    }
    vec![
        prefix,
        state,
        if facts.pending == 0 {
            String::new()
        } else {
            facts.pending.to_string()
        },
        timeline::time(facts.started_at),
        text::marked(facts.agent.as_str()),
        prompt.map_or_else(
            || "(cannot be read)".to_owned(),
            |prompt| text::excerpt(&prompt, PROMPT_COLUMNS),
        ),
    ]
}
