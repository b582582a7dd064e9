//! `runs watch` as a process of its own: beside a driver, and ended by signals.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::World;

/// Starts the program; the process is a person's, and no run's.
#[expect(clippy::disallowed_methods, reason = "the program itself is looked at")]
fn watch(world: &World, run: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_placet"));
    command.args(["runs", "watch"]).args(run).env_clear();
    for (name, folder) in [
        ("HOME", "person"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_DATA_HOME", "data"),
    ] {
        command.env(name, world.path(folder));
    }
    command.stdout(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_watch_sees_a_run_to_its_end_beside_the_process_that_drives_it() {
    let world = World::parked();
    let mut child = watch(&world, &[world.run()]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut until = |word: &str| {
        lines
            .by_ref()
            .map(Result::unwrap)
            .find(|line| line.contains(word))
    };
    assert!(until("run.parked").is_some());
    let approved = world.call(&["runs", "approve", world.run()]);
    assert_eq!(approved.code, 0, "{}", approved.stderr);
    assert!(until("approval.granted").is_some());
    assert!(until("run.finished").is_some());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_signal_ends_a_watch() {
    let world = World::parked();
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut child = watch(&world, &[world.run()]);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("run.parked")));
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code));
    }
}
