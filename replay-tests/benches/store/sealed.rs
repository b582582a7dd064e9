//! The store while its history leaves sled, and what is left on disk and read back afterwards.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use placet_ledger::digest::{Purpose, digest};
use placet_ledger::id::{Position, Version};
use placet_ledger::limits::PAGE_RECORDS_MAX;
use placet_ledger::store::ReadStore;
use placet_ledger::store::conformance::chain::Chain;
use placet_ledger::store::sled::SledStore;

use crate::contestant::{self, Kind, LEDGER};
use crate::lane::{self, Measured, Plan};
use crate::measure::{self, Arguments, Spread, rate, short};

/// Records of a tile.
const TILE: u64 = 256;

/// What came of one round.
struct Round {
    store: Measured,
    sqlite: Measured,
    /// Share of the records that were in tiles when the appends ended.
    at_once: f64,
    after: After,
}

/// The store once it has sealed all that it may.
struct After {
    records: u64,
    /// How long the rest took.
    settled: Duration,
    sealed: u64,
    /// Bytes below its home, in sled's folder, and in tiles.
    bytes: [u64; 3],
    opened: Duration,
    /// A run whose records are in tiles, and how many it has.
    run: (Duration, usize),
    /// All that is in tiles, in pages, hashed.
    scan: Duration,
}

/// Measures and prints it for so many runs that append at once.
pub(crate) async fn measure(arguments: &Arguments, plan: Plan, rounds: usize) {
    let mut all = Vec::new();
    for _ in 0..rounds {
        all.push(one_round(arguments, plan).await);
    }
    let middle = |value: &dyn Fn(&Round) -> f64| Spread::of(all.iter().map(value)).median;
    let time = |value: &dyn Fn(&Round) -> Duration| {
        short(measure::percentile(
            &mut all.iter().map(value).collect::<Vec<_>>(),
            0.5,
        ))
    };
    println!("\n{} runs, {} record an append\n", plan.runs, plan.records);
    println!("| | median of {rounds} |\n|---|---|");
    let line = |name: &str, value: String| println!("| {name} | {value} |");
    line("appends/s", rate(middle(&|round| round.store.rate)));
    line("p50", time(&|round| round.store.p50));
    line("p99", time(&|round| round.store.p99));
    let ratios = all.iter().map(|round| round.store.rate / round.sqlite.rate);
    line("times SQLite", Spread::of(ratios).ratio());
    line(
        "records",
        format!("{:.0}", middle(&|round| round.after.records as f64)),
    );
    line(
        "in tiles when the appends ended",
        percent(middle(&|round| round.at_once)),
    );
    line("the rest sealed in", time(&|round| round.after.settled));
    let given = |round: &Round| round.store.bytes as f64;
    let [home, sled, tiles] =
        [0, 1, 2].map(|part: usize| middle(&|round| round.after.bytes[part] as f64 / given(round)));
    line("home, times the bytes given", format!("{home:.2}"));
    line("of that sled's folder", format!("{sled:.2}"));
    line("of that tiles", format!("{tiles:.2}"));
    let share = |round: &Round| {
        let sealed = round.after.sealed as f64 / round.after.records as f64;
        round.after.bytes[2] as f64 / (given(round) * sealed)
    };
    line(
        "tiles, times the bytes given of what is in them",
        format!("{:.3}", middle(&share)),
    );
    line(
        "open, all sealed that may be, warm",
        time(&|round| round.after.opened),
    );
    let events = middle(&|round| round.after.run.1 as f64);
    let name = format!("read and hash a run of {events:.0} events from tiles, warm");
    line(&name, time(&|round| round.after.run.0));
    let scanned = |round: &Round| round.after.sealed as f64 / round.after.scan.as_secs_f64();
    line(
        "read and hash all in tiles, warm, records/s",
        rate(middle(&scanned)),
    );
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

async fn one_round(arguments: &Arguments, plan: Plan) -> Round {
    let folder = arguments.folder();
    let sqlite = contestant::open(Kind::Sqlite, folder.path()).await;
    let created = contestant::created();
    let sqlite = lane::run(sqlite, lane::lanes(&created, plan)).await;
    drop(folder);
    let folder = arguments.folder();
    let (home, head) = (folder.path().join("home"), folder.path().join("head"));
    let store = Arc::new(SledStore::create(&home, LEDGER, &head).unwrap());
    contestant::begin(&store).await;
    let measured = lane::run(store.clone(), lane::lanes(&created, plan)).await;
    let tail = store.tail().await.unwrap().size;
    let at_once = sealed(&home) as f64 / tail as f64;
    let begun = Instant::now();
    store.settle();
    let settled = begun.elapsed();
    drop(store);
    let bytes = [home.clone(), home.join("sled"), home.join("tile")];
    let bytes = bytes.map(|folder| measure::bytes_below(&folder));
    // The first opening reads all of sled's file, and leaves a snapshot of what it found.
    drop(SledStore::open(&home, &head).unwrap());
    let begun = Instant::now();
    let store = SledStore::open(&home, &head).unwrap();
    let opened = begun.elapsed();
    let sealed = sealed(&home);
    let run = read_run(&store, Chain::run(LEDGER, &created, 1), sealed).await;
    let begun = Instant::now();
    for from in (0..sealed).step_by(PAGE_RECORDS_MAX) {
        let from = Position::new(from);
        for stored in store.read_all(from, PAGE_RECORDS_MAX).await.unwrap() {
            std::hint::black_box(digest(Purpose::Event, &stored.bytes));
        }
    }
    Round {
        store: measured,
        sqlite,
        at_once,
        after: After {
            records: tail,
            settled,
            sealed,
            bytes,
            opened,
            run,
            scan: begun.elapsed(),
        },
    }
}

/// Records in tiles, by their files.
fn sealed(home: &Path) -> u64 {
    fn files(folder: &Path) -> u64 {
        let entries = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        entries
            .map(|path| if path.is_dir() { files(&path) } else { 1 })
            .sum()
    }
    files(&home.join("tile/entries")) * TILE
}

/// Reads what is sealed of a run, twice, and times the second one.
async fn read_run(store: &SledStore, run: Chain, sealed: u64) -> (Duration, usize) {
    let mut last = (Duration::ZERO, 0);
    for _ in 0..2 {
        let begun = Instant::now();
        let mut count = 0;
        loop {
            let from = Version::new(u32::try_from(count).unwrap());
            let page = store
                .read_run(run.stream(), from, PAGE_RECORDS_MAX)
                .await
                .unwrap();
            let old = page.iter().filter(|stored| stored.position.get() < sealed);
            for stored in old {
                std::hint::black_box(digest(Purpose::Event, &stored.bytes));
                count += 1;
            }
            if page.last().is_none_or(|last| last.position.get() >= sealed) {
                break;
            }
        }
        last = (begun.elapsed(), count);
    }
    last
}
