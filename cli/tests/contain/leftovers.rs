//! What a killed driver leaves behind, and how the next one ends it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use placet_engine::contain::{ContainError, end_leftovers};
use placet_engine::leases::{FileLeases, Leases};
use placet_engine::stop::Halt;
use placet_ledger::containment::Part;
use placet_ledger::id::RunId;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::Place;
use super::ends::until_all_ended;
use super::place::runtime;

/// Names the pipe to a copy of these tests that plays a driver.
const PIPE: &str = "PLACET_TEST_PIPE";
/// Names the parts that it does without.
const WITHOUT: &str = "PLACET_TEST_WITHOUT";

/// Says when it is ready, and never ends.
const STUBBORN: &str = "exec 3> pipe; trap '' TERM HUP; \
                        (setsid sh -c 'trap \"\" TERM; sleep 1000' &); \
                        echo ready >&3; sleep 1000";

/// The driver, in a process of its own: runs what never ends. As a test it does nothing.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the environment tells the copy from the test"
)]
fn driver() {
    let Ok(mark) = std::env::var(PIPE) else {
        return;
    };
    let without: Vec<Part> = serde_json::from_str(&std::env::var(WITHOUT).unwrap()).unwrap();
    let place = Place::without(without);
    let mark = PathBuf::from(mark);
    let mut job = place.shell(STUBBORN);
    job.workspace = mark.parent().unwrap().parent().unwrap().join("work");
    job.read_only = Vec::new();
    job.mark = mark;
    let ran = runtime().block_on(place.container.run(&job, &Halt::default()));
    panic!("{ran:?}");
}

/// The watcher that a mark names.
fn watcher(mark: &Path) -> Pid {
    let mark: Value = serde_json::from_slice(&fs::read(mark).unwrap()).unwrap();
    Pid::from_raw(i32::try_from(mark["pid"].as_i64().unwrap()).unwrap()).unwrap()
}

/// A driver whose process is ready, its mark, and the pipe that tells of the end of all.
struct Driven {
    driver: Child,
    mark: PathBuf,
    pipe: BufReader<File>,
}

impl Driven {
    #[expect(clippy::disallowed_methods, reason = "a driver that can be killed")]
    fn start(place: &Place, without: &[Part]) -> Self {
        let pipe = place.pipe();
        let mark = place.path("running/run-call");
        let driver = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "contain::leftovers::driver", "--nocapture"])
            .env(PIPE, &mark)
            .env(WITHOUT, serde_json::to_string(without).unwrap())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut pipe = BufReader::new(File::open(pipe).unwrap());
        let mut line = String::new();
        pipe.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self { driver, mark, pipe }
    }

    fn watcher(&self) -> Pid {
        watcher(&self.mark)
    }

    fn kill_driver(&mut self) {
        self.driver.kill().unwrap();
        self.driver.wait().unwrap();
    }
}

#[test]
fn everything_ends_with_a_killed_driver() {
    for without in [&[][..], &[Part::Processes], &[Part::Mounts], &Part::ALL] {
        let place = Place::new();
        let mut driven = Driven::start(&place, without);
        driven.kill_driver();
        until_all_ended(driven.pipe);
        end_leftovers(&place.path("running")).unwrap();
        assert!(!driven.mark.exists());
    }
}

#[test]
fn a_new_driver_ends_what_an_old_one_left() {
    for without in [&[][..], &[Part::Processes], &Part::ALL] {
        let place = Place::new();
        let mut driven = Driven::start(&place, without);
        // The watcher hears of nothing, so only the mark can help.
        kill_process(driven.watcher(), Signal::STOP).unwrap();
        driven.kill_driver();
        assert!(end_leftovers(&place.path("running")).unwrap());
        until_all_ended(driven.pipe);
        assert!(!driven.mark.exists());
        assert!(!end_leftovers(&place.path("running")).unwrap());
        assert!(!end_leftovers(&driven.mark).unwrap());
    }
}

