//! What every store must do, as a suite that is run against each of them.
//!
//! A clause is a function that panics where the store breaks the contract of `store`. `run_all`
//! runs them all, each on a fresh ledger. Records are made by `chain`: they link and name their
//! contents as real ones do, and mean nothing.

#![allow(
    clippy::missing_panics_doc,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::print_stderr,
    reason = "a suite of tests: it fails by panicking and says which clause it is in"
)]

mod appends;
pub mod chain;
mod races;
mod reads;
#[cfg(test)]
mod tests;

use std::fmt::Debug;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use super::{AppendError, Appended, Batch, EventStore, Stored, Unless};
use crate::content::Content;
use crate::digest::{Digest, Purpose, digest};
use crate::id::{LedgerId, Position, StreamId, Version};
use crate::merkle::Frontier;
use chain::Chain;

pub use appends::{
    appends_are_read_back_as_they_were, bounds_of_a_batch_hold, contents_must_fit_their_records,
    heads_are_compared_by_version_and_digest, retries_are_harmless, start_wants_no_stream,
    unless_is_compared,
};
pub use races::{
    a_dropped_future_leaves_all_or_nothing, one_of_six_racing_writers_wins,
    readers_see_whole_appends,
};
pub use reads::{
    contents_belong_to_one_stream, pages_end_where_the_log_ends, reopening_keeps_everything,
};

/// How the suite gets at stores.
pub trait Fixture {
    /// A store of this ledger, without a record.
    fn fresh(&self, ledger: LedgerId) -> Arc<dyn EventStore>;

    /// Closes the store, of which this is the last handle, and opens what it has kept.
    fn reopen(&self, store: Arc<dyn EventStore>) -> Arc<dyn EventStore>;
}

/// Runs every clause.
pub fn run_all(fixture: &dyn Fixture) {
    macro_rules! clauses {
        ($($clause:ident,)*) => { $(
            eprintln!("clause {}", stringify!($clause));
            block_on($clause(fixture));
        )* };
    }
    clauses! {
        appends_are_read_back_as_they_were,
        start_wants_no_stream,
        heads_are_compared_by_version_and_digest,
        retries_are_harmless,
        unless_is_compared,
        bounds_of_a_batch_hold,
        contents_must_fit_their_records,
        pages_end_where_the_log_ends,
        contents_belong_to_one_stream,
        reopening_keeps_everything,
        one_of_six_racing_writers_wins,
        readers_see_whole_appends,
        a_dropped_future_leaves_all_or_nothing,
    }
}

/// A store with a new ledger in it: two records in the authority stream.
pub struct World {
    /// The store.
    pub store: Arc<dyn EventStore>,
    /// Its authority stream.
    pub authority: Chain,
    created: Digest,
}

impl World {
    /// A new one.
    pub async fn new(fixture: &dyn Fixture) -> Self {
        let ledger = LedgerId::new(uuid::Uuid::from_u64_pair(0x001e_d6e4, 1));
        let store = fixture.fresh(ledger);
        let mut authority = Chain::authority(ledger);
        let expected = authority.expected();
        let mut batch = authority.record(chain::created(), &[]);
        let created = authority.digest();
        let rules = authority.record(chain::adopted(), &[("text", b"no rules")]);
        chain::extend(&mut batch, rules);
        let appended = store.append(authority.stream(), expected, batch, &[]).await;
        assert_eq!(
            appended,
            Ok(Appended {
                first: Position::ZERO,
                count: 2,
                replayed: false
            })
        );
        Self {
            store,
            authority,
            created,
        }
    }

    /// A stream that does not exist yet.
    pub fn run(&self, number: u64) -> Chain {
        Chain::run(self.authority.ledger(), &self.created, number)
    }
}

/// Appends what `write` makes of the chain; the chain goes on only where the store took it.
pub async fn append(
    store: &dyn EventStore,
    chain: &mut Chain,
    unless: &[Unless],
    write: impl FnOnce(&mut Chain) -> Batch,
) -> Result<Appended, AppendError> {
    let mut next = chain.clone();
    let batch = write(&mut next);
    let appended = store
        .append(chain.stream(), chain.expected(), batch, unless)
        .await?;
    *chain = next;
    Ok(appended)
}

/// Appends one record with one content.
pub async fn append_one(store: &dyn EventStore, chain: &mut Chain) -> Appended {
    ok(append(store, chain, &[], |chain| chain.records(1)).await)
}

/// All records of a stream, in pages of that many.
pub async fn read_stream(store: &dyn EventStore, stream: StreamId, page: usize) -> Vec<Stored> {
    let mut all = Vec::new();
    loop {
        let from = Version::new(all.len() as u32);
        let read = ok(store.read_run(stream, from, page).await);
        let full = read.len() == page;
        all.extend(read);
        if !full {
            return all;
        }
    }
}

/// All records of the log, in pages of that many.
pub async fn read_log(store: &dyn EventStore, page: usize) -> Vec<Stored> {
    let mut all = Vec::new();
    loop {
        let from = Position::new(all.len() as u64);
        let read = ok(store.read_all(from, page).await);
        let mut shown = Vec::new();
        let mut show = |position, bytes: &[u8]| {
            let bytes = bytes.into();
            shown.push(Stored { position, bytes });
        };
        ok(store.show_all(from, page, &mut show).await);
        assert_eq!(shown, read);
        let full = read.len() == page;
        all.extend(read);
        if !full {
            return all;
        }
    }
}

/// Checks everything about a quiet log: dense, chained, its tail true, every content there.
pub async fn check_log(store: &dyn EventStore) -> Vec<Stored> {
    let log = read_log(store, 256).await;
    let mut frontier = Frontier::default();
    let mut streams = std::collections::BTreeMap::<StreamId, Vec<Stored>>::new();
    for (place, stored) in log.iter().enumerate() {
        assert_eq!(stored.position, Position::new(place as u64));
        frontier.push(&digest(Purpose::Event, &stored.bytes));
        let envelope = ok(stored.clone().parse()).envelope;
        let blobs = envelope.blobs().values();
        let named: Vec<_> = blobs.map(|blob| blob.commitment).collect();
        let contents = ok(store.content(envelope.stream(), &named).await);
        for commitment in &named {
            let content = contents.get(commitment);
            assert_eq!(content.map(Content::commitment), Some(*commitment));
        }
        let stream = streams.entry(envelope.stream()).or_default();
        if let Some(last) = stream.last() {
            assert_eq!(digest(Purpose::Event, &last.bytes), envelope.header().prev);
        }
        assert_eq!(envelope.version(), Version::new(stream.len() as u32));
        stream.push(stored.clone());
    }
    for (stream, records) in streams {
        assert_eq!(read_stream(store, stream, 256).await, records);
    }
    let tail = ok(store.tail().await);
    assert_eq!((tail.size, tail.root), (frontier.size(), frontier.root()));
    log
}

/// The value of a result that must be one.
pub fn ok<T, E: Debug>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("expected a value, found {error:?}"),
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on this thread.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}
