//! Real processes on one ledger, of which any may be killed at any moment, the owner among them:
//! four drive runs, two answer whatever waits, one verifies, one kills. In the end nothing that was
//! acknowledged is missing, nothing was executed twice, no run is stuck, and the ledger verifies.
//!
//! `PLACET_STRESS_S` says for how many seconds; without it ten runs are enough.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "processes of the person are started and timed here, and what comes of them is told"
)]

mod crowd;
mod ledger;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crowd::Crowd;

/// Runs that are started where no time is given.
const RUNS: usize = 10;

#[test]
fn processes_that_are_killed_lose_nothing_and_do_nothing_twice() {
    let seconds = std::env::var("PLACET_STRESS_S").ok();
    let until = seconds.map(|seconds| {
        let seconds = seconds
            .parse()
            .expect("PLACET_STRESS_S is a number of seconds");
        Instant::now() + Duration::from_secs(seconds)
    });
    let crowd = Arc::new(Crowd::new(until, RUNS));
    let mut threads = Vec::new();
    for number in 0..4 {
        let crowd = Arc::clone(&crowd);
        threads.push(thread::spawn(move || crowd.drive(number)));
    }
    let drivers = threads.split_off(0);
    for number in 0..2 {
        let crowd = Arc::clone(&crowd);
        threads.push(thread::spawn(move || crowd.answer(number)));
    }
    let verifying = Arc::clone(&crowd);
    threads.push(thread::spawn(move || verifying.verify()));
    let killing = Arc::clone(&crowd);
    threads.push(thread::spawn(move || killing.kill()));
    for driver in drivers {
        driver.join().unwrap();
    }
    crowd.say("nobody starts a run any more");
    crowd.over();
    for thread in threads {
        thread.join().unwrap();
    }
    crowd.finish_every_run();
    crowd.say("every run is finished");
    let held = ledger::Held::read(&crowd);
    held.nothing_acknowledged_is_missing(&crowd);
    held.nothing_was_executed_twice();
    held.effects_are_those_of_the_record(&crowd);
    assert_eq!(crowd.call(&["audit", "verify"]).code, Some(0));
    crowd.say(&crowd.tally(&held));
}
