//! `placet grants add`: let commands of a key run unasked, in every run.

use clap::Args;
use placet_engine::policy::CommandEntry;
use placet_engine::policy::allowlist;
use placet_engine::tool::command::Found;
use placet_ledger::error::LedgerError;
use placet_ledger::id::GrantId;
use placet_ledger::program::ProgramClass;
use placet_ledger::run::Rejection;

use super::{Granted, program};
use crate::args;
use crate::error::{CommandError, Kind};
use crate::exit::ExitStatus;
use crate::open::Open;
use crate::wire::grants::GrantOut;
use crate::wiring::Wiring;

/// Let commands of a key run unasked, in every run
///
/// A key is a program with the next word, where that is not a flag: git push, cargo fmt, ls. An
/// entry covers its own key and longer keys, run by the very program that it was made for; without
/// --network such a command has no network. Shells, interpreters, wrappers and whatever runs code
/// of the workspace need --force: such an entry lets by whatever they are given. The very same
/// entry is not added twice.
///
/// Example: placet grants add "git push" --network 443 --expires 8h
#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// The key, in quotes where it has two words
    #[arg(required_unless_present = "url")]
    command: Option<String>,

    /// For how long it holds [default: until it is revoked]
    #[arg(long, value_name = "D", value_parser = args::expiry_ms)]
    expires: Option<u64>,

    /// TCP ports that these commands may reach, such as 443,8000
    #[arg(
        long,
        value_name = "PORTS",
        value_delimiter = ',',
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    network: Vec<u16>,

    /// Also for a program that runs whatever it is given, or that lies in the workspace
    #[arg(long)]
    force: bool,

    /// Not in this release, which has no web tools
    #[arg(long, value_name = "URL", conflicts_with_all = ["command", "network"])]
    url: Option<String>,
}

/// Adds an entry.
pub(crate) fn run(args: &AddArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let (None, Some(command)) = (&args.url, &args.command) else {
        let what = "this release has no web tools, so that there is nothing to grant by URL";
        return Err(CommandError::usage(what));
    };
    let key = super::entry_key(command)?;
    let word = key.split(' ').next().unwrap_or_default();
    let found = program::find(word, wiring.printer.io())?;
    beware(args, &key, &found, wiring)?;
    let network = args.network.iter().copied().collect();
    let entry = CommandEntry::new(key, (found.path, found.class, found.digest), network);
    let open = wiring.open_or_create(false)?;
    let caller = wiring.caller()?;
    let expires_at = args.expires.map(|ms| open.ledger.now().plus_ms(ms));
    let granted = super::grant(&open, &caller, &entry, expires_at);
    let out = match wiring.block_on(granted)? {
        Granted::New(added, at) => GrantOut::new(&added, at, entry),
        Granted::Before(grant) => before(grant, entry, &open)?,
    };
    if wiring.printer.json() {
        wiring.printer.value(&out)?;
    } else {
        wiring.printer.data(&format!("{}\n", out.grant))?;
    }
    if out.already {
        let what = format!("{} is there already: nothing was added", out.grant);
        wiring.printer.note(&what);
    }
    Ok(ExitStatus::Done)
}

/// The very same entry, as it was granted before.
fn before(grant: GrantId, entry: CommandEntry, open: &Open) -> Result<GrantOut, CommandError> {
    let authority = open.ledger.authority();
    let found = authority.grants().get(&grant);
    let found = found.ok_or_else(|| LedgerError::from(Rejection::UnknownGrant(grant)))?;
    Ok(GrantOut::before(grant, found, entry))
}

/// What an entry lets by that its key does not say: refused, or a warning where somebody insists.
fn beware(
    args: &AddArgs,
    key: &str,
    found: &Found,
    wiring: &mut Wiring<'_>,
) -> Result<(), CommandError> {
    let mut beware = Vec::new();
    if let Some(caution) = allowlist::caution(key) {
        beware.push(format!("{key:?} {}", caution.why()));
    }
    if found.class == ProgramClass::Workspace {
        let path = &found.path;
        beware.push(format!(
            "{path} lies in the workspace, where the agent can write"
        ));
    }
    if !beware.is_empty() && !args.force {
        return Err(CommandError::new(Kind::Refused, beware.join("; "))
            .hint("--force makes the entry all the same"));
    }
    for what in beware {
        wiring.printer.warn(&format!("warning: {what}"));
    }
    Ok(())
}
