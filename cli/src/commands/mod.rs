//! The verbs: a file a verb, a folder a noun. A verb parses, calls one facade, prints.

pub(crate) mod audit;
pub(crate) mod inbox;
pub(crate) mod policy;
pub(crate) mod run;
pub(crate) mod runs;
mod start;
pub(crate) mod tools;
mod words;

use clap::Subcommand;

use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::wiring::Wiring;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Run(run::RunArgs),
    Inbox(inbox::InboxArgs),
    /// Look at runs, answer what they ask, go on with them
    #[command(subcommand)]
    Runs(runs::RunsVerb),
    /// Look into the ledger, verify it, take evidence out of it
    #[command(subcommand)]
    Audit(audit::AuditVerb),
    /// Ask why calls run, ask a person, or are turned down
    #[command(subcommand)]
    Policy(policy::PolicyVerb),
    /// Look at the tools that agents have
    #[command(subcommand)]
    Tools(tools::ToolsVerb),
}

/// Does it.
pub(crate) fn dispatch(verb: Verb, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    match verb {
        Verb::Run(args) => run::run(args, wiring),
        Verb::Inbox(args) => inbox::run(&args, wiring),
        Verb::Audit(verb) => audit::dispatch(verb, wiring),
        Verb::Policy(verb) => policy::dispatch(verb, wiring),
        Verb::Tools(verb) => tools::dispatch(verb, wiring),
        Verb::Runs(verb) => runs::dispatch(verb, wiring),
    }
}
