//! `runs watch` as a process of its own: beside a driver, and ended by signals.

use std::io::{BufRead, BufReader};
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{World, spawn};

/// Starts a watch.
fn watch(world: &World, run: &[&str]) -> Child {
    spawn(world, &[&["runs", "watch"], run].concat())
}

/// A process that holds the ledger while it watches a run.
pub(crate) fn holding(world: &World, run: &str) -> (Child, impl Iterator<Item = String>) {
    let mut child = watch(world, &[run]);
    let stdout = child.stdout.take().unwrap();
    let mut lines = BufReader::new(stdout).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("run.parked")));
    (child, lines)
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

#[test]
fn what_another_process_records_is_seen_while_that_one_holds_the_ledger() {
    let mut world = World::parked_as_user();
    world.start("Tidy up once more.");
    let (first, second) = (world.runs[0].clone(), world.runs[1].clone());
    // The first watch holds the ledger, the second one goes through it.
    let follow = |run: &str, until: &str| {
        let mut child = watch(&world, &[run]);
        let stdout = child.stdout.take().unwrap();
        let mut lines = BufReader::new(stdout).lines().map(Result::unwrap);
        assert!(lines.any(|line| line.contains(until)));
        (child, lines)
    };
    let (mut holder, mut of_holder) = follow(&first, "run.parked");
    let (mut other, mut of_other) = follow(&second, "run.parked");
    let driven = spawn(&world, &["runs", "approve", &second]).wait().unwrap();
    assert_eq!(driven.code(), Some(0));
    assert!(of_other.any(|line| line.contains("run.finished")));
    assert_eq!(other.wait().unwrap().code(), Some(0));
    // The one that held it is followed by another that takes its place.
    let (mut heir, mut of_heir) = follow(&first, "run.parked");
    let pid = Pid::from_raw(i32::try_from(holder.id()).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    assert_eq!(holder.wait().unwrap().code(), None);
    assert!(of_holder.next().is_none());
    let driven = spawn(&world, &["runs", "approve", &first]).wait().unwrap();
    assert_eq!(driven.code(), Some(0));
    assert!(of_heir.any(|line| line.contains("run.finished")));
    assert_eq!(heir.wait().unwrap().code(), Some(0));
}
