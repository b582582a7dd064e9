//! Files of tiles, and rows about them, that were changed behind our back.

use super::*;

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
                Ok(read) => assert_eq!(read, std::slice::from_ref(stored)),
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
        finding.starts_with("the store is damaged: its tile, tile/entries/003"),
        "{finding}"
    );
    let rest = block_on(store.read_all(Position::new(4 * TILE), 9)).unwrap();
    assert_eq!(rest, log[4 * RECORDS..]);
    assert!(SledStore::open(&place.home(), &place.head()).is_err());
}

#[test]
fn ends_of_rows_index_and_tiles_that_disagree_are_named() {
    let (place, _) = four_tiles();
    let after = |change: &dyn Fn(&mut ::sled::Batch, &Rows)| {
        let place = place.copy();
        let rows = place.rows();
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
    let sealed = |rows: &Rows| rows.get(keys::SEALED).unwrap().unwrap().to_vec();
    let told = |change: &dyn Fn(&mut ::sled::Batch, &Rows)| after(change).unwrap();
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
    let last = told(&|batch, _| batch.remove(keys::unit(32)));
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
    let rows = place.rows();
    let mut unit = blocks::unit_at(&rows, 3).unwrap();
    let mut record = unit.entries[1].record.to_vec();
    *record.last_mut().unwrap() ^= 1;
    unit.entries[1].record = record.into();
    // It lies where it lay: a unit that is written later must not come into its block.
    let block = blocks::raw_at(&rows, 3).unwrap().keys().pop().unwrap();
    let packed = unit::pack(unit.first, &unit.entries);
    let [(_, bytes)] = packed.as_slice() else {
        panic!("it fills more than one row");
    };
    rows.insert(&block, bytes).unwrap();
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
