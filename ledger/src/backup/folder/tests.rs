//! A backup of a small ledger: what is in it, what is not, and what is told of one that is damaged.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

use super::*;
use crate::content::{Commitment, Contents};
use crate::id::{Position, StreamId, Version};
use crate::store::conformance::chain::{self, Chain};
use crate::store::conformance::{append, block_on, check_log};
use crate::store::sled::SealsEarly;
use crate::store::{ReadError, Stored};

const QUIET: Told<'static> = &|_, _| {};

/// A ledger with runs of which every record has a content, in turns.
fn ledger(place: &TempDir, runs: u64, records: u64) -> SledStore {
    let ledger = LedgerId::new(uuid::Uuid::from_u64_pair(5, 5));
    let (home, head) = (place.path().join("home"), place.path().join("head"));
    let store = SledStore::create(&home, ledger, &head).unwrap();
    let mut authority = Chain::authority(ledger);
    let begun = append(&store, &mut authority, &[], |chain| {
        chain.record(chain::created(), &[])
    });
    block_on(begun).unwrap();
    let digest = authority.digest();
    let mut chains: Vec<_> = (0..runs)
        .map(|run| Chain::run(ledger, &digest, run))
        .collect();
    for record in 0..records {
        for chain in &mut chains {
            let text = format!("record {record}");
            let appended = append(&store, chain, &[], |chain| {
                chain.record(chain::parked(), &[("text", text.as_bytes())])
            });
            block_on(appended).unwrap();
        }
    }
    store
}

fn folder(place: &TempDir, name: &str) -> PathBuf {
    let folder = place.path().join(name);
    fs::create_dir(&folder).unwrap();
    folder
}

