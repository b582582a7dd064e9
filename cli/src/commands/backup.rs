//! `placet backup`: a copy of the ledger as it is now, while it is in use.

use std::path::PathBuf;

use clap::Args;
use placet_ledger::backup::is_free;
use placet_ledger::error::LedgerError;
use rustix::io::Errno;
use serde::Serialize;

use crate::error::{CommandError, Kind};
use crate::exit::ExitStatus;
use crate::ui::bar::Bar;
use crate::ui::text;
use crate::wiring::Wiring;

/// Copy the ledger into a new folder, while it is in use
///
/// Every record and content as of now, under keys of their own; neither ledger.key nor the other
/// private keys, and no head file: keep ledger.key elsewhere, restore asks for it. The copy is
/// looked at before it has its name. Whoever has it can read all that was recorded.
///
/// Example: placet backup /mnt/usb/placet-monday
#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The new folder
    dir: PathBuf,
}

/// What was made.
#[derive(Debug, Serialize)]
struct BackupOut {
    backup: String,
    ledger: String,
    size: u64,
    root: String,
    bytes: u64,
}

/// Makes a backup.
pub(crate) fn run(args: &BackupArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let dir = wiring.printer.io().path(&args.dir);
    let shown = dir.display().to_string();
    if !is_free(&dir) {
        let what = format!("there is something at {shown} already");
        let error = CommandError::new(Kind::Refused, what);
        return Err(error.hint("a backup overwrites nothing: name a new folder"));
    }
    if dir.starts_with(&wiring.home.dir) {
        let what = format!("{shown} lies in the home that is to be copied");
        let error = CommandError::new(Kind::Refused, what);
        return Err(error.hint("name a folder elsewhere, best on another disk"));
    }
    let ledger = wiring.reach()?;
    let bar = Bar::new(&wiring.printer, "copying");
    let made = wiring.block_on(ledger.backup(&dir, &|done, all| bar.tell(done, all)));
    bar.end();
    ledger.close();
    let made = made.map_err(not_made)?;
    let out = BackupOut {
        backup: shown,
        ledger: made.ledger.to_string(),
        size: made.size,
        root: made.root.to_string(),
        bytes: made.bytes,
    };
    if wiring.printer.json() {
        wiring.printer.value(&out)?;
    } else {
        wiring.printer.data(&format!(
            "backup of {} records in {}\n  root   {}\n  bytes  {}\n",
            out.size,
            text::inline(&out.backup),
            out.root,
            out.bytes
        ))?;
        let hint = "  hint: ledger.key is not in it: keep a copy of that elsewhere";
        wiring.printer.note(hint);
    }
    Ok(ExitStatus::Done)
}

/// What stopped a backup; whoever holds the ledger made it, and tells in words what it was.
fn not_made(error: LedgerError) -> CommandError {
    let LedgerError::Failed(why) = error else {
        return error.into();
    };
    let full = [Errno::NOSPC, Errno::DQUOT];
    let is_full = full
        .iter()
        .any(|errno| why.contains(&std::io::Error::from(*errno).to_string()));
    let error = CommandError::new(Kind::Failed, format!("the backup was not made: {why}"));
    if is_full {
        error.hint("make room there, or name a folder on another disk; nothing was left behind")
    } else {
        error
    }
}
