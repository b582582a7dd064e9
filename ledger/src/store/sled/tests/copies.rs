//! Copies of a home that share one head file: one of them is written to at a time.

use super::*;

/// The home a second time, with the same head file.
fn second(place: &Place) -> PathBuf {
    let home = place.0.path().join("second");
    copy_all(&place.home(), &home);
    home
}

#[test]
fn a_second_copy_in_use_is_told_of_the_first_and_can_be_read() {
    let place = Place::new();
    let (store, mut run) = place.create();
    block_on(append_one(&store, &mut run));
    drop(store);
    let other = second(&place);
    let before = files(&other);
    let store = place.open();
    let refused = SledStore::open(&other, &place.head()).unwrap_err();
    let first = place.home().canonicalize().unwrap();
    let holder = Holder {
        pid: std::process::id(),
        home: first.clone(),
    };
    assert!(
        matches!(&refused, OpenError::CopyInUse { holder: Some(by), .. } if *by == holder),
        "{refused:?}"
    );
    let told = refused.to_string();
    assert!(told.contains(first.to_str().unwrap()), "{told}");
    // But for the note of who had it open, nothing of it was changed.
    let mut after = files(&other);
    for (path, bytes) in before {
        let now = after.remove(&path);
        assert!(path.ends_with("owner") || now == Some(bytes), "{path:?}");
    }
    assert_eq!(after.len(), 0);
    let (read, finding) = SledStore::open_read_only(&other, &place.head()).unwrap();
    assert!(finding.is_none(), "{finding:?}");
    assert_eq!(block_on(check_log(&read)).len(), 2);
    drop(read);
    let scratch = tempfile::tempdir().unwrap();
    let (read, finding) = SledStore::open_copy(&other, &place.head(), scratch.path()).unwrap();
    assert!(finding.is_none(), "{finding:?}");
    assert_eq!(block_on(check_log(&read)).len(), 2);
    block_on(append_one(&store, &mut run));
}

#[test]
fn copies_are_used_after_each_other_until_one_is_behind() {
    let place = Place::new();
    let (store, mut run) = place.create();
    block_on(append_one(&store, &mut run));
    drop(store);
    let other = second(&place);
    drop(place.open());
    let store = SledStore::open(&other, &place.head()).unwrap();
    block_on(append_one(&store, &mut run));
    drop(store);
    let refused = SledStore::open(&place.home(), &place.head()).unwrap_err();
    assert_eq!(
        format!("{refused:?}"),
        "Behind { store_size: 2, head_size: 3 }"
    );
    drop(SledStore::open(&other, &place.head()).unwrap());
}

#[test]
fn nothing_is_acknowledged_once_the_head_file_lost_its_name() {
    type Change = fn(&Path);
    let changes: [Change; 2] = [
        // As a program does that writes whole files anew, or brings them back.
        |head| {
            let new = head.with_extension("new");
            fs::copy(head, &new).unwrap();
            fs::rename(new, head).unwrap();
        },
        |head| fs::rename(head, head.with_extension("moved")).unwrap(),
    ];
    for change in changes {
        let place = Place::new();
        let (store, mut run) = place.create();
        block_on(append_one(&store, &mut run));
        assert_eq!(store.anchored(2), 2);
        let head = place.head().join("head");
        let other = second(&place);
        change(&head);
        for _ in 0..2 {
            let (mut run, expected) = (run.clone(), run.expected());
            let batch = run.records(1);
            let answer = block_on(store.append(run.stream(), expected, batch, &[]));
            let Err(AppendError::Poisoned(reason)) = answer else {
                panic!("{answer:?}");
            };
            let named = reason.contains(head.to_str().unwrap());
            assert!(
                named && reason.contains("another program has replaced"),
                "{reason}"
            );
        }
        // What was acknowledged can be read as before.
        assert_eq!(block_on(check_log(&store)).len(), 2);
        if !head.exists() {
            continue;
        }
        // Whoever comes now goes on where that one stopped, and alone.
        let next = SledStore::open(&other, &place.head()).unwrap();
        block_on(append_one(&next, &mut run));
        drop((store, next));
        assert_eq!(Head::read(&place.head()).unwrap().size(), 3);
        drop(SledStore::open(&other, &place.head()).unwrap());
    }
}
