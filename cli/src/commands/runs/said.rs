//! What a person says about a run: recorded first, then the run is driven on unless told not to.

use clap::Args;
use placet_ledger::event::SegmentReason;
use placet_ledger::id::RunId;
use placet_ledger::run::{Caller, RunState};

use crate::commands::run::Attend;
use crate::commands::runs::verdicts::Next;
use crate::commands::runs::{drive, report};
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::open::Open;
use crate::wiring::Wiring;

/// What happens once something is recorded.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Onward {
    /// Whether somebody at the terminal is asked from now on [default: as recorded]
    #[arg(long, value_enum, value_name = "WHEN")]
    attend: Option<Attend>,

    /// Record it and leave the run to somebody else
    #[arg(long)]
    no_resume: bool,
}

impl Onward {
    /// What happens then.
    pub(super) fn next(self) -> Next {
        Next {
            resume: !self.no_resume,
            attend: self.attend,
        }
    }
}

/// Records what `act` says about what `meant` finds in a run's state.
///
/// What fits nothing that is there changes nothing and is told in the journal.
pub(super) fn record<M, T>(
    wiring: &mut Wiring<'_>,
    open: &Open,
    run: RunId,
    meant: impl FnOnce(&RunState) -> Result<M, CommandError>,
    act: impl AsyncFnOnce(M, &Caller) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let caller = wiring.caller()?;
    wiring.block_on(open.ledger.expire(run))?;
    let meant = match wiring.block_on(open.ledger.look(run, |state, _| meant(state)))? {
        Ok(meant) => meant,
        Err(error) => {
            wiring.block_on(open.ledger.note_refused(run, &caller));
            return Err(error);
        }
    };
    wiring.block_on(act(meant, &caller))
}

/// Goes on with a run about which something was recorded.
pub(super) fn go_on(
    wiring: &mut Wiring<'_>,
    open: &mut Open,
    run: RunId,
    reason: SegmentReason,
    next: Next,
) -> Result<ExitStatus, CommandError> {
    if !next.resume {
        report(wiring, open, run)?;
        return Ok(ExitStatus::Done);
    }
    // What only turned down was recorded without a look at the config.
    wiring.adopt(open).map_err(|error| {
        error.hint(
            "what you said is recorded; once that is put right, placet runs resume RUN goes on \
             with it",
        )
    })?;
    let driven = drive(wiring, open, run, (reason, true), next.attend);
    driven.map_err(|error| {
        error.hint("what you said is recorded; placet runs resume RUN goes on with it")
    })
}
