//! Driving a run on, for a person who is asked at a terminal or for nobody: one path.
//!
//! A run is driven until it waits. Where a person attends, the cards are walked, one set of
//! answers is sent, and the run is driven again; else it is left as it is.

mod ask;
mod inbox;
mod offer;
mod send;
mod talk;
mod watch;

use placet_engine::engine::{Elsewhere, EngineError, Stopped};
use placet_ledger::error::LedgerError;
use placet_ledger::event::SegmentReason;
use placet_ledger::id::RunId;
use placet_ledger::policy::Attendance;
use placet_ledger::run::Rejection;

use crate::commands::run::Attend;
use crate::commands::runs::{prefix, sum_up};
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::open::Open;
use crate::reading;
use crate::ui::card;
use crate::ui::dialog::Kept;
use crate::wiring::Wiring;
use ask::{Asking, Scope};

pub(crate) use inbox::inbox;

/// How a run is driven.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Drive {
    /// Why it is taken up.
    pub(crate) reason: SegmentReason,
    /// Who is there from now on; as recorded if absent.
    pub(crate) attendance: Option<Attendance>,
    /// Whether each event is written on standard output.
    pub(crate) events: bool,
    /// Whether something was said about the run first: then it is no error that another drives it.
    pub(crate) said: bool,
}

/// Drives a run until it ends, or waits for somebody who is not here; then says how it stands.
pub(crate) fn drive(
    wiring: &mut Wiring<'_>,
    open: &mut Open,
    run: RunId,
    how: Drive,
) -> Result<ExitStatus, CommandError> {
    let status = follow(wiring, open, run, how)?;
    if !how.events || wiring.printer.json() {
        sum_up(wiring, open, run)?;
    }
    Ok(status)
}

fn follow(
    wiring: &mut Wiring<'_>,
    open: &mut Open,
    run: RunId,
    how: Drive,
) -> Result<ExitStatus, CommandError> {
    let mut next = how;
    let mut kept = Kept::default();
    loop {
        let stopped = match watch::drive(wiring, open, run, next)? {
            Ok(stopped) => stopped,
            Err(why) if next.said => return elsewhere(wiring, open, run, &why),
            Err(why) => return Err(EngineError::Elsewhere { run, why }.into()),
        };
        // While a person is asked nobody drives the run, so that somebody else may.
        next.said = true;
        if stopped != Stopped::Waits || !asks_here(wiring, open, run, how)? {
            return Ok(stopped.into());
        }
        match ask::ask(wiring, open, Scope::Run(run), &mut kept)? {
            Asking::Answers(mut answers) => {
                let answers = answers.remove(&run).unwrap_or_default();
                next.reason = match send::send(wiring, open, run, answers)? {
                    send::Sent::Recorded => SegmentReason::Answered,
                    send::Sent::Refused => SegmentReason::Resumed,
                };
            }
            Asking::Parked => {
                park(wiring, open, run)?;
                return Ok(ExitStatus::Parked);
            }
            // An amendment may have left nothing to ask: the run went on, or waits as it did.
            Asking::Left => {
                return match watch::drive(wiring, open, run, next)? {
                    Ok(stopped) => Ok(stopped.into()),
                    Err(why) => elsewhere(wiring, open, run, &why),
                };
            }
            Asking::Stopped => return Ok(ExitStatus::Interrupted),
        }
    }
}

/// Says who drives a run on about which somebody here had something to say.
pub(crate) fn elsewhere(
    wiring: &mut Wiring<'_>,
    open: &Open,
    run: RunId,
    why: &Elsewhere,
) -> Result<ExitStatus, CommandError> {
    let prefix = prefix(wiring, open, run)?;
    wiring.printer.note(&format!("the run {prefix} is {why}"));
    let program = wiring.program();
    let hint = match why {
        Elsewhere::Driven(_) => format!("{program} runs show {prefix} tells how it goes on"),
        Elsewhere::User(_) => {
            format!("what was said is recorded; as that user: {program} runs resume {prefix}")
        }
        Elsewhere::Host => {
            format!("what was said is recorded; on that host: {program} runs resume {prefix}")
        }
    };
    wiring.printer.note(&format!("  hint: {hint}"));
    Ok(ExitStatus::Done)
}

/// Whether the person who attends the run sits here.
fn asks_here(
    wiring: &mut Wiring<'_>,
    open: &Open,
    run: RunId,
    how: Drive,
) -> Result<bool, CommandError> {
    let recorded = wiring.block_on(open.ledger.look(run, |state, _| state.attendance()))?;
    // A run that only waits is not taken up, so that what was asked for now is not recorded.
    let attendance = how.attendance.unwrap_or(recorded);
    Ok(attendance == Attendance::Person && wiring.attended())
}

/// Leaves a run to whoever answers later; what waits only for a look at its effect has no card to
/// be left.
fn park(wiring: &mut Wiring<'_>, open: &Open, run: RunId) -> Result<(), CommandError> {
    match wiring.block_on(open.engine.park(run)) {
        Ok(())
        | Err(
            // Somebody else took it up meanwhile.
            EngineError::Elsewhere { .. }
            | EngineError::Ledger(LedgerError::Rejected(
                Rejection::OutOfTurn(_) | Rejection::Finished(_),
            )),
        ) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Shows what waits in a run beside what is printed, before a command line answers it.
pub(crate) fn show_cards(
    wiring: &mut Wiring<'_>,
    open: &Open,
    run: RunId,
) -> Result<(), CommandError> {
    let mut look = reading::look(wiring);
    look.color = wiring.printer.color_beside();
    let by = wiring.caller()?;
    for shown in wiring.block_on(ask::cards(open, Scope::Run(run), &by))? {
        let card = card::card(&shown.card, &shown.beside.prefix, &look);
        wiring.printer.beside(&card);
    }
    Ok(())
}

/// Who is there to be asked, where that is decided anew.
pub(crate) fn attendance(
    wiring: &mut Wiring<'_>,
    attend: Option<Attend>,
    recorded: Attendance,
) -> Option<Attendance> {
    match (attend?, recorded) {
        (Attend::Auto, _) if wiring.attended() => Some(Attendance::Person),
        (Attend::Auto | Attend::Never, Attendance::Person) => Some(Attendance::Nobody),
        (Attend::Auto | Attend::Never, kept) => Some(kept),
    }
}
