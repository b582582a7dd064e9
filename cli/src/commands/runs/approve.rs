//! `placet runs approve`: answer what is pending, then drive the run on.

use clap::Args;
use placet_ledger::approval::Answer;
use placet_ledger::id::CallId;

use super::verdicts::{self, Next, Verdicts};
use crate::commands::run::Attend;
use crate::commands::runs::find;
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::wiring::Wiring;

/// Approve pending calls, then drive the run on
///
/// No call named: all that is pending. Otherwise every pending call must be named, approved or
/// with --reject.
///
/// Example: placet runs approve b3e41f c1 --reject c2 --note "keep the log"
#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// The run, by the first digits of its id
    run: String,

    /// The calls to approve
    #[arg(value_name = "CALL")]
    calls: Vec<CallId>,

    /// Calls to turn down
    #[arg(long, value_name = "CALL", num_args = 1..)]
    reject: Vec<CallId>,

    /// Your words: for the calls turned down, or for all if there are none
    #[arg(long, value_name = "WHY")]
    note: Option<String>,

    /// The set code that was displayed; another one is refused
    #[arg(long, value_name = "CODE")]
    set: Option<String>,

    /// Whether somebody at the terminal is asked from now on [default: as recorded]
    #[arg(long, value_enum, value_name = "WHEN")]
    attend: Option<Attend>,

    /// Record the answer and leave the run to somebody else
    #[arg(long)]
    no_resume: bool,
}

/// Approves pending calls.
pub(crate) fn run(args: &ApproveArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let verdicts = Verdicts {
        approve: args.calls.clone(),
        reject: args.reject.clone(),
        all: Answer::Approve,
        note: args.note.clone(),
        set: args.set.clone(),
    };
    let mut open = verdicts::open(wiring, verdicts.approve())?;
    let run = find(wiring, &open, &args.run)?;
    let next = Next {
        resume: !args.no_resume,
        attend: args.attend,
    };
    let cover = |state: &_| verdicts::cover(state, &verdicts);
    verdicts::answer(wiring, &mut open, run, cover, next)
}
