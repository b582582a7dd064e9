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
    use std::path::Path;
    use std::sync::Mutex;

    use async_trait::async_trait;
    use tempfile::TempDir;

    use super::*;
    use crate::content::{Commitment, Contents};
    use crate::store::sled::{SealsEarly, SledStore};
    use crate::store::{Expected, ReadError, ReadStore, Tail};

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

    /// A store of which all that fills a tile is in tiles, once an append was answered.
    struct InTiles(SledStore);

    #[async_trait]
    impl ReadStore for InTiles {
        async fn read_run(
            &self,
            stream: StreamId,
            from: Version,
            limit: usize,
        ) -> Result<Vec<Stored>, ReadError> {
            self.0.read_run(stream, from, limit).await
        }

        async fn read_all(&self, from: Position, limit: usize) -> Result<Vec<Stored>, ReadError> {
            self.0.read_all(from, limit).await
        }

        async fn tail(&self) -> Result<Tail, ReadError> {
            self.0.tail().await
        }

        async fn content(
            &self,
            stream: StreamId,
            commitments: &[Commitment],
        ) -> Result<Contents, ReadError> {
            self.0.content(stream, commitments).await
        }
    }

    #[async_trait]
    impl EventStore for InTiles {
        async fn append(
            &self,
            stream: StreamId,
            expected: Expected,
            batch: Batch,
            unless: &[Unless],
        ) -> Result<Appended, AppendError> {
            let answer = self.0.append(stream, expected, batch, unless).await;
            self.0.settle();
            answer
        }
    }

    #[derive(Default)]
    struct Sealed(Mutex<Vec<TempDir>>);

    impl Sealed {
        fn open(folder: &Path) -> Arc<dyn EventStore> {
            let (home, head) = (folder.join("home"), folder.join("head"));
            Arc::new(InTiles(
                SledStore::open_with(&home, &head, Arc::new(SealsEarly { tiles: 1 })).unwrap(),
            ))
        }
    }

    impl Fixture for Sealed {
        fn fresh(&self, ledger: LedgerId) -> Arc<dyn EventStore> {
            let folder = tempfile::tempdir().unwrap();
            let (home, head) = (folder.path().join("home"), folder.path().join("head"));
            drop(SledStore::create(&home, ledger, &head).unwrap());
            let store = Self::open(folder.path());
            self.0.lock().unwrap().push(folder);
            store
        }

        fn reopen(&self, store: Arc<dyn EventStore>) -> Arc<dyn EventStore> {
            assert_eq!(Arc::strong_count(&store), 1);
            drop(store);
            let folders = self.0.lock().unwrap();
            Self::open(folders.last().unwrap().path())
        }
    }

    #[test]
    fn the_sled_store_keeps_the_contract_with_its_history_in_tiles() {
        run_all(&Sealed::default());
    }
}
