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
