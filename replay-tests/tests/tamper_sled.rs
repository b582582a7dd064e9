//! The files of the embedded store, changed as a disk or a person changes them: what was lost is
//! reported, or else nothing was lost.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use placet_engine::policy::Gate;
use placet_ledger::audit::{HeadPosition, Report, verify};
use placet_ledger::content::Contents;
use placet_ledger::digest::Digest;
use placet_ledger::id::{LedgerId, Position};
use placet_ledger::store::head::Head;
use placet_ledger::store::sled::{OpenError, SledStore};
use placet_ledger::store::{EventStore, Stored};
use placet_replay::cut;
use placet_replay::play::plays;
use placet_replay::world::{World, ledger_id};
use tempfile::TempDir;

/// Flips of single bits of sled's file, at random places that do not change from run to run.
const FLIPS: u64 = 240;

/// Numbers that look random and are always the same (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^= number >> 31;
        usize::try_from(number % u64::try_from(limit).unwrap()).unwrap()
    }
}

/// A closed store with two runs, and all that it held.
struct Place {
    folder: TempDir,
    held: Held,
}

/// All that can be read of a store.
#[derive(Debug, PartialEq)]
struct Held {
    log: Vec<Stored>,
    root: Digest,
    contents: Contents,
}

fn home(folder: &Path) -> PathBuf {
    folder.join("home")
}

fn head(folder: &Path) -> PathBuf {
    folder.join("head")
}

async fn held(store: &dyn EventStore) -> Option<Held> {
    let log = store.read_all(Position::ZERO, 256).await.ok()?;
    let mut contents = Contents::default();
    for stored in &log {
        let record = stored.clone().parse().ok()?.envelope;
        let blobs = record.blobs().values();
        let commitments: Vec<_> = blobs.map(|blob| blob.commitment).collect();
        contents.extend(store.content(record.stream(), &commitments).await.ok()?);
        let again = store
            .read_run(record.stream(), record.version(), 1)
            .await
            .ok()?;
        (again.first() == Some(stored)).then_some(())?;
    }
    let root = Digest::from_bytes(*store.tail().await.ok()?.root.as_bytes());
    Some(Held {
        log,
        root,
        contents,
    })
}

async fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let store = SledStore::create(&home(folder.path()), ledger_id(), &head(folder.path()));
    let store = Arc::new(store.unwrap());
    let mut world = World::over(store.clone()).await.unwrap();
    for play in [&plays()[0], &plays()[2]] {
        let run = play.start(&mut world).await.unwrap();
        play.on(&mut world, run).await.unwrap();
    }
    let held = held(&*store).await.unwrap();
    assert!(held.log.len() < 256, "one page is read");
    drop(world);
    // All of it lies in rows, not in the log before them alone.
    store.settle();
    store.close();
    drop(store);
    assert_no_large_rows(folder.path());
    Place { folder, held }
}

/// sled puts a page that is too large into a file that it never syncs.
fn assert_no_large_rows(folder: &Path) {
    let blobs = fs::read_dir(home(folder).join("sled/blobs")).unwrap();
    assert_eq!(blobs.count(), 0);
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

impl Place {
    /// A copy of everything.
    fn copy(&self) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        copy(&home(self.folder.path()), &home(folder.path()));
        copy(&head(self.folder.path()), &head(folder.path()));
        folder
    }
}

/// What a verification makes of a store, and all that it holds if nothing is wrong.
enum Found {
    NotOpened(OpenError),
    Findings(Option<OpenError>, Box<Report>),
    Nothing(Box<Held>),
}

async fn look(folder: &Path) -> Found {
    let scratch = tempfile::tempdir().unwrap();
    let opened = SledStore::open_copy(&home(folder), &head(folder), scratch.path());
    let (store, why) = match opened {
        Ok(opened) => opened,
        Err(error) => return Found::NotOpened(error),
    };
    let known = Head::read(&head(folder)).ok();
    let known = known.as_ref().map(HeadPosition::from);
    let report = verify(&store, known, Some(&Gate)).await;
    if why.is_some() || !report.ok {
        return Found::Findings(why, Box::new(report));
    }
    match held(&store).await {
        Some(held) => Found::Nothing(Box::new(held)),
        None => panic!("verification found nothing, and not everything can be read"),
    }
}

/// Holds that damage was reported or has lost nothing. Says whether it was reported.
async fn assert_never_silent(case: &str, folder: &Path, place: &Place) -> bool {
    match look(folder).await {
        Found::NotOpened(_) | Found::Findings(..) => true,
        Found::Nothing(held) => {
            assert!(
                *held == place.held,
                "{case}: something was lost, and nobody said so"
            );
            false
        }
    }
}

#[tokio::test]
async fn a_store_that_nobody_changed_verifies() {
    let place = place().await;
    let reported = assert_never_silent("unchanged", place.folder.path(), &place).await;
    assert!(!reported);
}

/// The log as it is once both halves were begun anew: what sled loses is not in it any more.
fn empty_the_log(folder: &Path) {
    for half in ["0", "1"] {
        let path = home(folder).join("log").join(half);
        let length = fs::metadata(&path).unwrap().len();
        fs::write(&path, vec![0; usize::try_from(length).unwrap()]).unwrap();
    }
}

