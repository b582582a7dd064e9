//! `placet runs watch`: follow what is recorded.
//!
//! A watch reads the log from a position on, again and again, whoever holds the ledger: through
//! that process, or held here and served to the others. Whoever drives a run is not kept waiting
//! by those who look on, and what is recorded is seen at the next look.

#[cfg(test)]
mod tests;

use std::time::Duration;

use clap::Args;
use placet_ledger::envelope::Recorded;
use placet_ledger::event::Event;
use placet_ledger::id::{Position, StreamId, Version};
use placet_ledger::ledger::Ledger;
use placet_ledger::store::ReadStore;
use placet_ledger::store::pages::{each_of_log, read_stream};
use placet_ledger::view::{Projection, Row, RunList, row};
use tokio::time::timeout;

use crate::error::{CommandError, Kind};
use crate::exit::ExitStatus;
use crate::reading;
use crate::ui::timeline;
use crate::wire::log::EventOut;
use crate::wiring::Wiring;

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Follow what is recorded, a line a record
///
/// Of a run: all its records, and then what comes, until it is finished. Without one: what every
/// run records from now on. With --json, a line is an event as run --events prints it. What another
/// process records is seen as it comes, and nobody waits for whoever looks on.
///
/// Example: placet runs watch b3e41f
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// The run, by the first digits of its id [default: every run]
    run: Option<String>,
}

/// Follows what is recorded.
pub(crate) fn run(args: WatchArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    wiring.listen();
    let stop = wiring.printer.io().stop.clone();
    follow(args, wiring, &mut |wiring| {
        wiring.block_on(async { timeout(LOOK_EVERY, stop.raised()).await.is_err() })
    })
}

/// Looks until there is nothing more to come; `wait` is asked for the next look, and says whether
/// somebody still wants one.
fn follow(
    args: WatchArgs,
    wiring: &mut Wiring<'_>,
    wait: &mut dyn FnMut(&Wiring<'_>) -> bool,
) -> Result<ExitStatus, CommandError> {
    let ledger = wiring.reach()?;
    let watched = look_on(args, &ledger, wiring, wait);
    ledger.close();
    watched
}

fn look_on(
    args: WatchArgs,
    ledger: &Ledger,
    wiring: &mut Wiring<'_>,
    wait: &mut dyn FnMut(&Wiring<'_>) -> bool,
) -> Result<ExitStatus, CommandError> {
    let mut watch = wiring.block_on(Watch::new(args.run, ledger))?;
    loop {
        let new = wiring.block_on(watch.look(ledger))?;
        watch.tell(&new, wiring)?;
        if watch.is_over(&new) || wiring.printer.is_unread() {
            return Ok(ExitStatus::Done);
        }
        if !wait(wiring) {
            return Ok(ExitStatus::Interrupted);
        }
    }
}

/// What is followed.
enum Scope {
    /// Every run, from a position on.
    All(Position),
    /// The run whose id begins so, which was not looked up yet.
    Named(String),
    /// A run.
    Run(StreamId),
}

/// How far somebody has read.
struct Watch {
    scope: Scope,
    /// The first position that was not read yet.
    next: Position,
    /// Every run so far.
    runs: RunList,
}

impl Watch {
    async fn new(named: Option<String>, ledger: &Ledger) -> Result<Self, CommandError> {
        let scope = if let Some(named) = named {
            Scope::Named(named)
        } else {
            let tail = ledger.tail().await.map_err(reading::damaged)?;
            Scope::All(Position::new(tail.size))
        };
        Ok(Self {
            scope,
            next: Position::ZERO,
            runs: RunList::new(),
        })
    }

    /// What came since the last look, as far as it is followed.
    async fn look(&mut self, ledger: &Ledger) -> Result<Vec<Recorded>, CommandError> {
        let mut new = Vec::new();
        let (scope, runs, next) = (&self.scope, &mut self.runs, &mut self.next);
        let read = each_of_log(ledger, *next, |recorded| {
            runs.apply(&recorded);
            *next = Position::new(recorded.position.get().saturating_add(1));
            let wanted = match scope {
                Scope::All(from) => recorded.position >= *from,
                Scope::Named(_) => false,
                Scope::Run(run) => recorded.envelope.stream() == *run,
            };
            if wanted {
                new.push(recorded);
            }
            true
        });
        read.await.map_err(reading::damaged)?;
        if let Scope::Named(prefix) = &self.scope {
            let run = self.runs.find(prefix)?.run().stream();
            let all = read_stream(ledger, run, Version::ZERO).await;
            new = all.map_err(reading::damaged)?;
            self.scope = Scope::Run(run);
        }
        Ok(new)
    }

    fn tell(&self, new: &[Recorded], wiring: &mut Wiring<'_>) -> Result<(), CommandError> {
        if wiring.printer.json() {
            return new.iter().try_for_each(|recorded| {
                let line = EventOut::facts(recorded);
                let line = line.map_err(|error| CommandError::new(Kind::Integrity, error))?;
                wiring.printer.value(&line)
            });
        }
        let rows: Vec<Row> = new.iter().map(row).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let page = match &self.scope {
            Scope::All(_) => timeline::log(&rows, |run| self.runs.shortest_prefix(run)),
            Scope::Named(_) | Scope::Run(_) => timeline::rows(&rows, &[]),
        };
        wiring.printer.data(&page)
    }

    /// Whether the run that is followed is finished.
    fn is_over(&self, new: &[Recorded]) -> bool {
        let finished =
            |recorded: &Recorded| matches!(recorded.envelope.event(), Event::RunFinished(_));
        match &self.scope {
            Scope::All(_) | Scope::Named(_) => false,
            Scope::Run(_) => new.iter().any(finished),
        }
    }
}
