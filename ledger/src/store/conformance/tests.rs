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

#[cfg(feature = "sled")]
mod sled {
    use std::sync::Mutex;

    use tempfile::TempDir;

    use super::*;
    use crate::store::sled::SledStore;

    /// Each ledger in a folder of its own, the last of which is the one that is reopened.
    #[derive(Default)]
    struct Sled(Mutex<Vec<TempDir>>);

    impl Fixture for Sled {
        fn fresh(&self, ledger: LedgerId) -> Arc<dyn EventStore> {
            let folder = tempfile::tempdir().unwrap();
            let (home, head) = (folder.path().join("home"), folder.path().join("head"));
            let store = SledStore::create(&home, ledger, &head).unwrap();
            self.0.lock().unwrap().push(folder);
            Arc::new(store)
        }

        fn reopen(&self, store: Arc<dyn EventStore>) -> Arc<dyn EventStore> {
            assert_eq!(Arc::strong_count(&store), 1);
            drop(store);
            let folders = self.0.lock().unwrap();
            let folder = folders.last().unwrap().path();
            Arc::new(SledStore::open(&folder.join("home"), &folder.join("head")).unwrap())
        }
    }

    #[test]
    fn the_sled_store_keeps_the_contract() {
        run_all(&Sled::default());
    }
}
