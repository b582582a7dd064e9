//! A program that keeps changing a folder while calls remove, move and copy it.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, Mode, OFlags, open};
use tempfile::TempDir;

use super::relocate::transfer;
use super::*;

/// Puts its versions into the inner folder, through a descriptor that stays open while the folder
/// goes elsewhere, and so sees what each displaced.
struct Writer<'a> {
    /// Where the inner folder may be.
    places: [PathBuf; 2],
    beside: PathBuf,
    stop: &'a AtomicBool,
    written: BTreeSet<String>,
    displaced: BTreeSet<String>,
}

impl Writer<'_> {
    fn run(mut self) -> Self {
        let mut folder = None;
        for number in 0_u64.. {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            // A new one now and then, so that it is the present one for a while.
            if number % 16 == 0 {
                folder = None;
            }
            folder = folder.or_else(|| self.enter());
            if let Some(open) = &folder
                && !self.put(open, &format!("theirs {number}"))
            {
                folder = None;
            }
            (0..number * 3_700 % 40_000).for_each(|_| std::hint::spin_loop());
        }
        self
    }

    fn enter(&self) -> Option<OwnedFd> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW;
        self.places
            .iter()
            .find_map(|place| open(place, flags, Mode::empty()).ok())
    }

    fn put(&mut self, folder: &OwnedFd, version: &str) -> bool {
        fs::write(&self.beside, version).unwrap();
        let put = |flags| renameat_with(CWD, &self.beside, folder, "file", flags);
        match put(RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(Errno::EXIST) => match put(RenameFlags::EXCHANGE) {
                Ok(()) => {
                    self.displaced
                        .insert(fs::read_to_string(&self.beside).unwrap());
                }
                Err(_) => return true,
            },
            // The folder is gone.
            Err(_) => return false,
        }
        self.written.insert(version.to_owned());
        true
    }
}

/// What came of the calls.
#[derive(Default)]
struct Tally {
    /// What a person allowed to be removed.
    removed: BTreeSet<Digest>,
    done: usize,
    stale: usize,
    unproposed: usize,
    in_doubt: usize,
}

/// Every content beneath a folder.
fn contents(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.insert(fs::read_to_string(path).unwrap());
            }
        }
    }
    found
}

/// Lets a call do its work many times, while the writer is at it, and looks for what is lost.
fn busy(places: [&str; 2], round: impl Fn(&Bench, &mut Tally)) {
    let folder = TempDir::new_in("/dev/shm")
        .or_else(|_| TempDir::new())
        .unwrap();
    let bench = Bench::in_folder(folder);
    let stop = AtomicBool::new(false);
    let writer = Writer {
        places: places.map(|place| bench.at(place)),
        beside: bench.folder.path().join("beside"),
        stop: &stop,
        written: BTreeSet::new(),
        displaced: BTreeSet::new(),
    };
    let mut tally = Tally::default();
    let attic = bench.folder.path().join("attic");
    fs::create_dir(&attic).unwrap();
    let Writer {
        written, displaced, ..
    } = std::thread::scope(|scope| {
        let writing = scope.spawn(|| writer.run());
        for number in 0..1_000 {
            round(&bench, &mut tally);
            // What a call left beside is put away and counts as found.
            for name in bench.names() {
                if name.starts_with(TEMPORARY_PREFIX) {
                    let away = attic.join(format!("{number}{name}"));
                    fs::rename(bench.at(&name), away).unwrap();
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
        writing.join().unwrap()
    });
    let found = contents(bench.folder.path());
    let lost: Vec<_> = written
        .iter()
        .filter(|&version| {
            !displaced.contains(version)
                && !found.contains(version)
                && !tally
                    .removed
                    .contains(&digest(Purpose::File, version.as_bytes()))
        })
        .collect();
    println!(
        "{} done, {} stale, {} in doubt, {} not proposed, {} written",
        tally.done,
        tally.stale,
        tally.in_doubt,
        tally.unproposed,
        written.len()
    );
    assert!(
        lost.is_empty(),
        "{} of {} lost: {lost:?}",
        lost.len(),
        written.len()
    );
    assert!(!written.is_empty() && tally.done > 0);
}

fn count(tally: &mut Tally, result: Result<Text, ToolError>) {
    match result {
        Ok(_) => tally.done += 1,
        Err(ToolError::Stale { .. }) => tally.stale += 1,
        Err(ToolError::InDoubt { .. }) => tally.in_doubt += 1,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_busy_writer_loses_nothing_to_removals() {
    busy(["old/sub", "old/sub"], |bench, tally| {
        fs::create_dir_all(bench.at("old/sub/deep")).unwrap();
        for name in ["old/a", "old/sub/b", "old/sub/deep/c"] {
            fs::write(bench.at(name), "ours").unwrap();
        }
        let Ok(draft) = bench.rm_tree("old") else {
            tally.unproposed += 1;
            return;
        };
        let removed = job(bench, &draft).remove();
        if let (Ok(_), Precondition::Tree { entries, .. }) = (&removed, &draft.precondition) {
            tally
                .removed
                .extend(entries.iter().filter_map(|entry| entry.digest));
        }
        count(tally, removed);
    });
}

#[test]
fn a_busy_writer_loses_nothing_to_moves() {
    busy(["old/sub", "new/sub"], |bench, tally| {
        let (from, to) = if bench.at("new").exists() {
            ("new", "old")
        } else {
            fs::create_dir_all(bench.at("old/sub/deep")).unwrap();
            fs::write(bench.at("old/sub/deep/c"), "ours").unwrap();
            ("old", "new")
        };
        let Ok(draft) = bench.mv(from, to, "r") else {
            tally.unproposed += 1;
            return;
        };
        count(tally, transfer(bench, &draft).relocate());
    });
}

#[test]
fn a_busy_writer_loses_nothing_to_copies() {
    busy(["old/sub", "old/sub"], |bench, tally| {
        fs::create_dir_all(bench.at("old/sub/deep")).unwrap();
        fs::write(bench.at("old/sub/deep/c"), "ours").unwrap();
        drop(fs::remove_dir_all(bench.at("new")));
        let Ok(draft) = bench.cp("old", "new", "r") else {
            tally.unproposed += 1;
            return;
        };
        let copied = transfer(bench, &draft).copy();
        if let (Ok(_), Precondition::Transfer { source, .. }) = (&copied, &draft.precondition)
            && let Precondition::Tree { entries, .. } = &**source
        {
            let copy = Tree::named(
                &bench.files.workspace,
                &bench.files.workspace.folder(".").unwrap(),
                "new",
            );
            assert_eq!(copy.unwrap().difference(entries), None);
        }
        count(tally, copied);
        assert!(!bench.at(TEMPORARY).exists());
    });
}
