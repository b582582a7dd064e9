//! What opening finds, and what it refuses.

use super::*;

/// Opens to write, which must be refused, then to read, which must work and name the same.
fn finding(place: &Place, run: &Chain) -> String {
    let refused = SledStore::open(&place.home(), &place.head()).unwrap_err();
    let (store, found) = SledStore::open_read_only(&place.home(), &place.head()).unwrap();
    assert_eq!(found.unwrap().to_string(), refused.to_string());
    let answer = block_on(append(&store, &mut run.clone(), &[], |chain| {
        chain.records(1)
    }));
    assert_eq!(answer, Err(AppendError::Poisoned(chain(&refused))));
    assert!(
        !block_on(store.read_all(Position::ZERO, 9))
            .unwrap()
            .is_empty()
    );
    drop(store);
    let scratch = tempfile::tempdir().unwrap();
    let copy = SledStore::open_copy(&place.home(), &place.head(), scratch.path());
    assert_eq!(copy.unwrap().1.unwrap().to_string(), refused.to_string());
    format!("{refused:?}")
}

#[test]
fn a_store_put_back_from_a_copy_is_named() {
    let place = Place::new();
    let (store, mut run) = place.create();
    block_on(append(&store, &mut run, &[], |chain| chain.records(3))).unwrap();
    drop(store);
    let earlier = place.copy();
    let store = place.open();
    block_on(append(&store, &mut run, &[], |chain| chain.records(2))).unwrap();
    drop(store);
    fs::remove_dir_all(place.home()).unwrap();
    copy_all(&earlier.home(), &place.home());
    assert_eq!(
        finding(&place, &run),
        "Behind { store_size: 4, head_size: 6 }"
    );
}

#[test]
fn a_snapshot_that_was_half_written_when_a_process_was_killed_is_no_damage() {
    let place = Place::new();
    let (store, mut run) = place.create();
    block_on(append_one(&store, &mut run));
    let size = block_on(store.tail()).unwrap().size;
    drop(store);
    let half = place.home().join("sled/snap.FFFFFFFFFFFFFFFF.generating");
    fs::write(&half, b"half").unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let (copy, why) = SledStore::open_copy(&place.home(), &place.head(), scratch.path()).unwrap();
    assert!(why.is_none(), "{why:?}");
    assert_eq!(block_on(copy.tail()).unwrap().size, size);
    let store = place.open();
    assert_eq!(block_on(store.tail()).unwrap().size, size);
    assert!(!half.exists());
}

#[test]
fn another_history_is_named_whatever_its_length() {
    let place = Place::new();
    let (store, mut run) = place.create();
    block_on(append_one(&store, &mut run));
    drop(store);
    for count in [2, 5] {
        let other = place.copy();
        let (here, there) = (place.copy(), other.open());
        let store = here.open();
        let mut mine = run.clone();
        block_on(append(&store, &mut mine, &[], |chain| chain.records(2))).unwrap();
        drop(store);
        let mut theirs = run.tagged(7);
        block_on(append(&there, &mut theirs, &[], |chain| {
            chain.records(count)
        }))
        .unwrap();
        drop(there);
        fs::remove_dir_all(other.head()).unwrap();
        copy_all(&here.head(), &other.head());
        assert_eq!(finding(&other, &theirs), "Forked { head_size: 4 }");
    }
}

#[test]
fn a_store_that_is_ahead_of_its_head_opens_if_it_goes_on_from_there() {
    let place = Place::new();
    let (store, mut run) = place.create();
    block_on(append(&store, &mut run, &[], |chain| chain.records(3))).unwrap();
    drop(store);
    let head = place.copy();
    let store = place.open();
    for _ in 0..400 {
        block_on(append_one(&store, &mut run));
    }
    drop(store);
    fs::remove_dir_all(place.head()).unwrap();
    copy_all(&head.head(), &place.head());
    assert_eq!(block_on(check_log(&place.open())).len(), 404);
}

