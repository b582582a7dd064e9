//! Who drives which run, as far as the owner can tell: one process a run. A process that is gone
//! takes along what it had decided and not made durable.

use std::collections::{BTreeMap, BTreeSet};

use super::sent::{Seat, Sent};
use super::{Owner, lock};
use crate::error::LedgerError;
use crate::id::{CallId, RunId};
use crate::run::{Caller, Command};

/// What is known of those who send commands.
#[derive(Debug, Default)]
pub(super) struct Seats {
    driving: BTreeMap<RunId, Seat>,
    /// Connections of other processes.
    open: BTreeMap<u64, Open>,
    /// The newest execution of each run that a permit was handed out for, with the way it went.
    permitted: BTreeMap<RunId, (CallId, u32, u64)>,
}

/// A connection of another process.
#[derive(Debug)]
struct Open {
    pid: u32,
    /// Whether its process gave it up: what is still on its way in is not done any more.
    left: bool,
    /// What was staged by it, or may have been.
    runs: BTreeSet<RunId>,
}

impl Seats {
    fn is_gone(&self, number: u64) -> bool {
        number != Seat::here().number && self.open.get(&number).is_none_or(|open| open.left)
    }
}

impl Owner {
    /// Whether a driver's command may come in this way: nobody else drives the run. Whoever takes
    /// a run up drives it until it is put down, or the way is closed.
    pub(super) fn admit(
        &self,
        run: RunId,
        seat: Seat,
        command: &Command,
    ) -> Result<(), LedgerError> {
        let mut seats = lock(&self.seats);
        // Two connections of one process are one driver: the older one is on its way out.
        if let Some(other) = seats.driving.get(&run).filter(|held| held.pid != seat.pid) {
            return Err(LedgerError::Driven { pid: other.pid });
        }
        match command {
            // Only drivers begin: one that comes from an owner that is gone is known again by it.
            Command::TakeUp { .. } | Command::Begin { .. } => {
                seats.driving.insert(run, seat);
            }
            Command::PutDown { .. } | Command::Finish { .. } => {
                seats.driving.remove(&run);
            }
            _ => {}
        }
        Ok(())
    }

    /// The same for whatever is sent; what people say needs no lease.
    pub(super) fn admit_sent(
        &self,
        run: RunId,
        sent: Sent<'_>,
        command: &Command,
    ) -> Result<(), LedgerError> {
        match sent.caller {
            Caller::Driver => self.admit(run, sent.seat, command),
            Caller::Person { .. } => Ok(()),
        }
    }

    /// Somebody connected.
    pub(crate) fn arrive(&self, seat: Seat) {
        let open = Open {
            pid: seat.pid,
            left: false,
            runs: BTreeSet::new(),
        };
        lock(&self.seats).open.insert(seat.number, open);
    }

    /// Something is about to be staged for somebody; nothing is, once they gave the way up. The
    /// caller holds the run, so that whoever leaves waits for what is done.
    pub(super) fn enter(&self, run: RunId, seat: Seat) -> Result<(), LedgerError> {
        if seat.number == Seat::here().number {
            return Ok(());
        }
        let mut seats = lock(&self.seats);
        match seats.open.get_mut(&seat.number) {
            Some(open) if !open.left => {
                open.runs.insert(run);
                Ok(())
            }
            _ => {
                let why = "the connection was given up before the command was done";
                Err(LedgerError::Failed(why.to_owned()))
            }
        }
    }

    /// The runs that somebody drives.
    pub(super) fn driven(&self) -> BTreeSet<RunId> {
        lock(&self.seats).driving.keys().copied().collect()
    }

    /// Who drives a run, if anybody does.
    pub(crate) fn driver(&self, run: RunId) -> Option<Seat> {
        lock(&self.seats).driving.get(&run).copied()
    }

    /// Notes that a permit goes out; `false` where one went before, to somebody who may have it.
    /// Whoever gave up the connection that it went to never heard of it.
    pub(super) fn may_permit(&self, run: RunId, (call, attempt): (CallId, u32), to: Seat) -> bool {
        let mut seats = lock(&self.seats);
        let went = seats.permitted.get(&run).copied();
        let free = went.is_none_or(|(of, which, number)| {
            (of, which) != (call, attempt) || seats.is_gone(number)
        });
        if free {
            seats.permitted.insert(run, (call, attempt, to.number));
        }
        free
    }

    /// A process gave up a connection and came back on another one: it drives by that one what it
    /// drove, and what was staged by the old one is forgotten.
    pub(crate) async fn move_over(&self, old: u64, to: Seat) {
        let from = Seat {
            number: old,
            pid: to.pid,
        };
        if old == to.number || !self.give_up(from, Some(to)).await {
            return;
        }
        tracing::debug!(pid = to.pid, "a process came back on another connection");
    }

    /// A connection ended: nothing more comes of it. It drives nothing any more, and what was
    /// staged by it is forgotten.
    pub(crate) async fn leave(&self, seat: Seat) {
        self.give_up(seat, None).await;
        lock(&self.seats).open.remove(&seat.number);
    }

    /// Forgets what this process itself staged, and says of which runs.
    pub(crate) async fn forget_staged_here(&self) -> Vec<RunId> {
        let cells = lock(&self.cells).all();
        let mut staged = Vec::new();
        for (run, cell) in cells {
            let mut cell = cell.lock().await;
            if !cell.staged.records.is_empty() && cell.staged_by.contains(&Seat::here().number) {
                cell.forget();
                staged.push(run);
            }
        }
        staged
    }

    /// Says whether there was such a connection of this process.
    async fn give_up(&self, seat: Seat, heir: Option<Seat>) -> bool {
        let runs = {
            let mut seats = lock(&self.seats);
            let Some(open) = seats.open.get_mut(&seat.number) else {
                return false;
            };
            if open.pid != seat.pid {
                return false;
            }
            open.left = true;
            let runs = std::mem::take(&mut open.runs);
            match heir {
                None => seats.driving.retain(|_, held| held.number != seat.number),
                Some(heir) => {
                    let drives = seats.driving.values_mut();
                    for held in drives.filter(|held| held.number == seat.number) {
                        *held = heir;
                    }
                }
            }
            runs
        };
        for run in runs {
            let cell = lock(&self.cells).peek(run);
            let Some(cell) = cell else { continue };
            let mut cell = cell.lock_owned().await;
            if cell.is_staged_by(seat) {
                cell.forget();
            }
        }
        true
    }
}