/// What lies in a folder.
fn entries(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn made(place: &TempDir) -> (SledStore, Backup, PathBuf) {
    let store = ledger(place, 3, 40);
    let dir = place.path().join("backup");
    let backup = block_on(make(&store, store.ledger(), &dir, QUIET)).unwrap();
    (store, backup, dir)
}

#[test]
fn a_backup_has_every_record_and_content_under_keys_of_its_own() {
    let place = tempfile::tempdir().unwrap();
    let told = Mutex::new(Vec::new());
    let store = ledger(&place, 3, 100);
    let dir = place.path().join("backup");
    let note = |done, all| told.lock().unwrap().push((done, all));
    let run = block_on(store.read_all(Position::new(9), 1)).unwrap();
    let run = run[0].clone().parse().unwrap().envelope.stream();
    store.snapshots().write(run, b"a state").unwrap();
    let backup = block_on(make(&store, store.ledger(), &dir, &note)).unwrap();
    let tail = block_on(store.tail()).unwrap();
    assert_eq!((backup.cut(), backup.ledger), (tail, store.ledger()));
    assert_eq!(tail.size, 301);
    assert_eq!(
        *told.lock().unwrap(),
        [(256, 602), (301, 602), (557, 602), (602, 602)]
    );
    let scratch = folder(&place, "scratch");
    let (copy, listed) = open(&dir, &scratch).unwrap();
    assert_eq!(listed, backup);
    block_on(check(&copy, backup.cut(), QUIET)).unwrap();
    assert_eq!(block_on(check_log(&copy)), block_on(check_log(&store)));
    // No private key, head file or kept state, and the keys are others.
    assert_eq!(entries(&dir), ["backup", "store"]);
    assert!(
        place
            .path()
            .join("home/snapshots")
            .join(run.to_string())
            .exists()
    );
    let others = [
        "ledger.key",
        "recovery.key",
        "socket.key",
        "head",
        "owner",
        "snapshots",
    ];
    for name in others {
        assert!(!dir.join("store").join(name).exists(), "{name}");
    }
    let keys = |home: PathBuf| fs::read(home.join("keys")).unwrap();
    let (ours, theirs) = (keys(place.path().join("home")), keys(dir.join("store")));
    let slots = ours.chunks(512).zip(theirs.chunks(512)).skip(1);
    for (ours, theirs) in slots.take(4) {
        assert_ne!(ours, theirs);
    }
    // Nothing is left beside it.
    assert_eq!(entries(place.path()), ["backup", "head", "home", "scratch"]);
}

#[test]
fn tiles_are_backed_up_and_lie_in_backups_as_any_other_file() {
    let place = tempfile::tempdir().unwrap();
    drop(ledger(&place, 3, 40));
    let (home, head) = (place.path().join("home"), place.path().join("head"));
    let store = SledStore::open_with(&home, &head, Arc::new(SealsEarly { tiles: 1 })).unwrap();
    let cut = block_on(store.tail()).unwrap();
    store.settle();
    let log = block_on(check_log(&store));
    let dir = place.path().join("backup");
    block_on(make(&store, store.ledger(), &dir, QUIET)).unwrap();
    let (copy, backup) = open(&dir, &folder(&place, "scratch")).unwrap();
    assert_eq!(
        (backup.cut(), block_on(check_log(&copy))),
        (cut, log.clone())
    );
    let of = store.ledger();
    drop((store, copy));
    // The store of a long ledger's backup holds tiles itself.
    let whole = folder(&place, "whole");
    fs::rename(&home, whole.join(STORE)).unwrap();
    fs::remove_file(whole.join(STORE).join("owner")).unwrap();
    let list = List::of(&whole, of, cut).unwrap();
    list.write(&whole).unwrap();
    let tiles = files::names(&whole).unwrap();
    assert!(
        tiles.contains(&"store/tile/entries/000".to_owned()),
        "{tiles:?}"
    );
    let (copy, _) = open(&whole, &folder(&place, "other")).unwrap();
    assert_eq!(block_on(check_log(&copy)), log);
    fs::remove_file(whole.join(STORE).join("tile/content/001")).unwrap();
    let opened = open(&whole, &folder(&place, "third"));
    assert!(matches!(opened, Err(BackupError::Damaged(_))), "{opened:?}");
}

#[test]
fn what_comes_after_the_cut_is_not_in_it() {
    /// A store of which the end was asked for a moment ago.
    struct Before<'a>(&'a SledStore, Tail);
    #[async_trait::async_trait]
    impl ReadStore for Before<'_> {
        async fn read_run(
            &self,
            stream: StreamId,
            from: Version,
            limit: usize,
        ) -> Result<Vec<Stored>, ReadError> {
            self.0.read_run(stream, from, limit).await
        }
        async fn read_all(&self, from: Position, limit: usize) -> Result<Vec<Stored>, ReadError> {
            self.0.read_all(from, limit).await
        }
        async fn tail(&self) -> Result<Tail, ReadError> {
            Ok(self.1)
        }
        async fn content(
            &self,
            stream: StreamId,
            commitments: &[Commitment],
        ) -> Result<Contents, ReadError> {
            self.0.content(stream, commitments).await
        }
    }
    let place = tempfile::tempdir().unwrap();
    let store = ledger(&place, 2, 3);
    let all = block_on(check_log(&store));
    let mut tree = crate::merkle::Frontier::new();
    for stored in &all[..4] {
        tree.push(&crate::digest::digest(
            crate::digest::Purpose::Event,
            &stored.bytes,
        ));
    }
    let cut = Tail {
        size: 4,
        root: tree.root(),
    };
    let dir = place.path().join("backup");
    let backup = block_on(make(&Before(&store, cut), store.ledger(), &dir, QUIET)).unwrap();
    assert_eq!(backup.cut(), cut);
    let (copy, _) = open(&dir, &folder(&place, "scratch")).unwrap();
    assert_eq!(block_on(check_log(&copy)), all[..4]);
    // One that comes to another root than was said is not made.
    let other = Tail { size: 5, ..cut };
    let dir = place.path().join("other");
    let made = block_on(make(&Before(&store, other), store.ledger(), &dir, QUIET));
    assert!(matches!(made, Err(BackupError::Damaged(_))), "{made:?}");
    assert!(!dir.exists());
}

