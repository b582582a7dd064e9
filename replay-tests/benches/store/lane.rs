//! Runs that append at once: each waits for its own append, and then sends the next.
//!
//! What they append is written before the clock runs, and once for all contestants of a round:
//! what a record costs to make is the same for everybody and says nothing of a store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use placet_ledger::digest::Digest;
use placet_ledger::id::StreamId;
use placet_ledger::store::Batch;
use placet_ledger::store::conformance::chain::{self, Chain};
use placet_ledger::store::seal::{Place, RunKey, Sealer};
use tokio::sync::Barrier;

use crate::contestant::{Contestant, LEDGER, Prepared};
use crate::measure::{cpu_time, percentile};

/// A cell of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// Runs that append at once.
    pub(crate) runs: usize,
    /// Records of one append.
    pub(crate) records: usize,
    /// Appends that each of them has to send.
    pub(crate) appends: usize,
}

/// What one contestant did of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measured {
    /// Appends a second.
    pub(crate) rate: f64,
    /// The same, had the clock run until nothing was left to do behind the answers.
    pub(crate) settled: f64,
    /// Appends, and how long they took.
    appends: usize,
    time: Duration,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    /// Time of the processor, of all threads.
    work: Duration,
    /// Records appended, and bytes of them and of their contents.
    pub(crate) records: u64,
    pub(crate) bytes: u64,
    /// Bytes of its files afterwards.
    pub(crate) disk: u64,
}

impl Measured {
    /// Waits for what is left to do behind the answers, and counts it.
    pub(crate) fn settle(&mut self, store: &dyn Contestant) {
        let (begun, worked) = (Instant::now(), cpu_time());
        store.settle();
        let time = self.time + begun.elapsed();
        self.settled = self.appends as f64 / time.as_secs_f64();
        self.work += cpu_time().saturating_sub(worked);
    }

    /// Time of the processor for each record.
    pub(crate) fn work(&self) -> Duration {
        self.work / u32::try_from(self.records).unwrap()
    }
}

/// Bytes of a content.
const CONTENT_BYTES: usize = 600;

/// Bytes that are added to a body, so that a record comes to about 600.
const BODY_BYTES: usize = 130;

/// All appends of one run.
#[derive(Clone)]
pub(crate) struct Lane {
    number: u64,
    stream: StreamId,
    appends: Vec<Prepared>,
}

impl Lane {
    fn new(created: &Digest, number: u64, plan: Plan) -> Self {
        let mut chain = Chain::run(LEDGER, created, number);
        let stream = chain.stream();
        let appends = (0..plan.appends).map(|_| prepare(&mut chain, number, plan.records));
        Self {
            number,
            stream,
            appends: appends.collect(),
        }
    }

    /// What its writer seals with, for those that do not seal themselves.
    fn sealer(&self) -> Sealer {
        let mut key = [7; 32];
        key[..8].copy_from_slice(&self.number.to_be_bytes());
        let place = Place {
            ledger: LEDGER,
            stream: self.stream,
            generation: 0,
        };
        Sealer::new(place, &RunKey::from_bytes(key)).unwrap()
    }
}

/// Writes the next records of a chain, each with a content of its own.
fn prepare(chain: &mut Chain, number: u64, records: usize) -> Prepared {
    let expected = chain.expected();
    let mut batch = Batch::default();
    for _ in 0..records {
        let version = chain.version().map_or(0, |last| last.get() + 1);
        let text = format!("{:CONTENT_BYTES$}", format!("{number} {version}"));
        let event = chain::parked_with(BODY_BYTES);
        let next = chain.record(event, &[("text", text.as_bytes())]);
        chain::extend(&mut batch, next);
    }
    Prepared {
        stream: chain.stream(),
        expected,
        batch,
    }
}

/// Writes all records of a plan.
pub(crate) fn lanes(created: &Digest, plan: Plan) -> Vec<Lane> {
    (1..=plan.runs as u64)
        .map(|number| Lane::new(created, number, plan))
        .collect()
}

/// What one run saw.
struct Seen {
    waits: Vec<Duration>,
    records: u64,
    bytes: u64,
}

/// Lets the runs append until the first has nothing left to send.
pub(crate) async fn run(store: Arc<dyn Contestant>, lanes: Vec<Lane>) -> Measured {
    let start = Arc::new(Barrier::new(lanes.len() + 1));
    let ended = Arc::new(AtomicBool::new(false));
    let lanes: Vec<_> = lanes
        .into_iter()
        .map(|lane| {
            let store = Arc::clone(&store);
            tokio::spawn(go(store, lane, Arc::clone(&start), Arc::clone(&ended)))
        })
        .collect();
    let worked = cpu_time();
    start.wait().await;
    let begun = Instant::now();
    let mut waits = Vec::new();
    let mut measured = Measured::default();
    for lane in lanes {
        let seen = lane.await.unwrap();
        waits.extend(seen.waits);
        measured.records += seen.records;
        measured.bytes += seen.bytes;
    }
    measured.time = begun.elapsed();
    measured.appends = waits.len();
    measured.rate = waits.len() as f64 / measured.time.as_secs_f64();
    measured.work = cpu_time().saturating_sub(worked);
    measured.p50 = percentile(&mut waits, 0.5);
    measured.p99 = percentile(&mut waits, 0.99);
    measured
}

async fn go(
    store: Arc<dyn Contestant>,
    lane: Lane,
    start: Arc<Barrier>,
    ended: Arc<AtomicBool>,
) -> Seen {
    let mut sealer = lane.sealer();
    let mut seen = Seen {
        waits: Vec::with_capacity(lane.appends.len()),
        records: 0,
        bytes: 0,
    };
    start.wait().await;
    for prepared in lane.appends {
        if ended.load(Ordering::Relaxed) {
            break;
        }
        let records = prepared.batch.records.iter().map(|r| r.bytes().len());
        let contents = prepared.batch.contents.values().map(|c| c.bytes.len());
        seen.bytes += records.chain(contents).sum::<usize>() as u64;
        seen.records += prepared.batch.records.len() as u64;
        let asked = Instant::now();
        store.append(prepared, &mut sealer).await;
        seen.waits.push(asked.elapsed());
    }
    ended.store(true, Ordering::Relaxed);
    seen
}
