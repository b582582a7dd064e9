//! How a process and all that it started come to an end.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::thread;

use placet_engine::contain::{ContainError, Ending, Ran};
use placet_engine::stop::Halt;
use placet_ledger::containment::Part;

use super::Place;
use super::place::{runtime, text};

/// Ways in which this machine, or a lesser one, ends processes.
pub(crate) fn places() -> Vec<Place> {
    vec![
        Place::new(),
        Place::without([Part::Processes]),
        Place::without([Part::Mounts]),
        Place::without(Part::ALL),
    ]
}

/// Reads a pipe until every process that could write to it has ended.
pub(crate) fn until_all_ended(mut pipe: impl Read) {
    let mut rest = Vec::new();
    pipe.read_to_end(&mut rest).unwrap();
}

/// Runs a script that says in a pipe when it is ready, and raises a wish then.
fn stopped(place: &Place, script: &str, raise: fn(&Halt)) -> Ran {
    let pipe = place.pipe();
    let halt = Halt::default();
    let wish = halt.clone();
    let reader = thread::spawn(move || {
        let mut pipe = BufReader::new(File::open(pipe).unwrap());
        let mut line = String::new();
        pipe.read_line(&mut line).unwrap();
        raise(&wish);
        until_all_ended(pipe);
    });
    let ran = runtime().block_on(place.container.run(&place.shell(script), &halt));
    reader.join().unwrap();
    ran.unwrap()
}

#[test]
fn a_program_tells_how_it_ended() {
    for place in places() {
        for (script, ending) in [
            ("exit 0", Ending::Exited(0)),
            ("exit 3", Ending::Exited(3)),
            ("kill -9 $$", Ending::Signalled(9)),
            ("kill -15 $$", Ending::Signalled(15)),
            ("kill -9 0", Ending::Signalled(9)),
        ] {
            assert_eq!(place.run(&place.shell(script)).ending, ending, "{script}");
        }
    }
}

#[test]
fn what_a_program_leaves_behind_is_ended_and_counted() {
    for place in places() {
        let pipe = place.pipe();
        let reader = thread::spawn(|| until_all_ended(File::open(pipe).unwrap()));
        // A daemon: its own session, its parent gone, its output still open.
        let ran = place.run(&place.shell(
            "exec 3> pipe; (setsid sh -c 'trap \"\" TERM HUP; sleep 1000; sleep 1000' &) ; echo ok",
        ));
        reader.join().unwrap();
        assert_eq!(
            (ran.ending, text(&ran.stdout.head)),
            (Ending::Exited(0), "ok\n".into())
        );
        assert!(ran.ended >= 1, "{ran:?}");
        assert_eq!(place.run(&place.shell("true")).ended, 0);
    }
}

#[test]
fn a_program_that_takes_too_long_is_asked_and_then_killed() {
    for place in places() {
        let mut polite = place.shell("trap 'echo bye; exit 7' TERM; while :; do sleep 0.05; done");
        polite.limits.time_ms = 300;
        let ran = place.run(&polite);
        assert_eq!(
            (ran.ending, text(&ran.stdout.head)),
            (Ending::TimedOut, "bye\n".into())
        );
        let mut stubborn = place.shell("trap '' TERM; while :; do sleep 0.05; done");
        stubborn.limits.time_ms = 100;
        assert_eq!(place.run(&stubborn).ending, Ending::TimedOut);
    }
}

#[test]
fn a_wish_to_stop_is_heard() {
    for (place, raise) in places().iter().zip([
        (|halt: &Halt| halt.stop.raise()) as fn(&Halt),
        |halt| halt.cancel.raise(),
        |halt| halt.stop.raise(),
        |halt| halt.cancel.raise(),
    ]) {
        let script = "exec 3> pipe; trap 'echo bye; exit' TERM; (setsid sleep 1000 &); \
                      echo ready >&3; while :; do sleep 0.05; done";
        let ran = stopped(place, script, raise);
        assert_eq!(
            (ran.ending, text(&ran.stdout.head)),
            (Ending::Stopped, "bye\n".into())
        );
    }
}

#[test]
fn a_call_that_is_dropped_ends() {
    for place in places() {
        let pipe = place.pipe();
        let job = place.shell("exec 3> pipe; echo ready >&3; trap '' TERM; sleep 1000");
        let halt = Halt::default();
        runtime()
            .block_on(async {
                let reader = tokio::task::spawn_blocking(move || {
                    let mut pipe = BufReader::new(File::open(pipe).unwrap());
                    let mut line = String::new();
                    pipe.read_line(&mut line).unwrap();
                    pipe
                });
                tokio::select! {
                    ran = place.container.run(&job, &halt) => panic!("{ran:?}"),
                    pipe = reader => {
                        // The other branch is dropped when this one is done.
                        thread::spawn(|| until_all_ended(pipe.unwrap()))
                    }
                }
            })
            .join()
            .unwrap();
    }
}

#[test]
fn a_program_cannot_end_what_watches_over_it() {
    let place = Place::new();
    if !place.has(Part::Processes) && !place.has(Part::Landlock) {
        return;
    }
    let ran = place
        .run(&place.shell(
            "kill -9 $PPID 2>/dev/null; kill -9 -1 2>/dev/null; sleep 0.1; echo still here",
        ));
    // The shell is among those whom the second one reaches, or is not.
    let fine = ran.ending == Ending::Signalled(9) || text(&ran.stdout.head) == "still here\n";
    assert!(fine, "{ran:?}");
}

#[test]
fn nothing_runs_where_the_profile_fails() {
    let place = Place::new();
    let mut job = place.shell("echo x > ran");
    job.workspace = PathBuf::from("/nowhere");
    assert!(matches!(place.try_run(&job), Err(ContainError::Setup(_))));
    let mut job = place.job(&["/bin/sh"]);
    job.program = PathBuf::from("/nowhere/program");
    assert!(matches!(place.try_run(&job), Err(ContainError::Setup(_))));
    let mut job = place.shell("echo x > ran");
    job.workspace = PathBuf::from("/");
    assert!(matches!(place.try_run(&job), Err(ContainError::Setup(_))));
    assert!(!place.path("work/ran").exists());
    assert!(!job.mark.exists());
}
