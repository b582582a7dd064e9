//! Whether the ledger opens, ends where its head file says, and is not ahead of the clock.

use std::path::Path;
use std::sync::Arc;

use placet_ledger::envelope::Recorded;
use placet_ledger::event::Event;
use placet_ledger::id::Position;
use placet_ledger::ledger::Ledger;
use placet_ledger::store::head::Head;
use placet_ledger::store::sled::{OpenError, SledStore, TileFaults};
use placet_ledger::store::{ReadStore, Stored};
use placet_ledger::time::Timestamp;

use super::Checkup;
use crate::copied::{self, Copied};
use crate::error::{CommandError, Kind};
use crate::home::Home;
use crate::io::Io;
use crate::opening::Opening;
use crate::reading::{damaged, now, quietly};
use crate::unusable::cannot;

/// As many tiles as a line names.
const LINES_MAX: usize = 3;

/// What the ledger says of itself.
struct Ends {
    size: u64,
    first: Option<Recorded>,
    last: Option<Recorded>,
}

/// Looks at the ledger in a copy, or through whoever holds it.
pub(super) fn check(found: &mut Checkup, home: &Home, io: &Io) {
    let Some(ledger) = home.ledger() else {
        return absent(found, home);
    };
    let head_dir = home.head_dir(ledger);
    // A store that is damaged may make the library under it panic.
    let opened = quietly(|| {
        let Copied {
            store,
            why,
            scratch: _scratch,
        } = copied::open(home, &head_dir, &io.temporary())?;
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let ends = runtime
            .map_err(cannot("start looking"))
            .and_then(|runtime| runtime.block_on(read(&store)));
        Ok((store.ledger(), ends, why, store.check_tiles()))
    });
    let (id, ends, why, tiles) = match opened {
        Ok(Ok(opened)) => opened,
        Ok(Err(error @ OpenError::InUse { .. })) => return in_use(found, home, &head_dir, error),
        Ok(Err(error)) => return found.error("ledger", &error.into()),
        Err(panic) => {
            let what = format!("reading the store failed: {panic}");
            return found.error("ledger", &CommandError::new(Kind::Integrity, what));
        }
    };
    match ends {
        Ok(ends) => {
            let (format, size) = (format(ends.first.as_ref()), ends.size);
            found.ok("ledger", format!("{id}, format {format}, {size} records"));
            if let Some(last) = &ends.last {
                clock(found, last.envelope.at(), now());
            }
        }
        Err(error) => found.error("ledger", &error),
    }
    self::tiles(found, tiles);
    match why.or_else(|| other_copy(home, &head_dir)) {
        Some(why) => found.error(looked_at(&why), &why.into()),
        None => head(found, &head_dir),
    }
}

/// Who writes to another copy, so that nobody can to this one; whoever has this one by now is no
/// hindrance.
fn other_copy(home: &Home, head_dir: &Path) -> Option<OpenError> {
    let here = home.dir.canonicalize().ok();
    SledStore::copy_in_use(head_dir).filter(|error| {
        let OpenError::CopyInUse { holder, .. } = error else {
            return true;
        };
        holder.as_ref().map(|holder| &holder.home) != here.as_ref()
    })
}

/// What it was that forbids writing.
fn looked_at(why: &OpenError) -> &'static str {
    match why {
        OpenError::HeadMissing(_)
        | OpenError::HeadWithoutStore
        | OpenError::Behind { .. }
        | OpenError::Forked { .. }
        | OpenError::CopyInUse { .. }
        | OpenError::Head(_) => "head_file",
        OpenError::KeysMissing(_) | OpenError::KeysWithoutStore | OpenError::Keys { .. } => {
            "content_keys"
        }
        OpenError::Missing(_)
        | OpenError::Exists(_)
        | OpenError::InUse { .. }
        | OpenError::Damaged(_)
        | OpenError::Clock
        | OpenError::Io { .. } => "store",
    }
}

/// There is no ledger: nothing yet, or something that is in its place.
fn absent(found: &mut Checkup, home: &Home) {
    if !home.is_free() {
        let what = "what lies in the home is no ledger, or only a part of one";
        let error = CommandError::new(Kind::Integrity, what);
        return found.error("ledger", &error.hint("name another place with --home DIR"));
    }
    match home.left_in_state() {
        Some(left) => {
            let left = left.display();
            let what = format!("there was one: its head file is still in {left}");
            let hint = format!("put the home back, or remove {left} to begin anew");
            let error = CommandError::new(Kind::Integrity, what).hint(hint);
            found.error("ledger", &error);
        }
        None => found.ok("ledger", "none yet: placet run makes one"),
    }
}

