//! One approval round trip through the engine over a store on disk: a run starts, its model names
//! a call, the run parks; a person approves; the call is executed and the run ends.
//!
//! ```text
//! cargo bench -p placet-replay --features bench --bench approval -- [--quick] [--cycles N]
//!     [--rounds N] [--history K] [--runs N] [--dir FOLDER] [--json]
//! ```
//!
//! With `--runs` only cycles of so many runs at once, for looking into one of the modes.
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
use std::time::Duration;

use cycle::{Cycles, Taken};
use measure::{Arguments, Spread, percentile, rate, short};
use tokio::runtime::Runtime;

/// How cycles are gone through.
#[derive(Debug, Clone, Copy)]
struct Mode {
    name: &'static str,
    /// Its name beside the peers.
    peer: &'static str,
    at_once: usize,
    /// Of one run.
    approvals: usize,
}

const MODES: [Mode; 4] = [
    Mode {
        name: "whole runs of one approval, one at a time",
        peer: "placet",
        at_once: 1,
        approvals: 1,
    },
    Mode {
        name: "whole runs of one approval, 64 at once",
        peer: "placet-64",
        at_once: 64,
        approvals: 1,
    },
    Mode {
        name: "approvals of runs of ten, one run at a time",
        peer: "placet-in-run",
        at_once: 1,
        approvals: 10,
    },
    Mode {
        name: "approvals of runs of ten, 64 runs at once",
        peer: "placet-in-run-64",
        at_once: 64,
        approvals: 10,
    },
];

#[derive(Debug, Clone, Copy)]
struct Asked {
    cycles: usize,
    rounds: usize,
    history: usize,
    runs: Option<usize>,
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
        runs: arguments.count("--runs"),
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
        "| mode | cycles/s | p50 | p99 | CPU a cycle | disk a cycle |",
    ));
    say(String::from("|---|---|---|---|---|---|"));
    for mode in MODES {
        if asked.runs.is_none_or(|runs| runs == mode.at_once) {
            say(measure_mode(&arguments, asked, &runtime, mode));
        }
    }
    if asked.runs.is_some() {
        return;
    }
    let folder = arguments.folder();
    let history = runtime.block_on(cycle::history(folder.path(), asked.history));
    if asked.json {
        println!("{}", history.json());
    } else {
        println!("\n{}", history.text());
    }
}

/// All rounds of a mode: its line of the table.
fn measure_mode(arguments: &Arguments, asked: Asked, runtime: &Runtime, mode: Mode) -> String {
    let cycles = Cycles {
        count: asked.cycles,
        at_once: mode.at_once,
        approvals: mode.approvals,
    };
    let rounds: Vec<_> = (0..asked.rounds)
        .map(|_| {
            let folder = arguments.folder();
            let taken = runtime.block_on(cycle::cycles(folder.path(), cycles));
            let disk = measure::bytes_below(folder.path());
            let round = Round::of(taken, disk);
            if asked.json {
                println!("{}", round.json(mode.peer));
            }
            round
        })
        .collect();
    let median = |of: fn(&Round) -> f64| Spread::of(rounds.iter().map(of)).median;
    let time = |of: fn(&Round) -> f64| short(Duration::from_secs_f64(median(of)));
    format!(
        "| {} | {} | {} | {} | {} | {:.1} KiB |",
        mode.name,
        rate(median(|round| round.rate)),
        time(|round| round.p50.as_secs_f64()),
        time(|round| round.p99.as_secs_f64()),
        time(|round| round.cpu.as_secs_f64() / round.cycles as f64),
        median(|round| round.disk as f64 / round.cycles as f64) / 1024.0,
    )
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
    cpu: Duration,
    disk: u64,
}

impl Round {
    fn of(mut taken: Taken, disk: u64) -> Self {
        let waits = &mut taken.waits;
        Self {
            cycles: waits.len(),
            rate: waits.len() as f64 / taken.wall.as_secs_f64(),
            p50: percentile(waits, 0.5),
            p99: percentile(waits, 0.99),
            cpu: taken.cpu,
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