#[tokio::test]
async fn flipped_bits_of_the_rows_are_reported_or_have_lost_nothing() {
    let place = place().await;
    let bytes = fs::read(home(place.folder.path()).join("sled/db")).unwrap();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let mut numbers = Numbers(1);
    let mut reported = 0_u64;
    for _ in 0..FLIPS {
        let (at, bit) = (numbers.below(used), numbers.below(8));
        let folder = place.copy();
        empty_the_log(folder.path());
        flip(&home(folder.path()).join("sled/db"), at, 1 << bit);
        let case = format!("byte {at}, bit {bit}");
        reported += u64::from(assert_never_silent(&case, folder.path(), &place).await);
    }
    assert!(
        reported > FLIPS / 4,
        "only {reported} of {FLIPS} were reported"
    );
}

fn flip(path: &Path, at: usize, mask: u8) {
    let file = fs::File::options()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let mut byte = [0];
    let at = u64::try_from(at).unwrap();
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ mask], at).unwrap();
}

/// The rows of a store, in its own words, but for blocks that hold nothing yet.
fn rows(folder: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    let tree = open(folder);
    let all = tree
        .iter()
        .map(|row| row.map(|(key, value)| (key.to_vec(), value.to_vec())));
    let all = all.collect::<Result<Vec<_>, _>>().unwrap();
    all.into_iter()
        .filter(|(_, value)| !value.is_empty())
        .collect()
}

fn open(folder: &Path) -> sled::Db {
    let config = sled::Config::new()
        .path(home(folder).join("sled"))
        .segment_size(512 * 1024)
        .flush_every_ms(None)
        .mode(sled::Mode::HighThroughput);
    config.open().unwrap()
}

/// Changes a row of a copy of a store.
fn change(place: &Place, key: &[u8], value: Option<&[u8]>) -> TempDir {
    let folder = place.copy();
    let tree = open(folder.path());
    match value {
        Some(value) => drop(tree.insert(key, value).unwrap()),
        None => drop(tree.remove(key).unwrap()),
    }
    tree.flush().unwrap();
    drop(tree);
    folder
}

#[tokio::test]
async fn rows_that_are_dropped_cut_or_changed_in_place_are_reported() {
    let place = place().await;
    let rows = rows(place.copy().path());
    let mut numbers = Numbers(2);
    let mut kinds = BTreeSet::new();
    // Every row that is alone of its kind, and every seventh of the others.
    for (number, (key, value)) in rows.iter().enumerate() {
        let letter = key[0];
        if !(kinds.insert(letter) || number % 7 == 0) {
            continue;
        }
        let name = format!("row {number}, {:?}", char::from(letter));
        let mut flipped = value.clone();
        let at = numbers.below(value.len());
        flipped[at] ^= 1;
        let cut = &value[..value.len() - 1];
        for (what, value) in [
            ("dropped", None),
            ("cut", Some(cut)),
            ("flipped", Some(&flipped[..])),
        ] {
            let folder = change(&place, key, value);
            let case = format!("{name} {what}");
            let reported = assert_never_silent(&case, folder.path(), &place).await;
            // Of a head, what an append is compared with is not read, and nothing rests on it; of a
            // mark that is lower, more is read than need be.
            assert!(
                reported || b"hm".contains(&letter),
                "{case} was not reported"
            );
        }
    }
    assert!(kinds.len() >= 6, "{kinds:?}");
}

#[tokio::test]
async fn rows_that_are_swapped_or_come_from_another_place_are_reported() {
    let place = place().await;
    let rows = rows(place.copy().path());
    for letter in *b"gbx" {
        let of_kind: Vec<_> = rows.iter().filter(|(key, _)| key[0] == letter).collect();
        for pair in of_kind.windows(2).step_by(5) {
            let [(key, one), (_, other)] = pair else {
                unreachable!()
            };
            if one == other {
                continue;
            }
            let folder = change(&place, key, Some(other));
            let case = format!("a row {:?} of its neighbour", char::from(letter));
            let reported = assert_never_silent(&case, folder.path(), &place).await;
            assert!(reported, "{case} was not reported");
        }
    }
    // The same rows of another store, whose first records are the same.
    let foreign = self::rows(another_place().await.path());
    let mut spliced = 0_usize;
    for (key, value) in foreign.iter().filter(|(key, _)| b"gbx".contains(&key[0])) {
        let here = rows.iter().find(|(here, _)| here == key);
        if here.is_none_or(|(_, here)| here == value) {
            continue;
        }
        let folder = change(&place, key, Some(value));
        let case = format!("a foreign row {:?}", char::from(key[0]));
        let reported = assert_never_silent(&case, folder.path(), &place).await;
        assert!(reported, "{case} was not reported");
        spliced += 1;
    }
    assert!(spliced > 0);
}

