//! `kill -9` at a hundred moments of a real run, each the n-th time that some thread enters some
//! system call: not one depends on how fast the machine is.
//!
//! Windows W1, W2, W18, W20 to W22, W26 and W31 of the event format's table are among them, with
//! real files; where an approver is killed, W14 and W15.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

use placet_ledger::event::{ApprovalGranted, Event, Settlement};
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

/// How many of an answer there are.
const APPROVER_MOMENTS: usize = 32;

/// A moment: the n-th time that a thread enters this call.
pub(super) type Moment = (&'static str, usize);

/// Under strace, which kills it at this moment.
pub(super) fn killed_at(moment: Moment, program: &Command) -> Option<i32> {
    output_until(moment, program).status.code()
}

/// The same, with what it said until then.
pub(super) fn output_until((call, number): Moment, program: &Command) -> Output {
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
    strace.output().unwrap()
}

/// So many moments of a program that nobody kills, spread evenly over all that enter these calls.
pub(super) fn moments(
    root: &Path,
    program: &Command,
    calls: &[&'static str],
    wanted: usize,
) -> Vec<Moment> {
    let trace = root.join("trace");
    let mut strace = Command::new("strace");
    strace
        .args([
            "-f",
            "-qq",
            "-e",
            &format!("trace={}", calls.join(",")),
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
    strace.output().unwrap();
    let mut counts: BTreeMap<(String, &str), usize> = BTreeMap::new();
    for line in fs::read_to_string(trace).unwrap().lines() {
        let (thread, call) = line.split_once(' ').unwrap();
        let entered = |name: &&&str| {
            let rest = call.trim().strip_prefix(**name);
            rest.is_some_and(|rest| rest.starts_with('('))
        };
        if let Some(name) = calls.iter().find(entered) {
            *counts.entry((thread.to_owned(), name)).or_default() += 1;
        }
    }
    let mut all = Vec::new();
    for call in calls {
        let of_call = counts.iter().filter(|((_, name), _)| name == call);
        let most = of_call.map(|(_, count)| *count).max().unwrap_or(0);
        // What is loaded before the program begins tells nothing.
        let first = if *call == "openat" { 20 } else { 1 };
        all.extend((first..=most).map(|number| (*call, number)));
    }
    assert!(all.len() >= wanted, "it has only {} moments", all.len());
    (0..wanted)
        .map(|index| all[index * all.len() / wanted])
        .collect()
}

/// Every call took effect exactly once.
pub(super) fn assert_done_once(case: &str, place: &Place) {
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

/// Does something at every moment, on two threads, and counts how often it was killed in time.
pub(super) fn at_each(moments: &[Moment], kill: impl Fn(usize, Moment) -> bool + Sync) -> usize {
    let moments: Vec<_> = moments.iter().copied().enumerate().collect();
    let (one, other) = moments.split_at(moments.len() / 2);
    let count = |part: &[(usize, Moment)]| {
        part.iter()
            .filter(|(index, moment)| kill(*index, *moment))
            .count()
    };
    thread::scope(|scope| {
        let threads = [one, other].map(|part| scope.spawn(move || count(part)));
        threads.map(|thread| thread.join().unwrap()).iter().sum()
    })
}

#[test]
fn a_run_that_is_killed_at_any_of_a_hundred_moments_resumes_to_the_same_end() {
    let place = Place::new();
    let run = place.run(&["--approval-policy", "high-risk"]);
    let moments = moments(place.root(), &run, CALLS, MOMENTS);
    assert_eq!(place.files(), Place::files_after());
    let killed = at_each(&moments, kill_and_resume);
    assert!(
        killed > MOMENTS / 2,
        "only {killed} were killed before their end"
    );
}

/// A run whose first four calls wait, and how to approve them.
fn parked() -> (Place, String) {
    let place = Place::new();
    assert_eq!(
        place.run(&["--park"]).output().unwrap().status.code(),
        Some(2)
    );
    let run = place.the_run().unwrap();
    (place, run)
}

const FIRST_FOUR: [&str; 4] = ["c1", "c2", "c3", "c4"];

/// How many calls a person has approved.
fn approved(place: &Place) -> usize {
    let by_person =
        |event: &Event| matches!(event, Event::ApprovalGranted(ApprovalGranted::ByPerson(_)));
    place
        .log()
        .iter()
        .filter(|record| by_person(record.event()))
        .count()
}

/// Kills whoever approves at this moment; whatever is left goes on to the same end.
fn kill_the_approver(_: usize, moment: Moment) -> bool {
    let case = format!("{moment:?}");
    let (place, run) = parked();
    let approve = [&["runs", "approve", &run][..], &FIRST_FOUR].concat();
    let killed = killed_at(moment, &placet(&place, &approve)).is_none();
    let answered = approved(&place);
    assert!(
        [0, 4].contains(&answered),
        "{case}: {answered} of 4 verdicts are there"
    );
    let again = placet(&place, &approve).output().unwrap().status.code();
    // It parks at the second batch, unless the verdicts were there before.
    assert_eq!(again, Some(if answered == 0 { 2 } else { 5 }), "{case}");
    let resumed = placet(&place, &["runs", "resume", &run]).output().unwrap();
    assert_eq!(resumed.status.code(), Some(2), "{case}");
    let last = placet(&place, &["runs", "approve", &run, "c5", "c6"])
        .output()
        .unwrap();
    assert_eq!(last.status.code(), Some(0), "{case}");
    assert_eq!(place.files(), Place::files_after(), "{case}");
    assert_done_once(&case, &place);
    assert!(place.verify().ok, "{case}");
    killed
}

#[test]
fn an_approver_that_is_killed_leaves_all_verdicts_or_none_and_a_run_that_goes_on() {
    let (place, run) = parked();
    let approve = [&["runs", "approve", &run][..], &FIRST_FOUR].concat();
    let moments = moments(
        place.root(),
        &placet(&place, &approve),
        CALLS,
        APPROVER_MOMENTS,
    );
    let killed = at_each(&moments, kill_the_approver);
    assert!(
        killed > APPROVER_MOMENTS / 2,
        "only {killed} were killed before their end"
    );
}
