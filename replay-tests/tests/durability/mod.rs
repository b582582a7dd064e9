//! What a power cut and `kill -9` leave: everything that was answered is on disk, and a killed run
//! resumes to the same end. Needs strace, and the built binary.

#![cfg(feature = "system-tests")]
#![allow(
    clippy::disallowed_methods,
    reason = "programs are started here to be traced and killed; no run of an agent is among them"
)]

mod kills;
mod place;
mod races;
mod seals;
mod trace;
mod trees;

use std::fs;
use std::path::Path;
use std::process::Command;

use place::{Place, example, placet};
use trace::{CALLS, Traced, Tracer};

/// Runs a program under strace and follows what it did below `root`.
fn traced(root: &Path, program: &mut Command) -> (Traced, i32) {
    let scratch = tempfile::tempdir().unwrap();
    let trace = scratch.path().join("trace");
    let tracer = Tracer::new(root, root);
    let mut strace = Command::new("strace");
    strace
        .args([
            "-f",
            "-y",
            "-qq",
            "-s",
            "0",
            "-e",
            &format!("trace={CALLS}"),
            "-o",
        ])
        .arg(&trace)
        .arg(program.get_program())
        .args(program.get_args())
        .envs(
            program
                .get_envs()
                .filter_map(|(key, value)| Some((key, value?))),
        )
        .current_dir(root);
    let output = strace.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let code = output
        .status
        .code()
        .unwrap_or_else(|| panic!("it was killed: {text}"));
    let trace = fs::read_to_string(trace).unwrap_or_else(|error| panic!("{error}: {text}"));
    (tracer.read(&trace), code)
}

/// The head is written behind the answers as well, where nothing rests on them; that it is on disk
/// before those that something rests on is shown where the store is made to fail.
const HEAD: &str = "head/head";

/// All was synced, but for what these paths end in.
fn assert_synced_but(traced: &Traced, but: &[&str]) {
    let mut unsynced = traced.unsynced.clone();
    unsynced.retain(|(_, path)| !but.iter().any(|end| path.ends_with(end)));
    assert!(
        unsynced.is_empty(),
        "not on disk when the answer was given: {unsynced:#?}"
    );
}

#[test]
fn the_store_has_synced_all_that_it_wrote_before_it_answers() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    // The first call makes the store, the second one goes on with it.
    for writes in [48, 0] {
        let mut append = Command::new(example("append"));
        let (traced, code) = traced(&root, append.arg(&root).arg("24"));
        assert_eq!(code, 0);
        assert_eq!(traced.answers, 25);
        assert!(traced.writes > writes, "{traced:?}");
        assert_synced_but(&traced, &[HEAD]);
    }
}

/// Locks hold as long as their processes, projections in sled are made anew from the log, which an
/// answer waits for, and the head is written behind the answers as well.
const NOT_WAITED_FOR: [&str; 3] = ["home/driving", "home/sled/db", "head"];

#[test]
fn the_command_line_has_synced_ledger_and_workspace_before_it_says_how_a_run_stands() {
    let place = Place::new();
    let (parked, code) = traced(place.root(), &mut place.run(&["--park"]));
    assert_eq!(code, 2);
    assert!(parked.answers > 0 && parked.writes > 10, "{parked:?}");
    assert_synced_but(&parked, &NOT_WAITED_FOR);
    let run = place.the_run().unwrap();
    let approve = ["runs", "approve", &run];
    let (answered, code) = traced(place.root(), &mut placet(&place, &approve));
    assert_eq!(code, 2, "the second batch waits");
    assert!(answered.answers > 0 && answered.writes > 10, "{answered:?}");
    assert_synced_but(&answered, &NOT_WAITED_FOR);
    let (answered, code) = traced(place.root(), &mut placet(&place, &approve));
    assert_eq!(code, 0);
    assert_synced_but(&answered, &NOT_WAITED_FOR);
    assert_eq!(place.files(), Place::files_after());
}
