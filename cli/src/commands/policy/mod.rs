//! `placet policy`: why calls run, ask a person, or are turned down.

mod check;
mod explain;

use clap::Subcommand;

use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::wiring::Wiring;

/// What to ask of the policy.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyVerb {
    Check(check::CheckArgs),
    Explain(explain::ExplainArgs),
}

/// Asks it.
pub(crate) fn dispatch(
    verb: PolicyVerb,
    wiring: &mut Wiring<'_>,
) -> Result<ExitStatus, CommandError> {
    match verb {
        PolicyVerb::Check(args) => check::run(&args, wiring),
        PolicyVerb::Explain(args) => explain::run(&args, wiring),
    }
}
