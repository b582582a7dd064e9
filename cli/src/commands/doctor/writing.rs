//! Whether a verb that records something could write where it has to.

use std::path::{Path, PathBuf};

use placet_ledger::id::LedgerId;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;

use super::{Checkup, home::names};
use crate::home::Home;

/// What is written in a home, as far as it is there.
const WRITTEN: [&str; 12] = [
    "owner", "keys", "sled", "sled/db", "log", "log/0", "log/1", "tile", "content", "driving",
    "running", "locks",
];

/// Looks at the home and at the folder of its head file, or at where they would be made.
pub(super) fn check(found: &mut Checkup, home: &Home) {
    let mut closed = Vec::new();
    let ledger = home.ledger();
    if ledger.is_some() {
        closed.extend(in_home(home, ledger));
    } else {
        let places = [home.dir.as_path(), home.state_dir()];
        let there = |place: &Path| {
            place
                .ancestors()
                .find(|above| above.exists())
                .map(Path::to_owned)
        };
        closed.extend(
            places
                .into_iter()
                .filter_map(there)
                .filter(|place| is_closed(place)),
        );
    }
    if closed.is_empty() {
        return found.ok(
            "writing",
            "nothing forbids to write to home and head folders",
        );
    }
    let what = format!(
        "cannot write to {}: no verb can record anything",
        names(&closed)
    );
    let hint =
        "what only reads works; else they must be yours to write, on a disk that takes writes";
    found.fail("writing", what, hint);
}

fn in_home(home: &Home, ledger: Option<LedgerId>) -> Vec<PathBuf> {
    let head = ledger.map(|ledger| home.head_dir(ledger));
    let in_head = head.iter().map(|head| head.join("head"));
    let within = WRITTEN.iter().map(|name| home.dir.join(name));
    let places = [home.dir.clone()].into_iter().chain(within);
    let places = places.chain(head.clone()).chain(in_head);
    places.filter(|place| is_closed(place)).collect()
}

/// Whether the system forbids writing; what is not there is told elsewhere.
fn is_closed(place: &Path) -> bool {
    let asked = accessat(CWD, place, Access::WRITE_OK, AtFlags::EACCESS);
    matches!(asked, Err(Errno::ACCESS | Errno::PERM | Errno::ROFS))
}
