//! SQLite as one would use it for this: WAL, synchronous FULL, a table by position, an index by
//! run and version, the frontier in a row, one transaction a group.

use std::path::Path;

use placet_ledger::merkle::Frontier;
use rusqlite::{Connection, params};

use crate::group::{Item, Sink};

const SCHEMA: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE event(
        position INTEGER PRIMARY KEY, run BLOB NOT NULL, version INTEGER NOT NULL,
        record BLOB NOT NULL, sealed BLOB NOT NULL
    );
    CREATE UNIQUE INDEX by_run ON event(run, version);
    CREATE TABLE frontier(id INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
";

/// One connection, owned by the committer.
pub(crate) struct Sqlite {
    database: Connection,
    frontier: Frontier,
}

impl Sqlite {
    pub(crate) fn new(folder: &Path) -> Self {
        let database = Connection::open(folder.join("sqlite.db")).unwrap();
        database.execute_batch(SCHEMA).unwrap();
        let frontier = Frontier::new();
        Self { database, frontier }
    }
}

impl Sink for Sqlite {
    fn commit(&mut self, group: &[Item]) {
        let transaction = self.database.transaction().unwrap();
        {
            let mut insert = transaction
                .prepare_cached("INSERT INTO event VALUES(?, ?, ?, ?, ?)")
                .unwrap();
            for item in group {
                // A record names one content here, so each has its sealed blob beside it.
                for (record, sealed) in item.batch.records.iter().zip(&item.sealed) {
                    let position = i64::try_from(self.frontier.size()).unwrap();
                    let version = record.version().get();
                    let run = item.stream.as_bytes();
                    insert
                        .execute(params![position, run, version, &**record.bytes(), sealed])
                        .unwrap();
                    self.frontier.push(&record.digest());
                }
            }
            let mut frontier = transaction
                .prepare_cached("INSERT OR REPLACE INTO frontier VALUES(0, ?)")
                .unwrap();
            frontier.execute([self.frontier.to_bytes()]).unwrap();
        }
        transaction.commit().unwrap();
    }
}
