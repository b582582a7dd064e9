//! The head file: no torn write loses the head, and nothing makes it go back.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::digest::{Purpose, digest};

fn frontier(size: u64) -> Frontier {
    let mut frontier = Frontier::new();
    for number in 0..size {
        frontier.push(&digest(Purpose::Event, &number.to_be_bytes()));
    }
    frontier
}

fn bytes(dir: &Path) -> Vec<u8> {
    fs::read(dir.join(FILE_NAME)).unwrap()
}

fn put(dir: &Path, bytes: &[u8]) {
    fs::write(dir.join(FILE_NAME), bytes).unwrap();
}

#[test]
fn keeps_the_newest_head_and_writes_the_slots_by_turns() {
    let dir = tempfile::tempdir().unwrap();
    let mut head = HeadFile::create(dir.path(), &frontier(2)).unwrap();
    assert_eq!(head.current().size(), 2);
    assert_eq!(head.current().incarnation(), 1);
    let mut before = bytes(dir.path());
    assert_eq!(before.len(), 8192);
    for (size, slot) in [(3, 0), (200, 1), (201, 0), (1023, 1)] {
        head.write(&frontier(size)).unwrap();
        let after = bytes(dir.path());
        let (kept, written) = (1 - slot, slot);
        let part = |bytes: &[u8], slot: usize| bytes[slot * 4096..][..4096].to_vec();
        assert_eq!(part(&before, kept), part(&after, kept));
        assert_ne!(part(&before, written), part(&after, written));
        before = after;
        let opened = HeadFile::open(dir.path()).unwrap();
        assert_eq!(opened.current(), head.current());
        assert_eq!(opened.older, head.older);
        assert_eq!(opened.current().frontier(), &frontier(size));
        assert_eq!(opened.current().root(), frontier(size).root());
    }
    assert_eq!(head.current().sequence(), 5);
}

#[test]
fn a_torn_write_leaves_the_other_slot() {
    let dir = tempfile::tempdir().unwrap();
    let mut head = HeadFile::create(dir.path(), &frontier(2)).unwrap();
    head.write(&frontier(9)).unwrap();
    let before = bytes(dir.path());
    head.write(&frontier(14)).unwrap();
    let after = bytes(dir.path());
    for cut in 4096..8192 {
        let torn = [&after[..cut], &before[cut..]].concat();
        let whole = torn == after;
        put(dir.path(), &torn);
        let opened = Head::read(dir.path()).unwrap();
        assert_eq!(opened.size(), if whole { 14 } else { 9 }, "{cut}");
    }
    for index in 4096..8192 {
        let mut rotten = after.clone();
        rotten[index] ^= 1;
        put(dir.path(), &rotten);
        let opened = Head::read(dir.path()).unwrap();
        assert_eq!(opened.size(), 9, "{index}");
    }
    for size in [15, 16] {
        let mut opened = HeadFile::open(dir.path()).unwrap();
        opened.write(&frontier(size)).unwrap();
        assert_eq!(Head::read(dir.path()).unwrap(), *opened.current());
    }
    assert_eq!(HeadFile::open(dir.path()).unwrap().current().size(), 16);
}

#[test]
fn whoever_writes_is_alone_and_whoever_reads_waits_for_nobody() {
    let dir = tempfile::tempdir().unwrap();
    drop(HeadFile::create(dir.path(), &frontier(2)).unwrap());
    let mut one = HeadFile::open(dir.path()).unwrap();
    let path = dir.path().join(FILE_NAME);
    let other = HeadFile::open(dir.path()).unwrap_err();
    assert!(
        matches!(&other, HeadError::InUse(at) if *at == path),
        "{other:?}"
    );
    one.write(&frontier(3)).unwrap();
    let before = bytes(dir.path());
    assert_eq!(Head::read(dir.path()).unwrap(), *one.current());
    assert_eq!(bytes(dir.path()), before);
    drop(one);
    assert_eq!(HeadFile::open(dir.path()).unwrap().current().size(), 3);
}

