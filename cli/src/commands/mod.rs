//! The verbs: a file a verb, a folder a noun. A verb parses, calls one facade, prints.

pub(crate) mod run;
pub(crate) mod runs;

use clap::Subcommand;

use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::wiring::Wiring;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Run(run::RunArgs),
    /// Look at runs, answer what they ask, go on with them
    #[command(subcommand)]
    Runs(runs::RunsVerb),
}

/// Does it.
pub(crate) fn dispatch(verb: Verb, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    match verb {
        Verb::Run(args) => run::run(args, wiring),
        Verb::Runs(verb) => runs::dispatch(verb, wiring),
    }
}
