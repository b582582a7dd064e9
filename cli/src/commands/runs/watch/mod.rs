//! `placet runs watch`: follow what is recorded.
//!
//! One process at a time holds a ledger, so a watch opens it for a moment, reads what is new and
//! lets it go. It opens only when the head file says that something was appended, or when it found
//! the ledger in use: whoever drives a run is not kept waiting by those who look on. What a driver
//! appended that was killed between two looks is seen with the next append.

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use placet_ledger::envelope::Recorded;
use placet_ledger::event::Event;
use placet_ledger::id::{Position, StreamId, Version};
use placet_ledger::store::head::HeadFile;
use placet_ledger::store::pages::{each_of_log, read_stream};
use placet_ledger::store::sled::{OpenError, SledStore};
use placet_ledger::view::{Projection, Row, RunList, row};
use tokio::time::timeout;

use crate::error::{CommandError, Kind};
use crate::exit::ExitStatus;
use crate::reading;
use crate::ui::timeline;
use crate::wire::log::EventOut;
use crate::wiring::Wiring;

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Follow what is recorded, a line a record
///
/// Of a run: all its records, and then what comes, until it is finished. Without one: what every
/// run records from now on. With --json, a line is an event as run --events prints it. One process
/// at a time holds a ledger in this release, so that what a driver records is seen when it lets the
/// ledger go.
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
    let mut watch = Watch::new(args.run, wiring.head_dir()?);
    loop {
        let new = watch.look(wiring)?;
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
    head_dir: PathBuf,
    /// What the head file said when everything was read; none where a look was in vain.
    head: Option<u64>,
    /// The first position that was not read yet.
    next: Position,
    /// Every run so far.
    runs: RunList,
    /// Whether it was said that the ledger is in use.
    told: bool,
}

impl Watch {
    fn new(named: Option<String>, head_dir: PathBuf) -> Self {
        let now = head_size(&head_dir).unwrap_or(0);
        Self {
            scope: named.map_or(Scope::All(Position::new(now)), Scope::Named),
            head_dir,
            head: None,
            next: Position::ZERO,
            runs: RunList::new(),
            told: false,
        }
    }

    /// What came since the last look, as far as it is followed.
    fn look(&mut self, wiring: &mut Wiring<'_>) -> Result<Vec<Recorded>, CommandError> {
        let head = head_size(&self.head_dir);
        if head.is_some() && head == self.head {
            return Ok(Vec::new());
        }
        let store = match SledStore::open_read_only(&wiring.home.dir, &self.head_dir) {
            Ok((store, None)) => store,
            Ok((_, Some(why))) | Err(why) => return self.in_vain(why, wiring),
        };
        let new = wiring.block_on(self.read(&store));
        store.close();
        // It was read before the store was opened: what is newer is not taken for seen.
        self.head = head;
        new
    }

    /// A ledger that somebody holds is waited for; one that takes no writes will have no news.
    fn in_vain(
        &mut self,
        why: OpenError,
        wiring: &mut Wiring<'_>,
    ) -> Result<Vec<Recorded>, CommandError> {
        let OpenError::InUse { .. } = &why else {
            return Err(why.into());
        };
        self.head = None;
        if !self.told {
            wiring
                .printer
                .note(&format!("{why}: waiting until it is let go"));
            self.told = true;
        }
        Ok(Vec::new())
    }

    async fn read(&mut self, store: &SledStore) -> Result<Vec<Recorded>, CommandError> {
        let mut new = Vec::new();
        let (scope, runs, next) = (&self.scope, &mut self.runs, &mut self.next);
        let read = each_of_log(store, *next, |recorded| {
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
            let all = read_stream(store, run, Version::ZERO).await;
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

/// How many records there were when the head file was written, if that can be read now.
fn head_size(head_dir: &std::path::Path) -> Option<u64> {
    let head = HeadFile::open(head_dir).ok()?;
    Some(head.current().size())
}
