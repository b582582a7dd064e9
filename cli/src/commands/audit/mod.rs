//! `placet audit`: look into the ledger, verify it, take evidence out of it.

mod about;
mod authority;
mod event_ref;
mod export;
mod log;
mod show;
mod verify;
mod who;

use clap::Subcommand;

use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::wiring::Wiring;

/// What to do with the ledger.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditVerb {
    Log(log::LogArgs),
    Who(who::WhoArgs),
    Show(show::ShowArgs),
    Verify(verify::VerifyArgs),
    Export(export::ExportArgs),
}

/// Does it.
pub(crate) fn dispatch(
    verb: AuditVerb,
    wiring: &mut Wiring<'_>,
) -> Result<ExitStatus, CommandError> {
    match verb {
        AuditVerb::Log(args) => log::run(&args, wiring),
        AuditVerb::Who(args) => who::run(&args, wiring),
        AuditVerb::Show(args) => show::run(&args, wiring),
        AuditVerb::Verify(args) => verify::run(&args, wiring),
        AuditVerb::Export(args) => export::run(&args, wiring),
    }
}
