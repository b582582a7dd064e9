//! What happens to a program that uses too much.

use placet_engine::clock::SystemClock;
use placet_engine::contain::Ending;
use placet_ledger::clock::Clock;
use placet_ledger::containment::Part;
use rustix::process::{Resource, getrlimit};

use super::Place;
use super::place::text;

#[test]
fn a_hog_is_killed() {
    let place = Place::new();
    let program = place.attempts();
    let mut job = place.job(&[&program, "hog", "4000"]);
    job.limits.memory_bytes = 100 << 20;
    assert_eq!(place.run(&job).ending, Ending::OverMemory);
    // Shared by many, what each can see of it is still there only once.
    let script = format!("for i in 1 2 3 4 5 6 7 8; do {program} hog 20 & done; sleep 1; kill %1");
    let mut job = place.shell(&script);
    job.limits.memory_bytes = 100 << 20;
    assert_eq!(place.run(&job).ending, Ending::OverMemory);
}

#[test]
fn a_program_below_its_limit_is_left_alone() {
    let place = Place::new();
    let program = place.attempts();
    let mut job = place.shell(&format!("{program} hog 60 & sleep 0.5; kill $!; echo done"));
    job.limits.memory_bytes = 200 << 20;
    let ran = place.run(&job);
    assert_eq!(
        (ran.ending, text(&ran.stdout.head)),
        (Ending::Exited(0), "done\n".into())
    );
}

#[test]
fn processes_are_bounded_and_the_machine_goes_on() {
    let place = Place::new();
    let bound = std::fs::read("/proc/sys/kernel/pid_max").unwrap();
    let program = place.attempts();
    let mut job = place.job(&[&program, "fork", "5000"]);
    job.limits.processes = 40;
    let ran = place.run(&job);
    // Either the kernel refused the one too many, or the watcher saw it.
    match ran.ending {
        Ending::OverProcesses => {}
        Ending::Exited(0) if place.has(Part::Limits) => {
            let said = text(&ran.stdout.head);
            let forked = said.trim().strip_prefix("forked ").unwrap();
            assert!(forked.parse::<u32>().unwrap() < 400, "{said}");
        }
        ending => assert!(!place.has(Part::Limits), "{ending:?}"),
    }
    assert_eq!(std::fs::read("/proc/sys/kernel/pid_max").unwrap(), bound);
}

#[test]
fn a_bomb_of_forks_ends_with_the_call() {
    let place = Place::new();
    if !place.has(Part::Limits) || !place.has(Part::Processes) {
        return;
    }
    let mut job = place.shell("b() { b | b & }; b; sleep 30");
    job.limits.processes = 60;
    job.limits.time_ms = 5_000;
    let ran = place.run(&job);
    assert!(
        matches!(
            ran.ending,
            Ending::OverProcesses | Ending::TimedOut | Ending::Exited(_)
        ),
        "{:?}",
        ran.ending
    );
    assert_eq!(place.says("echo alive"), "alive");
}

#[test]
#[expect(
    clippy::host_endian_bytes,
    reason = "a program of this machine wrote them"
)]
fn a_bomb_that_hears_nothing_ends_at_once() {
    let place = Place::new();
    if !place.has(Part::Limits) || !place.has(Part::Processes) {
        return;
    }
    let program = place.attempts();
    let mut job = place.job(&[&program, "bomb"]);
    job.limits.processes = 512;
    job.limits.time_ms = 500;
    let ended = place.run(&job);
    let alive = std::fs::read(place.path("work/alive")).unwrap();
    let [first, last] = [&alive[..8], &alive[8..]].map(|at| {
        let bytes = at.try_into().unwrap();
        u64::from_ne_bytes(bytes)
    });
    // Killed one by one they come back until that is given up, after ten seconds and more.
    assert!(last - first < 8_000, "{last} {first} {ended:?}");
    assert!(
        matches!(ended.ending, Ending::OverProcesses | Ending::TimedOut),
        "{ended:?}"
    );
    assert!(ended.ended > 0, "{ended:?}");
}

