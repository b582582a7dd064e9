//! `placet runs revoke`: take an approval back before its execution started.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use placet_ledger::id::CallId;

use super::said;
use crate::commands::runs::{find, report};
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::wiring::Wiring;

/// Take an approval back before its execution started
///
/// The call is closed as by a denial. Nothing is driven.
///
/// Example: placet runs revoke b3e41f c2 --note "the wrong file"
#[derive(Debug, Args)]
pub(crate) struct RevokeArgs {
    /// The run, by the first digits of its id
    run: String,

    /// The call
    call: CallId,

    /// Why; the agent is told
    #[arg(long, value_name = "WHY", value_parser = NonEmptyStringValueParser::new())]
    note: String,
}

/// Takes an approval back.
pub(crate) fn run(args: RevokeArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let open = wiring.open_as_it_is()?;
    let run = find(wiring, &open, &args.run)?;
    said::record(
        wiring,
        &open,
        run,
        |_| Ok(()),
        async |(), caller| {
            let note = Some(args.note);
            Ok(open.engine.revoke(run, caller, args.call, note).await?)
        },
    )?;
    report(wiring, &open, run)?;
    Ok(ExitStatus::Done)
}
