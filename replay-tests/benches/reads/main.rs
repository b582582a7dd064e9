//! Verification, loading and folding, opening, and the inbox, beside what memory allows.
//!
//! ```text
//! cargo bench -p placet-replay --features bench --bench reads -- [--quick] [--rounds N]
//!     [--waiting RUNS] [--dir FOLDER]
//! ```
//!
//! Over one ledger that the engine wrote: one long run, and many short ones that wait. Shares are
//! those of the limit on as many threads; by CPU time they say what a core does.

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

#[path = "../measure/mod.rs"]
mod measure;
mod passes;
mod queries;
mod written;

use std::sync::Arc;
use std::time::{Duration, Instant};

use measure::{Arguments, Spread, rate, short};
use passes::Log;
use placet_ledger::id::RunId;
use placet_ledger::owner::Work;
use placet_ledger::store::sled::SledStore;
use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::Runtime;

fn main() {
    let arguments = Arguments::read();
    let quick = arguments.has("--quick");
    let rounds = arguments
        .count("--rounds")
        .unwrap_or(if quick { 3 } else { 9 });
    let folder = arguments.folder();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let (calls, waiting) = if quick { (200, 100) } else { (1_000, 12_000) };
    let waiting = arguments.count("--waiting").unwrap_or(waiting);
    let run = runtime.block_on(written::ledger(folder.path(), calls, waiting));
    println!("{}; {rounds} rounds\n", measure::load());

    let opened = (0..rounds).map(|_| time(|| written::open(folder.path())).0);
    let opened = middle(opened.collect());
    let store = Arc::new(written::open(folder.path()));
    let log = runtime.block_on(Log::read(store.clone()));
    let (records, mib) = (log.records(), log.bytes() as f64 / 1024.0 / 1024.0);
    println!(
        "{records} records, {mib:.1} MiB of them; {calls} calls in one run, {waiting} runs wait\n"
    );

    let mut measured: Vec<[Taken; passes::PASSES.len()]> = Vec::new();
    for _ in 0..rounds {
        measured.push(passes::PASSES.map(|(_, threads, pass)| Taken::by(|| pass(&log, threads))));
    }
    println!("| pass | threads | records/s | share of the limit | by CPU time |");
    println!("|---|---|---|---|---|");
    for (index, (name, threads, _)) in passes::PASSES.iter().enumerate() {
        let rates = measured
            .iter()
            .map(|round| records as f64 / round[index].wall.as_secs_f64());
        let share = |of: fn(&Taken) -> Duration, threads: f64| {
            let shares = measured.iter().map(|round| {
                of(&round[0]).as_secs_f64() / of(&round[index]).as_secs_f64() / threads
            });
            Spread::of(shares).ratio()
        };
        let rate = rate(Spread::of(rates).median);
        let wall = share(|taken| taken.wall, *threads as f64);
        let cpu = share(|taken| taken.cpu, 1.0);
        println!("| {name} | {threads} | {rate} | {wall} | {cpu} |");
    }

    let mut folds = Vec::new();
    let mut inboxes = Vec::new();
    let (mut events, mut cards) = (0, 0);
    for _ in 0..rounds {
        let (taken, count) = time(|| log.load_and_fold(run));
        folds.push(taken);
        events = count;
        let (taken, count) = time(|| log.inbox());
        inboxes.push(taken);
        cards = count;
    }
    let taken_up = taken_up(&runtime, &store, run, rounds);
    println!("\n| | median |\n|---|---|");
    println!("{taken_up}");
    println!(
        "| load and fold a run of {events} events, warm | {} |",
        short(middle(folds))
    );
    println!("| open the store, warm | {} |", short(opened));
    println!(
        "| inbox of {cards} calls, from the whole log | {} |",
        short(middle(inboxes))
    );
    queries::measure(&log, rounds);
    println!("\n{}", measure::load());
}

/// How long it takes to take up a run with its contents, with a state of it kept and without.
fn taken_up(runtime: &Runtime, store: &Arc<SledStore>, run: RunId, rounds: usize) -> String {
    let look = |kept| {
        runtime.block_on(async {
            let ledger = written::owned(store, kept).await;
            let begun = Instant::now();
            let head = ledger.look(run, |state, _| state.head().version);
            head.await.unwrap();
            (begun.elapsed(), ledger.work())
        })
    };
    // The first of these keeps one.
    let (_, whole) = look(true);
    let (anew, kept): (Vec<_>, Vec<_>) = (0..rounds).map(|_| (look(false).0, look(true))).unzip();
    let (kept, work): (Vec<_>, Vec<_>) = kept.into_iter().unzip();
    let looks = [
        ("no state of it kept", anew, whole),
        ("a state of it kept", kept, work[0]),
    ];
    let line = |(how, times, work): (&str, Vec<Duration>, Work)| {
        let (read, folded, time) = (work.records_read, work.events_folded, short(middle(times)));
        let what = format!("take up that run with its contents, {how}");
        format!("| {what}: {read} records read, {folded} folded | {time} |")
    };
    looks.map(line).join("\n")
}

/// What a pass took: by the clock, and of all cores together.
struct Taken {
    wall: Duration,
    cpu: Duration,
}

impl Taken {
    fn by(work: impl FnOnce()) -> Self {
        let before = cpu();
        let (wall, ()) = time(work);
        let cpu = cpu().saturating_sub(before);
        Self { wall, cpu }
    }
}

/// The CPU time of this process: what others do on the same cores changes it least.
fn cpu() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec as u64, spent.tv_nsec as u32)
}

fn time<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let begun = Instant::now();
    let done = work();
    (begun.elapsed(), done)
}

fn middle(mut times: Vec<Duration>) -> Duration {
    measure::percentile(&mut times, 0.5)
}
