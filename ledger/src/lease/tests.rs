//! Leases between threads and processes: one winner, no stranger ended, nothing left behind.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::*;

/// Names the folder to a process that one of these tests starts.
const FOLDER: &str = "PLACET_TEST_LEASES";
/// What it is to do there.
const ROLE: &str = "PLACET_TEST_ROLE";

fn run() -> RunId {
    RunId::new("b3e41f00-0000-4000-8000-000000000001".parse().unwrap())
}

fn is_held(claimed: Result<Lease, ClaimError>) -> Held {
    match claimed {
        Err(ClaimError::Held(held)) => held,
        other => panic!("not held: {other:?}"),
    }
}

/// Another process, which does what its role says and then waits until it is let go.
struct Other {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Drop for Other {
    fn drop(&mut self) {
        drop(self.stdin.take());
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Other {
    #[expect(clippy::disallowed_methods, reason = "a process of the test")]
    fn start(folder: &Path, role: &str) -> Self {
        Self::started(Command::new(std::env::current_exe().unwrap()), folder, role)
    }

    /// One that does not hear that it is asked to end.
    #[expect(clippy::disallowed_methods, reason = "a process of the test")]
    fn start_deaf(folder: &Path) -> Self {
        let mut shell = Command::new("sh");
        let program = std::env::current_exe().unwrap();
        shell.args(["-c", "trap '' TERM; exec \"$0\" \"$@\""]);
        shell.arg(program);
        Self::started(shell, folder, "claim")
    }

    fn started(mut command: Command, folder: &Path, role: &str) -> Self {
        let mut child = command
            .args(["--exact", "lease::tests::other_process", "--nocapture"])
            .args(["--test-threads", "1"])
            .env(FOLDER, folder)
            .env(ROLE, role)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            stdin,
            stdout,
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap()
    }

    /// The next thing that it says.
    fn says(&mut self) -> String {
        loop {
            let mut line = String::new();
            let read = self.stdout.read_line(&mut line).unwrap();
            assert!(read > 0, "it ended without a word");
            if let Some((_, said)) = line.split_once("lease: ") {
                return said.trim_end().to_owned();
            }
        }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// What the other processes of these tests run; by itself it starts one and asks it.
#[test]
#[expect(clippy::disallowed_methods, reason = "a process of the test")]
fn other_process() {
    let (Ok(folder), Ok(role)) = (std::env::var(FOLDER), std::env::var(ROLE)) else {
        let folder = tempfile::tempdir().unwrap();
        let mut other = Other::start(folder.path(), "claim");
        assert_eq!(other.says(), "claimed");
        return;
    };
    let folder = Path::new(&folder);
    let mut rest = String::new();
    match role.as_str() {
        "claim" => {
            let claimed = claim(folder, run());
            let said = match &claimed {
                Ok(_) => "claimed",
                Err(ClaimError::Held(_)) => "held",
                Err(ClaimError::File { .. }) => "failed",
            };
            println!("lease: {said}");
            io::stdin().read_to_string(&mut rest).unwrap();
        }
        "wait" => {
            println!("lease: waiting");
            io::stdin().read_to_string(&mut rest).unwrap();
        }
        "claim and start" => {
            let _lease = claim(folder, run()).unwrap();
            let mut child = Command::new(std::env::current_exe().unwrap());
            child
                .args(["--exact", "lease::tests::other_process", "--nocapture"])
                .args(["--test-threads", "1"])
                .env(ROLE, "wait");
            child.spawn().unwrap().wait().unwrap();
        }
        other => panic!("no such role: {other}"),
    }
}

#[test]
fn a_lease_is_held_until_it_is_dropped_and_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("driving");
    assert_eq!(who(&folder, run()).unwrap(), None);
    let lease = claim(&folder, run()).unwrap();
    let own = Held {
        by: Some(Process::own().unwrap()),
    };
    assert_eq!(who(&folder, run()).unwrap(), Some(own.clone()));
    assert_eq!(is_held(claim(&folder, run())), own);
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join(run().to_string())), 0o600);
    let other = RunId::new(uuid::Uuid::from_u128(7));
    drop(claim(&folder, other).unwrap());
    drop(lease);
    assert_eq!(who(&folder, run()).unwrap(), None);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn what_nobody_holds_is_free_whatever_it_says() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(run().to_string());
    let own = serde_json::to_string(&Process::own().unwrap()).unwrap();
    for said in ["", "{", "no process", &own, &"x".repeat(100_000)] {
        fs::write(&path, said).unwrap();
        assert_eq!(who(home.path(), run()).unwrap(), None);
        let lease = claim(home.path(), run()).unwrap();
        let by = Some(Process::own().unwrap());
        assert_eq!(who(home.path(), run()).unwrap(), Some(Held { by }));
        drop(lease);
        assert!(!path.exists());
    }
}

#[test]
fn a_holder_that_does_not_say_who_it_is_holds_all_the_same() {
    let home = tempfile::tempdir().unwrap();
    let lease = claim(home.path(), run()).unwrap();
    fs::write(home.path().join(run().to_string()), "no process").unwrap();
    let unnamed = Held { by: None };
    assert_eq!(who(home.path(), run()).unwrap(), Some(unnamed.clone()));
    assert_eq!(is_held(claim(home.path(), run())), unnamed);
    let taken = take_over(home.path(), run());
    assert!(
        matches!(
            taken,
            Err(TakeOverError::CannotEnd {
                source: EndError::Unnamed,
                ..
            })
        ),
        "{taken:?}"
    );
    drop(lease);
    drop(claim(home.path(), run()).unwrap());
}

#[test]
fn a_link_is_not_followed() {
    let home = tempfile::tempdir().unwrap();
    let target = home.path().join("elsewhere");
    fs::write(&target, "kept").unwrap();
    std::os::unix::fs::symlink(&target, home.path().join(run().to_string())).unwrap();
    let claimed = claim(home.path(), run());
    assert!(
        matches!(claimed, Err(ClaimError::File { .. })),
        "{claimed:?}"
    );
    assert!(who(home.path(), run()).is_err());
    assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
}

#[test]
fn of_fifty_threads_one_wins_and_never_two_hold_it() {
    const THREADS: usize = 50;
    let home = Arc::new(tempfile::tempdir().unwrap());
    let (together, inside) = (
        Arc::new(Barrier::new(THREADS)),
        Arc::new(AtomicUsize::new(0)),
    );
    let threads = (0..THREADS).map(|_| {
        let (home, together, inside) = (home.clone(), together.clone(), inside.clone());
        std::thread::spawn(move || {
            together.wait();
            let first = claim(home.path(), run());
            let won = first.is_ok();
            // Everybody has tried before anybody lets go.
            together.wait();
            drop(first);
            // From now on they hand it from one to another, and its file comes and goes.
            for _ in 0..20 {
                match claim(home.path(), run()) {
                    Ok(_lease) => {
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two hold it");
                        std::thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                    Err(ClaimError::Held(_)) => {}
                    Err(error) => panic!("{error:?}"),
                }
                who(home.path(), run()).unwrap();
            }
            won
        })
    });
    let threads: Vec<_> = threads.collect();
    let won = threads.into_iter().map(|thread| thread.join().unwrap());
    assert_eq!(won.filter(|won| *won).count(), 1);
    assert_eq!(who(home.path(), run()).unwrap(), None);
}

#[test]
fn of_several_processes_one_wins() {
    let home = tempfile::tempdir().unwrap();
    let others = (0..6).map(|_| Other::start(home.path(), "claim"));
    let mut others: Vec<_> = others.collect();
    let said: Vec<_> = others.iter_mut().map(Other::says).collect();
    let winners: Vec<_> = (0..said.len())
        .filter(|&at| said[at] == "claimed")
        .collect();
    assert_eq!(winners.len(), 1, "{said:?}");
    assert_eq!(said.iter().filter(|said| *said == "held").count(), 5);
    let winner = &mut others[winners[0]];
    let held = is_held(claim(home.path(), run()));
    assert_eq!(held.by.unwrap().pid(), winner.pid().as_raw_pid());
    // A driver that is killed holds nothing any more, and its file says what is not so.
    winner.kill();
    assert!(home.path().join(run().to_string()).exists());
    assert_eq!(who(home.path(), run()).unwrap(), None);
    drop(claim(home.path(), run()).unwrap());
}

#[test]
fn what_a_driver_started_does_not_keep_its_lease() {
    let home = tempfile::tempdir().unwrap();
    let mut other = Other::start(home.path(), "claim and start");
    assert_eq!(other.says(), "waiting");
    assert!(who(home.path(), run()).unwrap().is_some());
    // What it started has its input from here and goes on.
    other.kill();
    assert_eq!(who(home.path(), run()).unwrap(), None);
    drop(claim(home.path(), run()).unwrap());
}

#[test]
fn a_stopped_driver_is_alive_and_can_be_taken_over() {
    let home = tempfile::tempdir().unwrap();
    let mut other = Other::start(home.path(), "claim");
    assert_eq!(other.says(), "claimed");
    kill_process(other.pid(), Signal::STOP).unwrap();
    let by = is_held(claim(home.path(), run())).by.unwrap();
    assert_eq!(by.pid(), other.pid().as_raw_pid());
    let lease = take_over(home.path(), run()).unwrap();
    // It had been asked before it was killed.
    let ended = other.child.wait().unwrap();
    let signal = std::os::unix::process::ExitStatusExt::signal(&ended);
    assert_eq!(signal, Some(Signal::TERM.as_raw()));
    assert!(
        who(home.path(), run())
            .unwrap()
            .unwrap()
            .by
            .unwrap()
            .is_own()
    );
    drop(lease);
}

#[test]
fn a_driver_that_does_not_listen_is_killed() {
    let home = tempfile::tempdir().unwrap();
    let mut other = Other::start_deaf(home.path());
    assert_eq!(other.says(), "claimed");
    let lease = take_over(home.path(), run()).unwrap();
    let ended = other.child.wait().unwrap();
    let signal = std::os::unix::process::ExitStatusExt::signal(&ended);
    assert_eq!(signal, Some(Signal::KILL.as_raw()));
    drop(lease);
}

/// What the file of a run says, with one thing changed.
fn changed(home: &Path, name: &str, value: Value) -> String {
    let path = home.join(run().to_string());
    let mut said: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    said[name] = value;
    said.to_string()
}

#[test]
fn a_pid_that_another_process_has_now_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let mut other = Other::start(home.path(), "claim");
    assert_eq!(other.says(), "claimed");
    // As if a driver had died, and this process had got its pid.
    let earlier = changed(home.path(), "start", json!(1));
    let earlier: Process = serde_json::from_str(&earlier).unwrap();
    assert_eq!(earlier.pid(), other.pid().as_raw_pid());
    earlier.end().unwrap();
    let said = serde_json::to_string(&earlier).unwrap();
    fs::write(home.path().join(run().to_string()), said).unwrap();
    let taken = take_over(home.path(), run());
    assert!(
        matches!(
            taken,
            Err(TakeOverError::CannotEnd {
                source: EndError::Stays,
                ..
            })
        ),
        "{taken:?}"
    );
    assert!(other.child.try_wait().unwrap().is_none(), "it was hit");
}

#[test]
fn what_cannot_be_ended_from_here_is_not_touched() {
    let home = tempfile::tempdir().unwrap();
    let mut other = Other::start(home.path(), "claim");
    assert_eq!(other.says(), "claimed");
    let path = home.path().join(run().to_string());
    let uid = rustix::process::geteuid().as_raw();
    for (name, value, why) in [
        ("boot", json!("another"), "it runs on another machine"),
        (
            "namespace",
            json!("pid:[1]"),
            "it runs in another process namespace, such as a container's",
        ),
        (
            "uid",
            json!(uid.wrapping_add(1)),
            &*format!("it runs as the user {}", uid.wrapping_add(1)),
        ),
    ] {
        let before = fs::read(&path).unwrap();
        fs::write(&path, changed(home.path(), name, value)).unwrap();
        match take_over(home.path(), run()) {
            Err(TakeOverError::CannotEnd { source, .. }) => assert_eq!(source.to_string(), why),
            other => panic!("{other:?}"),
        }
        assert!(other.child.try_wait().unwrap().is_none(), "{name}");
        fs::write(&path, before).unwrap();
    }
    drop(other);
    // Of a driver that is dead nothing has to be ended.
    drop(take_over(home.path(), run()).unwrap());
    // The driver that asks is not ended by itself.
    let lease = claim(home.path(), run()).unwrap();
    match take_over(home.path(), run()) {
        Err(TakeOverError::CannotEnd { source, .. }) => {
            assert!(matches!(source, EndError::Own));
        }
        other => panic!("{other:?}"),
    }
    drop(lease);
}