#[test]
fn absence_is_a_finding_and_never_a_first_start() {
    let place = Place::new();
    let (store, run) = place.create();
    let ledger = store.ledger();
    assert_eq!(SledStore::ledger_at(&place.home()), Some(ledger));
    drop(store);
    let refused = |place: &Place| {
        let error = SledStore::open(&place.home(), &place.head()).unwrap_err();
        let created = SledStore::create(&place.home(), ledger, &place.head());
        assert!(created.is_err(), "{error:?} was taken for a first start");
        format!("{error:?}")
    };
    let no_head = place.copy();
    fs::remove_dir_all(no_head.head()).unwrap();
    let missing = |name: &str, path: PathBuf| format!("{name}({path:?})");
    let missing_head = missing("HeadMissing", no_head.head().join("head"));
    assert_eq!(finding(&no_head, &run), missing_head);
    assert_eq!(refused(&no_head), missing_head);
    let no_keys = place.copy();
    fs::remove_file(no_keys.home().join("keys")).unwrap();
    let missing_keys = missing("KeysMissing", no_keys.home().join("keys"));
    assert_eq!(finding(&no_keys, &run), missing_keys);
    let no_store = place.copy();
    fs::remove_dir_all(no_store.home().join("sled")).unwrap();
    assert_eq!(refused(&no_store), "HeadWithoutStore");
    fs::remove_dir_all(no_store.head()).unwrap();
    assert_eq!(refused(&no_store), "KeysWithoutStore");
    let nothing = Place::new();
    let error = SledStore::open(&nothing.home(), &nothing.head()).unwrap_err();
    assert!(matches!(error, OpenError::Missing(_)), "{error:?}");
    assert_eq!(files(nothing.0.path()).len(), 0);
}

#[test]
fn a_second_owner_is_told_who_has_it() {
    let place = Place::new();
    let (store, mut run) = place.create();
    let mine = Some(std::process::id());
    let second = SledStore::open(&place.home(), &place.head()).unwrap_err();
    assert!(
        matches!(second, OpenError::InUse { pid, stopped: false } if pid == mine),
        "{second:?}"
    );
    let scratch = tempfile::tempdir().unwrap();
    let copy = SledStore::open_copy(&place.home(), &place.head(), scratch.path()).unwrap_err();
    assert!(
        matches!(copy, OpenError::InUse { pid, stopped: false } if pid == mine),
        "{copy:?}"
    );
    block_on(append_one(&store, &mut run));
    drop(store);
    block_on(append_one(&place.open(), &mut run));
}

#[test]
fn a_copy_is_read_and_the_store_stays_as_it_is() {
    let place = Place::new();
    let (store, mut run) = place.create();
    block_on(append(&store, &mut run, &[], |chain| chain.records(9))).unwrap();
    let log = block_on(check_log(&store));
    drop(store);
    let before = files(place.0.path());
    let scratch = tempfile::tempdir().unwrap();
    let (copy, finding) =
        SledStore::open_copy(&place.home(), &place.head(), scratch.path()).unwrap();
    assert!(finding.is_none());
    assert_eq!(block_on(check_log(&copy)), log);
    let answer = block_on(append(&copy, &mut run, &[], |chain| chain.records(1)));
    assert!(matches!(answer, Err(AppendError::Poisoned(_))));
    drop(copy);
    assert_eq!(files(place.0.path()), before);
}

#[test]
fn a_ledger_is_made_once() {
    let place = Place::new();
    let (store, _) = place.create();
    let ledger = store.ledger();
    drop(store);
    let again = SledStore::create(&place.home(), ledger, &place.0.path().join("other"));
    assert!(matches!(again, Err(OpenError::Exists(_))));
    let empty = Place::new();
    fs::create_dir(empty.home()).unwrap();
    empty.create();
    let names = fs::read_dir(empty.0.path()).unwrap().count();
    assert_eq!(names, 2, "something was left beside home and head");
    let deep = Place::new();
    let home = deep.0.path().join("some/where/home");
    SledStore::create(&home, ledger, &deep.head()).unwrap();
}

#[test]
fn whatever_opens_a_home_closes_its_keys_to_others() {
    type Way<'a> = (&'a dyn Fn(&Place), [(&'a str, u32); 3]);
    let open = |place: &Place| drop(place.open());
    let open_copy = |place: &Place| {
        let scratch = tempfile::tempdir().unwrap();
        let copy = SledStore::open_copy(&place.home(), &place.head(), scratch.path());
        let (copy, finding) = copy.unwrap();
        assert!(finding.is_none(), "{finding:?}");
        assert!(block_on(check_log(&copy)).len() > 1);
    };
    let keys = ("keys", 0o600);
    // What is only looked at stays as it is but for that.
    let ways: [Way<'_>; 2] = [
        (&open, [keys, ("ledger", 0o600), ("sled", 0o700)]),
        (&open_copy, [keys, ("ledger", 0o755), ("sled", 0o755)]),
    ];
    for (way, modes) in ways {
        let place = Place::new();
        let (store, mut run) = place.create();
        block_on(append_one(&store, &mut run));
        drop(store);
        for (name, _) in modes {
            let open = fs::Permissions::from_mode(0o755);
            fs::set_permissions(place.home().join(name), open).unwrap();
        }
        way(&place);
        for (name, mode) in modes {
            let found = fs::metadata(place.home().join(name)).unwrap();
            assert_eq!(found.permissions().mode() & 0o777, mode, "{name}");
        }
    }
}
