//! `placet runs list`: what runs there are.

use std::collections::BTreeSet;

use clap::{Args, ValueEnum};
use placet_ledger::content::Contents;
use placet_ledger::run::{RunState, Status};
use placet_ledger::view::RunEntry;

use crate::args::When;
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

impl State {
    fn of(state: Option<&RunState>) -> Self {
        match state.map(RunState::status) {
            Some(Status::Running) => Self::Running,
            Some(Status::Waiting) => Self::Waiting,
            Some(Status::Parked) => Self::Parked,
            Some(Status::InDoubt) => Self::InDoubt,
            Some(Status::Finished(_)) => Self::Finished,
            None => Self::Quarantined,
        }
    }
}

/// Lists runs.
pub(crate) fn run(args: &ListArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let reading = Reading::open(wiring)?;
    let runs = wiring.block_on(reading.runs())?;
    let now = reading::now();
    let since = args.since.map(|since| since.at(now));
    let wanted = |entry: &&RunEntry| {
        let state = entry.state();
        let agent = state.map(|state| state.started().agent.as_str());
        let begun = state.map(RunState::started_at);
        args.state.is_none_or(|wanted| wanted == State::of(state))
            && args
                .agent
                .as_deref()
                .is_none_or(|wanted| agent == Some(wanted))
            && since.is_none_or(|since| begun.is_some_and(|at| at >= since))
    };
    let finished_too = args.all || args.state == Some(State::Finished);
    let (mut shown, mut hidden) = (Vec::new(), 0_usize);
    for entry in runs.iter().rev().filter(wanted) {
        if finished_too || State::of(entry.state()) != State::Finished {
            shown.push(entry);
        } else {
            hidden = hidden.saturating_add(1);
        }
    }
    let driving = |entry: &RunEntry| match State::of(entry.state()) {
        State::Finished | State::Quarantined => Driving::Nobody,
        State::Running | State::Waiting | State::Parked | State::InDoubt => {
            reading.driving(&wiring.home, entry.run())
        }
    };
    let items = shown
        .iter()
        .map(|entry| RunItem::of(entry, now, driving(entry)));
    let items: Vec<_> = items.collect();
    let left = |item: &RunItem| item.facts.as_ref().is_some_and(|facts| facts.undriven);
    let left = items.iter().any(left);
    if wiring.printer.json() {
        wiring.printer.value(&RunList { runs: items })?;
    } else if !items.is_empty() {
        let mut rows = Vec::new();
        for (entry, item) in shown.iter().zip(&items) {
            let prompt = wiring.block_on(prompt(&reading, entry));
            rows.push(row(item, runs.shortest_prefix(item.run), prompt));
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

/// What the run was asked, as far as it can be read.
async fn prompt(reading: &Reading, entry: &RunEntry) -> Option<String> {
    let blob = entry.state()?.texts().get("prompt")?;
    let wanted = BTreeSet::from([blob.commitment]);
    let contents: Contents = reading.contents(entry.run().stream(), &wanted).await;
    contents.text(&blob.commitment).map(str::to_owned)
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
