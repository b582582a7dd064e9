//! Durable appends beside what the same machine can do at most: a plain file with one write and
//! one sync a group, the same with all the work of the processor, and SQLite.
//!
//! ```text
//! cargo bench -p placet-replay --features bench --bench store -- [--quick] [--rounds N]
//!     [--seconds S] [--dir FOLDER] [--sealed]
//! ```
//!
//! With `--sealed` it appends for so long that history leaves sled meanwhile, and reads it back.
//!
//! In each round the contestants run one after another, each over a fresh folder; only ratios
//! within a round are compared.

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

use std::sync::Arc;
use std::time::Duration;

use contestant::{CONTESTANTS, Kind};
use lane::{Measured, Plan};
use measure::Arguments;

fn main() {
    let arguments = Arguments::read();
    let quick = arguments.has("--quick");
    let rounds = arguments
        .count("--rounds")
        .unwrap_or(if quick { 3 } else { 5 });
    let sealed = arguments.has("--sealed");
    let usual = match (sealed, quick) {
        (true, _) => 8.0,
        (false, true) => 0.25,
        (false, false) => 2.0,
    };
    let seconds = arguments.number("--seconds").unwrap_or(usual);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    println!("{}; {rounds} rounds of {seconds} s", measure::load());
    if sealed {
        for runs in [8, 64, 256] {
            let plan = Plan {
                runs,
                records: 1,
                time: Duration::from_secs_f64(seconds),
            };
            runtime.block_on(sealed::measure(&arguments, plan, rounds));
        }
        return println!("\n{}", measure::load());
    }
    for records in [1, 5] {
        for runs in [1, 8, 64, 256] {
            let plan = Plan {
                runs,
                records,
                time: Duration::from_secs_f64(seconds),
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
    for turn in 0..CONTESTANTS.len() {
        let index = (turn + round) % CONTESTANTS.len();
        let folder = arguments.folder();
        let (store, created) = contestant::open(CONTESTANTS[index], folder.path()).await;
        let mut result = lane::run(Arc::clone(&store), created, plan).await;
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
