//! Where the home is, who may get at it, and which keys lie in it.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::Checkup;
use super::places::{Odd, Places};
use crate::args::GlobalArgs;
use crate::home::Home;
use crate::io::Io;
use crate::lost::lost;

/// As many names as a line holds with ease; the rest is counted.
const NAMES_MAX: usize = 3;

/// The files that hold secrets, and the id of the machine.
const FILES: [&str; 3] = ["keys", "ledger.key", "host"];

/// The key that replaces a stolen one; it should not lie where that one lies.
const RECOVERY: &str = "recovery.key";

/// Looks at the home, what lies in it and what stands above it.
pub(super) fn check(found: &mut Checkup, home: &Home, global: &GlobalArgs, io: &Io) {
    let why = match (&global.home, home.from_env) {
        (Some(_), _) => "--home",
        (None, true) => "PLACET_HOME",
        (None, false) => "the default",
    };
    let dir = home.dir.display();
    found.ok("home", format!("{dir} ({why})"));
    let user = io.uid;
    let parent = home.dir.parent().unwrap_or(&home.dir);
    above(found, "folders_above", parent, user);
    above(found, "head_folders", home.state_dir(), user);
    if home.is_free() {
        return;
    }
    access(found, home, user);
    keys(found, home);
}

/// A folder and all above it: whoever can write to one can put another home, or another head file,
/// in the place of ours.
fn above(found: &mut Checkup, check: &'static str, dir: &Path, user: u32) {
    let there = dir.ancestors().find_map(|above| above.canonicalize().ok());
    let open: Vec<PathBuf> = there
        .iter()
        .flat_map(|there| there.ancestors())
        .filter(|folder| fs::metadata(folder).is_ok_and(|meta| others_may_write(&meta, user)))
        .map(Path::to_owned)
        .collect();
    if open.is_empty() {
        found.ok(check, "nobody else can write to them");
    } else {
        let what = format!("others can write to {}", names(&open));
        found.fail(
            check,
            what,
            "take that right away: chmod go-w, or another owner",
        );
    }
}

/// A folder that others own or may write to; one like `/tmp` keeps what others put there apart.
fn others_may_write(meta: &Metadata, user: u32) -> bool {
    let (write, sticky) = (meta.mode() & 0o022 != 0, meta.mode() & 0o1000 != 0);
    let owner = meta.uid() == user || meta.uid() == 0;
    !owner || (write && !sticky)
}

/// Owners and modes of the home and all below.
fn access(found: &mut Checkup, home: &Home, user: u32) {
    let mut seen = Seen::default();
    // Whoever may write the head file can hide that records were lost.
    let head = home.ledger().map(|ledger| home.head_dir(ledger));
    let places = Places {
        home: home.dir.clone(),
        head: head.clone(),
    };
    for folder in [Some(home.dir.clone()), head].into_iter().flatten() {
        match walk(&folder, (&places, user), &mut seen) {
            // Whether the head file is there is asked of the ledger.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let what = format!("cannot look at {}: {error}", folder.display());
                return found.fail("access", what, "is it yours, and readable?");
            }
            Ok(()) => {}
        }
    }
    if !seen.odd.found.is_empty() {
        let what = format!("not what it should be: {}", seen.odd.found.join(", "));
        found.fail("home_files", what, seen.odd.hints.join("; "));
    }
    if !seen.foreign.is_empty() {
        let what = format!("not yours: {}", names(&seen.foreign));
        found.fail(
            "access",
            what,
            "give them to the user who runs placet: chown",
        );
    } else if !seen.open.is_empty() {
        let what = format!("others have access to {}", names(&seen.open));
        let hint = "take it away: chmod -R go-rwx; a verb that opens the ledger does so too";
        found.warn("access", what, hint);
    } else {
        found.ok("access", "the home and all in it are yours alone");
    }
}

/// What is not as it should be.
#[derive(Default)]
struct Seen {
    foreign: Vec<PathBuf>,
    open: Vec<PathBuf>,
    /// What is something else than it should be.
    odd: Odd,
}

fn walk(path: &Path, (places, user): (&Places, u32), seen: &mut Seen) -> io::Result<()> {
    let meta = fs::symlink_metadata(path)?;
    if meta.uid() != user {
        seen.foreign.push(path.to_owned());
    }
    // The store's own files have the mode of the process that made them, behind a closed folder.
    let closed = path.parent().is_some_and(|parent| parent.ends_with("sled"));
    if !closed && !meta.is_symlink() && meta.mode() & 0o077 != 0 {
        seen.open.push(path.to_owned());
    }
    places.look(path, &meta, &mut seen.odd);
    if meta.is_dir() {
        let mut below: Vec<_> = fs::read_dir(path)?.collect::<io::Result<_>>()?;
        below.sort_by_key(fs::DirEntry::file_name);
        for entry in below {
            walk(&entry.path(), (places, user), seen)?;
        }
    }
    Ok(())
}

/// The key files: whether they are there, never what they hold.
fn keys(found: &mut Checkup, home: &Home) {
    let file = |name: &str| {
        let there = fs::symlink_metadata(home.dir.join(name));
        there.is_ok_and(|meta| meta.is_file() && meta.len() > 0)
    };
    let missing: Vec<&str> = FILES.into_iter().filter(|name| !file(name)).collect();
    if missing.is_empty() {
        found.ok("key_files", FILES.join(", "));
    } else {
        let what = format!("missing, empty or no file: {}", missing.join(", "));
        let hints: Vec<_> = missing.iter().map(|name| lost(name)).collect();
        found.fail("key_files", what, hints.join("; "));
    }
    if fs::symlink_metadata(home.dir.join(RECOVERY)).is_ok() {
        let what = format!("{RECOVERY} still lies in the home");
        let hint = "move it to a safe place offline; it alone can replace a stolen ledger key";
        found.warn("recovery_key", what, hint);
    } else {
        found.ok("recovery_key", "not in the home");
    }
}

/// The first of them, and how many more.
pub(super) fn names(paths: &[PathBuf]) -> String {
    let shown = paths.iter().take(NAMES_MAX);
    let shown: Vec<_> = shown.map(|path| path.display().to_string()).collect();
    let more = paths.len().saturating_sub(NAMES_MAX);
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
