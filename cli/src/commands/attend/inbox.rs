//! The inbox at a terminal: the cards of all runs in one walk, then each run that got answers is
//! driven on.

use placet_ledger::event::SegmentReason;

use super::ask::{Asking, Scope, ask};
use super::send::{Sent, send};
use super::{Drive, drive};
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::open::Open;
use crate::ui::dialog::Kept;
use crate::wiring::Wiring;

/// Walks every card with the person at the terminal, and drives on what they answered.
pub(crate) fn inbox(wiring: &mut Wiring<'_>, open: &mut Open) -> Result<ExitStatus, CommandError> {
    let mut answers = match ask(wiring, open, Scope::Inbox, &mut Kept::default())? {
        Asking::Answers(answers) => answers,
        Asking::Left => {
            wiring.printer.note("nothing waits for an answer");
            return Ok(ExitStatus::Done);
        }
        Asking::Parked => return Ok(ExitStatus::Done),
        Asking::Stopped => return Ok(ExitStatus::Interrupted),
    };
    // Everything is recorded before the first run is driven on, which may take long.
    let mut sent = Vec::new();
    while let Some((run, of_run)) = answers.pop_first() {
        let reason = match send(wiring, open, run, of_run)? {
            Sent::Recorded => SegmentReason::Answered,
            Sent::Refused => SegmentReason::Resumed,
        };
        sent.push((run, reason));
    }
    let mut first = ExitStatus::Done;
    for (run, reason) in sent {
        let how = Drive {
            reason,
            attendance: None,
            events: false,
            said: true,
        };
        let status = match drive(wiring, open, run, how) {
            Ok(status) => status,
            // One run that cannot go on holds up no other.
            Err(error) => {
                wiring.printer.error(&error);
                error.kind.exit()
            }
        };
        if status == ExitStatus::Interrupted {
            return Ok(status);
        }
        if first == ExitStatus::Done {
            first = status;
        }
    }
    Ok(first)
}
