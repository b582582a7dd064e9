//! One approval round trip through the engine over a store on disk: a run starts, its model names
//! a call, the run parks; a person approves; the call is executed and the run ends.
//!
//! ```text
//! cargo bench -p placet-replay --features bench --bench approval -- [--quick] [--cycles N]
//!     [--rounds N] [--history K] [--dir FOLDER] [--json]
//! ```
//!
//! With `--json` a line for each mode, as the scripts of the peers print them (`peers.sh`).

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    missing_docs,
    reason = "a bench: it measures time, prints, and fails by panicking"
)]

mod cycle;
#[path = "../measure/mod.rs"]
mod measure;

use std::ops::Range;
use std::time::{Duration, Instant};

use measure::{Arguments, Spread, percentile, rate, short};

/// Runs that go through their cycles at once.
const RUNS_AT_ONCE: usize = 64;

#[derive(Debug, Clone, Copy)]
struct Asked {
    cycles: usize,
    rounds: usize,
    history: usize,
    json: bool,
}

fn main() {
    let arguments = Arguments::read();
    let quick = arguments.has("--quick");
    let asked = Asked {
        cycles: arguments
            .count("--cycles")
            .unwrap_or(if quick { 200 } else { 1_000 }),
        rounds: arguments
            .count("--rounds")
            .unwrap_or(if quick { 1 } else { 3 }),
        history: arguments.count("--history").unwrap_or(1_000),
        json: arguments.has("--json"),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let say = |text: String| {
        if !asked.json {
            println!("{text}");
        }
    };
    say(format!("{}\n", measure::load()));
    say(runtime.block_on(async {
        let folder = arguments.folder();
        let (appends, [first, last]) = cycle::appends(folder.path()).await;
        list(&appends, first..last)
    }));
    say(String::from(
        "| mode | cycles/s | p50 | p99 | disk a cycle |",
    ));
    say(String::from("|---|---|---|---|---|"));
    for (name, at_once) in [("sequential", 1), ("64 runs at once", RUNS_AT_ONCE)] {
        let mode = if at_once == 1 { "placet" } else { "placet-64" };
        let rounds: Vec<_> = (0..asked.rounds)
            .map(|_| {
                let folder = arguments.folder();
                let begun = Instant::now();
                let (mut waits, setup) =
                    runtime.block_on(cycle::cycles(folder.path(), asked.cycles, at_once));
                let taken = begun.elapsed().saturating_sub(setup);
                let disk = measure::bytes_below(folder.path());
                let round = Round::of(&mut waits, taken, disk);
                if asked.json {
                    println!("{}", round.json(mode));
                }
                round
            })
            .collect();
        let median = |of: fn(&Round) -> f64| Spread::of(rounds.iter().map(of)).median;
        let time = |of: fn(&Round) -> f64| short(Duration::from_secs_f64(median(of)));
        say(format!(
            "| {name} | {} | {} | {} | {:.1} KiB |",
            rate(median(|round| round.rate)),
            time(|round| round.p50.as_secs_f64()),
            time(|round| round.p99.as_secs_f64()),
            median(|round| round.disk as f64 / round.cycles as f64) / 1024.0,
        ));
    }
    let folder = arguments.folder();
    let history = runtime.block_on(cycle::history(folder.path(), asked.history));
    if asked.json {
        println!("{}", history.json());
    } else {
        println!("\n{}", history.text());
    }
}

/// The appends of a run with three approvals; those of its second one are marked.
fn list(appends: &[Vec<&str>], cycle: Range<usize>) -> String {
    let count = cycle.len();
    let first = format!("one approval is {count} durable appends, of the second of three (*):\n");
    let line = |(number, events): (usize, &Vec<&str>)| {
        let mark = if cycle.contains(&number) { "*" } else { " " };
        format!("{mark} {}. {}", number + 1, events.join(", "))
    };
    let lines = appends.iter().enumerate().map(line);
    let lines: Vec<_> = [first].into_iter().chain(lines).collect();
    lines.join("\n") + "\n"
}

struct Round {
    cycles: usize,
    rate: f64,
    p50: Duration,
    p99: Duration,
    disk: u64,
}

impl Round {
    fn of(waits: &mut [Duration], taken: Duration, disk: u64) -> Self {
        Self {
            cycles: waits.len(),
            rate: waits.len() as f64 / taken.as_secs_f64(),
            p50: percentile(waits, 0.5),
            p99: percentile(waits, 0.99),
            disk,
        }
    }

    fn json(&self, peer: &str) -> serde_json::Value {
        serde_json::json!({
            "peer": peer, "mode": "cycles", "n": self.cycles, "cycles_per_s": self.rate,
            "p50_ms": self.p50.as_secs_f64() * 1e3, "p99_ms": self.p99.as_secs_f64() * 1e3,
            "bytes_per_cycle": self.disk / self.cycles as u64,
        })
    }
}
