//! `placet audit`: look into the ledger, verify it, take evidence out of it.

mod log;

use clap::Subcommand;

use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::wiring::Wiring;

/// What to do with the ledger.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditVerb {
    Log(log::LogArgs),
}

/// Does it.
pub(crate) fn dispatch(
    verb: AuditVerb,
    wiring: &mut Wiring<'_>,
) -> Result<ExitStatus, CommandError> {
    match verb {
        AuditVerb::Log(args) => log::run(&args, wiring),
    }
}
