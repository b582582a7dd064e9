//! `placet restore`: a home made of a backup, whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use placet_engine::policy::Gate;
use placet_ledger::audit::verify;
use placet_ledger::backup::{self, Backup, BackupError, fill_store};
use placet_ledger::error::LedgerError;
use placet_ledger::event::{Event, PublicKey};
use placet_ledger::id::{HostId, Position};
use placet_ledger::regular;
use placet_ledger::run::RunState;
use placet_ledger::store::head::{Head, HeadError};
use placet_ledger::store::pages::run_list;
use placet_ledger::store::sled::SledStore;
use placet_ledger::store::{ReadStore, Stored};
use placet_ledger::view::{RunEntry, RunList};
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde::Serialize;
use zeroize::Zeroizing;

use crate::copied::Scratch;
use crate::error::{CommandError, Kind};
use crate::exit::ExitStatus;
use crate::home::{Home, Staged};
use crate::reading::{damaged, quietly};
use crate::ui::bar::{Bar, Read};
use crate::ui::text;
use crate::unusable::cannot_use;
use crate::wiring::Wiring;

/// More than the key of any ledger has.
const KEY_BYTES_MAX: u64 = 4096;

/// Make a home of a backup
///
/// Where no ledger is, in --home or the default place. Everything is verified before the home has
/// its name. A ledger that was further than its backup is not put back: records that were
/// acknowledged would be lost.
///
/// Example: placet restore /mnt/usb/placet-monday --key ledger.key
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// The folder that placet backup made
    dir: PathBuf,

    /// The ledger.key of the lost home, which no backup holds
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

/// What was made.
#[derive(Debug, Serialize)]
struct RestoreOut {
    home: String,
    ledger: String,
    size: u64,
    root: String,
    /// Whether the key of the ledger was put back, too.
    key: bool,
}

/// Makes a home of a backup.
pub(crate) fn run(args: &RestoreArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    is_free(&wiring.home)?;
    if Home::is_inside(wiring.printer.io()) {
        return Err(LedgerError::InsideRun.into());
    }
    let from = wiring.printer.io().path(&args.dir);
    wiring.home.make_parents()?;
    let temporary = wiring.temporary();
    let scratch = Scratch::make(&wiring.home, &temporary)?;
    let key = match &args.key {
        Some(key) => Some(wiring.printer.io().path(key)),
        None => None,
    };
    // What somebody else has written may make the library under the store panic.
    let restored = quietly(|| restore(&from, key.as_deref(), scratch.dir(), wiring));
    let backup = restored.unwrap_or_else(|panic| {
        let what = format!("reading the backup failed: {panic}");
        Err(CommandError::new(Kind::Integrity, what))
    })?;
    let out = RestoreOut {
        home: wiring.home.dir.display().to_string(),
        ledger: backup.ledger.to_string(),
        size: backup.size,
        root: backup.root.to_string(),
        key: key.is_some(),
    };
    if wiring.printer.json() {
        wiring.printer.value(&out)?;
    } else {
        let home = text::inline(&out.home);
        let (size, root) = (out.size, &out.root);
        let page = format!("restored {size} records to {home}\n  root   {root}\n");
        wiring.printer.data(&page)?;
    }
    if key.is_none() {
        let home = &out.home;
        let what = "without its ledger.key one process alone can use this ledger at a time";
        wiring.printer.warn(what);
        let hint = format!("  hint: put ledger.key into {home} if there is a copy of it");
        wiring.printer.warn(&hint);
    }
    Ok(ExitStatus::Done)
}

/// Nothing may lie where the home will be, and nothing may have lain there.
fn is_free(home: &Home) -> Result<(), CommandError> {
    let dir = home.dir.display();
    if home.is_free() {
        return Ok(());
    }
    let what = format!("there is something at {dir} already");
    let error = CommandError::new(Kind::Refused, what);
    Err(error.hint("a ledger is restored to a new home: name another place with --home DIR"))
}

