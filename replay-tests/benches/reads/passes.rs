//! One pass over the whole log each, from the least that verification must do to all of it.

use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::sync::Arc;

use placet_engine::policy::Gate;
use placet_ledger::audit::{self, Depth};
use placet_ledger::canonical;
use placet_ledger::content::Contents;
use placet_ledger::digest::{Digest, Purpose, digest};
use placet_ledger::envelope::{Envelope, Heading};
use placet_ledger::id::{Position, RunId, Version};
use placet_ledger::limits::PAGE_RECORDS_MAX;
use placet_ledger::projection::PendingRow;
use placet_ledger::run::{Origin, fold};
use placet_ledger::store::conformance::block_on;
use placet_ledger::store::pages;
use placet_ledger::store::sled::SledStore;
use placet_ledger::store::{ReadStore, Stored};
use placet_ledger::view::{Projection as _, RunList, inbox, inbox_needs};
use placet_replay::world::ledger_id;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The store, and its records in memory.
pub(crate) struct Log {
    pub(crate) store: Arc<SledStore>,
    records: Vec<Stored>,
    created: Digest,
}

/// A pass: its name, its threads, and what it does.
pub(crate) type Pass = (&'static str, usize, fn(&Log, usize));

/// All passes; the first is the limit.
pub(crate) const PASSES: [Pass; 11] = [
    ("limit: hash and borrowed parse, in memory", 1, limit),
    ("canonical check, in memory", 1, check),
    ("check and heading, in memory", 1, heading),
    ("whole parse with hash and check, in memory", 1, parse),
    ("read from the store, a copy each", 1, read),
    ("read from the store, as it lies", 1, show),
    ("verify the records alone", 1, verify_records),
    ("verify the records alone", 2, verify_records),
    ("verify, decisions not judged", 1, verify_facts),
    ("verify, decisions judged again", 1, verify),
    ("verify, decisions judged again", 2, verify),
];

/// As much of a record as can be read without a copy.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "what is read is measured, not used")]
struct Borrowed<'a> {
    v: u32,
    ledger: &'a str,
    run: &'a str,
    version: u32,
    prev: &'a str,
    id: &'a str,
    r#type: &'a str,
    schema: u32,
    at: &'a str,
    #[serde(borrow)]
    actor: &'a RawValue,
    cause: Option<&'a str>,
    #[serde(borrow)]
    body: &'a RawValue,
    #[serde(borrow, default)]
    blobs: Option<&'a RawValue>,
}

impl Log {
    pub(crate) async fn read(store: Arc<SledStore>) -> Self {
        let records = pages_of(&store).await;
        let first = records[0].clone().parse().unwrap();
        Self {
            store,
            created: first.envelope.digest(),
            records,
        }
    }

    pub(crate) fn records(&self) -> usize {
        self.records.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.records.iter().map(|stored| stored.bytes.len()).sum()
    }

    /// Loads one run from the store and folds it; how many events that were.
    pub(crate) fn load_and_fold(&self, run: RunId) -> usize {
        let stream = run.stream();
        let records = block_on(pages::read_stream(&*self.store, stream, Version::ZERO)).unwrap();
        let origin = Origin {
            ledger: ledger_id(),
            created: self.created,
        };
        let envelopes = records.iter().map(|recorded| &recorded.envelope);
        black_box(fold(&origin, stream, envelopes).unwrap());
        records.len()
    }

    /// All cards of the inbox; how many that were.
    pub(crate) fn inbox(&self) -> usize {
        let runs = block_on(pages::run_list(&*self.store)).unwrap();
        self.cards(&runs)
    }

    /// The cards of the first calls that wait, as the command line finds them: from the rows of
    /// the projections, and the runs that those name.
    pub(crate) fn inbox_page(&self, waiting: &[PendingRow]) -> usize {
        let mut runs = RunList::new();
        let first = block_on(self.store.read_all(Position::ZERO, 1)).unwrap();
        runs.apply(&first[0].clone().parse().unwrap());
        for run in waiting.iter().map(|row| row.run).collect::<BTreeSet<_>>() {
            let stream = run.stream();
            let read = pages::read_stream(&*self.store, stream, Version::ZERO);
            for recorded in block_on(read).unwrap() {
                runs.apply(&recorded);
            }
        }
        self.cards(&runs)
    }

    fn cards(&self, runs: &RunList) -> usize {
        let mut contents = BTreeMap::<RunId, Contents>::new();
        for (run, needs) in inbox_needs(runs) {
            let needs: Vec<_> = needs.into_iter().collect();
            let of_run = block_on(self.store.content(run.stream(), &needs)).unwrap();
            contents.insert(run, of_run);
        }
        black_box(inbox(runs, &contents)).len()
    }
}

async fn pages_of(store: &SledStore) -> Vec<Stored> {
    let mut all = Vec::new();
    loop {
        let from = Position::new(all.len() as u64);
        let page = store.read_all(from, PAGE_RECORDS_MAX).await.unwrap();
        let full = page.len() == PAGE_RECORDS_MAX;
        all.extend(page);
        if !full {
            return all;
        }
    }
}

fn limit(log: &Log, _: usize) {
    for stored in &log.records {
        black_box(digest(Purpose::Event, &stored.bytes));
        black_box(serde_json::from_slice::<Borrowed<'_>>(&stored.bytes).unwrap());
    }
}

fn check(log: &Log, _: usize) {
    for stored in &log.records {
        black_box(canonical::checked(&stored.bytes)).unwrap();
    }
}

fn heading(log: &Log, _: usize) {
    for stored in &log.records {
        black_box(Heading::read(&stored.bytes).unwrap());
    }
}

fn parse(log: &Log, _: usize) {
    for stored in &log.records {
        black_box(Envelope::parse(stored.bytes.clone()).unwrap());
    }
}

fn read(log: &Log, _: usize) {
    let mut next = 0;
    while next < log.records() {
        let from = Position::new(next as u64);
        let page = block_on(log.store.read_all(from, PAGE_RECORDS_MAX)).unwrap();
        next += black_box(page).len();
    }
}

fn show(log: &Log, _: usize) {
    let mut next = 0;
    while next < log.records() {
        let from = Position::new(next as u64);
        let mut look = |_: Position, bytes: &[u8]| {
            next += 1;
            black_box(bytes);
        };
        block_on(log.store.show_all(from, PAGE_RECORDS_MAX, &mut look)).unwrap();
    }
}

fn verify_records(log: &Log, threads: usize) {
    verified(log, Depth::Records, threads);
}

fn verify_facts(log: &Log, threads: usize) {
    verified(log, Depth::Whole(None), threads);
}

fn verify(log: &Log, threads: usize) {
    verified(log, Depth::Whole(Some(&Gate)), threads);
}

fn verified(log: &Log, depth: Depth<'_>, threads: usize) {
    let threads = NonZeroUsize::new(threads).unwrap();
    let report = block_on(audit::verify_on(&*log.store, None, depth, threads));
    assert!(report.ok, "{report:?}");
    assert_eq!(report.size, log.records() as u64);
}
