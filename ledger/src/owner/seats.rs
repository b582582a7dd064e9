//! Who drives which run, as far as the owner can tell: one process a run. A process that is gone
//! takes along what it had decided and not made durable.

use std::collections::{BTreeMap, BTreeSet};

use super::cell::Cell;
use super::sent::{Seat, Sent};
use super::{Owner, lock};
use crate::content::Texts;
use crate::envelope::Envelope;
use crate::error::LedgerError;
use crate::id::{CallId, RunId};
use crate::run::{Caller, Command};

/// What is known of those who send commands.
#[derive(Debug, Default)]
pub(super) struct Seats {
    driving: BTreeMap<RunId, Seat>,
    /// What other processes have staged, or may have.
    staged: BTreeMap<u64, BTreeSet<RunId>>,
    /// The newest execution of each run that a permit was handed out for, to another process.
    permitted: BTreeMap<RunId, (CallId, u32)>,
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
            Command::TakeUp { .. } => drop(seats.driving.insert(run, seat)),
            Command::PutDown { .. } | Command::Finish { .. } => drop(seats.driving.remove(&run)),
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

    /// Decides and stages what came from somewhere, and remembers from where.
    pub(super) fn stage_for(
        &self,
        run: RunId,
        cell: &mut Cell,
        sent: Sent<'_>,
        act: (Command, Texts),
    ) -> Result<Vec<Envelope>, LedgerError> {
        if sent.seat != Seat::here() {
            let mut seats = lock(&self.seats);
            let of_seat = seats.staged.entry(sent.seat.number).or_default();
            of_seat.insert(run);
        }
        self.stage(run, cell, sent, act)
    }

    /// Who drives a run, if anybody does.
    pub(crate) fn driver(&self, run: RunId) -> Option<Seat> {
        lock(&self.seats).driving.get(&run).copied()
    }

    /// Notes that a permit goes to another process; `false` where one went before.
    pub(super) fn may_permit(&self, run: RunId, call: CallId, attempt: u32) -> bool {
        let mut seats = lock(&self.seats);
        seats.permitted.insert(run, (call, attempt)) != Some((call, attempt))
    }

    /// Somebody is gone: drives nothing any more, and what was staged for them is forgotten.
    pub(crate) async fn leave(&self, seat: Seat) {
        let staged = {
            let mut seats = lock(&self.seats);
            seats.driving.retain(|_, held| held.number != seat.number);
            seats.staged.remove(&seat.number).unwrap_or_default()
        };
        for run in staged {
            let cell = lock(&self.cells).get(&run).cloned();
            let Some(cell) = cell else { continue };
            let mut cell = cell.lock_owned().await;
            let taken = self
                .driver(run)
                .is_some_and(|now| now.number != seat.number);
            if !cell.staged.records.is_empty() && !taken {
                cell.forget();
            }
        }
    }
}
