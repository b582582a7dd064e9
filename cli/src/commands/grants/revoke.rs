//! `placet grants revoke`: take a grant back.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use placet_ledger::authority::AuthorityCommand;
use placet_ledger::content::{Text, Texts};
use placet_ledger::id::GrantId;

use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::wire::grants::Revoked;
use crate::wiring::Wiring;

/// Take a grant back
///
/// Calls that it cleared and that were not started yet ask.
///
/// Example: placet grants revoke g4 --note "the deploy is over"
#[derive(Debug, Args)]
pub(crate) struct RevokeArgs {
    /// The grant, as placet grants list names it
    #[arg(value_name = "ID")]
    grant: GrantId,

    /// Why
    #[arg(long, value_name = "WHY", value_parser = NonEmptyStringValueParser::new())]
    note: Option<String>,
}

/// Takes a grant back.
pub(crate) fn run(args: RevokeArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let open = wiring.open_as_it_is()?;
    let caller = wiring.caller()?;
    let note = args.note.map(Text::plain);
    let texts: Texts = note
        .map(|note| (String::from("reason"), note))
        .into_iter()
        .collect();
    let revoke = AuthorityCommand::Revoke(args.grant);
    let revoked = wiring.block_on(open.ledger.authorise(&caller, revoke, texts))?;
    let revoked = Revoked {
        grant: args.grant,
        revoked_at: revoked.at(),
    };
    if wiring.printer.json() {
        wiring.printer.value(&revoked)?;
    } else {
        wiring
            .printer
            .data(&format!("{} is revoked\n", args.grant))?;
    }
    Ok(ExitStatus::Done)
}
