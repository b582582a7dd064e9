//! Cuts: what a store would hold, had it been cut after any of its records.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use placet_ledger::envelope::Envelope;
use placet_ledger::error::LedgerError;
use placet_ledger::id::{LedgerId, Position};
use placet_ledger::limits::PAGE_RECORDS_MAX;
use placet_ledger::store::memory::MemoryStore;
use placet_ledger::store::{Batch, EventStore, Expected};

use crate::world::WorldError;

/// Every record of a store, in order of position.
pub async fn log(store: &dyn EventStore) -> Result<Vec<Envelope>, WorldError> {
    let mut records = Vec::new();
    loop {
        let from = Position::new(records.len() as u64);
        let page = store.read_all(from, PAGE_RECORDS_MAX).await?;
        let full = page.len() == PAGE_RECORDS_MAX;
        for stored in page {
            records.push(Envelope::parse(stored.bytes)?);
        }
        if !full {
            return Ok(records);
        }
    }
}

/// A new store in memory with the first `size` records of another one, and the contents that
/// these name.
pub async fn prefix(
    store: &dyn EventStore,
    ledger: LedgerId,
    size: usize,
) -> Result<Arc<dyn EventStore>, WorldError> {
    let copy = MemoryStore::new(ledger);
    copy_into(&copy, store, size).await?;
    Ok(Arc::new(copy))
}

/// Appends the first `size` records of one store to an empty one, each by itself.
pub async fn copy_into(
    to: &dyn EventStore,
    from: &dyn EventStore,
    size: usize,
) -> Result<(), WorldError> {
    let mut heads = BTreeMap::new();
    let mut named = BTreeSet::new();
    for record in log(from).await?.into_iter().take(size) {
        let stream = record.stream();
        let expected = heads.get(&stream).copied().unwrap_or(Expected::Start);
        let fresh: BTreeSet<_> = record
            .blobs()
            .values()
            .map(|blob| blob.commitment)
            .filter(|commitment| named.insert((stream, *commitment)))
            .collect();
        let fresh: Vec<_> = fresh.into_iter().collect();
        let read = from.content(stream, &fresh).await?;
        let contents = read.iter().map(|(key, content)| (*key, content.clone()));
        let head = Expected::Head {
            version: record.version(),
            digest: record.digest(),
        };
        let batch = Batch {
            contents: contents.collect(),
            records: vec![record],
        };
        let appended = to.append(stream, expected, batch, &[]).await;
        appended.map_err(LedgerError::from)?;
        heads.insert(stream, head);
    }
    Ok(())
}
