//! `placet shell`: what commands of the shell are.

mod explain;

use clap::Subcommand;

use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::ui::Printer;

/// What to ask about commands.
#[derive(Debug, Subcommand)]
pub(crate) enum ShellVerb {
    Explain(explain::ExplainArgs),
}

/// Asks it.
pub(crate) fn dispatch(
    verb: &ShellVerb,
    printer: &mut Printer<'_>,
) -> Result<ExitStatus, CommandError> {
    match verb {
        ShellVerb::Explain(args) => explain::run(args, printer),
    }
}
