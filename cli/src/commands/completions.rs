//! `placet completions`: what a shell needs to complete the command line.

use clap::Args;
use clap_complete::{Shell, generate};

use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::ui::{Printer, WIDTH_DEFAULT};

/// Print the completions for a shell
///
/// They go to standard output: put them where the shell looks for them, or read them when it
/// starts.
///
/// Example: placet completions bash
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints completions.
pub(crate) fn run(
    args: &CompletionsArgs,
    printer: &mut Printer<'_>,
) -> Result<ExitStatus, CommandError> {
    let mut tree = super::tree(WIDTH_DEFAULT);
    let mut script = Vec::new();
    generate(args.shell, &mut tree, "placet", &mut script);
    printer.raw(&script)?;
    Ok(ExitStatus::Done)
}
