//! Ledgers with a hole in their history: what is intact is read, and the hole is named.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use placet_ledger::id::Position;
use placet_ledger::store::conformance::chain::Chain;
use placet_ledger::store::conformance::{append, block_on};
use placet_ledger::store::sled::{SealsEarly, SledStore};
use placet_ledger::store::{EventStore, ReadStore};
use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::Value;

use crate::support::{Output, World};

/// Records of a tile.
const TILE: u64 = 256;

/// What is said of the second tile where it is missing.
const HOLE: &str = "its tile, tile/entries/001 with the records 256 to 511: it is missing";

/// A ledger with three tiles and a rest. The first run is in the first tile, the second in the
/// second and the third in the third; others that nobody began fill the room between them.
pub(crate) struct Sealed {
    pub(crate) world: World,
    /// One of those: it begins in the first tile and ends in the second.
    across: String,
    pub(crate) size: u64,
}

pub(crate) fn sealed() -> Sealed {
    let mut world = World::parked_as_user();
    let across = fill(&world, 1, TILE + 50);
    world.start("Tidy up.");
    fill(&world, 2, 2 * TILE + 50);
    world.start("Tidy up.");
    fill(&world, 3, 3 * TILE + 20);
    // All of it is in the projections.
    assert_eq!(world.call(&["runs", "list"]).code, 0);
    let (home, head) = (world.path("data/placet"), head_dir(&world));
    let early = Arc::new(SealsEarly { tiles: 1 });
    let store = SledStore::open_with(&home, &head, early).unwrap();
    store.settle();
    let size = block_on(store.tail()).unwrap().size;
    store.close();
    Sealed {
        world,
        across,
        size,
    }
}

fn head_dir(world: &World) -> PathBuf {
    let ledger = SledStore::ledger_at(&world.path("data/placet")).unwrap();
    world.path("state/placet").join(ledger.to_string())
}

/// Appends records of a stream up to a size, and says which run that would be.
fn fill(world: &World, number: u64, size: u64) -> String {
    let store = SledStore::open(&world.path("data/placet"), &head_dir(world)).unwrap();
    let store: Arc<dyn EventStore> = Arc::new(store);
    let first = block_on(store.read_all(Position::ZERO, 1)).unwrap();
    let created = first[0].clone().parse().unwrap().envelope;
    let ledger = created.header().ledger;
    let mut chain = Chain::run(ledger, &created.digest(), number);
    loop {
        let left = size - block_on(store.tail()).unwrap().size;
        if left == 0 {
            return chain.stream().to_string();
        }
        let count = usize::try_from(left.min(20)).unwrap();
        let write = |chain: &mut Chain| chain.records(count);
        block_on(append(&*store, &mut chain, &[], write)).unwrap();
    }
}

impl Sealed {
    fn tile(&self, kind: &str, number: u64) -> PathBuf {
        let tiles = self.world.path("data/placet/tile");
        tiles.join(kind).join(format!("{number:03}"))
    }

    fn call(&self, args: &[&str]) -> Output {
        self.world.call(args)
    }

    /// What `doctor` says of the tiles, and its exit code.
    fn doctor(&self) -> (u8, String) {
        let shown = self.call(&["--json", "doctor"]);
        let doctor: Value = serde_json::from_str(&shown.stdout).unwrap();
        let mut checks = doctor["checks"].as_array().unwrap().iter();
        let tiles = checks.find(|check| check["check"] == "tiles").unwrap();
        let word = |key: &str| tiles[key].as_str().unwrap();
        (
            shown.code,
            format!("{}: {}", word("status"), word("detail")),
        )
    }
}

/// The positions that a list as JSON has.
fn events(output: &Output) -> Vec<u64> {
    let log: Value = serde_json::from_str(&output.stdout).unwrap();
    let events = log["events"].as_array().unwrap().iter();
    let positions = events.map(|event| event["position"].as_u64().unwrap());
    positions.collect()
}

