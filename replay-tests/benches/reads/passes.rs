//! One pass over the whole log each, from the least that verification must do to all of it.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;

use placet_engine::policy::Gate;
use placet_ledger::audit;
use placet_ledger::canonical;
use placet_ledger::content::Contents;
use placet_ledger::digest::{Digest, Purpose, digest};
use placet_ledger::envelope::Envelope;
use placet_ledger::id::{Position, RunId, Version};
use placet_ledger::limits::PAGE_RECORDS_MAX;
use placet_ledger::run::{Origin, fold};
use placet_ledger::store::conformance::block_on;
use placet_ledger::store::pages;
use placet_ledger::store::sled::SledStore;
use placet_ledger::store::{ReadStore, Stored};
use placet_ledger::view::{inbox, inbox_needs};
use placet_replay::world::ledger_id;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The store, and its records in memory.
pub(crate) struct Log {
    store: Arc<SledStore>,
    records: Vec<Stored>,
    created: Digest,
}

/// A pass by name.
pub(crate) type Pass = (&'static str, fn(&Log));

/// All of them; the first is the limit.
pub(crate) const PASSES: [Pass; 7] = [
    ("limit: hash and borrowed parse, in memory", limit),
    ("canonical check, in memory", check),
    ("whole parse with hash and check, in memory", parse),
    ("read from the store", read),
    ("read from the store and whole parse", read_and_parse),
    ("verify, decisions not judged", verify),
    ("verify, decisions judged again", verify_judged),
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
        let mut contents = BTreeMap::<RunId, Contents>::new();
        for (run, needs) in inbox_needs(&runs) {
            let needs: Vec<_> = needs.into_iter().collect();
            let of_run = block_on(self.store.content(run.stream(), &needs)).unwrap();
            contents.insert(run, of_run);
        }
        black_box(inbox(&runs, &contents)).len()
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

fn limit(log: &Log) {
    for stored in &log.records {
        black_box(digest(Purpose::Event, &stored.bytes));
        black_box(serde_json::from_slice::<Borrowed<'_>>(&stored.bytes).unwrap());
    }
}

fn check(log: &Log) {
    for stored in &log.records {
        black_box(canonical::checked(&stored.bytes).unwrap());
    }
}

fn parse(log: &Log) {
    for stored in &log.records {
        black_box(Envelope::parse(stored.bytes.clone()).unwrap());
    }
}

fn read(log: &Log) {
    black_box(block_on(pages_of(&log.store)));
}

fn read_and_parse(log: &Log) {
    for stored in block_on(pages_of(&log.store)) {
        black_box(Envelope::parse(stored.bytes).unwrap());
    }
}

fn verify(log: &Log) {
    let report = block_on(audit::verify(&*log.store, None, None));
    assert!(report.ok, "{report:?}");
}

fn verify_judged(log: &Log) {
    let report = block_on(audit::verify(&*log.store, None, Some(&Gate)));
    assert!(report.ok, "{report:?}");
}
