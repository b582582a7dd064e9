//! Every canned run and every play, in the process that holds the ledger and over the socket: the
//! same log, byte for byte.

use std::sync::Arc;

use placet_ledger::store::EventStore;
use placet_ledger::store::memory::MemoryStore;
use placet_replay::cut;
use placet_replay::history::{self, History};
use placet_replay::play::plays;
use placet_replay::reach::{Reach, within};
use placet_replay::world::{World, ledger_id};
use tokio::runtime::Builder;

/// The bytes of every record, oldest first.
type Log = Vec<Vec<u8>>;

async fn log(store: &dyn EventStore) -> Log {
    let records = cut::log(store).await.unwrap();
    records
        .iter()
        .map(|record| record.bytes().to_vec())
        .collect()
}

fn in_both<T>(work: impl AsyncFn() -> T) -> (T, T) {
    let on = |reach| {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        within(reach, || runtime.block_on(work()))
    };
    (on(Reach::HereAsUser), on(Reach::Socket))
}

fn assert_alike(name: &str, here: &Log, there: &Log) {
    for (number, (one, other)) in here.iter().zip(there).enumerate() {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(text(one), text(other), "{name}: record {number}");
    }
    assert_eq!(here.len(), there.len(), "{name}");
}

#[test]
fn every_canned_run_is_the_same_log_over_the_socket() {
    let made = async || {
        let mut logs = Vec::new();
        for History { name, world, .. } in history::all().await.unwrap() {
            logs.push((name, log(&**world.store()).await));
        }
        logs
    };
    let (here, there) = in_both(made);
    assert_eq!(here.len(), there.len());
    for ((name, one), (_, other)) in here.iter().zip(&there) {
        assert!(one.len() > 3, "{name}");
        assert_alike(name, one, other);
    }
}

#[test]
fn every_play_is_the_same_log_over_the_socket() {
    let played = async || {
        let mut logs = Vec::new();
        for play in plays() {
            let store = Arc::new(MemoryStore::new(ledger_id()));
            let mut world: World = play.world(store).await.unwrap();
            let run = play.start(&mut world).await.unwrap();
            let end = play.on(&mut world, run).await.unwrap();
            logs.push((play.name, end, log(&**world.store()).await));
        }
        logs
    };
    let (here, there) = in_both(played);
    assert_eq!(here.len(), plays().len());
    for ((name, end, one), (_, other_end, other)) in here.iter().zip(&there) {
        assert_eq!(end, other_end, "{name}");
        assert_alike(name, one, other);
    }
}
