//! Attempts at files of the person's: the keys of the ledger by every way to them, and what steers
//! programs later.

use std::fs;
use std::os::unix::fs::MetadataExt;

use placet_ledger::containment::Part::{self, Landlock, Mounts};

use super::{Attack, Person, newer_rules};

/// Mounts hide it, and the rules refuse it.
const FILE: &[&[Part]] = &[&[Mounts, Landlock]];

/// Whether the key was read: what the command printed is its sum.
fn read(person: &Person, _: &str, said: &str) -> bool {
    said.contains(&person.sum_of_key())
}

/// What the result says of an attack of this name that came through.
pub(super) const TOLD: [(&str, &str); 2] = [
    (
        HOOK,
        "it made a file that steers programs: .git/hooks/pre-commit (a person must look at that)",
    ),
    (
        CONFIG,
        "it changed a file that steers programs: .git/config (a person must look at that)",
    ),
];
const HOOK: &str = "a hook of the repository";
const CONFIG: &str = "hooks in another folder";

pub(super) fn attacks() -> Vec<Attack> {
    vec![
        Attack::new("the key file", "sha256sum {store}/ledger.key", FILE, read),
        Attack::new(
            "the key file through ..",
            "sha256sum ../.local/share/placet/ledger.key",
            FILE,
            read,
        ),
        Attack::new(
            "the key file through a symbolic link",
            "ln -s {store}/ledger.key soft; sha256sum < soft",
            FILE,
            read,
        ),
        Attack::new(
            "the key file by a hard link",
            "ln {store}/ledger.key hard && sha256sum hard",
            FILE,
            read,
        ),
        Attack::new(
            "the key file through the root of the first process",
            "sha256sum /proc/1/root{store}/ledger.key /proc/self/root{store}/ledger.key",
            FILE,
            read,
        ),
        // The rules know neither modes nor times.
        Attack::new(
            "the mode of a file of the ledger's home",
            "chmod 644 {store}/note && stat -c 'mode %a' {store}/note",
            &[&[Mounts]],
            // Whoever opens the home next sets it right again.
            |_, _, said| said.contains("mode 644"),
        )
        .unless(newer_rules),
        Attack::new(
            "the time of a file of the ledger's home",
            "touch -d @1000 {store}/note",
            &[&[Mounts]],
            |person, _, _| {
                let note = fs::metadata(person.path("home/.local/share/placet/note"));
                note.unwrap().mtime() == 1000
            },
        )
        .unless(newer_rules),
        Attack::new(
            "a line in the settings of the shell",
            "echo evil >> {home}/.bashrc",
            FILE,
            |person, _, _| {
                let settings = fs::read_to_string(person.path("home/.bashrc")).unwrap();
                settings.contains("evil")
            },
        ),
        Attack::new(
            HOOK,
            "echo evil > .git/hooks/pre-commit",
            &[&[Mounts]],
            |person, _, _| person.path("home/work/.git/hooks/pre-commit").exists(),
        ),
        Attack::new(
            CONFIG,
            "git config core.hooksPath evil",
            &[&[Mounts]],
            |person, _, _| {
                let config = fs::read_to_string(person.path("home/work/.git/config"));
                config.unwrap().contains("evil")
            },
        ),
    ]
}