/// An error that names the hole, and what can be done.
fn names_the_hole(output: &Output) {
    assert_eq!(output.code, 6, "{}", output.stderr);
    for said in [HOLE, "at position 256", "placet restore DIR"] {
        assert!(output.stderr.contains(said), "{said}: {}", output.stderr);
    }
}

#[test]
fn a_missing_tile_hides_its_own_records_and_no_others() {
    let sealed = sealed();
    let at = |args: &[&str]| sealed.call(&[&["--json"], args].concat());
    let second: Value =
        serde_json::from_str(&at(&["audit", "log", "--limit", "512"]).stdout).unwrap();
    let behind = second["next"].as_str().unwrap();
    fs::remove_file(sealed.tile("entries", 1)).unwrap();
    let runs = &sealed.world.runs;
    for run in [&runs[0], &runs[2]] {
        let shown = sealed.call(&["runs", "show", &run[..8]]);
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        let log = at(&["audit", "log", "--run", run]);
        assert_eq!((log.code, events(&log).len()), (0, 12));
        let out = format!("{run}.jsonl");
        let exported = sealed.call(&["audit", "export", "--run", run, "--out", &out]);
        assert_eq!(exported.code, 0, "{}", exported.stderr);
        assert_eq!(sealed.call(&["audit", "verify", &out]).code, 0);
    }
    assert_eq!(sealed.call(&["runs", "list"]).code, 0);
    // The list and a run that come to the hole: what is before it, then why there is no more.
    let log = at(&["audit", "log"]);
    names_the_hole(&log);
    assert_eq!(events(&log), (0..TILE).collect::<Vec<_>>());
    let log = at(&["audit", "log", "--run", &sealed.across]);
    names_the_hole(&log);
    assert_eq!(events(&log), (14..TILE).collect::<Vec<_>>());
    names_the_hole(&sealed.call(&["audit", "log"]));
    let log = at(&["audit", "log", "--after", behind]);
    let rest: Vec<_> = (2 * TILE..sealed.size).collect();
    assert_eq!((log.code, events(&log)), (0, rest));
    let inbox = at(&["inbox"]);
    assert_eq!(inbox.code, 6, "{}", inbox.stderr);
    assert!(inbox.stderr.contains("tile/entries/001"));
    let cards: Value = serde_json::from_str(&inbox.stdout).unwrap();
    let of: Vec<_> = cards["pending"].as_array().unwrap().iter().collect();
    assert!(of.iter().all(|card| card["run"] != *runs[1]));
    assert_eq!(of.len(), 4);
    // What cannot be had without it.
    let shown = sealed.call(&["runs", "show", &runs[1]]);
    assert_eq!(shown.code, 6);
    assert!(
        shown.stderr.contains("tile/entries/001"),
        "{}",
        shown.stderr
    );
    for run in [None, Some(&runs[1])] {
        let of_run = run.map_or(Vec::new(), |run| vec!["--run", run]);
        let args = [&["audit", "export", "--out", "none.jsonl"], &of_run[..]].concat();
        let exported = sealed.call(&args);
        assert_eq!(exported.code, 6, "{}", exported.stderr);
        assert!(exported.stderr.contains("tile/entries/001"));
        assert!(!sealed.world.path("none.jsonl").exists());
    }
    assert_eq!(sealed.doctor(), (6, format!("fail: damaged: {HOLE}")));
    // Rows that the log cannot give again are not thrown away.
    names_the_hole(&sealed.call(&["doctor", "--rebuild"]));
    assert_eq!(sealed.call(&["runs", "show", &runs[2][..8]]).code, 0);
}

