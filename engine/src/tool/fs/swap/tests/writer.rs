//! A program that replaces the target while calls change it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::CWD;
use tempfile::TempDir;

use super::*;

/// A program that exchanges its versions in as fast as it can, and so sees what each displaced.
fn writer(folder: &Path, stop: &AtomicBool) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut written, mut displaced) = (BTreeSet::new(), BTreeSet::new());
    let (target, beside) = (folder.join("a"), folder.join("writer"));
    for number in 0_u64.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let version = format!("theirs {number}\n");
        fs::write(&beside, &version).unwrap();
        // While a call exchanges back, the name is never missing.
        renameat_with(CWD, &beside, CWD, &target, RenameFlags::EXCHANGE).unwrap();
        written.insert(version);
        displaced.insert(fs::read_to_string(&beside).unwrap());
        fs::remove_file(&beside).unwrap();
        // At every pace, so that it meets each step of a call.
        (0..number * 3_700 % 40_000).for_each(|_| std::hint::spin_loop());
    }
    (written, displaced)
}

#[test]
fn a_busy_writer_loses_nothing() {
    // In memory, since thousands of syncs to a disk would only cost time.
    let folder = TempDir::new_in("/dev/shm")
        .or_else(|_| TempDir::new())
        .unwrap();
    let bench = Bench::in_folder(folder).has("a", "theirs start\n");
    let stop = AtomicBool::new(false);
    let mut replaced = BTreeSet::new();
    let (mut successes, mut stales) = (0, 0);
    let (written, displaced) = std::thread::scope(|scope| {
        let writing = scope.spawn(|| writer(&bench.at(""), &stop));
        for number in 0..2_000 {
            let draft = match bench.write("a", &format!("mine {number}\n")) {
                Ok(draft) => draft,
                // The writer was between two steps of ours.
                Err(error) => panic!("{error}"),
            };
            let preview = draft.preview.as_deref().unwrap();
            let before = preview
                .lines()
                .find(|line| line.starts_with("-t") || line.starts_with("-m"));
            match put(&bench, &draft) {
                Ok(_) => {
                    replaced.insert(format!("{}\n", &before.unwrap()[1..]));
                    successes += 1;
                }
                Err(ToolError::Stale { .. }) => stales += 1,
                Err(error) => panic!("{error}"),
            }
            if let Ok(kept) = fs::read_to_string(bench.at(KEPT)) {
                replaced.insert(kept);
                fs::remove_file(bench.at(KEPT)).unwrap();
            }
            assert!(!bench.at(TEMPORARY).exists());
        }
        stop.store(true, Ordering::Relaxed);
        writing.join().unwrap()
    });
    let last = bench.text("a");
    let lost: Vec<_> = written
        .iter()
        .filter(|&version| {
            !displaced.contains(version) && !replaced.contains(version) && *version != last
        })
        .collect();
    println!(
        "{successes} succeeded, {stales} stale, {} written",
        written.len()
    );
    assert!(
        lost.is_empty(),
        "{} of {} lost: {lost:?}",
        lost.len(),
        written.len()
    );
}
