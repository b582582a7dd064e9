//! `placet runs cancel`: end a run.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use placet_engine::engine::{EngineError, Stopped};
use placet_ledger::event::Outcome;

use crate::commands::attend;
use crate::commands::runs::{find, report};
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::wiring::Wiring;

/// End a run
///
/// Where another process drives it, the wish is recorded and that process ends it at its next step.
///
/// Example: placet runs cancel b3e41f --note "wrong workspace"
#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// The run, by the first digits of its id
    run: String,

    /// Why; the record keeps it
    #[arg(long, value_name = "WHY", value_parser = NonEmptyStringValueParser::new())]
    note: String,
}

/// Ends a run.
pub(crate) fn run(args: CancelArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let open = wiring.open_as_it_is()?;
    let run = find(wiring, &open, &args.run)?;
    let caller = wiring.caller()?;
    let stopped = match wiring.block_on(open.engine.cancel(run, &caller, Some(args.note))) {
        // The wish is recorded, and who drives the run heeds it.
        Err(EngineError::Elsewhere { why, .. }) => {
            let status = attend::elsewhere(wiring, &open, run, &why)?;
            report(wiring, &open, run)?;
            return Ok(status);
        }
        stopped => stopped?,
    };
    report(wiring, &open, run)?;
    Ok(match stopped {
        // Whoever cancels a run has what they wanted.
        Stopped::Ended(Outcome::Cancelled) => ExitStatus::Done,
        other => other.into(),
    })
}
