//! `placet runs settle`: say what became of an execution that was left in doubt.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use placet_ledger::digest::Digest;
use placet_ledger::event::{SegmentReason, Settlement};
use placet_ledger::id::CallId;
use placet_ledger::run::{Close, Phase, Rejection, RunState};

use super::said::{self, Onward};
use super::verdicts::rejected;
use crate::commands::runs::find;
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::wiring::Wiring;

/// Say what became of a call in doubt, then drive the run on
///
/// Either word ends the call: nothing is executed again.
///
/// Example: placet runs settle b3e41f c3 --as done --note "the file is gone"
#[derive(Debug, Args)]
pub(crate) struct SettleArgs {
    /// The run, by the first digits of its id
    run: String,

    /// The call
    call: CallId,

    /// What became of it
    #[arg(long, value_enum, value_name = "WHAT")]
    r#as: Became,

    /// How you know
    #[arg(long, value_name = "WHY", value_parser = NonEmptyStringValueParser::new())]
    note: String,

    /// The digest of the doubt that was displayed; another one is not settled
    #[arg(long, value_name = "DIGEST")]
    request: Option<Digest>,

    #[command(flatten)]
    onward: Onward,
}

/// What became of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Became {
    /// It took effect.
    Done,
    /// It had no effect.
    NotDone,
}

impl From<Became> for Settlement {
    fn from(became: Became) -> Self {
        match became {
            Became::Done => Self::Done,
            Became::NotDone => Self::NotDone,
        }
    }
}

/// Settles a doubt.
pub(crate) fn run(args: SettleArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let mut open = wiring.open()?;
    let run = find(wiring, &open, &args.run)?;
    let (call, request, verdict) = (args.call, args.request, args.r#as.into());
    let meant = |state: &RunState| doubt(state, call, request);
    said::record(wiring, &open, run, meant, async |doubt, caller| {
        let note = Some(args.note);
        Ok(open
            .engine
            .settle(run, caller, doubt, (verdict, note))
            .await?)
    })?;
    let next = args.onward.next();
    said::go_on(wiring, &mut open, run, SegmentReason::Answered, next)
}

/// The doubt that is meant, and its digest as it was displayed.
fn doubt(
    state: &RunState,
    named: CallId,
    displayed: Option<Digest>,
) -> Result<(CallId, Digest), CommandError> {
    let call = state.call(named);
    let call = call.ok_or_else(|| rejected(Rejection::UnknownCall(named)))?;
    let doubt = call.doubt().ok_or_else(|| {
        let why = "the call is not in doubt";
        rejected(Rejection::OutOfTurn(why)).hint("placet runs show RUN shows what waits")
    })?;
    if let Phase::Closed(Close::Settled(_)) = call.phase() {
        return Err(rejected(Rejection::AlreadyAnswered(vec![named])));
    }
    Ok((named, displayed.unwrap_or(doubt)))
}
