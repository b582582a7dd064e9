//! `placet runs resume`: go on after a crash or a park.

use clap::Args;
use placet_engine::engine::Narrowing;
use placet_ledger::event::SegmentReason;

use crate::commands::run::{Attend, Caps};
use crate::commands::runs::{drive, find};
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::wiring::Wiring;

/// Go on with a run after a crash or a park
///
/// Caps and tools may become stricter, never wider.
///
/// Example: placet runs resume b3e41f --max-tokens 5000
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The run, by the first digits of its id
    run: String,

    #[command(flatten)]
    caps: Caps,

    /// Whether somebody at the terminal is asked from now on [default: as recorded]
    #[arg(long, value_enum, value_name = "WHEN")]
    attend: Option<Attend>,

    /// The tools that the run keeps
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    tools: Option<Vec<String>>,

    /// Tools that the run loses
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    deny_tools: Vec<String>,
}

/// Goes on with a run.
pub(crate) fn run(args: ResumeArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let mut open = wiring.open()?;
    let run = find(wiring, &open, &args.run)?;
    let caller = wiring.caller()?;
    let narrowing = Narrowing {
        limits: args.caps.limits(),
        tools: args.tools,
        denied: args.deny_tools,
    };
    wiring.block_on(open.engine.narrow(run, &caller, narrowing))?;
    drive(wiring, &mut open, run, SegmentReason::Resumed, args.attend)
}
