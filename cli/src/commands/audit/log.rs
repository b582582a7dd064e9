//! `placet audit log`: the records of the whole log that meet what is asked.

use std::collections::BTreeMap;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use placet_ledger::approval::By;
use placet_ledger::envelope::Recorded;
use placet_ledger::event::Event;
use placet_ledger::id::{CallId, Name, StreamId};
use placet_ledger::risk::DeclaredRisk;
use placet_ledger::time::Timestamp;
use placet_ledger::view::{Row, row};

use super::about::{About, Verdict};
use super::authority;
use crate::args::When;
use crate::error::{CommandError, Kind};
use crate::exit::ExitStatus;
use crate::reading::{self, Reading};
use crate::ui::{csv, timeline};
use crate::wire::log::Log;
use crate::wiring::Wiring;

/// List the records of the ledger
///
/// Every filter must be met. Those by tool and by tier find every record about such a call.
///
/// Example: placet audit log --verdict granted --tool rm --since 7d
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Records of this run, by the first digits of its id
    #[arg(long, value_name = "R")]
    run: Option<String>,

    /// Records of this type
    #[arg(long, value_name = "T", value_parser = PossibleValuesParser::new(Event::NAMES))]
    r#type: Option<String>,

    /// Records about calls of this tool
    #[arg(long, value_name = "T")]
    tool: Option<Name>,

    /// What this person, or this row of the policy, decided
    #[arg(long, value_name = "P")]
    approver: Option<Name>,

    /// Decisions that came out so
    #[arg(long, value_enum, value_name = "V")]
    verdict: Option<Verdict>,

    /// Records about calls that declare this tier, or were judged so
    #[arg(long, value_enum, value_name = "R")]
    risk: Option<Risk>,

    /// From this time on: a UTC time, a day, or how long ago (24h, 7d)
    #[arg(long, value_name = "T", value_parser = When::parse)]
    since: Option<When>,

    /// Before this time
    #[arg(long, value_name = "T", value_parser = When::parse)]
    until: Option<When>,

    /// Write comma-separated values
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// A tier that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[expect(clippy::enum_variant_names, reason = "they are the words of the tiers")]
enum Risk {
    /// It reads.
    ReadOnly,
    /// It changes placet's own notes.
    LowRisk,
    /// It changes files or runs programs.
    HighRisk,
    /// Nothing judged it.
    Unknown,
}

/// Lists records.
pub(crate) fn run(args: &LogArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let reading = Reading::open(wiring)?;
    let runs = wiring.block_on(reading.runs())?;
    let run = args.run.as_deref().map(|prefix| runs.find(prefix));
    let run = run.transpose()?.map(|entry| entry.run().stream());
    let now = reading::now();
    let (since, until) = (
        args.since.map(|at| at.at(now)),
        args.until.map(|at| at.at(now)),
    );
    let mut calls = Calls::default();
    let mut found = Vec::new();
    wiring.block_on(reading.each(|recorded| {
        calls.learn(&recorded);
        let stream = recorded.envelope.stream();
        let wanted = run.is_none_or(|run| run == stream)
            && in_time(recorded.envelope.at(), since, until)
            && meets(args, &recorded, &calls);
        if wanted {
            found.push(recorded);
        }
        true
    }))?;
    let granted = wiring.block_on(authority::contents(&reading, &found));
    if wiring.printer.json() {
        let event = |recorded| authority::event(recorded, &granted);
        let events: Result<Vec<_>, _> = found.iter().map(event).collect();
        let events = events.map_err(|error| CommandError::new(Kind::Integrity, error))?;
        wiring.printer.value(&Log { events })?;
        return Ok(ExitStatus::Done);
    }
    let row = |recorded| authority::told(row(recorded), recorded, &granted);
    let rows: Vec<Row> = found.iter().map(row).collect();
    if args.csv {
        let lines = rows
            .iter()
            .zip(&found)
            .map(|(row, recorded)| cells(row, recorded));
        wiring.printer.data(&csv::csv(&COLUMNS, lines))?;
    } else if rows.is_empty() {
        wiring.printer.note("no record meets that");
    } else {
        let page = timeline::log(&rows, |run| runs.shortest_prefix(run));
        wiring.printer.data(&page)?;
    }
    Ok(ExitStatus::Done)
}

fn in_time(at: Timestamp, since: Option<Timestamp>, until: Option<Timestamp>) -> bool {
    since.is_none_or(|since| at >= since) && until.is_none_or(|until| at < until)
}

const COLUMNS: [&str; 10] = [
    "position", "run", "version", "at", "type", "actor", "call", "event", "digest", "summary",
];

fn cells(row: &Row, recorded: &Recorded) -> Vec<String> {
    vec![
        row.position.to_string(),
        row.run.to_string(),
        row.version.to_string(),
        row.at.to_string(),
        row.r#type.to_owned(),
        timeline::actor(&row.actor),
        row.call.map(|call| call.to_string()).unwrap_or_default(),
        row.event.to_string(),
        recorded.envelope.digest().to_string(),
        row.summary.clone(),
    ]
}

/// What the log said so far about each call.
#[derive(Debug, Default)]
struct Calls(BTreeMap<(StreamId, CallId), Known>);

#[derive(Debug, Default)]
struct Known {
    tool: Option<Name>,
    tiers: Vec<DeclaredRisk>,
}

impl Calls {
    fn learn(&mut self, recorded: &Recorded) {
        let stream = recorded.envelope.stream();
        let event = recorded.envelope.event();
        if let Event::ModelReplied(replied) = event {
            for named in &replied.calls {
                let known = self.0.entry((stream, named.call)).or_default();
                known.tool.clone_from(&named.tool);
            }
        }
        if let (Some(call), Some(tier)) = (event.call(), About::of(event).tier) {
            self.0.entry((stream, call)).or_default().tiers.push(tier);
        }
    }

    fn of(&self, recorded: &Recorded) -> Option<&Known> {
        let call = recorded.envelope.event().call()?;
        self.0.get(&(recorded.envelope.stream(), call))
    }
}

fn meets(args: &LogArgs, recorded: &Recorded, calls: &Calls) -> bool {
    let event = recorded.envelope.event();
    let about = About::of(event);
    let call = calls.of(recorded);
    let tool = call.and_then(|call| call.tool.as_ref());
    let judged = |risk: Risk| {
        let tiers = call.map(|call| call.tiers.as_slice()).unwrap_or_default();
        tiers.iter().any(|tier| tier_of(*tier) == risk)
    };
    let name = args.r#type.as_deref();
    name.is_none_or(|wanted| wanted == event.name())
        && args.tool.as_ref().is_none_or(|wanted| tool == Some(wanted))
        && args.risk.is_none_or(judged)
        && args
            .verdict
            .is_none_or(|wanted| about.verdict == Some(wanted))
        && args
            .approver
            .as_ref()
            .is_none_or(|wanted| about.by.is_some_and(|by| is_by(by, wanted)))
}

const fn tier_of(tier: DeclaredRisk) -> Risk {
    match tier {
        DeclaredRisk::ReadOnly => Risk::ReadOnly,
        DeclaredRisk::LowRisk => Risk::LowRisk,
        DeclaredRisk::HighRisk => Risk::HighRisk,
        DeclaredRisk::Unknown => Risk::Unknown,
    }
}

fn is_by(by: &By, wanted: &Name) -> bool {
    match by {
        By::Person { principal, .. } => principal == wanted,
        By::Policy { rule } | By::Rule { rule } => rule == wanted,
        By::List { tool } => tool == wanted,
        By::Grant { grant } => grant.to_string() == wanted.as_str(),
        By::Tool => false,
    }
}
