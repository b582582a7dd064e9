//! Attempts to talk to what runs outside: sockets by path and by name, servers of a session, the
//! network of the machine.

use placet_ledger::containment::Part::{self, Landlock, Mounts, Network, Syscalls};

use super::servers::Servers;
use super::{Attack, Person, newer_rules};

/// A path is hidden by mounts; where these are missing no such socket can be made.
const BY_PATH: &[&[Part]] = &[&[Mounts, Syscalls]];
/// A name ends at the own network, at the rules, or there is no such socket.
const BY_NAME: &[&[Part]] = &[&[Network, Landlock, Syscalls]];

/// Whether a server recorded the words of this attack.
fn heard(person: &Person, word: &str, _: &str) -> bool {
    let word = format!("/{word} ");
    person
        .servers
        .heard()
        .iter()
        .any(|said| said.contains(&word))
}

pub(super) fn attacks() -> Vec<Attack> {
    let socket = |name, command| Attack::new(name, command, BY_PATH, heard).unless(newer_rules);
    let named = |name, command| Attack::new(name, command, BY_NAME, heard);
    vec![
        socket(
            "frames on a socket in the ledger's home",
            "{attack} unix {store}/owner.sock {word}",
        ),
        socket(
            "the same by io_uring",
            "{attack} uring {store}/owner.sock {word}",
        ),
        socket(
            "docker of the home",
            "curl -s --unix-socket {home}/.docker/run/docker.sock http://docker/{word}",
        ),
        socket(
            "docker of the runtime folder",
            "{attack} unix {run}/docker.sock {word}",
        ),
        socket(
            "docker of the machine",
            "curl -s --unix-socket {slash_run}/docker.sock http://docker/{word}",
        ),
        socket(
            "docker of the machine by another name of run",
            "{attack} unix /var{slash_run}/docker.sock {word}",
        ),
        socket(
            "a socket in the common temporary folder",
            "{attack} unix {slash_tmp}/docker.sock {word}",
        ),
        socket(
            "a socket in the workspace",
            "{attack} unix {ws}/dev.sock {word}",
        ),
        socket(
            "a socket in the workspace by io_uring",
            "{attack} uring dev.sock {word}",
        ),
        socket(
            "a socket in the workspace by another name",
            "ln dev.sock other.sock; mv dev.sock moved.sock; {attack} unix other.sock {word}; \
             {attack} unix moved.sock {word}",
        ),
        socket(
            "a socket in a folder of the system",
            "{attack} unix {system}/docker.sock {word}",
        ),
        Attack::new(
            "an agent in the workspace that was started there",
            "SSH_AUTH_SOCK={ws}/tmp/agent.sock ssh-add -l",
            BY_PATH,
            |_, _, said| said.contains("no identities"),
        )
        .unless(newer_rules),
        named("a socket by its name", "{attack} unix @{abstract} {word}"),
        named(
            "a socket by its name and io_uring",
            "{attack} uring @{abstract} {word}",
        ),
        Attack::new(
            "the keys of the agent",
            "SSH_AUTH_SOCK={run}/ssh-agent ssh-add -l",
            BY_PATH,
            |_, _, said| said.contains("person@home"),
        )
        .unless(newer_rules),
        Attack::new(
            "taking the keys from the agent",
            "SSH_AUTH_SOCK={run}/ssh-agent ssh-add -D",
            BY_PATH,
            |person, _, _| !Servers::keys(person).contains("person@home"),
        )
        .unless(newer_rules),
        Attack::new(
            "typing into a shell of tmux",
            "tmux -S {tmux} send-keys 'touch {home}/typed' Enter",
            BY_PATH,
            |person, _, _| {
                person.servers.wait_for_shell(person);
                person.path("home/typed").exists()
            },
        )
        .unless(newer_rules),
        Attack::new(
            "a service of the session's bus",
            "dbus-send --bus=unix:path={run}/bus --print-reply --dest=org.placet.Escape / \
             org.placet.Escape.Go",
            BY_PATH,
            |person, _, _| person.path("home/started").exists(),
        )
        .unless(newer_rules),
        Attack::new(
            "http on loopback",
            "curl -s http://127.0.0.1:{port}/{word}",
            BY_NAME,
            heard,
        ),
        Attack::new(
            "raw tcp on loopback",
            "{attack} tcp {port} {word}",
            BY_NAME,
            heard,
        ),
        // The rules know nothing of UDP.
        Attack::new(
            "udp on loopback",
            "{attack} udp {udp} {word}",
            &[&[Network, Syscalls]],
            heard,
        ),
    ]
}
