//! A second copy of a home that is used while the first one is: it executes nothing, and is read.

use std::fs;
use std::io::{BufRead, BufReader};

use crate::read_only::copy;
use crate::support::{World, spawn};

#[test]
fn two_copies_in_use_execute_an_approved_call_once() {
    let world = World::parked_as_user();
    let run = world.run();
    copy(&world.path("data/placet"), &world.path("second"));
    let mut holder = spawn(&world, &["runs", "watch", run]);
    let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("run.parked")));
    let refused = world.call(&["--home", "second", "runs", "approve", run]);
    assert_eq!(refused.code, 5, "{}", refused.stderr);
    let first = world.path("data/placet").canonicalize().unwrap();
    let told = format!(
        "another copy of this ledger is in use: process {} has {} open",
        holder.id(),
        first.display()
    );
    assert!(refused.stderr.contains(&told), "{}", refused.stderr);
    assert!(refused.stderr.contains("keep one copy alone"));
    assert_eq!(fs::read(world.path("ws/notes.txt")).unwrap(), b"milk\n");
    for args in [
        &["runs", "show", run][..],
        &["audit", "log"],
        &["audit", "verify"],
    ] {
        let args = [&["--home", "second"], args].concat();
        let read = world.call(&args);
        assert_eq!(read.code, 0, "{args:?}: {}", read.stderr);
    }
    // And nobody is told that all is well with the second one.
    let looked = world.call(&["--home", "second", "doctor"]);
    assert_eq!(looked.code, 1, "{}", looked.stdout);
    let fails = looked
        .stdout
        .lines()
        .filter(|line| line.starts_with("fail"));
    let fails: Vec<_> = fails.collect();
    assert!(
        matches!(&fails[..], [line] if line.contains("head file") && line.contains(&told)),
        "{fails:?}"
    );
    let looked = world.call(&["doctor"]);
    assert_eq!(looked.code, 0, "{}", looked.stdout);
    // Whoever comes to the first one by its socket is served as ever.
    assert_eq!(world.call(&["runs", "approve", run]).code, 0);
    assert!(lines.any(|line| line.unwrap().contains("run.finished")));
    holder.wait().unwrap();
    let behind = world.call(&["--home", "second", "runs", "approve", run]);
    assert_eq!(behind.code, 6, "{}", behind.stderr);
    world.records_hold();
}