fn restore(
    from: &Path,
    key: Option<&Path>,
    scratch: &Path,
    wiring: &mut Wiring<'_>,
) -> Result<Backup, CommandError> {
    let (store, backup) = backup::open(from, scratch).map_err(failed)?;
    let head = may_take_its_place(&wiring.home, &backup)?;
    let public = wiring.block_on(public_key(&store))?;
    let key = key.map(|path| read_key(path, &public)).transpose()?;
    // What was half made is removed with them.
    let staged = wiring.home.staged()?;
    let staged_head = wiring.home.staged_head(backup.ledger)?;
    let new_head = staged_head.path().join("head");
    let host = build(wiring, (&store, &backup), &staged.home, &new_head)?;
    let key = key.as_ref().map(|key| key.as_slice());
    staged.home.furnish_again(key, host)?;
    put_in_place(&wiring.home, staged, (&new_head, head), &backup)?;
    Ok(backup)
}

/// Fills a store and verifies it, record by record. Gives back the host on which its unfinished
/// runs were started: whoever restores says by that that the home of old is gone, and that this
/// one takes its place.
fn build(
    wiring: &Wiring<'_>,
    (from, backup): (&SledStore, &Backup),
    staging: &Home,
    head: &Path,
) -> Result<Option<HostId>, CommandError> {
    let (cut, bar) = (backup.cut(), Bar::new(&wiring.printer, "restoring"));
    let tell = |done, all| bar.tell(done, all);
    let places = (staging.dir.as_path(), head);
    let filled = fill_store(from, (backup.ledger, cut), places, &tell);
    wiring.block_on(filled).map_err(failed)?;
    bar.end();
    let store = SledStore::open(&staging.dir, head)?;
    let bar = Bar::new(&wiring.printer, "verifying");
    let report = wiring.block_on(async {
        let read = Read::new(&store, &bar, 2).await;
        verify(&read, None, Some(&Gate)).await
    });
    bar.end();
    let runs = wiring.block_on(run_list(&store));
    let runs = runs.map_err(damaged)?;
    let host = host_of(&runs);
    store.close();
    if let Some(finding) = report.findings.first() {
        let kind = finding.kind.as_str();
        let what = format!(
            "what the backup holds does not verify: {kind}: {}",
            finding.detail
        );
        return Err(CommandError::new(Kind::Integrity, what));
    }
    if (report.size, report.root) == (cut.size, Some(cut.root)) {
        return Ok(host);
    }
    let what = format!(
        "the backup holds {} records, its list says {} with root {}",
        report.size, cut.size, cut.root
    );
    Err(CommandError::new(Kind::Integrity, what))
}

/// Whether a backup may take the place of what the head files of this user tell; gives back
/// whether there is one of its ledger.
fn may_take_its_place(home: &Home, backup: &Backup) -> Result<bool, CommandError> {
    let own = home.head_dir(backup.ledger);
    if let Some(left) = home.left_in_state().filter(|left| *left != own) {
        let (dir, left) = (home.dir.display(), left.display());
        let what = format!("there was another ledger at {dir}: its head file is still in {left}");
        return Err(CommandError::new(Kind::Refused, what)
            .hint("name another place with --home DIR, or put that one back"));
    }
    if let Some(other) = home.lives_elsewhere(backup.ledger) {
        let what = format!(
            "the ledger of this backup still lies in {}",
            other.display()
        );
        return Err(CommandError::new(Kind::Refused, what)
            .hint("two homes of one ledger would part: use that one, or move it away first"));
    }
    let head = match Head::read(&own) {
        Ok(head) => head,
        Err(HeadError::Missing(_)) => return Ok(false),
        Err(error) => return Err(CommandError::new(Kind::Integrity, error)),
    };
    let (had, size) = (head.size(), backup.size);
    if had > size {
        let what = format!("the backup has {size} records, and this ledger had {had}");
        return Err(CommandError::new(Kind::Integrity, what)
            .hint("restore a newer backup")
            .hint("to accept that loss will be possible in a later release (--accept-loss)"));
    }
    if had == size && head.root() != backup.root {
        let what =
            format!("the backup holds another history than this ledger had at {size} records");
        return Err(CommandError::new(Kind::Integrity, what).hint("restore another backup"));
    }
    Ok(true)
}

