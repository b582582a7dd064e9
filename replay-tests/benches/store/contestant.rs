//! Who is compared, behind one trait: what is there once an append is answered is on disk.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use placet_ledger::digest::Digest;
use placet_ledger::id::{LedgerId, StreamId};
use placet_ledger::store::conformance::chain::{self, Chain};
use placet_ledger::store::seal::Sealer;
use placet_ledger::store::sled::SledStore;
use placet_ledger::store::{Batch, EventStore, Expected};
use uuid::Uuid;

use crate::files::PlainFile;
use crate::group::Group;
use crate::sqlite::Sqlite;

/// A contestant by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `SledStore`, through `EventStore::append`.
    Store,
    /// SQLite, WAL, synchronous FULL, sealed contents, one transaction a group.
    Sqlite,
    /// A plain file that does the same work of the processor.
    FileAndWork,
    /// A plain file: one write and one fdatasync a group.
    File,
}

/// All, in the order in which the first round asks them.
pub(crate) const CONTESTANTS: [Kind; 4] =
    [Kind::Store, Kind::Sqlite, Kind::FileAndWork, Kind::File];

impl Kind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::Sqlite => "SQLite",
            Self::FileAndWork => "file+work",
            Self::File => "file",
        }
    }
}

/// One append as its caller has prepared it, the same for everybody.
#[derive(Clone)]
pub(crate) struct Prepared {
    pub(crate) stream: StreamId,
    pub(crate) expected: Expected,
    pub(crate) batch: Batch,
}

/// Takes appends and makes them durable.
#[async_trait]
pub(crate) trait Contestant: Send + Sync {
    /// Durable once it returns. `sealer` is the caller's, for those that do not seal themselves.
    async fn append(&self, prepared: Prepared, sealer: &mut Sealer);

    /// Returns once nothing is left to do behind the answers.
    fn settle(&self) {}
}

#[async_trait]
impl Contestant for SledStore {
    async fn append(&self, prepared: Prepared, _: &mut Sealer) {
        let Prepared {
            stream,
            expected,
            batch,
        } = prepared;
        let appended = EventStore::append(self, stream, expected, batch, &[]).await;
        assert!(!appended.expect("the store takes it").replayed);
    }

    fn settle(&self) {
        Self::settle(self);
    }
}

pub(crate) const LEDGER: LedgerId = LedgerId::new(Uuid::from_u64_pair(0x001e_d6e4, 1));

/// The record that the ledger of every contestant begins with.
fn first() -> (Chain, Expected, Batch) {
    let mut authority = Chain::authority(LEDGER);
    let expected = authority.expected();
    let first = authority.record(chain::created(), &[]);
    (authority, expected, first)
}

/// The digest of that record.
pub(crate) fn created() -> Digest {
    first().0.digest()
}

/// Appends that record.
pub(crate) async fn begin(store: &SledStore) {
    let (authority, expected, first) = first();
    let appended = EventStore::append(store, authority.stream(), expected, first, &[]).await;
    appended.unwrap();
}

/// A fresh contestant in an empty folder.
pub(crate) async fn open(kind: Kind, folder: &Path) -> Arc<dyn Contestant> {
    match kind {
        Kind::Store => {
            let (home, head) = (folder.join("home"), folder.join("head"));
            let store = SledStore::create(&home, LEDGER, &head).unwrap();
            begin(&store).await;
            Arc::new(store)
        }
        Kind::Sqlite => Arc::new(Group::new(Sqlite::new(folder), true)),
        Kind::FileAndWork => Arc::new(Group::new(PlainFile::new(folder, true), true)),
        Kind::File => Arc::new(Group::new(PlainFile::new(folder, false), false)),
    }
}