/// Looks through whoever holds the ledger.
fn in_use(found: &mut Checkup, home: &Home, head_dir: &Path, error: OpenError) {
    let by = match error {
        OpenError::InUse { stopped: true, .. } => return found.error("ledger", &error.into()),
        OpenError::InUse { pid: Some(pid), .. } => format!("process {pid}"),
        _ => "another process".to_owned(),
    };
    let opening = Arc::new(Opening::new(home.clone(), head_dir.to_owned()));
    let runtime = match tokio::runtime::Builder::new_current_thread().build() {
        Ok(runtime) => runtime,
        Err(error) => return found.error("ledger", &cannot("start looking")(error)),
    };
    let Ok(ledger) = runtime.block_on(Ledger::shared(opening.clone())) else {
        let why = opening.failed().map(|error| error.message());
        let why = why.unwrap_or_else(|| "it does not answer".to_owned());
        let what = format!("in use by {by}: it was not looked at: {why}");
        return found.warn("ledger", what, "ask again when that is done");
    };
    let ends = runtime.block_on(read(&ledger));
    match ends {
        Ok(ends) => {
            let (id, size) = (ledger.ledger(), ends.size);
            let format = format(ends.first.as_ref());
            let what = format!("{id}, format {format}, {size} records, in use by {by}");
            found.ok("ledger", what);
            if let Some(last) = &ends.last {
                clock(found, last.envelope.at(), now());
            }
            tiles(found, SledStore::check_tiles_at(&home.dir));
            head(found, head_dir);
        }
        Err(error) => found.error("ledger", &error),
    }
    ledger.close();
}

/// How many records there are, the first and the last of them.
async fn read(store: &dyn ReadStore) -> Result<Ends, CommandError> {
    let read = async {
        let size = store.tail().await?.size;
        let last = Position::new(size.saturating_sub(1));
        let one = |page: Vec<Stored>| page.into_iter().next().map(Stored::parse).transpose();
        Ok(Ends {
            size,
            first: one(store.read_all(Position::ZERO, 1).await?)?,
            last: one(store.read_all(last, 1).await?)?,
        })
    };
    read.await.map_err(damaged)
}

/// The format that the first record tells.
fn format(first: Option<&Recorded>) -> String {
    if let Some(Event::LedgerCreated(created)) = first.map(|first| first.envelope.event()) {
        return created.format.to_string();
    }
    "unknown".to_owned()
}

/// How far the head file says that the store had come; it led to this store a moment ago.
fn head(found: &mut Checkup, head_dir: &Path) {
    match Head::read(head_dir) {
        Ok(head) => {
            let size = head.size();
            found.ok("head_file", format!("agrees, at {size} records"));
        }
        Err(error) => found.fail("head_file", error.to_string(), "ask again"),
    }
}

/// Whether the files of history are there, and as long as they were.
fn tiles(found: &mut Checkup, looked: std::io::Result<TileFaults>) {
    let faults = match looked {
        Ok(faults) => faults,
        Err(error) => {
            let what = format!("cannot look at the tiles: {error}");
            return found.fail("tiles", what, "is the folder tile of the home yours?");
        }
    };
    if !faults.damaged.is_empty() {
        let what = format!("damaged: {}", few(&faults.damaged));
        let hint = "put these files back as they were; else placet restore DIR makes a home of a \
                    backup; placet audit verify reads all of them";
        found.error(
            "tiles",
            &CommandError::new(Kind::Integrity, what).hint(hint),
        );
    } else if faults.foreign.is_empty() {
        found.ok("tiles", "all there, and as long as they were");
    } else {
        let names = faults.foreign.iter().map(|path| path.display().to_string());
        let names: Vec<_> = names.collect();
        let what = format!("not of this ledger: {}", few(&names));
        found.warn("tiles", what, "move them out of the home");
    }
}

/// The first of some lines, and how many more.
fn few(lines: &[String]) -> String {
    let shown = lines.iter().take(LINES_MAX).cloned().collect::<Vec<_>>();
    match lines.len().saturating_sub(LINES_MAX) {
        0 => shown.join("; "),
        more => format!("{} and {more} more", shown.join("; ")),
    }
}

/// No record is stamped earlier than the one before it: with a clock that is behind, time stands.
fn clock(found: &mut Checkup, newest: Timestamp, now: Timestamp) {
    if now >= newest {
        return found.ok("clock", "not behind the newest record");
    }
    let seconds = newest.ms_since(now).div_ceil(1000);
    let what = format!("{seconds} s behind the newest record, of {newest}");
    found.warn(
        "clock",
        what,
        "set it; until then new records have that time",
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::doctor::Status;

    #[test]
    fn a_clock_that_is_behind_the_log_is_told() {
        let newest: Timestamp = "2026-12-01T09:00:00.000000Z".parse().unwrap();
        let told = |now: &str| {
            let mut found = Checkup::default();
            clock(&mut found, newest, now.parse().unwrap());
            let check = found.checks.remove(0);
            (check.status, check.detail)
        };
        let fine = (Status::Ok, String::from("not behind the newest record"));
        assert_eq!(told("2026-12-01T09:00:00.000000Z"), fine);
        assert_eq!(told("2026-12-01T09:00:00.000001Z"), fine);
        let detail = "90 s behind the newest record, of 2026-12-01T09:00:00.000000Z";
        let behind = (Status::Warn, detail.to_owned());
        assert_eq!(told("2026-12-01T08:58:30.000000Z"), behind);
    }
}
