//! `placet grants`: what runs unasked in every run.

mod add;
mod list;
mod program;
mod revoke;

use clap::Subcommand;
use placet_engine::policy::CommandEntry;
use placet_engine::policy::allowlist::{self, NotAnEntry};
use placet_ledger::authority::AuthorityCommand;
use placet_ledger::canonical;
use placet_ledger::content::{Text, Texts};
use placet_ledger::error::LedgerError;
use placet_ledger::event::{Event, GrantAdded, GrantKind};
use placet_ledger::id::GrantId;
use placet_ledger::run::{Caller, Rejection};
use placet_ledger::time::Timestamp;

use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::open::Open;
use crate::wiring::Wiring;

/// What to do with grants.
#[derive(Debug, Subcommand)]
pub(crate) enum GrantsVerb {
    List(list::ListArgs),
    Add(add::AddArgs),
    Revoke(revoke::RevokeArgs),
}

/// Does it.
pub(crate) fn dispatch(
    verb: GrantsVerb,
    wiring: &mut Wiring<'_>,
) -> Result<ExitStatus, CommandError> {
    match verb {
        GrantsVerb::List(args) => list::run(&args, wiring),
        GrantsVerb::Add(args) => add::run(&args, wiring),
        GrantsVerb::Revoke(args) => revoke::run(args, wiring),
    }
}

/// The key of an entry, as whoever writes one gives it.
pub(crate) fn entry_key(text: &str) -> Result<String, CommandError> {
    allowlist::entry_key(text).map_err(|error| {
        let hint = match &error {
            NotAnEntry::Longer { key, .. } => {
                format!("placet grants add \"{key}\" covers every command of that key")
            }
            NotAnEntry::NoKey { .. } => {
                String::from("a key is a program and its next word, such as \"git push\"")
            }
        };
        CommandError::usage(error).hint(hint)
    })
}

/// What came of granting something.
pub(crate) enum Granted {
    /// It is granted from now on.
    New(GrantAdded, Timestamp),
    /// The very same was granted before.
    Before(GrantId),
}

/// Records an entry of the per-command list, in an append of its own, if it is not there.
pub(crate) async fn grant(
    open: &Open,
    caller: &Caller,
    entry: &CommandEntry,
    expires_at: Option<Timestamp>,
) -> Result<Granted, LedgerError> {
    let text = canonical::to_vec(entry).map_err(LedgerError::Encode)?;
    let texts = Texts::from([(String::from("entry"), Text::json(text))]);
    let command = AuthorityCommand::Grant {
        kind: GrantKind::Command,
        expires_at,
    };
    let envelope = match open.ledger.authorise(caller, command, texts).await {
        Ok(envelope) => envelope,
        Err(LedgerError::Rejected(Rejection::AlreadyGranted(grant))) => {
            return Ok(Granted::Before(grant));
        }
        Err(error) => return Err(error),
    };
    let Event::GrantAdded(added) = envelope.event() else {
        return Err(Rejection::OutOfTurn("the grant was not recorded").into());
    };
    Ok(Granted::New(added.clone(), envelope.at()))
}
