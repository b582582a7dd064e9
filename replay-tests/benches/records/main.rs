//! The pure functions under every read, one record at a time, by criterion.
//!
//! ```text
//! cargo bench -p placet-replay --features bench --bench records
//! ```

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

use criterion::{Criterion, criterion_group, criterion_main};
use placet_ledger::canonical;
use placet_ledger::content::{Content, Salt};
use placet_ledger::digest::{Purpose, digest};
use placet_ledger::envelope::Envelope;
use placet_ledger::id::LedgerId;
use placet_ledger::merkle::Frontier;
use placet_ledger::store::conformance::chain::{self, Chain};
use placet_ledger::time::Timestamp;
use uuid::Uuid;

fn records(criterion: &mut Criterion) {
    let mut chain = Chain::authority(LedgerId::new(Uuid::from_u64_pair(1, 1)));
    let event = chain::parked_with(80);
    let batch = chain.record(event.clone(), &[("text", &[b'x'; 600])]);
    let record = batch.records[0].clone();
    let bytes = record.bytes();
    criterion.bench_function("digest of a record", |b| {
        b.iter(|| digest(Purpose::Event, bytes));
    });
    criterion.bench_function("canonical check", |b| b.iter(|| canonical::checked(bytes)));
    criterion.bench_function("parse", |b| b.iter(|| Envelope::parse(bytes.clone())));
    criterion.bench_function("write", |b| {
        let header = record.header();
        b.iter(|| Envelope::write(header.clone(), event.clone(), record.blobs().clone()));
    });
    let content = Content::new(Salt([1; 32]), vec![b'x'; 600]);
    criterion.bench_function("commitment of 600 B", |b| b.iter(|| content.commitment()));
    criterion.bench_function("leaf of the tree", |b| {
        let (mut frontier, digest) = (Frontier::new(), record.digest());
        b.iter(|| frontier.push(&digest));
    });
    let (time, hash) = (Timestamp::EPOCH.to_string(), record.digest().to_string());
    criterion.bench_function("read a time", |b| b.iter(|| time.parse::<Timestamp>()));
    criterion.bench_function("write a digest", |b| b.iter(|| record.digest().to_string()));
    criterion.bench_function("read a digest", |b| {
        b.iter(|| hash.parse::<placet_ledger::digest::Digest>());
    });
}

criterion_group!(benches, records);
criterion_main!(benches);
