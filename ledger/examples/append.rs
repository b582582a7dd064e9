//! Appends durable batches and says so, for tests that trace or kill it:
//! `append HOME COUNT [RECORDS]`.
//!
//! Makes a store in `HOME/home` with its head file in `HOME/head`, or goes on with the one that is
//! there, and prints `ack <n>` after each of `COUNT` appends to one run. Every fourth one ends in
//! an event on which something outside rests, and so writes the head file too. With `RECORDS` an
//! append has so many, and whatever fills a tile is sealed before the next one.

use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use placet_ledger::id::{LedgerId, Version};
use placet_ledger::store::EventStore;
use placet_ledger::store::conformance::block_on;
use placet_ledger::store::conformance::chain::{self, Chain};
use placet_ledger::store::sled::{Faults, NoFaults, SealsEarly, SledStore};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("append HOME COUNT")?;
    let count: u32 = arguments.next().ok_or("append HOME COUNT")?.parse()?;
    let records = arguments
        .next()
        .map(|records| records.parse())
        .transpose()?;
    let (home, head) = (
        Path::new(&folder).join("home"),
        Path::new(&folder).join("head"),
    );
    let ledger = LedgerId::new(uuid::Uuid::from_u64_pair(1, 1));
    if !home.exists() {
        drop(SledStore::create(&home, ledger, &head)?);
    }
    let faults: Arc<dyn Faults> = match records {
        Some(_) => Arc::new(SealsEarly { tiles: 2 }),
        None => Arc::new(NoFaults),
    };
    let store = SledStore::open_with(&home, &head, faults)?;
    block_on(append(&store, ledger, count, records))
}

async fn append(
    store: &SledStore,
    ledger: LedgerId,
    count: u32,
    records: Option<usize>,
) -> Result<(), Box<dyn Error>> {
    let mut authority = Chain::authority(ledger);
    let begin = authority.record(chain::created(), &[]);
    // After a kill this is there already, and the same bytes again are harmless.
    let start = Chain::authority(ledger).expected();
    store.append(authority.stream(), start, begin, &[]).await?;
    let mut run = Chain::run(ledger, &authority.digest(), 1);
    for number in 0..count {
        let expected = run.expected();
        let mut batch = run.records(records.unwrap_or(1));
        if number % 4 == 3 {
            chain::extend(&mut batch, run.record(chain::started(), &[]));
        }
        store.append(run.stream(), expected, batch, &[]).await?;
        if records.is_some() {
            store.settle();
        }
        writeln!(io::stdout(), "ack {number}")?;
        io::stdout().flush()?;
    }
    let last = run.version().map_or(0, Version::get);
    writeln!(io::stdout(), "end at version {last}")?;
    Ok(())
}
