//! Durable appends beside what the same machine can do at most: a plain file with one write and
//! one sync a group, the same with all the work of the processor, and SQLite.
//!
//! ```text
//! cargo bench -p placet-replay --features bench --bench store -- [--quick] [--rounds N]
//!     [--share F] [--runs N] [--sealed] [--dir FOLDER]
//! ```
//!
//! In each round the contestants run one after another, each over a fresh folder and with the same
//! appends, which were written before; only ratios within a round are compared. `--share` makes a
//! round shorter, `--runs` asks for one number of runs alone. With `--sealed` there are so many
//! appends that history leaves sled meanwhile, and it is read back.

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

mod contestant;
mod files;
mod group;
mod lane;
#[path = "../measure/mod.rs"]
mod measure;
mod sealed;
mod sqlite;
mod table;

use contestant::{CONTESTANTS, Kind};
use lane::{Measured, Plan};
use measure::Arguments;
use std::sync::Arc;

/// How many runs append at once, and how many appends each has at most, of one record each.
const APPENDS: [(usize, usize); 4] = [(1, 8_000), (8, 4_000), (64, 1_000), (256, 300)];

/// The same where history is to leave sled meanwhile.
const APPENDS_SEALED: [(usize, usize); 3] = [(8, 20_000), (64, 3_000), (256, 800)];

fn main() {
    let arguments = Arguments::read();
    let quick = arguments.has("--quick");
    let rounds = arguments
        .count("--rounds")
        .unwrap_or(if quick { 3 } else { 5 });
    let share = arguments
        .number("--share")
        .unwrap_or(if quick { 0.2 } else { 1.0 });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    println!("{}; {rounds} rounds", measure::load());
    let asked = arguments.count("--runs");
    if arguments.has("--sealed") {
        for (runs, appends) in APPENDS_SEALED {
            let plan = Plan {
                runs,
                records: 1,
                appends: (appends as f64 * share) as usize,
            };
            runtime.block_on(sealed::measure(&arguments, plan, rounds));
        }
        return println!("\n{}", measure::load());
    }
    for records in [1, 5] {
        for (runs, appends) in APPENDS {
            if asked.is_some_and(|asked| asked != runs) {
                continue;
            }
            let appends = appends as f64 * share / (records as f64).sqrt();
            let plan = Plan {
                runs,
                records,
                appends: appends as usize,
            };
            let measured: Vec<_> = (0..rounds)
                .map(|round| runtime.block_on(one_round(&arguments, plan, round)))
                .collect();
            table::print(plan, &measured);
        }
    }
    println!("\n{}", measure::load());
}

/// Every contestant in turn; each round begins with another one.
async fn one_round(arguments: &Arguments, plan: Plan, round: usize) -> Vec<Measured> {
    let mut measured: Vec<Option<Measured>> = CONTESTANTS.map(|_| None).into();
    let lanes = lane::lanes(&contestant::created(), plan);
    for turn in 0..CONTESTANTS.len() {
        let index = (turn + round) % CONTESTANTS.len();
        let folder = arguments.folder();
        let store = contestant::open(CONTESTANTS[index], folder.path()).await;
        let mut result = lane::run(Arc::clone(&store), lanes.clone()).await;
        result.settle(&*store);
        drop(store);
        result.disk = measure::bytes_below(folder.path());
        measured[index] = Some(result);
    }
    measured.into_iter().map(Option::unwrap).collect()
}

/// The place of a contestant in a round.
fn place(kind: Kind) -> usize {
    CONTESTANTS.iter().position(|other| *other == kind).unwrap()
}
