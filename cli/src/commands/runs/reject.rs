//! `placet runs reject`: turn down what is pending, then drive the run on.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use placet_ledger::approval::Answer;
use placet_ledger::id::CallId;

use super::verdicts::{self, Next, Verdicts};
use crate::commands::run::Attend;
use crate::commands::runs::find;
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::wiring::Wiring;

/// Turn down pending calls, then drive the run on
///
/// No call named: all that is pending. Otherwise every pending call must be named, turned down or
/// with --approve.
///
/// Example: placet runs reject b3e41f --note "not on a Friday"
#[derive(Debug, Args)]
pub(crate) struct RejectArgs {
    /// The run, by the first digits of its id
    run: String,

    /// The calls to turn down
    #[arg(value_name = "CALL")]
    calls: Vec<CallId>,

    /// Calls to approve
    #[arg(long, value_name = "CALL", num_args = 1..)]
    approve: Vec<CallId>,

    /// Why; the agent is told
    #[arg(long, value_name = "WHY", required = true, value_parser = NonEmptyStringValueParser::new())]
    note: String,

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

/// Turns down pending calls.
pub(crate) fn run(args: &RejectArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let verdicts = Verdicts {
        approve: args.approve.clone(),
        reject: args.calls.clone(),
        all: Answer::Deny,
        note: Some(args.note.clone()),
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