#[test]
fn runs_beside_a_hole_are_read_where_the_ledger_does_not_open() {
    // Without the first records nothing is known of authority; without the last tile the store
    // takes no writes.
    for (number, position) in [(0, 0), (2, 2 * TILE)] {
        let sealed = sealed();
        fs::remove_file(sealed.tile("content", number)).unwrap();
        let file = format!("tile/content/{number:03}");
        let run = &sealed.world.runs[1];
        for run in [&run[..], &run[..8]] {
            let args = ["--json", "audit", "log", "--run", run];
            let log = sealed.call(&args);
            assert_eq!((log.code, events(&log).len()), (0, 12));
            assert!(log.stderr.contains("takes no writes"), "{}", log.stderr);
        }
        let log = sealed.call(&["--json", "audit", "log"]);
        assert_eq!(log.code, 6);
        assert!(log.stderr.contains(&file), "{}", log.stderr);
        assert_eq!(events(&log), (0..position).collect::<Vec<_>>());
        let (code, said) = sealed.doctor();
        assert_eq!(code, 6);
        assert!(said.contains(&file), "{said}");
        let rebuilt = sealed.call(&["doctor", "--rebuild"]);
        assert_eq!(rebuilt.code, 6, "{}", rebuilt.stdout);
        assert!(rebuilt.stderr.contains("takes no writes"));
    }
}

#[test]
fn doctor_names_each_tile_that_is_not_as_it_was() {
    let sealed = sealed();
    let well = "ok: all there, and as long as they were";
    assert_eq!(sealed.doctor().1, well);
    let path = sealed.tile("entries", 1);
    let whole = fs::read(&path).unwrap();
    let cut = |length: usize| fs::write(&path, &whole[..length]).unwrap();
    let odd: [(&str, &dyn Fn()); 6] = [
        ("it is cut off", &|| cut(whole.len() - 1)),
        ("it is cut off", &|| cut(0)),
        ("it is not as it was written", &|| {
            fs::write(&path, [&whole[..], b"!"].concat()).unwrap();
        }),
        ("it is a folder and no file", &|| {
            fs::create_dir(&path).unwrap();
        }),
        ("it is a pipe and no file", &|| {
            mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).unwrap();
        }),
        ("it is missing", &|| {}),
    ];
    for (said, change) in odd {
        fs::remove_file(&path).unwrap();
        change();
        let what = "fail: damaged: its tile, tile/entries/001 with the records 256 to 511";
        assert_eq!(sealed.doctor(), (6, format!("{what}: {said}")));
        let log = sealed.call(&["audit", "log"]);
        assert_eq!(log.code, 6, "{said}");
        assert!(log.stderr.contains("tile/entries/001"), "{}", log.stderr);
        if path.is_dir() {
            fs::remove_dir(&path).unwrap();
        } else {
            drop(fs::remove_file(&path));
        }
        fs::write(&path, &whole).unwrap();
    }
    fs::write(sealed.world.path("data/placet/tile/entries/notes"), "mine").unwrap();
    let (_, said) = sealed.doctor();
    assert_eq!(said, "warn: not of this ledger: tile/entries/notes");
    assert_eq!(sealed.call(&["audit", "verify", "--records"]).code, 0);
}

/// What others have access to, below a folder and in it.
fn open_to_others(path: &Path) -> Vec<PathBuf> {
    let mut open = Vec::new();
    let there = fs::symlink_metadata(path).unwrap();
    if there.permissions().mode() & 0o077 != 0 {
        open.push(path.to_owned());
    }
    if there.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            open.extend(open_to_others(&entry.unwrap().path()));
        }
    }
    open
}

fn open_all(path: &Path) {
    let there = fs::symlink_metadata(path).unwrap();
    let mode = if there.is_dir() { 0o755 } else { 0o644 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    if there.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            open_all(&entry.unwrap().path());
        }
    }
}

#[test]
fn nobody_else_has_access_to_any_file_of_a_home() {
    let sealed = sealed();
    let home = sealed.world.path("data/placet");
    for verb in [
        &["audit", "log"][..],
        &["runs", "approve", &sealed.world.runs[2]],
    ] {
        sealed.call(verb);
        assert_eq!(open_to_others(&home), Vec::<PathBuf>::new());
    }
    // A copy may have lost the modes: the next one who opens it closes all of it.
    open_all(&home);
    assert_eq!(sealed.call(&["audit", "log"]).code, 0);
    let tiles = home.join("tile");
    assert_eq!(open_to_others(&tiles), Vec::<PathBuf>::new());
    let open = File::open(sealed.tile("content", 0)).unwrap();
    assert_eq!(open.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}
