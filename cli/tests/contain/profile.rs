//! What a contained program finds: its surroundings, and nothing of the person's.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};

use placet_ledger::containment::Part;
use rustix::io::{FdFlags, fcntl_setfd};

use super::Place;

#[test]
fn a_program_has_no_terminal_and_no_privileges() {
    let place = Place::new();
    let said = place.says("(: < /dev/tty) 2>/dev/null && echo terminal; cat /proc/self/status");
    assert!(!said.contains("terminal"), "{said}");
    let status: BTreeMap<_, _> = said
        .lines()
        .filter_map(|line| line.split_once(":\t"))
        .collect();
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(status[set], "0000000000000000", "{set}");
    }
    assert_eq!(status["NoNewPrivs"], "1");
    if place.has(Part::Syscalls) {
        assert_eq!(status["Seccomp"], "2");
    }
}

#[test]
fn a_program_inherits_three_descriptors() {
    let place = Place::new();
    let secret = File::open(place.path("home/.ssh/id")).unwrap();
    fcntl_setfd(&secret, FdFlags::empty()).unwrap();
    assert_eq!(place.attempt(&["descriptors"]), "0\n1\n2\n");
    assert_eq!(place.says("cat; echo nothing to read"), "nothing to read");
}

#[test]
fn a_program_finds_only_what_is_listed_in_its_environment() {
    let place = Place::new();
    let mut job = place.shell("env");
    for (name, value) in [
        ("COLOUR", "blue"),
        ("LANG", "de_DE.UTF-8"),
        ("PATH", "/usr/bin:/bin"),
        ("TERM", "xterm"),
        ("HOME", "/elsewhere"),
        ("GIT_CONFIG_COUNT", "0"),
        ("SSH_AUTH_SOCK", "/run/agent"),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/bus"),
        ("DISPLAY", ":0"),
        ("WAYLAND_DISPLAY", "wayland-0"),
        ("XDG_RUNTIME_DIR", "/run/user/1000"),
        ("TMUX", "/tmp/tmux"),
        ("PLACET_HOME", "/home"),
        ("ENV", "/rc"),
        ("BASH_ENV", "/rc"),
        ("BASH_FUNC_ls%%", "() { rm; }"),
        ("LD_PRELOAD", "/evil.so"),
    ] {
        job.env.insert(name.to_owned(), value.to_owned());
    }
    let said = super::place::text(&place.run(&job).stdout.head);
    let all: BTreeMap<_, _> = said
        .lines()
        .filter_map(|line| line.split_once('='))
        .collect();
    let expected = [
        "COLOUR",
        "GIT_CEILING_DIRECTORIES",
        "GIT_CONFIG_COUNT",
        "GIT_NO_LAZY_FETCH",
        "GIT_OPTIONAL_LOCKS",
        "GIT_PAGER",
        "GIT_TERMINAL_PROMPT",
        "HOME",
        "LANG",
        "LOGNAME",
        "PAGER",
        "PATH",
        "PWD",
        "TERM",
        "TMPDIR",
        "USER",
    ];
    let mut found: BTreeSet<_> = all.keys().copied().collect();
    found.retain(|name| !name.starts_with("GIT_CONFIG_KEY_"));
    found.retain(|name| !name.starts_with("GIT_CONFIG_VALUE_"));
    // The shell itself sets this one where it is another's.
    found.remove("_");
    found.remove("OLDPWD");
    found.remove("SHLVL");
    assert_eq!(found, BTreeSet::from(expected));
    assert_eq!(all["COLOUR"], "blue");
    assert_eq!(all["LANG"], "de_DE.UTF-8");
    assert_eq!(all["PATH"], "/usr/bin:/bin");
    assert_eq!(all["TERM"], "dumb");
    assert_eq!(all["HOME"], all["TMPDIR"]);
    assert_ne!(all["GIT_CONFIG_COUNT"], "0");
}

#[test]
fn git_runs_no_program_of_the_repository() {
    let place = Place::new();
    let said = place.says(
        "git init -q . 2>&1; git config --get core.fsmonitor; git config --get core.hooksPath",
    );
    assert!(said.ends_with("false\n/dev/null"), "{said}");
}

#[test]
fn the_driver_cannot_be_looked_into() {
    let place = Place::new();
    let driver = std::process::id();
    let script = format!("cat /proc/{driver}/environ /proc/{driver}/mem 2>/dev/null | wc -c");
    assert_eq!(place.says(&script), "0");
    let seen = place.says(&format!(
        "test -e /proc/{driver} && echo seen || echo hidden"
    ));
    if place.has(Part::Processes) && place.has(Part::Mounts) {
        assert_eq!(seen, "hidden");
    }
}

#[test]
fn refused_system_calls_are_refused() {
    let place = Place::new();
    let said = place.attempt(&["calls"]);
    if !place.has(Part::Syscalls) {
        return;
    }
    let (refused, missing) = (1, 38);
    for line in said.lines() {
        let (name, errno) = line.split_once(' ').unwrap();
        let expected = match name {
            "clone3" | "openat2" | "x32" => missing,
            _ => refused,
        };
        assert_eq!(errno, expected.to_string(), "{name}");
    }
    assert!(said.lines().count() >= 27, "{said}");
}

#[test]
fn the_private_folder_is_empty_and_goes() {
    let place = Place::new();
    for _ in 0..2 {
        let said = place.says("ls -A $TMPDIR | grep -v tmp; echo x > $TMPDIR/left; echo $TMPDIR");
        assert!(!said.contains("left"), "{said}");
        let folder = std::path::PathBuf::from(said);
        assert!(!folder.join("left").exists());
    }
    // The marks lie where they were told to lie, and nothing else is left.
    assert_eq!(fs::read_dir(place.path("running")).unwrap().count(), 0);
}

#[test]
fn root_cannot_change_the_machine() {
    let place = Place::new();
    let pattern = "/proc/sys/kernel/core_pattern";
    let before = fs::read(pattern).unwrap();
    let said = place.says(&format!(
        "(echo '|/bin/sh' > {pattern}) 2>/dev/null || echo refused"
    ));
    assert_eq!(said, "refused");
    assert_eq!(fs::read(pattern).unwrap(), before);
}
