//! Rows and bytes that were changed behind our back.

use super::entry::{Entry, Sealed};
use super::index::{Chunk, Place as Indexed};
use super::rows::Rows;
use super::*;
use crate::merkle::Frontier;
use crate::store::conformance::read_log;

/// A closed store with a few runs in it.
fn filled() -> (Place, Chain) {
    let place = Place::new();
    let (store, mut run) = place.create();
    for count in [3, 40, 2] {
        block_on(append(&store, &mut run, &[], |chain| chain.records(count))).unwrap();
    }
    store.settle();
    drop(store);
    (place, run)
}

/// Changes rows of a closed store, then reads all there is; the first error on the way.
fn after(change: impl FnOnce(&mut ::sled::Batch, &Rows)) -> Option<String> {
    let (place, run) = filled();
    let rows = place.rows();
    let mut batch = ::sled::Batch::default();
    change(&mut batch, &rows);
    rows.apply(batch).unwrap();
    rows.flush().unwrap();
    drop(rows);
    let (store, finding) = match SledStore::open_read_only(&place.home(), &place.head()) {
        Ok(opened) => opened,
        Err(error) => return Some(error.to_string()),
    };
    if let Some(finding) = finding {
        return Some(finding.to_string());
    }
    let read = block_on(async {
        for page in 0..46 {
            store.read_all(Position::new(page), 1).await?;
        }
        for page in 0..45 {
            let page = Version::new(page);
            let records = store.read_run(run.stream(), page, 1).await?;
            assert_eq!(records.len(), 1);
            let envelope = records[0].clone().parse()?.envelope;
            let named: Vec<_> = envelope.blobs().values().map(|b| b.commitment).collect();
            store.content(run.stream(), &named).await?;
        }
        Ok::<_, ReadError>(())
    });
    read.err().map(|error| error.to_string())
}

/// The key of the last unit.
fn last_unit(rows: &Rows) -> Vec<u8> {
    let last = rows.last(b"g", b"h").unwrap();
    last.unwrap().0.to_vec()
}

/// The key of the first block of the unit with a position.
fn block_at(rows: &Rows, position: u64) -> Vec<u8> {
    let unit = blocks::raw_at(rows, position).unwrap();
    unit.keys().remove(1)
}

fn cut(bytes: &[u8]) -> Vec<u8> {
    bytes[..bytes.len() - 1].to_vec()
}

#[test]
fn rows_that_are_missing_or_malformed_are_named() {
    assert_eq!(after(|_, _| ()), None);
    let cases: [(&str, Option<String>); 14] = [
        (
            "last unit",
            after(|batch, rows| batch.remove(last_unit(rows))),
        ),
        ("unit", after(|batch, _| batch.remove(keys::unit(0)))),
        (
            "block",
            after(|batch, rows| batch.remove(block_at(rows, 0))),
        ),
        (
            "place of a unit",
            after(|batch, rows| {
                let place = rows.get(&keys::unit(0)).unwrap().unwrap();
                batch.insert(keys::unit(0), cut(&place));
            }),
        ),
        (
            "cut unit",
            after(|batch, rows| {
                let unit = rows.get(&block_at(rows, 0)).unwrap().unwrap();
                batch.insert(block_at(rows, 0), cut(&unit));
            }),
        ),
        ("index", after(|batch, _| batch.remove(keys::index(1, 0)))),
        (
            "cut index",
            after(|batch, rows| {
                let index = rows.get(&keys::index(1, 0)).unwrap().unwrap();
                batch.insert(keys::index(1, 0), cut(&index));
            }),
        ),
        (
            "index elsewhere",
            after(|batch, _| {
                let place = |position| Indexed {
                    position,
                    contents: Vec::new(),
                };
                let places = (2..47).map(place).collect();
                let (first, row) = Chunk { first: 0, places }.encode().remove(0);
                batch.insert(keys::index(1, first), row);
            }),
        ),
        ("head", after(|batch, _| batch.remove(keys::head(1)))),
        ("tree", after(|batch, _| batch.remove(keys::TREE))),
        (
            "tree of another size",
            after(|batch, _| batch.insert(keys::TREE, Frontier::new().to_bytes())),
        ),
        (
            "mark",
            after(|batch, _| batch.insert(keys::MARK, b"mark".as_slice())),
        ),
        ("format", after(|batch, _| batch.remove(keys::FORMAT))),
        (
            "format of another release",
            after(|batch, _| batch.insert(keys::FORMAT, b"9".as_slice())),
        ),
    ];
    for (case, found) in cases {
        assert!(found.is_some(), "{case} was not found");
    }
}

