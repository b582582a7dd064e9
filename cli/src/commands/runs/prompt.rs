//! `placet runs prompt`: add a message to a run.

use clap::Args;
use placet_engine::engine::EngineError;
use placet_ledger::error::LedgerError;
use placet_ledger::event::SegmentReason;
use placet_ledger::run::Rejection;

use super::said::{self, Onward};
use crate::commands::runs::find;
use crate::commands::words;
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::wiring::Wiring;

/// Add a message to a run that has not ended and has no open call
///
/// Then the run is driven on.
///
/// Example: placet runs prompt b3e41f "Leave the log where it is."
#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    /// The run, by the first digits of its id
    run: String,

    /// The message; - reads it from standard input
    text: String,

    #[command(flatten)]
    onward: Onward,
}

/// Adds a message.
pub(crate) fn run(args: PromptArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let text = words::text(args.text, "the message", wiring)?;
    let mut open = wiring.open()?;
    let run = find(wiring, &open, &args.run)?;
    said::record(
        wiring,
        &open,
        run,
        |_| Ok(()),
        async |(), caller| open.engine.prompt(run, caller, text).await.map_err(refused),
    )?;
    let next = args.onward.next();
    said::go_on(wiring, &mut open, run, SegmentReason::Resumed, next)
}

/// A run that has ended takes no more messages; another one does.
fn refused(error: EngineError) -> CommandError {
    match error {
        EngineError::Ledger(LedgerError::Rejected(Rejection::Finished(_))) => {
            CommandError::from(error).hint("placet run starts a new one")
        }
        error => error.into(),
    }
}
