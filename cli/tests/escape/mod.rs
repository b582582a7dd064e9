//! Real programs as approved commands of real runs: each tries to reach the person, and each fails
//! where the machine can do every part of the containment. A server, a file or a process of the
//! person's tells whether it came through, and the same program reaches it when nothing holds it.
//!
//! A machine that lacks parts is made by taking from the binary what these parts need of the
//! kernel, so that what is reported there is what the binary itself finds.

#![allow(
    clippy::disallowed_methods,
    reason = "the person's own programs, and placet itself, are started here"
)]

mod another_user;
mod answers;
mod ends;
mod files;
mod levels;
mod person;
mod processes;
mod programs;
mod run;
mod servers;
mod sockets;
mod terminal;

use std::collections::BTreeSet;

use person::Person;
use placet_ledger::containment::Part;

type Held = fn(&Person, &BTreeSet<Part>) -> bool;

/// One thing that an approved command tries.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// The command; `{..}` stand for what [`Person::fill`] knows.
    command: &'static str,
    /// Each of these sets of parts is enough to let it through where it is missing.
    open_without: &'static [&'static [Part]],
    /// Whether this kernel holds it back all the same, where these parts are missing.
    held_by_kernel: Held,
    /// Whether it came through, by what the person's side tells and by what the command printed.
    through: fn(&Person, &str, &str) -> bool,
}

impl Attack {
    const fn new(
        name: &'static str,
        command: &'static str,
        open_without: &'static [&'static [Part]],
        through: fn(&Person, &str, &str) -> bool,
    ) -> Self {
        Self {
            name,
            command,
            open_without,
            held_by_kernel: |_, _| false,
            through,
        }
    }

    /// The same, where some kernels hold it back by themselves.
    const fn unless(mut self, held: Held) -> Self {
        self.held_by_kernel = held;
        self
    }

    /// Whether the profile without these parts leaves it open.
    fn is_open_without(&self, missing: &BTreeSet<Part>) -> bool {
        let enough = |set: &&[Part]| set.iter().all(|part| missing.contains(part));
        self.open_without.iter().any(enough)
    }

    /// Its name as one word, which servers record.
    fn word(&self) -> String {
        self.name.replace([' ', '/', '.', '\''], "-")
    }
}

/// Whether rules of Landlock are in force that know sockets, modes and times.
fn newer_rules(person: &Person, missing: &BTreeSet<Part>) -> bool {
    !missing.contains(&Part::Landlock) && person.landlock() >= 9
}

/// All of them.
fn attacks() -> Vec<Attack> {
    let all = [sockets::attacks(), files::attacks(), processes::attacks()];
    all.into_iter().flatten().collect()
}
