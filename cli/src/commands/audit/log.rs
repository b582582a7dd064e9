//! `placet audit log`: the records of the whole log that meet what is asked.

use std::collections::BTreeMap;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use placet_ledger::approval::By;
use placet_ledger::envelope::Recorded;
use placet_ledger::event::Event;
use placet_ledger::id::{CallId, Name, Position, StreamId};
use placet_ledger::projection::{Cursor, DecisionFilter};
use placet_ledger::risk::DeclaredRisk;
use placet_ledger::time::Timestamp;
use placet_ledger::view::{Row, row};

use super::about::{About, Verdict};
use super::authority;
use crate::args::When;
use crate::commands::page;
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

    /// Records at most [default: 1000; with --csv, all]
    #[arg(long, value_name = "N", value_parser = page::limit)]
    limit: Option<usize>,

    /// Go on where the part before ended, by the cursor that it gave
    #[arg(long, value_name = "C")]
    after: Option<Cursor>,

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

/// Records that are listed where nothing else is said.
const LIMIT: usize = 1_000;

/// Lists records.
pub(crate) fn run(args: &LogArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let reading = Reading::open(wiring)?;
    let Found {
        records: found,
        next,
        broken,
    } = wiring.block_on(find(args, &reading))?;
    let granted = wiring.block_on(authority::contents(&reading, &found));
    if wiring.printer.json() {
        let event = |recorded| authority::event(recorded, &granted);
        let events: Result<Vec<_>, _> = found.iter().map(event).collect();
        let events = events.map_err(|error| CommandError::new(Kind::Integrity, error))?;
        let next = next.map(String::from);
        wiring.printer.value(&Log { events, next })?;
        return broken.map_or(Ok(ExitStatus::Done), Err);
    }
    let row = |recorded| authority::told(row(recorded), recorded, &granted);
    let rows: Vec<Row> = found.iter().map(row).collect();
    if args.csv {
        let lines = rows
            .iter()
            .zip(&found)
            .map(|(row, recorded)| cells(row, recorded));
        wiring.printer.data(&csv::csv(&COLUMNS, lines))?;
    } else if rows.is_empty() && broken.is_none() {
        wiring.printer.note("no record meets that");
    } else if !rows.is_empty() {
        let runs = rows.iter().map(|row| row.run.run());
        let prefixes = wiring.block_on(reading.prefixes(runs))?;
        let text = timeline::log(&rows, |run| prefixes.get(run));
        wiring.printer.data(&text)?;
    }
    page::tell_of_more(wiring, next);
    broken.map_or(Ok(ExitStatus::Done), Err)
}

/// What meets what is asked.
struct Found {
    records: Vec<Recorded>,
    /// Where this part of it ended, if there is more.
    next: Option<Cursor>,
    /// Why what follows cannot be read.
    broken: Option<CommandError>,
}

/// The records that meet what is asked, and where this part of them ended.
async fn find(args: &LogArgs, reading: &Reading) -> Result<Found, CommandError> {
    let now = reading::now();
    let run = match &args.run {
        Some(prefix) => Some(reading.find(prefix).await?),
        None => None,
    };
    let after = args.after.as_ref().map(Cursor::record).transpose();
    let after = after.map_err(CommandError::usage)?;
    let mut wanted = Wanted {
        args,
        since: args.since.map(|at| at.at(now)),
        until: args.until.map(|at| at.at(now)),
        after,
        limit: args
            .limit
            .unwrap_or(if args.csv { usize::MAX } else { LIMIT }),
        calls: Calls::default(),
        found: Vec::new(),
        more: false,
    };
    // Verdicts are in projections; what else is asked is looked for in the run, or in the log.
    if let Some(verdict) = args.verdict {
        let filter = DecisionFilter {
            run,
            tool: args.tool.clone(),
            approver: args.approver.clone(),
            verdict: Some(verdict.into()),
            risk: args.risk.map(DeclaredRisk::from),
            since: wanted.since,
            until: wanted.until,
        };
        let (found, next) = decided(args, reading, &filter, wanted.limit).await?;
        return Ok(Found {
            records: found,
            next,
            broken: None,
        });
    }
    let read = if let Some(run) = run {
        let take = |recorded| wanted.take(recorded);
        reading.each_of_stream(run.stream(), take).await
    } else {
        // What was said about calls before is known from the beginning alone.
        let learns = args.tool.is_some() || args.risk.is_some();
        let next = |after: Position| Position::new(after.get().saturating_add(1));
        let from = after.filter(|_| !learns).map_or(Position::ZERO, next);
        let take = |recorded| wanted.take(recorded);
        reading.each_from(from, take).await
    };
    let broken = match read {
        Err(error) if error.kind != Kind::Integrity => return Err(error),
        read => read.err(),
    };
    let last = wanted.found.last().filter(|_| wanted.more);
    let next = last.map(|last| Cursor::at_record(last.position));
    Ok(Found {
        records: wanted.found,
        next,
        broken,
    })
}

/// The records of the verdicts that meet what is asked.
async fn decided(
    args: &LogArgs,
    reading: &Reading,
    filter: &DecisionFilter,
    limit: usize,
) -> Result<(Vec<Recorded>, Option<Cursor>), CommandError> {
    let part = (limit, args.after.as_ref());
    let (decisions, next) = page::decisions(reading, part, filter).await?;
    let mut found = Vec::new();
    for decision in decisions {
        let record = reading.record(decision.position).await?;
        let name = record.envelope.event().name();
        let wanted = args.r#type.as_deref();
        if wanted.is_none_or(|wanted| wanted == name) {
            found.push(record);
        }
    }
    Ok((found, next))
}

/// What is wanted of the log, and what was found.
struct Wanted<'a> {
    args: &'a LogArgs,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    after: Option<Position>,
    limit: usize,
    calls: Calls,
    found: Vec<Recorded>,
    more: bool,
}

impl Wanted<'_> {
    /// Looks at the next record; says whether to go on.
    fn take(&mut self, recorded: Recorded) -> bool {
        self.calls.learn(&recorded);
        let new = self.after.is_none_or(|after| recorded.position > after);
        let in_time = in_time(recorded.envelope.at(), self.since, self.until);
        if new && in_time && meets(self.args, &recorded, &self.calls) {
            self.more = self.found.len() >= self.limit;
            if !self.more {
                self.found.push(recorded);
            }
        }
        !self.more
    }
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
        if let Event::CallProposed(proposed) = event {
            let known = self.0.entry((stream, proposed.call)).or_default();
            known.tool = Some(proposed.tool.clone());
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
        tiers.contains(&risk.into())
    };
    let name = args.r#type.as_deref();
    name.is_none_or(|wanted| wanted == event.name())
        && args.tool.as_ref().is_none_or(|wanted| tool == Some(wanted))
        && args.risk.is_none_or(judged)
        && args.approver.as_ref().is_none_or(|wanted| {
            about.by.is_some_and(|by| is_by(by, wanted)) || forbids(event, wanted)
        })
}

/// Whether a rule of this name forbids the call.
fn forbids(event: &Event, wanted: &Name) -> bool {
    matches!(event, Event::CallRefused(refused) if refused.rule.as_ref() == Some(wanted))
}

impl From<Risk> for DeclaredRisk {
    fn from(risk: Risk) -> Self {
        match risk {
            Risk::ReadOnly => Self::ReadOnly,
            Risk::LowRisk => Self::LowRisk,
            Risk::HighRisk => Self::HighRisk,
            Risk::Unknown => Self::Unknown,
        }
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
