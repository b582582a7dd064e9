//! The files of tiles, changed as a disk or a person changes them: verification names where.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use placet_engine::policy::Gate;
use placet_ledger::audit::{FindingKind, HeadPosition, Report, verify};
use placet_ledger::store::head::Head;
use placet_ledger::store::sled::{SealsEarly, SledStore};
use placet_replay::play::plays;
use placet_replay::world::{World, ledger_id};
use tempfile::TempDir;

/// Records of a tile.
const TILE: u64 = 256;

/// Tiles that the store fills at least.
const TILES: u64 = 4;

/// A closed store with some tiles and a rest.
struct Place {
    folder: TempDir,
    size: u64,
}

async fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let (home, head) = (folder.path().join("home"), folder.path().join("head"));
    drop(SledStore::create(&home, ledger_id(), &head).unwrap());
    let store =
        Arc::new(SledStore::open_with(&home, &head, Arc::new(SealsEarly { tiles: 1 })).unwrap());
    let mut world = World::over(store.clone()).await.unwrap();
    let plays = plays();
    let mut turns = [&plays[0], &plays[2]].into_iter().cycle();
    let mut size = 0;
    while size < TILES * TILE + 20 {
        let play = turns.next().unwrap();
        let run = play.start(&mut world).await.unwrap();
        play.on(&mut world, run).await.unwrap();
        size = world.store().tail().await.unwrap().size;
    }
    drop(world);
    store.settle();
    store.close();
    Place { folder, size }
}

impl Place {
    fn tile(&self, kind: &str, number: u64) -> PathBuf {
        let home = self.folder.path().join("home");
        home.join("tile").join(kind).join(format!("{number:03}"))
    }

    async fn verify(&self) -> Report {
        let scratch = tempfile::tempdir().unwrap();
        let (home, head) = (
            self.folder.path().join("home"),
            self.folder.path().join("head"),
        );
        let (store, _) = SledStore::open_copy(&home, &head, scratch.path()).unwrap();
        let known = Head::read(&head).unwrap();
        let known = HeadPosition::from(&known);
        verify(&store, Some(known), Some(&Gate)).await
    }

    /// What is found with a file as `change` makes it.
    async fn with(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) -> Report {
        let whole = fs::read(path).unwrap();
        let mut changed = whole.clone();
        change(&mut changed);
        fs::write(path, changed).unwrap();
        let report = self.verify().await;
        fs::write(path, whole).unwrap();
        report
    }
}

/// The first finding that has a position.
fn first(report: &Report) -> Option<(u64, FindingKind)> {
    let finding = report.findings.first()?;
    Some((finding.place.position?.get(), finding.kind))
}

#[tokio::test]
async fn a_byte_that_changed_anywhere_in_a_tile_is_found_and_located() {
    let place = place().await;
    let report = place.verify().await;
    assert!(report.ok, "{:?}", report.findings);
    assert_eq!(report.size, place.size);
    let content = place.folder.path().join("home/tile/content");
    let sealed = fs::read_dir(content).unwrap().count() as u64;
    assert_eq!(sealed, place.size / TILE);
    for kind in ["entries", "content"] {
        for number in [0, TILES - 1] {
            let path = place.tile(kind, number);
            let length = usize::try_from(fs::metadata(&path).unwrap().len()).unwrap();
            for part in 0..8 {
                let at = part * length / 8 + part;
                let report = place.with(&path, |bytes| bytes[at] ^= 0x04).await;
                let (position, _) = first(&report).unwrap();
                let case = format!("byte {at} of {kind}, tile {number}: {:?}", report.findings);
                assert!(!report.ok, "{case}");
                assert_eq!(position / TILE, number, "{case}");
            }
        }
    }
}

#[tokio::test]
async fn tiles_that_are_gone_or_cut_are_named_and_hide_no_damage_behind_them() {
    let place = place().await;
    let unreadable = FindingKind::RecordUnreadable;
    // A tile that is cut in the middle, and one that is empty.
    let report = place
        .with(&place.tile("entries", 1), |bytes| {
            bytes.truncate(bytes.len() / 2);
        })
        .await;
    let (position, kind) = first(&report).unwrap();
    assert!((TILE + 1..2 * TILE).contains(&position) && kind == unreadable);
    let report = place.with(&place.tile("content", 1), Vec::clear).await;
    assert_eq!(first(&report), Some((TILE, unreadable)));
    // Two that are gone, side by side, and a changed byte behind them.
    let away = tempfile::tempdir().unwrap();
    for number in [1, 2] {
        let path = place.tile("entries", number);
        fs::rename(path, away.path().join(number.to_string())).unwrap();
    }
    let last = place.tile("entries", 3);
    let report = place.with(&last, |bytes| bytes[40] ^= 1).await;
    let at = |position| {
        let mut findings = report.findings.iter();
        let at = move |p: placet_ledger::id::Position| p.get() == position;
        findings
            .find(|finding| finding.kind == unreadable && finding.place.position.is_some_and(at))
    };
    let gone = at(TILE).unwrap();
    assert!(gone.detail.contains("entries/001"), "{}", gone.detail);
    // The first record of the last tile is unreadable right behind them: one finding holds all.
    assert!(
        gone.detail
            .ends_with("the 512 after it cannot be read either"),
        "{}",
        gone.detail
    );
    let later = place
        .with(&last, |bytes| *bytes.last_mut().unwrap() ^= 1)
        .await;
    let later = later
        .findings
        .iter()
        .filter_map(|finding| finding.place.position);
    let later: Vec<_> = later.map(placet_ledger::id::Position::get).collect();
    assert!(later.contains(&(4 * TILE - 1)), "{later:?}");
}
