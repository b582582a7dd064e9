//! History in tiles: what is read while it is sealed, what a crash leaves, what damage is told.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use super::tile::{RECORDS, TILE};
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
    assert_eq!(keys::read_unit(&units[0].0), Some((32, 0)));
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
    let read_all = || {
        let (mut rounds, mut longest) = (0, 0);
        while !ended.load(Ordering::Acquire) {
            let size = block_on(store.tail()).unwrap().size;
            let log = block_on(read_log(&store, 7));
            assert!(log.len() as u64 >= size);
            for (place, stored) in log.iter().enumerate() {
                assert_eq!(stored.position, Position::new(place as u64));
            }
            longest = longest.max(log.len());
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
        let readers = [scope.spawn(read_all), scope.spawn(read_all)];
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

const POINTS: [FaultPoint; 4] = [
    FaultPoint::TileWritten,
    FaultPoint::TilesPlaced,
    FaultPoint::TilesSynced,
    FaultPoint::RowsRemoved,
];

/// All that was acknowledged is there, can be sealed, and the store goes on.
fn assert_nothing_lost(case: &str, place: &Place, acknowledged: &[Stored], run: &Chain) {
    let store = place.small();
    let left = names(&folder::tile(&place.home()).join("new"));
    assert!(left.len() <= 2, "{case}: {left:?}");
    assert_eq!(block_on(check_log(&store)), acknowledged, "{case}");
    block_on(append_one(&store, &mut run.clone()));
    store.settle();
    assert_eq!(store.shared.tiles.sealed(), 5 * TILE, "{case}");
    let log = block_on(check_log(&store));
    assert_eq!(log[..acknowledged.len()], *acknowledged, "{case}");
    drop(store);
    assert!(names(&folder::tile(&place.home()).join("new")).is_empty());
    assert_eq!(block_on(check_log(&place.open())), log, "{case}");
}

#[test]
fn sealing_that_stops_anywhere_loses_nothing() {
    for point in POINTS {
        let (place, run, _) = two_runs(5 * RECORDS + 2);
        let acknowledged = block_on(read_log(&place.open(), 256));
        let killed = Place::new();
        let (from, to) = (place.0.path().to_owned(), killed.0.path().to_owned());
        let stop = Some((point, from, to));
        let store = place.open_with(Small {
            sealing: SMALL,
            stop,
        });
        store.settle();
        let mut next = run.clone();
        let answer = block_on(append(&store, &mut next, &[], |chain| chain.records(1)));
        assert!(
            matches!(answer, Err(AppendError::Poisoned(_))),
            "{point:?}: {answer:?}"
        );
        // Who reads on reads the same.
        assert_eq!(block_on(check_log(&store)), acknowledged, "{point:?}");
        drop(store);
        let unsynced = killed.copy();
        assert_nothing_lost(&format!("{point:?}, killed"), &killed, &acknowledged, &run);
        assert_nothing_lost(&format!("{point:?}, failed"), &place, &acknowledged, &run);
        // Names that were not synced may be gone after a power cut, or lead to nothing whole.
        if point <= FaultPoint::TilesPlaced {
            let torn = unsynced.copy();
            for path in files(&folder::tile(&torn.home())).into_keys() {
                fs::write(path, b"torn").unwrap();
            }
            assert_nothing_lost("torn", &torn, &acknowledged, &run);
            for path in files(&folder::tile(&unsynced.home())).into_keys() {
                fs::remove_file(path).unwrap();
            }
            assert_nothing_lost("gone", &unsynced, &acknowledged, &run);
        }
    }
}

/// A closed store with four tiles and a rest, and all that is in it.
fn four_tiles() -> (Place, Vec<Stored>) {
    let (place, _, _) = two_runs(4 * RECORDS + 3);
    let store = place.small();
    store.settle();
    let log = block_on(check_log(&store));
    (place, log)
}

/// The positions whose record, whose stream from there, or whose contents cannot be read, each of
/// which is named by its error.
fn unreadable(place: &Place, log: &[Stored]) -> Vec<u64> {
    let scratch = tempfile::tempdir().unwrap();
    let opened = SledStore::open_copy(&place.home(), &place.head(), scratch.path());
    let (store, _) = opened.unwrap();
    let damaged = |position: Position, error: &ReadError| {
        let named =
            matches!(error, ReadError::Damaged { position: at, .. } if *at == Some(position));
        assert!(named, "{position}: {error:?}");
    };
    let mut found = Vec::new();
    for stored in log {
        let position = stored.position;
        let envelope = stored.clone().parse().unwrap().envelope;
        let (stream, version) = (envelope.stream(), envelope.version());
        let named: Vec<_> = envelope.blobs().values().map(|b| b.commitment).collect();
        let all = block_on(store.read_all(position, 1));
        let run = block_on(store.read_run(stream, version, 1));
        let contents = block_on(store.content(stream, &named));
        for read in [&all, &run] {
            match read {
                Ok(read) => assert_eq!(read[..], [stored.clone()]),
                Err(error) => damaged(position, error),
            }
        }
        if let Err(error) = &contents {
            damaged(position, error);
        }
        assert_eq!(all.is_err(), run.is_err(), "{position}");
        if all.is_err() || contents.is_err() {
            found.push(position.get());
        }
    }
    found
}

#[test]
fn a_byte_of_a_tile_that_changed_is_named_and_hides_no_other_tile() {
    let (place, log) = four_tiles();
    assert_eq!(unreadable(&place, &log), [0_u64; 0]);
    let whole: Vec<u64> = (TILE..2 * TILE).collect();
    for path in place.tile(1) {
        let bytes = fs::read(&path).unwrap();
        let head = if path == place.tile(1)[1] {
            1 + RECORDS * 24 + 4
        } else {
            0
        };
        for at in (0..bytes.len()).step_by(bytes.len() / 23) {
            let mut changed = bytes.clone();
            changed[at] ^= 0x21;
            fs::write(&path, changed).unwrap();
            let found = unreadable(&place, &log);
            if at < head {
                assert_eq!(found, whole, "byte {at} of {}", path.display());
            } else {
                assert_eq!(found.len(), 1, "byte {at} of {}", path.display());
                assert!(whole.contains(&found[0]), "{found:?}");
            }
        }
        fs::write(&path, bytes).unwrap();
    }
    assert_eq!(unreadable(&place, &log), [0_u64; 0]);
}

#[test]
fn a_tile_that_is_missing_cut_or_longer_is_named_and_hides_no_other() {
    let (place, log) = four_tiles();
    let whole: Vec<u64> = (TILE..2 * TILE).collect();
    for path in place.tile(1) {
        let bytes = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(unreadable(&place, &log), whole);
        // The last record of a file that is cut is missing, the others are there.
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert_eq!(unreadable(&place, &log), [2 * TILE - 1]);
        fs::write(&path, &bytes[..100]).unwrap();
        assert_eq!(unreadable(&place, &log), whole);
        fs::write(&path, [&bytes[..], b"!"].concat()).unwrap();
        assert_eq!(unreadable(&place, &log), whole);
        // A store with a damaged tile is opened, whatever its age: not all of them are looked at.
        assert!(SledStore::open(&place.home(), &place.head()).is_ok());
        fs::write(&path, bytes).unwrap();
    }
    // Tiles that stand in each other's places are not those of their positions.
    let [one, two] = [place.tile(0), place.tile(1)];
    for (one, two) in one.iter().zip(&two) {
        let (first, second) = (fs::read(one).unwrap(), fs::read(two).unwrap());
        fs::write(one, second).unwrap();
        fs::write(two, first).unwrap();
    }
    let scratch = tempfile::tempdir().unwrap();
    let opened = SledStore::open_copy(&place.home(), &place.head(), scratch.path());
    let (store, _) = opened.unwrap();
    let first = log[0].clone().parse().unwrap().envelope;
    let read = block_on(store.read_run(first.stream(), Version::ZERO, 1));
    assert!(matches!(read, Err(ReadError::Damaged { .. })), "{read:?}");
}

#[test]
fn a_home_without_its_tiles_is_not_written_to() {
    let (place, log) = four_tiles();
    fs::remove_dir_all(folder::tile(&place.home())).unwrap();
    let (store, finding) = SledStore::open_read_only(&place.home(), &place.head()).unwrap();
    let finding = finding.unwrap().to_string();
    assert!(
        finding.starts_with("the store is damaged: its tile, entries/003"),
        "{finding}"
    );
    let rest = block_on(store.read_all(Position::new(4 * TILE), 9)).unwrap();
    assert_eq!(rest, log[4 * RECORDS..]);
    assert!(SledStore::open(&place.home(), &place.head()).is_err());
}

#[test]
fn ends_of_rows_index_and_tiles_that_disagree_are_named() {
    let (place, _) = four_tiles();
    let after = |change: &dyn Fn(&mut ::sled::Batch, &rows::Rows)| {
        let place = place.copy();
        let rows = rows::Rows::open(&folder::sled(&place.home())).unwrap();
        let mut batch = ::sled::Batch::default();
        change(&mut batch, &rows);
        rows.apply(batch).unwrap();
        rows.flush().unwrap();
        drop(rows);
        match SledStore::open_read_only(&place.home(), &place.head()) {
            Ok((_, finding)) => finding.map(|finding| finding.to_string()),
            Err(error) => Some(error.to_string()),
        }
    };
    assert_eq!(after(&|_, _| ()), None);
    let sealed = |rows: &rows::Rows| rows.get(keys::SEALED).unwrap().unwrap().to_vec();
    let told = |change: &dyn Fn(&mut ::sled::Batch, &rows::Rows)| after(change).unwrap();
    assert_eq!(
        told(&|batch, _| batch.remove(keys::SEALED)),
        "the store is damaged: it has no tree of its tiles"
    );
    assert_eq!(
        told(&|batch, rows| {
            let mut changed = sealed(rows);
            changed[9] ^= 1;
            batch.insert(keys::SEALED, changed);
        }),
        "the store is damaged: its tiles and its rows are of two histories"
    );
    assert_eq!(
        told(&|batch, _| batch.insert(keys::MARK, 30_u64.to_be_bytes().as_slice())),
        "the store is damaged: its tiles end at size 32, its index at 30"
    );
    let last = told(&|batch, _| batch.remove(keys::unit(32, 0)));
    assert_eq!(
        last,
        "the store is damaged: its rows end at size 32, its tree at 35"
    );
}

#[test]
fn what_sled_gives_back_changed_is_never_sealed() {
    let (place, run, _) = two_runs(2 * RECORDS + 1);
    // All is in sled with its index, so that opening does not read it.
    place.open().settle();
    let rows = rows::Rows::open(&folder::sled(&place.home())).unwrap();
    let mut unit = read::read_unit(&rows, 3).unwrap();
    let mut record = unit.entries[1].record.to_vec();
    *record.last_mut().unwrap() ^= 1;
    unit.entries[1].record = record.into();
    let mut batch = ::sled::Batch::default();
    for (first, bytes) in unit::pack(unit.first, &unit.entries) {
        batch.insert(keys::unit(first, 0), bytes);
    }
    rows.apply(batch).unwrap();
    drop(rows);
    let store = place.small();
    let mut next = run.clone();
    for _ in 0..RECORDS {
        block_on(append_one(&store, &mut next));
    }
    store.settle();
    let answer = block_on(append(&store, &mut next, &[], |chain| chain.records(1)));
    let Err(AppendError::Poisoned(why)) = answer else {
        panic!("it went on: {answer:?}");
    };
    assert!(
        why.contains("what sled gives back is not what was acknowledged"),
        "{why}"
    );
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
    assert!(busy, "nobody was told to come again");
    let held = store.shared.remember(|memory| memory.bytes()) as u64;
    assert!(held <= 2 * log::HALF_BYTES, "{held} bytes are held");
    drop(release);
    for append in appends {
        block_on(append).unwrap();
    }
    store.settle();
    block_on(check_log(&store));
}

#[test]
fn where_too_much_is_in_sled_records_leave_it_as_others_come() {
    let (place, mut run, _) = two_runs(20 * RECORDS);
    place.open().settle();
    // As much as there is may be sealed, and nothing is unless it must be.
    let sealing = Sealing {
        tiles: 1,
        backlog: 0,
        ..SMALL
    };
    let store = place.sealing(sealing);
    let sealed = || store.shared.tiles.sealed();
    store.settle();
    assert_eq!(sealed(), 20 * TILE);
    for _ in 0..4 * RECORDS {
        block_on(append_one(&store, &mut run));
    }
    store.settle();
    assert_eq!(sealed(), 24 * TILE);
    block_on(check_log(&store));
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
