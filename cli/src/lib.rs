//! Every edge to people and machines: the command line as a library, so that tests call it.

#![forbid(unsafe_code)]

mod answers;
mod args;
mod commands;
mod config;
mod copied;
pub mod error;
pub mod exit;
mod home;
mod in_force;
pub mod io;
mod lost;
mod models;
mod open;
mod opening;
mod reading;
pub mod terminal;
mod ui;
mod unopened;
mod unusable;
mod wire;
mod wiring;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use clap::FromArgMatches;
use clap::error::ErrorKind;

use args::Color;
use commands::Cli;
use error::CommandError;
use exit::ExitStatus;
use io::Io;
use placet_engine::contain::helper;
use ui::Printer;

/// Does what the command line says.
pub fn run(args: Vec<OsString>, io: &mut Io) -> ExitStatus {
    let json = args.iter().any(|arg| arg == "--json");
    let width = Printer::new(io, json, false, Color::Never).width();
    let parsed = commands::tree(width)
        .try_get_matches_from(args)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let Cli { global, verb } = match parsed {
        Ok(cli) => cli,
        Err(error) => return usage(error, json, io),
    };
    let (json, quiet, color) = (global.json, global.quiet, global.color);
    match commands::dispatch(verb, global, Printer::new(io, json, quiet, color)) {
        Ok(ExitStatus::Interrupted) if io.terminated.load(Ordering::Relaxed) => {
            ExitStatus::Terminated
        }
        Ok(status) => status,
        Err(error) => {
            Printer::new(io, json, quiet, color).error(&error);
            error.kind.exit()
        }
    }
}

/// Becomes the helper that shuts in what a run starts, where the command line says so.
pub fn contained(mut args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let is_helper = args.nth(1).is_some_and(|word| word == helper::VERB);
    is_helper.then(|| helper::main(&args.collect::<Vec<_>>()))
}

/// The command line as it describes itself: what help, man pages and the reference are made of.
pub fn command() -> clap::Command {
    commands::tree(ui::WIDTH_DEFAULT)
}

/// The reference of the command line, as `docs/CLI.md` holds it.
pub fn reference() -> String {
    commands::docs::reference()
}

/// Help and version are data; a wrong command line is an error.
fn usage(error: clap::Error, json: bool, io: &mut Io) -> ExitStatus {
    let text = error.render().to_string();
    if error.use_stderr() {
        let mut printer = Printer::new(io, json, false, Color::Never);
        if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && !json {
            printer.warn(text.trim_end());
            return ExitStatus::Usage;
        }
        printer.error(&CommandError::from(error));
        return ExitStatus::Usage;
    }
    match Printer::new(io, false, false, Color::Never).data(&text) {
        Ok(()) => ExitStatus::Done,
        Err(_) => ExitStatus::Failed,
    }
}

/// Sends remarks of the program itself to standard error: ids and enums, never what an agent wrote.
pub fn trace() {
    let filter = tracing_subscriber::EnvFilter::builder()
        .with_env_var("PLACET_LOG")
        .with_default_directive(tracing_subscriber::filter::LevelFilter::WARN.into())
        .from_env_lossy();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .without_time()
        .with_target(false)
        .init();
}

/// Hardens the process before the first secret is read: no core, not to be traced by others.
pub fn harden() {
    use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
    // Where the system refuses, nothing is worse than without.
    let _ignored = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let _ignored = setrlimit(Resource::Core, none);
}
