//! `placet runs resume`: go on after a crash or a park.

use clap::Args;
use placet_engine::engine::{Elsewhere, EngineError, Narrowing};
use placet_engine::record::ConfigRecord;
use placet_ledger::content::Contents;
use placet_ledger::event::SegmentReason;
use placet_ledger::id::{Name, RunId};
use placet_ledger::run::RunState;

use super::take_over;
use crate::commands::ready;
use crate::commands::run::{Attend, Caps};
use crate::commands::runs::{drive, find};
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::open::Open;
use crate::wiring::Wiring;

/// Go on with a run after a crash or a park
///
/// Caps and tools may become stricter, never wider. A run that another process drives is left
/// alone, unless it is taken over: that process is asked to end, killed after 3 s, and what it had
/// started is ended before the run goes on.
///
/// Example: placet runs resume b3e41f --max-tokens 5000
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The run, by the first digits of its id
    run: String,

    #[command(flatten)]
    caps: Caps,

    /// End the process that drives the run, and go on with it here
    #[arg(long)]
    take_over: bool,

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
    let (mut open, ended) = if args.take_over {
        take_over::open(wiring, &args.run)?
    } else {
        (wiring.open()?, false)
    };
    let run = find(wiring, &open, &args.run)?;
    let caller = wiring.caller()?;
    let limits = args.caps.limits();
    let (model, record) = wiring.block_on(open.ledger.look(run, recorded))?;
    ready::priced(&limits, &model, &record)?;
    let narrowing = Narrowing {
        limits,
        tools: args.tools,
        denied: args.deny_tools,
    };
    // Before anything is made stricter, so that what is refused changes nothing.
    let reason = match wiring.block_on(claim(&open, run, args.take_over))? {
        SegmentReason::Resumed if ended => SegmentReason::TakenOver,
        reason => reason,
    };
    wiring.block_on(open.engine.narrow(run, &caller, narrowing))?;
    drive(wiring, &mut open, run, (reason, false), args.attend)
}

/// The model of a run, and how its calls are counted.
fn recorded(state: &RunState, contents: &Contents) -> (Name, ConfigRecord) {
    let blob = state.texts().get("config");
    let bytes = blob.and_then(|blob| contents.bytes(&blob.commitment));
    let record = bytes.and_then(|bytes| serde_json::from_slice(bytes).ok());
    (state.started().model.clone(), record.unwrap_or_default())
}

/// Sees to it that the run can be driven here, and says why it is taken up.
async fn claim(open: &Open, run: RunId, take_over: bool) -> Result<SegmentReason, EngineError> {
    let engine = &open.engine;
    engine.may_drive(run).await?;
    if take_over {
        let driven = engine.take_over(run).await?;
        return Ok(if driven {
            SegmentReason::TakenOver
        } else {
            SegmentReason::Resumed
        });
    }
    match engine.driver(run)? {
        Some(by) => {
            let why = Elsewhere::Driven(by);
            Err(EngineError::Elsewhere { run, why })
        }
        None => Ok(SegmentReason::Resumed),
    }
}