#[test]
fn no_core_is_left_and_nobody_is_started_to_take_one() {
    let place = Place::new();
    let held = getrlimit(Resource::Core).maximum;
    if held == Some(0) {
        return;
    }
    let limits = place.says("grep 'Max core' /proc/self/limits");
    let words: Vec<_> = limits.split_whitespace().collect();
    assert_eq!(words, ["Max", "core", "file", "size", "1", "1", "bytes"]);
    if !place.has(Part::Syscalls) {
        return;
    }
    let said = place.attempt(&["cores"]);
    let expected = "setrlimit 0\nprlimit 0\nprlimit_old 1\nsetrlimit_call 0\n\
                    prlimit_read 0\nlimit 1 1\nfiles 0\n";
    assert_eq!(said, expected);
}

#[test]
fn the_time_of_a_program_begins_with_it() {
    let place = Place::new();
    if !place.has(Part::Mounts) {
        return;
    }
    // More to mount than can be done in the time that the program has.
    let mut job = place.shell("echo hi");
    for number in 0..4_000 {
        let file = place.path(&format!("work/d{}/f{number}", number % 50));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "x").unwrap();
        job.read_only.push(file);
    }
    let began = SystemClock.monotonic_ms();
    assert_eq!(place.run(&job).ending, Ending::Exited(0));
    let took = SystemClock.monotonic_ms() - began;
    job.limits.time_ms = took / 2;
    let ran = place.run(&job);
    assert_eq!(ran.ending, Ending::Exited(0), "{took}");
}

#[test]
fn a_file_is_cut_off_at_its_limit() {
    let place = Place::new();
    let mut job = place.shell("exec head -c 2000000 /dev/zero > big");
    job.limits.file_bytes = 1_000_000;
    assert_eq!(place.run(&job).ending, Ending::Signalled(25));
    assert_eq!(
        std::fs::metadata(place.path("work/big")).unwrap().len(),
        1_000_000
    );
}

#[test]
fn of_a_long_output_both_ends_are_kept() {
    let place = Place::new();
    let mut job = place
        .shell("echo begin; head -c 10000000 /dev/zero | tr '\\0' x; echo end; echo complaint >&2");
    job.limits.head_bytes = 1_000;
    job.limits.tail_bytes = 2_000;
    let ran = place.run(&job);
    assert_eq!(ran.ending, Ending::Exited(0));
    assert_eq!(
        (ran.stdout.head.len(), ran.stdout.tail.len()),
        (1_000, 2_000)
    );
    assert_eq!(ran.stdout.cut, 10_000_000 + 6 + 4 - 3_000);
    assert!(ran.stdout.head.starts_with(b"begin\nxxx"));
    assert!(ran.stdout.tail.ends_with(b"xxxend\n"));
    assert_eq!(ran.stderr.head, b"complaint\n");
}

#[test]
fn memory_that_is_shared_counts() {
    for place in [Place::new(), Place::without(Part::ALL)] {
        let program = place.attempts();
        for how in ["share", "memfd"] {
            let mut job = place.job(&[&program, how, "200"]);
            job.limits.memory_bytes = 64 << 20;
            job.limits.file_bytes = 1 << 30;
            assert_eq!(place.run(&job).ending, Ending::OverMemory, "{how}");
            // What it holds is below the limit.
            let mut job = place.shell(&format!("{program} {how} 40 & sleep 0.5; kill $!; echo ok"));
            job.limits.memory_bytes = 64 << 20;
            let ran = place.run(&job);
            assert_eq!(text(&ran.stdout.head), "ok\n", "{how} {ran:?}");
        }
    }
}

#[test]
fn temporary_files_count_as_memory() {
    let place = Place::new();
    if !place.has(Part::Mounts) {
        return;
    }
    let fill = "head -c 40000000 /dev/zero > $TMPDIR/x";
    let mut job = place.shell(&format!("{fill}; cat $TMPDIR/x > /dev/shm/y; sleep 1000"));
    job.limits.memory_bytes = 64 << 20;
    assert_eq!(place.run(&job).ending, Ending::OverMemory);
    let mut job = place.shell(&format!("{fill}; sleep 0.2; echo ok"));
    job.limits.memory_bytes = 64 << 20;
    assert_eq!(text(&place.run(&job).stdout.head), "ok\n");
}

#[test]
fn what_runs_inside_comes_last() {
    use rustix::process::getpriority_process;
    let own = getpriority_process(None).unwrap();
    for place in [Place::new(), Place::without(Part::ALL)] {
        let said = place.says("nice; nice -n -5 nice 2>/dev/null");
        let nicer = (own + 10).min(19);
        assert_eq!(said, format!("{nicer}\n{nicer}"));
    }
}
