//! The verbs: a file a verb, a folder a noun. A verb parses, calls one facade, prints.

pub(crate) mod agents;
pub(crate) mod attend;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod completions;
pub(crate) mod docs;
pub(crate) mod doctor;
pub(crate) mod grants;
pub(crate) mod inbox;
mod judging;
pub(crate) mod man;
mod page;
pub(crate) mod policy;
mod ready;
pub(crate) mod restore;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod shell;
mod start;
pub(crate) mod tools;
mod words;

use clap::{Command, CommandFactory, Parser, Subcommand};

use crate::args::GlobalArgs;
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::ui::Printer;
use crate::wiring::Wiring;

/// Columns beyond which help is not read with ease.
const HELP_COLUMNS_MAX: usize = 100;

/// An event-sourced approval ledger with replayable runs
///
/// An agent's tool calls are proposed, gated by policy or a person, and only then executed; every
/// step is an immutable record that anyone can check.
#[derive(Debug, Parser)]
#[command(name = "placet", version)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,

    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// The whole command line, whose help has so many columns.
pub(crate) fn tree(columns: usize) -> Command {
    Cli::command().term_width(columns.min(HELP_COLUMNS_MAX))
}

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
    /// Let commands run unasked in every run, and take that back
    #[command(subcommand)]
    Grants(grants::GrantsVerb),
    /// Look at the agents of the config, and whether they could run
    #[command(subcommand)]
    Agents(agents::AgentsVerb),
    /// Look at the tools that agents have
    #[command(subcommand)]
    Tools(tools::ToolsVerb),
    /// Look at commands of the shell without running them
    #[command(subcommand)]
    Shell(shell::ShellVerb),
    Backup(backup::BackupArgs),
    Restore(restore::RestoreArgs),
    Doctor(doctor::DoctorArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// Does it. What describes the program needs neither home nor config.
pub(crate) fn dispatch(
    verb: Verb,
    global: GlobalArgs,
    mut printer: Printer<'_>,
) -> Result<ExitStatus, CommandError> {
    match verb {
        Verb::Run(args) => run::run(args, &mut Wiring::new(global, printer)?),
        Verb::Inbox(args) => inbox::run(&args, &mut Wiring::new(global, printer)?),
        Verb::Audit(verb) => audit::dispatch(verb, &mut Wiring::new(global, printer)?),
        Verb::Policy(verb) => policy::dispatch(verb, &mut Wiring::new(global, printer)?),
        Verb::Grants(verb) => grants::dispatch(verb, &mut Wiring::new(global, printer)?),
        Verb::Agents(verb) => agents::dispatch(verb, &mut Wiring::new(global, printer)?),
        Verb::Tools(verb) => tools::dispatch(verb, &mut Wiring::new(global, printer)?),
        Verb::Runs(verb) => runs::dispatch(verb, &mut Wiring::new(global, printer)?),
        Verb::Backup(args) => backup::run(&args, &mut Wiring::new(global, printer)?),
        Verb::Restore(args) => restore::run(&args, &mut Wiring::new(global, printer)?),
        Verb::Shell(verb) => shell::dispatch(&verb, &mut printer),
        Verb::Doctor(args) if args.rebuilds() => {
            doctor::rebuild(&mut Wiring::new(global, printer)?)
        }
        Verb::Doctor(args) => doctor::run(&args, &global, &mut printer),
        Verb::Completions(args) => completions::run(&args, &mut printer),
        Verb::Man(args) => man::run(&args, &mut printer),
    }
}
