//! Attempts at other processes of the person's, and at the driver itself.

use std::collections::BTreeSet;

use placet_ledger::containment::Part::{self, Landlock, Mounts, Network, Processes, Syscalls};

use super::person::SECRET;
use super::{Attack, Person};

/// In a process namespace there is no such number. Without it, nobody looks out of the rules, nor
/// out of a user namespace, which each of the three other namespaces brings.
const LOOK: &[&[Part]] = &[&[Processes, Mounts, Network, Landlock]];
/// The filter refuses it as well.
const CALL: &[&[Part]] = &[&[Processes, Mounts, Network, Landlock, Syscalls]];
/// Whatever is missing, the driver is closed, and a command has no privileges.
const NEVER: &[&[Part]] = &[];

/// Whether this kernel lets no process trace another of its user, or asks for privileges.
fn traces_nobody(_: &Person, _: &BTreeSet<Part>) -> bool {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
    scope.is_ok_and(|scope| matches!(scope.trim(), "2" | "3"))
}

fn secret(_: &Person, _: &str, said: &str) -> bool {
    said.contains(SECRET)
}

fn of_driver(_: &Person, _: &str, said: &str) -> bool {
    said.contains("known-by-the-driver") || said.contains("driver-was-read")
}

pub(super) fn attacks() -> Vec<Attack> {
    let look = |name, command| Attack::new(name, command, LOOK, secret);
    let driver = |name, command| Attack::new(name, command, NEVER, of_driver);
    vec![
        look(
            "the environment of another process",
            "tr '\\0' '\\n' < /proc/{victim}/environ",
        ),
        look(
            "an open file of another process",
            "cat /proc/{victim}/fd/{descriptor}",
        ),
        Attack::new(
            "the root of another process",
            "sha256sum /proc/{victim}/root{store}/ledger.key",
            LOOK,
            |person, _, said| said.contains(&person.sum_of_key()),
        ),
        look(
            "the memory of another process",
            "{attack} peek {victim} {address}",
        )
        .unless(traces_nobody),
        Attack::new(
            "the memory of another process by a call",
            "{attack} readv {victim} {address}",
            CALL,
            secret,
        )
        .unless(traces_nobody),
        Attack::new(
            "a descriptor of another process",
            "{attack} descriptor {victim} {descriptor}",
            CALL,
            secret,
        )
        .unless(traces_nobody),
        // Whoever knows the number of a segment needs nothing else.
        Attack::new(
            "the shared memory of another process",
            "{attack} shared {segment}",
            &[&[Processes]],
            secret,
        ),
        driver("the environment of the driver", "{attack} owner environ"),
        driver("the memory of the driver", "{attack} owner mem"),
        driver("the open files of the driver", "{attack} owner fd/0"),
        driver(
            "the root of the driver",
            "{attack} owner root{store}/ledger",
        ),
        Attack::new(
            "tracing another process",
            "{attack} trace {victim}",
            CALL,
            |_, _, said| said.contains("traced"),
        )
        .unless(traces_nobody),
        Attack::new(
            "a signal to another process",
            "kill -9 {victim} && echo sent",
            &[&[Processes, Landlock]],
            |person, _, said| said.contains("sent") && person.victim_ends(),
        ),
    ]
}
