//! `kill -9` at a hundred moments of a real run, each the n-th time that some thread enters some
//! system call: not one depends on how fast the machine is. Windows W1, W2, W18, W20 to W22, W26 and
//! W31 of the event format's table are among them, with real files.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::thread;

use placet_ledger::event::{Event, Settlement};
use placet_ledger::id::CallId;

use super::place::{Place, placet};

/// The calls at which the process is killed: whatever changes a file, and what comes before it.
const CALLS: &[&str] = &[
    "fdatasync",
    "fsync",
    "openat",
    "pwrite64",
    "renameat2",
    "sync_file_range",
    "unlinkat",
    "write",
    "futex",
];

/// How many moments there are.
const MOMENTS: usize = 100;

/// A moment: the n-th time that a thread enters this call.
type Moment = (&'static str, usize);

/// Under strace, which kills it at this moment.
fn killed_at((call, number): Moment, program: &Command) -> Option<i32> {
    let mut strace = Command::new("strace");
    strace
        .args([
            "-f",
            "-qq",
            "-o",
            "/dev/null",
            "-e",
            &format!("trace={call}"),
            "-e",
        ])
        .arg(format!("inject={call}:signal=SIGKILL:when={number}"))
        .arg(program.get_program())
        .args(program.get_args())
        .envs(
            program
                .get_envs()
                .filter_map(|(key, value)| Some((key, value?))),
        );
    if let Some(folder) = program.get_current_dir() {
        strace.current_dir(folder);
    }
    strace.output().unwrap().status.code()
}

/// The moments of a run that nobody kills, spread evenly.
fn moments() -> Vec<Moment> {
    let place = Place::new();
    let trace = place.root().join("trace");
    let run = place.run(&["--approval-policy", "high-risk"]);
    let status = Command::new("strace")
        .args([
            "-f",
            "-qq",
            "-e",
            &format!("trace={}", CALLS.join(",")),
            "-o",
        ])
        .arg(&trace)
        .arg(run.get_program())
        .args(run.get_args())
        .envs(
            run.get_envs()
                .filter_map(|(key, value)| Some((key, value?))),
        )
        .current_dir(place.root())
        .output()
        .unwrap();
    assert!(status.status.success());
    assert_eq!(place.files(), Place::files_after());
    let mut counts: BTreeMap<(String, &str), usize> = BTreeMap::new();
    for line in fs::read_to_string(trace).unwrap().lines() {
        let (thread, call) = line.split_once(' ').unwrap();
        let entered = |name: &&&str| {
            call.trim()
                .strip_prefix(**name)
                .is_some_and(|r| r.starts_with('('))
        };
        if let Some(name) = CALLS.iter().find(entered) {
            *counts.entry((thread.to_owned(), name)).or_default() += 1;
        }
    }
    let mut all = Vec::new();
    for call in CALLS {
        let of_call = counts.iter().filter(|((_, name), _)| name == call);
        let most = of_call.map(|(_, count)| *count).max().unwrap_or(0);
        // What is loaded before the program begins tells nothing.
        let first = if *call == "openat" { 20 } else { 1 };
        all.extend((first..=most).map(|number| (*call, number)));
    }
    assert!(all.len() >= MOMENTS, "a run has only {} moments", all.len());
    (0..MOMENTS)
        .map(|index| all[index * all.len() / MOMENTS])
        .collect()
}

/// Every call took effect exactly once.
fn assert_done_once(case: &str, place: &Place) {
    let mut done: BTreeMap<CallId, usize> = BTreeMap::new();
    for record in place.log() {
        match record.event() {
            Event::ExecutionSucceeded(event) => *done.entry(event.call).or_default() += 1,
            Event::ExecutionSettled(event) if event.verdict == Settlement::Done => {
                *done.entry(event.call).or_default() += 1;
            }
            _ => {}
        }
    }
    assert_eq!(done.len(), 6, "{case}: {done:?}");
    assert!(done.values().all(|times| *times == 1), "{case}: {done:?}");
}

/// Kills a run at this moment, and holds that it resumes. Says whether it was killed in time.
fn kill_and_resume(index: usize, moment: Moment) -> bool {
    let place = Place::new();
    let case = format!("{moment:?}");
    let run = place.run(&["--approval-policy", "high-risk"]);
    let killed = killed_at(moment, &run).is_none();
    let resume = |run: &str| placet(&place, &["runs", "resume", run]);
    if index.is_multiple_of(4)
        && let Some(run) = place.the_run()
    {
        // Who resumes may be killed too.
        killed_at(moment, &resume(&run));
    }
    let mut last = match place.the_run() {
        Some(run) => resume(&run),
        // Its start never was on disk, so it is started again.
        None => place.run(&["--approval-policy", "high-risk"]),
    };
    let output = last.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{case}: {said}");
    assert_eq!(place.files(), Place::files_after(), "{case}");
    assert_done_once(&case, &place);
    let report = place.verify();
    assert!(report.ok, "{case}: {:?}", report.findings);
    let verified = placet(&place, &["audit", "verify"]).output().unwrap();
    let said = String::from_utf8_lossy(&verified.stderr);
    assert_eq!(verified.status.code(), Some(0), "{case}: {said}");
    killed
}

#[test]
fn a_run_that_is_killed_at_any_of_a_hundred_moments_resumes_to_the_same_end() {
    let moments: Vec<_> = moments().into_iter().enumerate().collect();
    let (one, other) = moments.split_at(moments.len() / 2);
    let count = |part: &[(usize, Moment)]| {
        let killed = part
            .iter()
            .filter(|(index, moment)| kill_and_resume(*index, *moment));
        killed.count()
    };
    let killed: usize = thread::scope(|scope| {
        let threads = [one, other].map(|part| scope.spawn(move || count(part)));
        threads.map(|thread| thread.join().unwrap()).iter().sum()
    });
    assert!(
        killed > MOMENTS / 2,
        "only {killed} were killed before their end"
    );
}