#[test]
fn nothing_is_written_over() {
    let place = tempfile::tempdir().unwrap();
    let store = ledger(&place, 1, 1);
    let dir = folder(&place, "backup");
    let make = |dir: &Path| block_on(make(&store, store.ledger(), dir, QUIET));
    make(&dir).unwrap();
    let before = entries(&dir);
    assert!(matches!(make(&dir), Err(BackupError::Taken(_))));
    let file = place.path().join("file");
    fs::write(&file, "mine").unwrap();
    let link = place.path().join("link");
    symlink(folder(&place, "empty"), &link).unwrap();
    for taken in [&file, &link] {
        assert!(matches!(make(taken), Err(BackupError::Taken(_))));
    }
    assert_eq!(entries(&dir), before);
    assert_eq!(fs::read(file).unwrap(), b"mine");
}

#[test]
fn any_flipped_byte_is_told() {
    let place = tempfile::tempdir().unwrap();
    let (store, _, dir) = made(&place);
    drop(store);
    for path in files::names(&dir).unwrap() {
        let file = dir.join(&path);
        let bytes = fs::read(&file).unwrap();
        for at in [0, bytes.len() / 2, bytes.len().saturating_sub(1)] {
            let mut flipped = bytes.clone();
            let Some(byte) = flipped.get_mut(at) else {
                continue;
            };
            *byte ^= 1;
            fs::write(&file, flipped).unwrap();
            let scratch = tempfile::tempdir().unwrap();
            let opened = open(&dir, scratch.path());
            let is_told = matches!(opened, Err(BackupError::Damaged(_)));
            assert!(is_told, "{path} at {at}");
        }
        fs::write(&file, bytes).unwrap();
    }
    open(&dir, &folder(&place, "scratch")).unwrap();
}

#[test]
fn a_file_less_or_more_and_a_link_are_told() {
    let place = tempfile::tempdir().unwrap();
    let (store, _, dir) = made(&place);
    drop(store);
    let away = place.path().join("away");
    let told = |what: &str| {
        let scratch = tempfile::tempdir().unwrap();
        match open(&dir, scratch.path()) {
            Err(BackupError::Damaged(why)) => assert!(why.contains(what), "{why}"),
            other => panic!("{other:?}"),
        }
    };
    for path in files::names(&dir).unwrap() {
        let file = dir.join(&path);
        fs::rename(&file, &away).unwrap();
        told(&path);
        // The very same bytes behind a link.
        symlink(&away, &file).unwrap();
        told(&path);
        fs::remove_file(&file).unwrap();
        fs::rename(&away, &file).unwrap();
    }
    fs::write(dir.join("store/more"), "").unwrap();
    told("store/more is not in its list");
    fs::remove_file(dir.join("store/more")).unwrap();
    // A folder behind a link.
    fs::rename(dir.join("store"), &away).unwrap();
    symlink(&away, dir.join("store")).unwrap();
    told("store");
}

#[test]
fn a_list_that_leads_out_of_the_backup_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let (store, _, dir) = made(&place);
    drop(store);
    let text = fs::read_to_string(dir.join("backup")).unwrap();
    let line = text.lines().next().unwrap();
    let line = line.replace("store/keys", "store/../../home/keys");
    let sum = crate::digest::digest(crate::digest::Purpose::File, line.as_bytes());
    fs::write(dir.join("backup"), format!("{line}\n{sum}\n")).unwrap();
    let opened = open(&dir, &folder(&place, "scratch"));
    let Err(BackupError::Damaged(why)) = opened else {
        panic!("{opened:?}");
    };
    assert!(why.contains("leads out of it"), "{why}");
}