/// The key that signs for the ledger, as its first record says.
async fn public_key(store: &dyn ReadStore) -> Result<PublicKey, CommandError> {
    let first = store.read_all(Position::ZERO, 1).await.map_err(damaged)?;
    let first = first.into_iter().next().map(Stored::parse);
    let first = first.transpose().map_err(damaged)?;
    let first = first.as_ref().map(|first| first.envelope.event());
    if let Some(Event::LedgerCreated(created)) = first {
        return Ok(created.key);
    }
    let what = "the backup does not begin with the record of a new ledger";
    Err(CommandError::new(Kind::Integrity, what))
}

/// The private key that was named, if it is that of the ledger.
fn read_key(path: &Path, public: &PublicKey) -> Result<Zeroizing<Vec<u8>>, CommandError> {
    let shown = path.display();
    let bytes = regular::read_named(path, KEY_BYTES_MAX).map_err(|error| {
        CommandError::usage(format!("cannot read the key {shown}: {error}"))
            .hint("--key names a copy of the ledger.key of the lost home")
    })?;
    let bytes = Zeroizing::new(bytes);
    let no_key = || CommandError::usage(format!("{shown} holds no key of a ledger"));
    let pair = Ed25519KeyPair::from_pkcs8(&bytes).map_err(|_| no_key())?;
    let own: Result<[u8; 32], _> = pair.public_key().as_ref().try_into();
    if own.is_ok_and(|own| PublicKey::from_bytes(own) == *public) {
        return Ok(bytes);
    }
    let what = format!("{shown} is the key of another ledger");
    Err(CommandError::new(Kind::Refused, what)
        .hint("--key names a copy of the ledger.key of the lost home"))
}

/// Gives head file and home their names; the head file that is there stays.
fn put_in_place(
    home: &Home,
    staged: Staged,
    (new_head, had_head): (&Path, bool),
    backup: &Backup,
) -> Result<(), CommandError> {
    let head_dir = home.head_dir(backup.ledger);
    if !had_head {
        fs::create_dir_all(home.state_dir())
            .and_then(|()| fs::rename(new_head, &head_dir))
            .and_then(|()| fs::File::open(home.state_dir())?.sync_all())
            .map_err(cannot_use("make the folder of the head file", &head_dir))?;
    }
    let put = fits(&staged.home, &head_dir).and_then(|()| home.adopt(staged));
    if put.is_err() && !had_head {
        drop(fs::remove_dir_all(&head_dir));
    }
    put
}

/// Whether the head file leads to the store.
fn fits(staging: &Home, head_dir: &Path) -> Result<(), CommandError> {
    let (store, why) = SledStore::open_read_only(&staging.dir, head_dir)?;
    store.close();
    why.map_or(Ok(()), |why| Err(why.into()))
}

fn failed(error: BackupError) -> CommandError {
    let kind = match &error {
        BackupError::Damaged(_) | BackupError::Read(_) => Kind::Integrity,
        BackupError::Missing(_) => Kind::NotFound,
        BackupError::Taken(_) => Kind::Refused,
        BackupError::Append(_) | BackupError::Open(_) | BackupError::Io { .. } => Kind::Failed,
    };
    let error = CommandError::new(kind, error);
    if kind == Kind::Integrity {
        error.hint("nothing was restored: use another backup")
    } else {
        error
    }
}

/// The host on which the newest unfinished run was started.
fn host_of(runs: &RunList) -> Option<HostId> {
    let states = runs.iter().filter_map(RunEntry::state);
    let unfinished = states.filter(|state| state.outcome().is_none());
    unfinished.filter_map(RunState::host).next_back()
}
