//! Runs that append at once: each waits for its own append, prepares the next, and goes on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use placet_ledger::digest::Digest;
use placet_ledger::store::Batch;
use placet_ledger::store::conformance::chain::{self, Chain};
use placet_ledger::store::seal::{Place, RunKey, Sealer};

use crate::contestant::{Contestant, LEDGER, Prepared};
use crate::measure::percentile;

/// A cell of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// Runs that append at once.
    pub(crate) runs: usize,
    /// Records of one append.
    pub(crate) records: usize,
    /// For how long.
    pub(crate) time: Duration,
}

/// What one contestant did of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measured {
    /// Appends a second.
    pub(crate) rate: f64,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    /// Records appended, and bytes of them and of their contents.
    pub(crate) records: u64,
    pub(crate) bytes: u64,
    /// Bytes of its files afterwards.
    pub(crate) disk: u64,
}

/// Bytes of a content.
const CONTENT_BYTES: usize = 600;

/// Bytes that are added to a body, so that a record comes to about 600.
const BODY_BYTES: usize = 130;

/// One run as its writer has it.
struct Lane {
    chain: Chain,
    sealer: Sealer,
    number: u64,
}

impl Lane {
    fn new(created: &Digest, number: u64) -> Self {
        let chain = Chain::run(LEDGER, created, number);
        let mut key = [7; 32];
        key[..8].copy_from_slice(&number.to_be_bytes());
        let place = Place {
            ledger: LEDGER,
            stream: chain.stream(),
            generation: 0,
        };
        let sealer = Sealer::new(place, &RunKey::from_bytes(key)).unwrap();
        Self {
            chain,
            sealer,
            number,
        }
    }

    /// Writes the next records, each with a content of its own.
    fn prepare(&mut self, records: usize) -> Prepared {
        let expected = self.chain.expected();
        let mut batch = Batch::default();
        for _ in 0..records {
            let version = self.chain.version().map_or(0, |last| last.get() + 1);
            let text = format!("{:CONTENT_BYTES$}", format!("{} {version}", self.number));
            let event = chain::parked_with(BODY_BYTES);
            let next = self.chain.record(event, &[("text", text.as_bytes())]);
            chain::extend(&mut batch, next);
        }
        Prepared {
            chain: self.chain.clone(),
            expected,
            batch,
        }
    }
}

/// What one run saw.
struct Seen {
    waits: Vec<Duration>,
    records: u64,
    bytes: u64,
}

/// Lets so many runs append for the time of the plan.
pub(crate) async fn run(store: Arc<dyn Contestant>, created: Digest, plan: Plan) -> Measured {
    let begun = Instant::now();
    let lanes: Vec<_> = (0..plan.runs)
        .map(|number| {
            let lane = Lane::new(&created, number as u64 + 1);
            tokio::spawn(go(Arc::clone(&store), lane, plan, begun))
        })
        .collect();
    let mut waits = Vec::new();
    let mut measured = Measured::default();
    for lane in lanes {
        let seen = lane.await.unwrap();
        waits.extend(seen.waits);
        measured.records += seen.records;
        measured.bytes += seen.bytes;
    }
    measured.rate = waits.len() as f64 / begun.elapsed().as_secs_f64();
    measured.p50 = percentile(&mut waits, 0.5);
    measured.p99 = percentile(&mut waits, 0.99);
    measured
}

async fn go(store: Arc<dyn Contestant>, mut lane: Lane, plan: Plan, begun: Instant) -> Seen {
    let mut seen = Seen {
        waits: Vec::new(),
        records: 0,
        bytes: 0,
    };
    while begun.elapsed() < plan.time {
        let prepared = lane.prepare(plan.records);
        let records = prepared.batch.records.iter().map(|r| r.bytes().len());
        let contents = prepared.batch.contents.values().map(|c| c.bytes.len());
        seen.bytes += records.chain(contents).sum::<usize>() as u64;
        seen.records += plan.records as u64;
        let asked = Instant::now();
        store.append(prepared, &mut lane.sealer).await;
        seen.waits.push(asked.elapsed());
    }
    seen
}
