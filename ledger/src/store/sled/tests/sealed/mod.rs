//! History in tiles: what is read while it is sealed, what a crash leaves, what damage is told.

mod crashes;
mod damage;

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use super::super::tile::{RECORDS, TILE};
use super::*;
use crate::store::conformance::read_log;

/// Seals as much as there is, some tiles at a time.
const SMALL: Sealing = Sealing {
    window: 0,
    tiles: 2,
    head: 1,
    backlog: u64::MAX,
};

/// Seals early, and may stop at a point of it.
struct Small {
    sealing: Sealing,
    /// Where to stop, from where all is copied then, and to where.
    stop: Option<(FaultPoint, PathBuf, PathBuf)>,
}

impl Faults for Small {
    fn reach(&self, point: FaultPoint) -> io::Result<()> {
        match &self.stop {
            Some((at, from, to)) if *at == point => {
                copy_all(from, to);
                Err(io::Error::other("stopped by a test"))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn sealing(&self) -> Sealing {
        self.sealing
    }

    fn room(&self, free_bytes: u64) -> u64 {
        free_bytes
    }
}

impl Place {
    fn small(&self) -> SledStore {
        self.sealing(SMALL)
    }

    fn sealing(&self, sealing: Sealing) -> SledStore {
        let stop = None;
        self.open_with(Small { sealing, stop })
    }

    /// Both files of a tile.
    fn tile(&self, number: usize) -> [PathBuf; 2] {
        let tile = folder::tile(&self.home());
        ["entries", "content"].map(|kind| tile.join(kind).join(format!("{number:03}")))
    }
}

/// A place with two runs by turns, one of them with a large content, in the log and in sled.
fn two_runs(records: usize) -> (Place, Chain, Chain) {
    let place = Place::new();
    let (store, mut run) = place.create();
    let mut other = other_run(&run);
    let large = vec![b'x'; 100_000];
    block_on(append(&store, &mut other, &[], |chain| {
        chain.record(chain::parked(), &[("text", &large)])
    }))
    .unwrap();
    for number in 2..records {
        let chain = if number % 3 == 0 {
            &mut other
        } else {
            &mut run
        };
        block_on(append_one(&store, chain));
    }
    (place, run, other)
}

fn other_run(run: &Chain) -> Chain {
    let mut authority = Chain::authority(run.ledger());
    authority.record(chain::created(), &[]);
    Chain::run(run.ledger(), &authority.digest(), 2)
}

/// Names in a folder.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
    entries
        .map(|entry| name(entry).into_string().unwrap())
        .collect()
}

#[test]
fn what_is_old_enough_is_in_tiles_alone_and_reads_as_before() {
    let (place, mut run, _) = two_runs(43);
    let store = place.sealing(Sealing { window: 5, ..SMALL });
    let before = block_on(check_log(&store));
    store.settle();
    assert_eq!(block_on(check_log(&store)), before);
    assert_eq!(store.shared.tiles.sealed(), 32, "43 less a window of 5");
    let units = store.shared.rows.page(b"g", b"h", false, 99).unwrap();
    assert_eq!(keys::read_unit(&units[0].0), Some(32));
    for kind in ["entries", "content"] {
        let names = names(&folder::tile(&place.home()).join(kind));
        assert_eq!(Vec::from_iter(names), ["000", "001", "002", "003"]);
    }
    drop(store);
    let store = place.open();
    assert_eq!(block_on(check_log(&store)), before);
    block_on(append_one(&store, &mut run));
    assert_eq!(block_on(check_log(&store))[..43], before);
    assert_no_blobs(&place);
}

#[test]
fn a_store_of_which_all_is_sealed_goes_on() {
    let (place, mut run, mut other) = two_runs(3 * RECORDS);
    for round in 1..4 {
        let store = place.small();
        store.settle();
        let units = store.shared.rows.page(b"g", b"h", false, 9).unwrap();
        assert!(units.is_empty(), "round {round}");
        let before = block_on(check_log(&store));
        drop(store);
        // With the usual limits, as any verb opens it, and with another one.
        let store = place.open();
        assert_eq!(block_on(check_log(&store)), before);
        for number in 0..2 * RECORDS {
            let chain = if number % 2 == 0 {
                &mut run
            } else {
                &mut other
            };
            block_on(append_one(&store, chain));
        }
    }
    assert_eq!(block_on(check_log(&place.open())).len(), 9 * RECORDS);
}

#[test]
fn tiles_never_change_and_hold_entry_bundles() {
    let (place, mut run, _) = two_runs(2 * RECORDS + 3);
    let store = place.small();
    store.settle();
    let tiles = files(&folder::tile(&place.home()));
    assert_eq!(tiles.len(), 4);
    let log = block_on(read_log(&store, 256));
    let bundle = &tiles[&place.tile(1)[0]];
    let records = log[RECORDS..2 * RECORDS].iter().flat_map(|stored| {
        let length = u16::try_from(stored.bytes.len()).unwrap();
        [&length.to_be_bytes(), &stored.bytes[..]].concat()
    });
    assert_eq!(bundle[..], records.collect::<Vec<_>>());
    for _ in 0..3 * RECORDS {
        block_on(append_one(&store, &mut run));
    }
    store.settle();
    drop(store);
    let later = files(&folder::tile(&place.home()));
    assert_eq!(later.len(), 10);
    for (path, bytes) in tiles {
        assert_eq!(later[&path], bytes, "{}", path.display());
    }
}

#[test]
fn whoever_reads_while_records_move_and_are_sealed_misses_none() {
    let (place, mut run, _) = two_runs(9);
    let store = place.sealing(Sealing { tiles: 1, ..SMALL });
    let ended = AtomicBool::new(false);
    let read_all = |copies| {
        let (mut rounds, mut longest) = (0, 0);
        while !ended.load(Ordering::Acquire) {
            let size = block_on(store.tail()).unwrap().size;
            let mut next = 0;
            while next < size {
                let from = Position::new(next);
                let mut one = |position| {
                    assert_eq!(position, Position::new(next));
                    next += 1;
                };
                if copies {
                    let page = block_on(store.read_all(from, 7)).unwrap();
                    for stored in &page {
                        one(stored.position);
                    }
                } else {
                    let mut show = |position, _: &[u8]| one(position);
                    block_on(store.show_all(from, 7, &mut show)).unwrap();
                }
            }
            longest = longest.max(next);
            rounds += 1;
        }
        (rounds, longest)
    };
    let read_run = || {
        while !ended.load(Ordering::Acquire) {
            let records = block_on(store.read_run(run_id(&place), Version::ZERO, 256)).unwrap();
            for (version, stored) in records.iter().enumerate() {
                let envelope = stored.clone().parse().unwrap().envelope;
                assert_eq!(envelope.version().get() as usize, version);
                let named: Vec<_> = envelope.blobs().values().map(|b| b.commitment).collect();
                block_on(store.content(envelope.stream(), &named)).unwrap();
            }
        }
    };
    thread::scope(|scope| {
        let readers = [true, false].map(|copies| scope.spawn(move || read_all(copies)));
        scope.spawn(read_run);
        for number in 0..25 * RECORDS {
            block_on(append_one(&store, &mut run));
            if number % 5 == 0 {
                store.settle();
            }
        }
        ended.store(true, Ordering::Release);
        for reader in readers {
            let (rounds, longest) = reader.join().unwrap();
            assert!(
                rounds > 1 && longest > 9,
                "{rounds} rounds, {longest} records"
            );
        }
    });
    assert!(store.shared.tiles.sealed() >= 25 * TILE);
    assert_no_blobs(&place);
}

/// The first run of every place.
fn run_id(_: &Place) -> StreamId {
    let ledger = LedgerId::new(uuid::Uuid::from_u64_pair(5, 5));
    let mut authority = Chain::authority(ledger);
    authority.record(chain::created(), &[]);
    Chain::run(ledger, &authority.digest(), 1).stream()
}

/// Holds the mover once it has written a tile, until it is let go.
struct Held {
    reached: Mutex<Sender<()>>,
    go: Mutex<Receiver<()>>,
}

impl Faults for Held {
    fn reach(&self, point: FaultPoint) -> io::Result<()> {
        if point == FaultPoint::TileWritten {
            // An error means that the test let go of it.
            let _ignored = self.reached.lock().unwrap().send(());
            let _ignored = self.go.lock().unwrap().recv();
        }
        Ok(())
    }

    fn sealing(&self) -> Sealing {
        SMALL
    }

    fn room(&self, free_bytes: u64) -> u64 {
        free_bytes
    }
}

#[test]
fn memory_is_bounded_while_sealing_takes_long() {
    let (place, run, _) = two_runs(3 * RECORDS);
    place.open().settle();
    let (reached, waiting) = channel();
    let (release, go) = channel();
    let (reached, go) = (Mutex::new(reached), Mutex::new(go));
    let store = place.open_with(Held { reached, go });
    // It begins by itself, since there is nothing else to do.
    waiting.recv().unwrap();
    let (mut chain, mut appends) = (run, Vec::new());
    let text = vec![b'x'; 60_000];
    let busy = loop {
        let expected = chain.expected();
        let batch = chain.record(chain::parked(), &[("text", &text)]);
        let mut append = store.append(chain.stream(), expected, batch, &[]);
        match poll_once(&mut append) {
            Poll::Ready(Err(AppendError::Busy)) => break true,
            Poll::Ready(answer) => assert!(answer.is_ok(), "{answer:?}"),
            Poll::Pending => appends.push(append),
        }
        if appends.len() > 4_000 {
            break false;
        }
    };
    let held = store.shared.remember(|memory| memory.bytes());
    drop(release);
    assert!(busy, "nobody was told to come again");
    // What is in the halves of the log: a group may be larger than one, and is alone in it then.
    assert!(held < 20 * 1024 * 1024, "{held} bytes are held");
    for append in appends {
        block_on(append).unwrap();
    }
    store.settle();
    block_on(check_log(&store));
}

/// Up to where the index stood when the first rows were taken out of sled.
fn mark_at_first_removal(backlog: u64) -> u64 {
    let sealing = Sealing {
        window: 4 * TILE,
        tiles: 1,
        backlog,
        ..SMALL
    };
    let (place, mut run, _) = two_runs(20 * RECORDS);
    place.sealing(sealing).settle();
    let (from, to) = (place.0.path().to_owned(), Place::new());
    let stop = Some((FaultPoint::RowsRemoved, from, to.0.path().to_owned()));
    let store = place.open_with(Small { sealing, stop });
    assert_eq!(store.shared.tiles.sealed(), 16 * TILE);
    for _ in 0..4 * RECORDS {
        block_on(append_one(&store, &mut run));
    }
    // They are moved, then the index is written, then what is left is sealed.
    store.settle();
    assert_eq!(store.shared.tiles.sealed(), 17 * TILE);
    store.shared.remember(|memory| memory.index.mark)
}

#[test]
fn where_too_much_is_in_sled_records_leave_it_as_others_come() {
    assert_eq!(mark_at_first_removal(u64::MAX), 24 * TILE);
    assert_eq!(mark_at_first_removal(0), 20 * TILE);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_order_of_appends_seals_and_reopenings_keeps_all(
        steps in prop::collection::vec((1..20_usize, 0..4_u8, 0..30_u64), 1..12),
    ) {
        let place = Place::new();
        let (mut store, mut run) = place.create();
        let mut log = block_on(read_log(&store, 256));
        for (count, then, window) in steps {
            block_on(append(&store, &mut run, &[], |chain| chain.records(count))).unwrap();
            match then {
                0 => {}
                1 => store.settle(),
                2 => {
                    drop(store);
                    store = place.sealing(Sealing { window, ..SMALL });
                }
                _ => {
                    store.settle();
                    let killed = place.copy();
                    let after = killed.sealing(Sealing { window, ..SMALL });
                    after.settle();
                    prop_assert_eq!(block_on(check_log(&after)), block_on(check_log(&store)));
                }
            }
            let now = block_on(check_log(&store));
            prop_assert_eq!(&now[..log.len()], &log[..]);
            prop_assert_eq!(now.len(), log.len() + count);
            log = now;
        }
    }
}