#[test]
fn whoever_claims_a_run_ends_what_any_of_its_calls_left() {
    let place = Place::new();
    let run = RunId::new(uuid::Uuid::from_u128(1));
    let other = RunId::new(uuid::Uuid::from_u128(2));
    let leases = FileLeases {
        driving: place.path("driving"),
        running: place.path("running"),
    };
    let mut driven = Driven::start(&place, &[]);
    kill_process(driven.watcher(), Signal::STOP).unwrap();
    driven.kill_driver();
    let mark = place.path(&format!("running/{run}-c7"));
    fs::rename(&driven.mark, &mark).unwrap();
    let runtime = runtime();
    drop(runtime.block_on(leases.claim(other)).unwrap());
    assert!(mark.exists(), "it is no mark of that run");
    let claimed = runtime.block_on(leases.claim(run)).unwrap();
    until_all_ended(driven.pipe);
    assert!(!mark.exists());
    drop(claimed);
}

#[test]
fn the_end_of_the_watcher_is_the_end_of_its_namespace() {
    let place = Place::new();
    if !place.has(Part::Processes) {
        return;
    }
    let driven = Driven::start(&place, &[]);
    kill_process(driven.watcher(), Signal::KILL).unwrap();
    until_all_ended(driven.pipe);
}

#[test]
fn a_driver_ends_what_its_killed_watcher_left() {
    for without in [&[][..], &[Part::Processes], &[Part::Mounts], &Part::ALL] {
        let place = Place::without(without.iter().copied());
        let (pipe, job) = (place.pipe(), place.shell(STUBBORN));
        let mark = job.mark.clone();
        let reader = thread::spawn(move || {
            let mut pipe = BufReader::new(File::open(pipe).unwrap());
            let mut line = String::new();
            pipe.read_line(&mut line).unwrap();
            kill_process(watcher(&mark), Signal::KILL).unwrap();
            pipe
        });
        let error = place.try_run(&job).unwrap_err();
        assert!(matches!(error, ContainError::Lost), "{error:?} {without:?}");
        assert!(!job.mark.exists(), "{without:?}");
        until_all_ended(reader.join().unwrap());
    }
}

#[test]
fn what_a_killed_watcher_leaves_is_found() {
    let place = Place::new();
    for without in [&[Part::Processes][..], &Part::ALL] {
        let mut driven = Driven::start(&place, without);
        // Or it would end what is left itself.
        let driver = Pid::from_child(&driven.driver);
        kill_process(driver, Signal::STOP).unwrap();
        kill_process(driven.watcher(), Signal::KILL).unwrap();
        driven.kill_driver();
        assert!(end_leftovers(&place.path("running")).unwrap());
        until_all_ended(driven.pipe);
        assert!(!driven.mark.exists());
        fs::remove_file(place.path("work/pipe")).unwrap();
    }
}

/// A mark as this process would have it, with one thing changed.
fn mark(path: &Path, change: &str, to: Value) {
    let own = std::process::id();
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let after = stat.rsplit_once(") ").unwrap().1;
    let start: u64 = after.split(' ').nth(19).unwrap().parse().unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let mut mark = json!({
        "pid": own,
        "start": start,
        "boot": boot.trim_end(),
        "namespace": fs::read_link("/proc/self/ns/pid").unwrap(),
        "temporary": "/tmp/placet-test-none",
    });
    mark[change] = to;
    fs::write(path, mark.to_string()).unwrap();
}

#[test]
fn a_mark_ends_no_process_that_it_does_not_name() {
    let place = Place::new();
    let path = place.path("running/old");
    // These name this very process, which would end if they were believed.
    for (change, to) in [("start", json!(1)), ("boot", json!("another"))] {
        mark(&path, change, to);
        assert!(!end_leftovers(&path).unwrap(), "{change}");
        assert!(!path.exists(), "{change}");
    }
    mark(&path, "namespace", json!("pid:[1]"));
    assert!(end_leftovers(&path).is_err());
    fs::write(&path, "{").unwrap();
    assert!(end_leftovers(&path).is_err());
    assert!(path.exists());
}

#[test]
fn no_second_call_takes_a_mark_that_is_there() {
    let place = Place::new();
    let job = place.shell("echo x > ran");
    fs::write(&job.mark, "{}").unwrap();
    assert!(place.try_run(&job).is_err());
    assert!(!place.path("work/ran").exists());
    assert!(job.mark.exists());
}