#[test]
fn names_a_damaged_and_a_missing_file() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(
        HeadFile::open(dir.path()),
        Err(HeadError::Missing(_))
    ));
    let mut head = HeadFile::create(dir.path(), &frontier(2)).unwrap();
    let first = bytes(dir.path());
    for size in 3..8 {
        head.write(&frontier(size)).unwrap();
    }
    let last = bytes(dir.path());
    let mut both = last.clone();
    both[100] ^= 1;
    both[5000] ^= 1;
    let mixed = [&last[..4096], &first[4096..]].concat();
    let twice = [&last[..4096], &last[..4096]].concat();
    for damaged in [both, mixed, twice, Vec::new(), vec![0; 8192]] {
        put(dir.path(), &damaged);
        assert!(matches!(
            HeadFile::open(dir.path()),
            Err(HeadError::Damaged(_))
        ));
    }
    put(dir.path(), &last[..8000]);
    assert!(HeadFile::open(dir.path()).is_ok());
    assert!(matches!(
        HeadFile::create(dir.path(), &frontier(2)),
        Err(HeadError::Io { .. })
    ));
}

#[test]
fn never_goes_back_or_aside() {
    let dir = tempfile::tempdir().unwrap();
    let mut head = HeadFile::create(dir.path(), &frontier(0)).unwrap();
    head.write(&frontier(9)).unwrap();
    let before = bytes(dir.path());
    assert!(matches!(
        head.write(&frontier(8)),
        Err(HeadError::Shrinks { from: 9, to: 8 })
    ));
    let mut other = frontier(8);
    other.push(&digest(Purpose::Event, b"another"));
    assert!(matches!(head.write(&other), Err(HeadError::Diverges(9))));
    head.write(&frontier(9)).unwrap();
    assert_eq!(bytes(dir.path()), before);
    assert_eq!(head.current().size(), 9);
}

#[test]
fn file_and_folders_are_for_their_owner_alone() {
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join("placet").join("ledger");
    HeadFile::create(&deep, &frontier(1)).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&deep.join(FILE_NAME)), 0o600);
    assert_eq!(mode(&deep), 0o700);
    assert_eq!(mode(deep.parent().unwrap()), 0o700);
}

#[test]
fn the_largest_frontier_fits_a_slot() {
    let size = u64::MAX >> 1;
    let largest = [&size.to_be_bytes()[..], &[7; 63 * 32]].concat();
    let head = Head {
        sequence: u64::MAX,
        incarnation: u32::MAX,
        frontier: Frontier::from_bytes(&largest).unwrap(),
    };
    let bytes = head.encode();
    assert_eq!(bytes.len(), SLOT_BYTES);
    assert_eq!(Head::decode(bytes.as_array().unwrap()), Some(head.clone()));
    assert!(matches!(
        head.next(&Frontier::new()),
        Err(HeadError::Exhausted)
    ));
}

#[test]
fn a_file_that_lost_its_name_is_not_written_any_more() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 3] = [
        ("replaced by its own bytes", |path| {
            let new = path.with_extension("new");
            fs::copy(path, &new).unwrap();
            fs::rename(new, path).unwrap();
        }),
        ("moved", |path| {
            fs::rename(path, path.with_extension("old")).unwrap();
        }),
        ("removed", |path| fs::remove_file(path).unwrap()),
    ];
    for (how, change) in changes {
        let dir = tempfile::tempdir().unwrap();
        drop(HeadFile::create(dir.path(), &frontier(2)).unwrap());
        let mut head = HeadFile::open(dir.path()).unwrap();
        head.write(&frontier(3)).unwrap();
        let path = dir.path().join(FILE_NAME);
        change(&path);
        let before = fs::read(&path).ok();
        // Whether there is something to write or not.
        for size in [3, 4] {
            let error = head.write(&frontier(size)).unwrap_err();
            assert!(
                matches!(&error, HeadError::Replaced(at) if *at == path),
                "{how}"
            );
            assert!(error.to_string().contains(path.to_str().unwrap()));
        }
        assert_eq!(fs::read(&path).ok(), before, "{how}");
        assert_eq!(head.current().size(), 3);
    }
}

#[test]
fn whether_it_is_in_use_is_told_and_keeps_nobody_out() {
    let dir = tempfile::tempdir().unwrap();
    drop(HeadFile::create(dir.path(), &frontier(2)).unwrap());
    assert!(!Head::is_in_use(dir.path()).unwrap());
    let head = HeadFile::open(dir.path()).unwrap();
    assert!(Head::is_in_use(dir.path()).unwrap());
    drop(head);
    assert!(!Head::is_in_use(dir.path()).unwrap());
    drop(HeadFile::open(dir.path()).unwrap());
}
