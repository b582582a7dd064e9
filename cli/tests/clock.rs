//! A clock before 1970: the library under the store takes that for impossible.

use std::fs;
use std::process::Command;

use crate::support::World;

/// Whatever asks the C library for the time of day gets the last day of 1969.
const EARLY: &str = r"
#define _GNU_SOURCE
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
int clock_gettime(clockid_t id, struct timespec *out) {
    int done = (int)syscall(SYS_clock_gettime, id, out);
    if (id == CLOCK_REALTIME) out->tv_sec = -3600;
    return done;
}
";

#[test]
#[expect(clippy::disallowed_methods, reason = "the program itself is looked at")]
fn a_clock_before_1970_is_told_and_nothing_panics() {
    let world = World::parked();
    let (source, library) = (world.path("early.c"), world.path("early.so"));
    fs::write(&source, EARLY).unwrap();
    let mut built = Command::new("cc");
    built.args(["-shared", "-fPIC", "-o"]).arg(&library);
    let built = built.arg(&source).status().unwrap();
    assert!(built.success(), "cc");
    for (home, args) in [
        ("data/placet", &["runs", "list"][..]),
        ("data/placet", &["audit", "verify"]),
        ("data/placet", &["backup", "copy"]),
        (
            "new",
            &[
                "run",
                "--model",
                "script:tidy.toml",
                "--workspace",
                "ws",
                "Tidy.",
            ],
        ),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_placet"));
        command.arg("--home").arg(world.path(home)).args(args);
        command.env_clear().current_dir(&world.cwd);
        command.env("HOME", world.path("person"));
        command.env("XDG_STATE_HOME", world.path("state"));
        command.env("LD_PRELOAD", &library);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
        let told = "the clock of this machine is before 1970";
        assert!(said.contains(told), "{args:?}: {said}");
        assert!(said.contains("set the clock"), "{args:?}: {said}");
        assert!(!said.contains("panicked"), "{args:?}: {said}");
    }
    assert!(!world.path("new").exists());
}
