//! `placet runs amend`: give a pending call other arguments.

use std::path::PathBuf;

use clap::Args;
use placet_ledger::event::SegmentReason;
use placet_ledger::id::CallId;
use placet_ledger::run::{Step, next};

use super::said::{self, Onward};
use crate::commands::runs::{find, report};
use crate::commands::words::{self, content_bytes_max};
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::wiring::Wiring;

/// Give a pending call other arguments: a new proposal, gated anew
///
/// The new call has an id of its own, and an answer to the old one is refused. The run waits on,
/// unless what stands there now may run unasked and nothing else waits.
///
/// Example: placet runs amend b3e41f c2 --args arguments.json
#[derive(Debug, Args)]
pub(crate) struct AmendArgs {
    /// The run, by the first digits of its id
    run: String,

    /// The call
    call: CallId,

    /// The file with all its arguments, as JSON; - reads standard input
    #[arg(long, value_name = "F")]
    args: PathBuf,

    #[command(flatten)]
    onward: Onward,
}

/// Amends a call.
pub(crate) fn run(args: &AmendArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let most = content_bytes_max();
    let given = words::bytes(&args.args, "the arguments", most, wiring)?;
    words::is_object(&given, "the arguments")?;
    let mut open = wiring.open()?;
    let run = find(wiring, &open, &args.run)?;
    let amend =
        async |(), caller: &_| Ok(open.engine.amend(run, caller, args.call, &given).await?);
    said::record(wiring, &open, run, |_| Ok(()), amend)?;
    let waits = open
        .ledger
        .look(run, |state, _| matches!(next(state), Step::Await(_)));
    if wiring.block_on(waits)? {
        report(wiring, &open, run)?;
        return Ok(ExitStatus::Parked);
    }
    let next = args.onward.next();
    said::go_on(wiring, &mut open, run, SegmentReason::Answered, next)
}