#[test]
fn contents_that_were_changed_moved_or_cut_are_named() {
    let (place, run) = filled();
    let store = place.open();
    let log = block_on(read_log(&store, 256));
    let commitments: Vec<_> = log[1..3]
        .iter()
        .flat_map(|stored| {
            let blobs = stored.clone().parse().unwrap().envelope.blobs().clone();
            blobs.into_values().map(|blob| blob.commitment)
        })
        .collect();
    drop(store);
    let [one, _] = commitments[..] else { panic!() };
    let read = |change: &dyn Fn(&mut Entry, Sealed)| {
        let place = place.copy();
        let rows = place.rows();
        let mut unit = blocks::unit_at(&rows, 1).unwrap();
        let sealed = |entry: &Entry| entry.contents[0].1.clone();
        let other = sealed(&unit.entries[2]);
        change(&mut unit.entries[1], other);
        let mut batch = ::sled::Batch::default();
        for (first, bytes) in unit::pack(unit.first, &unit.entries) {
            Blocks::find(&rows).unwrap().put(&mut batch, first, &bytes);
        }
        rows.apply(batch).unwrap();
        drop(rows);
        block_on(place.open().content(run.stream(), &[one])).unwrap_err()
    };
    let inline = |entry: &mut Entry, change: &dyn Fn(&mut Vec<u8>)| {
        let Sealed::Inline(bytes) = &entry.contents[0].1 else {
            panic!("it is small");
        };
        let mut bytes = bytes.to_vec();
        change(&mut bytes);
        entry.contents[0].1 = Sealed::Inline(bytes.into());
    };
    let errors = [
        read(&|entry, other| entry.contents[0].1 = other),
        read(&|entry, _| inline(entry, &|bytes| *bytes.last_mut().unwrap() ^= 1)),
        read(&|entry, _| inline(entry, &|bytes| bytes.truncate(60))),
        read(&|entry, _| inline(entry, &Vec::clear)),
        read(&|entry, _| entry.contents[0].1 = Sealed::Apart(80_000)),
    ];
    for error in errors {
        assert!(matches!(error, ReadError::Damaged { .. }), "{error:?}");
    }
}

#[test]
fn a_file_with_flipped_bits_is_reported_or_has_lost_nothing() {
    let (place, mut run) = filled();
    let store = place.open();
    block_on(append(&store, &mut run, &[], |chain| chain.records(200))).unwrap();
    store.settle();
    drop(store);
    let scratch = tempfile::tempdir().unwrap();
    let (store, _) = SledStore::open_copy(&place.home(), &place.head(), scratch.path()).unwrap();
    let log = block_on(check_log(&store));
    drop(store);
    // What the log holds as well would be taken from there.
    for half in ["0", "1"] {
        let half = folder::log(&place.home()).join(half);
        fs::write(&half, vec![0; fs::read(&half).unwrap().len()]).unwrap();
    }
    let path = folder::sled_file(&place.home());
    let bytes = fs::read(&path).unwrap();
    let used = bytes.iter().rposition(|&byte| byte != 0).unwrap();
    let mut reported = 0;
    for at in (0..used).step_by(used / 60) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        fs::write(&path, flipped).unwrap();
        let scratch = tempfile::tempdir().unwrap();
        let opened = SledStore::open_copy(&place.home(), &place.head(), scratch.path());
        match opened {
            Ok((store, None)) => {
                let read = block_on(store.read_all(Position::ZERO, 256));
                reported += usize::from(read.is_err());
                if let Ok(read) = read {
                    assert!(read == log || !linked(&read, &store), "byte {at}");
                }
                drop(block_on(store.read_run(run.stream(), Version::ZERO, 256)));
            }
            Ok((_, Some(_))) | Err(_) => reported += 1,
        }
    }
    assert!(reported > 0);
}

/// Whether the tree over these records is that of the store.
fn linked(log: &[Stored], store: &SledStore) -> bool {
    let mut tree = Frontier::new();
    for stored in log {
        tree.push(&crate::digest::digest(
            crate::digest::Purpose::Event,
            &stored.bytes,
        ));
    }
    block_on(store.tail()).unwrap().root == tree.root()
}