#[tokio::test]
async fn a_key_file_that_is_damaged_missing_or_foreign_is_reported() {
    let place = place().await;
    let keys = |folder: &TempDir| home(folder.path()).join("keys");
    let folder = place.copy();
    fs::remove_file(keys(&folder)).unwrap();
    let found = look(folder.path()).await;
    assert!(matches!(
        found,
        Found::Findings(Some(OpenError::KeysMissing(_)), _)
    ));
    let foreign = tempfile::tempdir().unwrap();
    let other = LedgerId::new(uuid::Uuid::from_u64_pair(7, 7));
    drop(SledStore::create(&home(foreign.path()), other, &head(foreign.path())).unwrap());
    let folder = place.copy();
    fs::copy(keys(&foreign), keys(&folder)).unwrap();
    assert!(matches!(
        look(folder.path()).await,
        Found::Findings(Some(OpenError::Keys { .. }), _)
    ));
    let length = usize::try_from(fs::metadata(keys(&place.folder)).unwrap().len()).unwrap();
    let mut numbers = Numbers(3);
    let mut reported = 0_usize;
    for number in 0..40_usize {
        // The first cells are those of the streams; behind them lie cells for streams to come.
        let at = numbers.below(if number < 30 { 4_096 } else { length });
        let folder = place.copy();
        flip(&keys(&folder), at, 0x20);
        let case = format!("byte {at} of the keys");
        reported += usize::from(assert_never_silent(&case, folder.path(), &place).await);
    }
    assert!(reported > 0);
    let folder = place.copy();
    fs::write(keys(&folder), []).unwrap();
    assert!(assert_never_silent("empty keys", folder.path(), &place).await);
}

#[tokio::test]
async fn a_head_file_that_is_damaged_missing_or_foreign_is_reported() {
    let place = place().await;
    let file = |folder: &TempDir| head(folder.path()).join("head");
    let folder = place.copy();
    fs::remove_file(file(&folder)).unwrap();
    let found = look(folder.path()).await;
    assert!(matches!(
        found,
        Found::Findings(Some(OpenError::HeadMissing(_)), _)
    ));
    // One slot may be torn by a crash; the other one counts.
    for slot in [0, 4_096] {
        let folder = place.copy();
        flip(&file(&folder), slot + 60, 1);
        assert!(!assert_never_silent("one slot", folder.path(), &place).await);
    }
    let folder = place.copy();
    flip(&file(&folder), 60, 1);
    flip(&file(&folder), 4_096 + 60, 1);
    let found = look(folder.path()).await;
    assert!(matches!(
        found,
        Found::Findings(Some(OpenError::Head(_)), _)
    ));
    let foreign = another_place().await;
    let folder = place.copy();
    fs::copy(file(&foreign), file(&folder)).unwrap();
    let found = look(folder.path()).await;
    let Found::Findings(Some(why), _) = found else {
        panic!("the head of another ledger was taken")
    };
    let told = matches!(why, OpenError::Forked { .. } | OpenError::Behind { .. });
    assert!(told, "{why}");
    let folder = place.copy();
    fs::remove_dir_all(home(folder.path()).join("sled")).unwrap();
    assert!(matches!(
        look(folder.path()).await,
        Found::NotOpened(OpenError::HeadWithoutStore)
    ));
}

/// A store with other records.
async fn another_place() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let store = SledStore::create(&home(folder.path()), ledger_id(), &head(folder.path()));
    let store = Arc::new(store.unwrap());
    let mut world = World::over(store.clone()).await.unwrap();
    let run = plays()[3].start(&mut world).await.unwrap();
    plays()[3].on(&mut world, run).await.unwrap();
    drop(world);
    store.settle();
    store.close();
    folder
}

#[tokio::test]
async fn a_store_put_back_from_a_copy_is_told_by_its_head() {
    let folder = tempfile::tempdir().unwrap();
    let store = SledStore::create(&home(folder.path()), ledger_id(), &head(folder.path()));
    let mut world = World::over(Arc::new(store.unwrap())).await.unwrap();
    let run = plays()[2].start(&mut world).await.unwrap();
    plays()[2].on(&mut world, run).await.unwrap();
    let (clock, stamps) = (world.clock.clone(), world.stamps().clone());
    drop(world);
    let backup = tempfile::tempdir().unwrap();
    copy(&home(folder.path()), &home(backup.path()));
    let store: Arc<dyn EventStore> =
        Arc::new(SledStore::open(&home(folder.path()), &head(folder.path())).unwrap());
    let size = cut::log(&*store).await.unwrap().len();
    let mut world = World::open(store, clock, stamps).await.unwrap();
    let run = plays()[0].start(&mut world).await.unwrap();
    plays()[0].on(&mut world, run).await.unwrap();
    drop(world);
    fs::remove_dir_all(home(folder.path())).unwrap();
    copy(&home(backup.path()), &home(folder.path()));
    let Found::Findings(Some(why), report) = look(folder.path()).await else {
        panic!("an old copy was taken for the store")
    };
    assert!(matches!(why, OpenError::Behind { .. }), "{why}");
    let first = &report.findings[0];
    assert_eq!(
        first.place.position.map(Position::get),
        u64::try_from(size).ok()
    );
    assert!(SledStore::open(&home(folder.path()), &head(folder.path())).is_err());
}
