//! Terminal, what confines runs, and room on disk.

use std::collections::BTreeSet;

use placet_ledger::containment::{Containment, Level};
use placet_ledger::limits::ROOM_BYTES_MIN;

use super::Checkup;
use crate::home::Home;
use crate::io::Io;
use crate::wiring::machine;

/// Looks how far this machine can shut in what a run starts, by doing it around nothing.
pub(super) fn containment(found: &mut Checkup, io: &Io) -> Level {
    let level = machine(io, std::path::PathBuf::new()).level(&BTreeSet::new());
    let missing: Vec<_> = level.missing().iter().map(|part| part.as_str()).collect();
    let missing = missing.join(", ");
    match level.containment() {
        Containment::InProcess | Containment::Full => found.ok(
            "sandbox",
            "full: commands are shut in by every part of the profile; \
             answers have the assurance same-user",
        ),
        Containment::Partial => found.warn(
            "sandbox",
            format!("partial, missing: {missing}; answers have the assurance same-user"),
            "without these parts a command can do more than its card says; what is missing stands \
             on the card",
        ),
        Containment::None => found.warn(
            "sandbox",
            "none: nothing shuts a command in; answers have the assurance same-user",
            "a command can do whatever you can, your keys and this ledger included: approve none \
             that you would not type yourself",
        ),
    }
    level
}

/// Whether somebody can be asked here, and how the screen is used.
pub(super) fn terminal(found: &mut Checkup, io: &Io) {
    let asked = if io.terminal.is_some() {
        "input and errors are a terminal"
    } else {
        "input or errors are no terminal: nobody is asked"
    };
    let output = if io.stdout_is_terminal {
        "output is one"
    } else {
        "output is none"
    };
    let columns = io.var("COLUMNS").unwrap_or("unknown");
    let color = match io.var("NO_COLOR") {
        Some(_) => ", no colour (NO_COLOR)",
        None => "",
    };
    found.ok(
        "terminal",
        format!("{asked}; {output}; columns {columns}{color}"),
    );
}

/// Looks at the room on the disk of the home, or of the folder in which it would be made.
pub(super) fn space(found: &mut Checkup, home: &Home) {
    let there = home.dir.ancestors().find(|above| above.exists());
    let told = there.map(rustix::fs::statvfs);
    let Some(Ok(told)) = told else {
        return found.warn(
            "space",
            "unknown: the file system does not tell",
            "look with df",
        );
    };
    let free = told.f_bavail.saturating_mul(told.f_frsize);
    let (mib, least) = (free >> 20, ROOM_BYTES_MIN >> 20);
    if free < ROOM_BYTES_MIN {
        let what = format!("{mib} MiB free where the home is, fewer than {least}");
        found.fail("space", what, "make room: below that nothing is started");
    } else {
        found.ok("space", format!("{mib} MiB free where the home is"));
    }
}
