//! `placet policy`: why calls run, ask a person, or are turned down.

mod explain;

use clap::Subcommand;

use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::wiring::Wiring;

/// What to ask of the policy.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyVerb {
    Explain(explain::ExplainArgs),
}

/// Asks it.
pub(crate) fn dispatch(
    verb: PolicyVerb,
    wiring: &mut Wiring<'_>,
) -> Result<ExitStatus, CommandError> {
    match verb {
        PolicyVerb::Explain(args) => explain::run(&args, wiring),
    }
}
