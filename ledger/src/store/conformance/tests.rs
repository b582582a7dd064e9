//! The suite, run against the stores of this crate.

use super::*;
use crate::store::memory::MemoryStore;

struct Memory;

impl Fixture for Memory {
    fn fresh(&self, ledger: LedgerId) -> Arc<dyn EventStore> {
        Arc::new(MemoryStore::new(ledger))
    }

    fn reopen(&self, store: Arc<dyn EventStore>) -> Arc<dyn EventStore> {
        store
    }
}

#[test]
fn the_memory_store_keeps_the_contract() {
    run_all(&Memory);
}
