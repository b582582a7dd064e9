//! Folders that are removed with everything in them, and what a crash leaves of them.

use std::collections::BTreeMap;

use super::*;
use crate::tool::Reconciled;

const ENTRY: &str = ".placet-b3e41f07-c1.entry.tmp";

fn tree(bench: Bench) -> Bench {
    bench
        .has_folder("old/sub/empty")
        .has("old/a", "one")
        .has("old/sub/b", "two")
        .has_link("old/link", "../outside")
        .has("beside", "x")
}

fn remove(bench: &Bench, draft: &Draft) -> Result<String, ToolError> {
    job(bench, draft)
        .remove()
        .map(|text| String::from_utf8(text.bytes).unwrap())
}

#[test]
fn removes_what_was_previewed() {
    both_ways(|bench| {
        let bench = tree(bench);
        let draft = bench.rm_tree("old").unwrap();
        assert_eq!(
            remove(&bench, &draft).unwrap(),
            "{\"entries\":5,\"path\":\"old\"}"
        );
        assert_eq!(bench.names(), ["beside"]);
        stale(remove(&bench, &draft), "there is no old");
    });
}

/// What is said of a change, and the change.
type Change = (&'static str, fn(&Bench));

/// Each way in which a tree can be another one than was previewed.
pub(super) const CHANGES: [Change; 13] = [
    ("a in it is different", |bench| {
        fs::write(bench.at("old/a"), "new").unwrap();
    }),
    ("a in it is different", |bench| {
        fs::set_permissions(bench.at("old/a"), fs::Permissions::from_mode(0o600)).unwrap();
    }),
    ("a in it is different", |bench| {
        fs::remove_file(bench.at("old/a")).unwrap();
        symlink("sub/b", bench.at("old/a")).unwrap();
    }),
    ("sub/b in it is gone", |bench| {
        fs::remove_file(bench.at("old/sub/b")).unwrap();
    }),
    ("sub/c in it is new", |bench| {
        fs::write(bench.at("old/sub/c"), "").unwrap();
    }),
    ("sub/empty/d in it is new", |bench| {
        fs::create_dir(bench.at("old/sub/empty/d")).unwrap();
    }),
    ("link in it is different", |bench| {
        fs::remove_file(bench.at("old/link")).unwrap();
        symlink("../beside", bench.at("old/link")).unwrap();
    }),
    ("sub in it is different", |bench| {
        fs::set_permissions(bench.at("old/sub"), fs::Permissions::from_mode(0o700)).unwrap();
    }),
    ("its mode is 700", |bench| {
        fs::set_permissions(bench.at("old"), fs::Permissions::from_mode(0o700)).unwrap();
    }),
    ("it is another folder", |bench| {
        fs::rename(bench.at("old"), bench.at("was")).unwrap();
        fs::create_dir(bench.at("old")).unwrap();
    }),
    ("old is not a folder", |bench| {
        fs::rename(bench.at("old"), bench.at("was")).unwrap();
        symlink("was", bench.at("old")).unwrap();
    }),
    ("a in it has 2 hard links, not 1", |bench| {
        fs::hard_link(bench.at("old/a"), bench.at("other")).unwrap();
    }),
    ("old/pipe is a pipe", |bench| {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        mknodat(CWD, bench.at("old/pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    }),
];

#[test]
fn a_tree_that_changed_is_stale_and_stays_as_it_is() {
    for (expected, change) in CHANGES {
        both_ways(|bench| {
            let bench = tree(bench);
            let draft = bench.rm_tree("old").unwrap();
            change(&bench);
            let before = bench.everything();
            stale(remove(&bench, &draft), expected);
            assert_eq!(bench.everything(), before);
            // Also where it changed after it was looked at, and was set aside.
            let job = job(&bench, &draft);
            let target = job.target().unwrap();
            stale(
                job.set_aside(&target, &target.folder),
                "old is not as it was previewed",
            );
            assert_eq!(bench.everything(), before);
        });
    }
}

#[test]
fn a_tree_in_which_something_is_closed_by_now_is_refused() {
    let bench = tree(Bench::new());
    let draft = bench.rm_tree("old").unwrap();
    let key = bench.folder.path().join("home/key");
    fs::write(&key, "secret").unwrap();
    fs::hard_link(&key, bench.at("old/innocent")).unwrap();
    let before = bench.everything();
    let refused = remove(&bench, &draft).unwrap_err();
    assert!(matches!(refused, ToolError::Refused { .. }), "{refused}");
    assert_eq!(bench.everything(), before);
}

#[test]
fn what_comes_into_it_while_it_goes_is_kept() {
    both_ways(|bench| {
        let bench = tree(bench);
        let draft = bench.rm_tree("old").unwrap();
        let job = job(&bench, &draft);
        let target = job.target().unwrap();
        job.set_aside(&target, &target.folder).unwrap();
        // By a program that has the folders open.
        let inside = |path: &str| bench.at(TEMPORARY).join(path);
        fs::write(inside("sub/new"), "theirs").unwrap();
        fs::write(inside("a"), "changed").unwrap();
        fs::remove_file(inside("link")).unwrap();
        fs::create_dir(inside("link")).unwrap();
        fs::write(inside("link/deep"), "deep").unwrap();
        let Precondition::Tree { entries, .. } = &draft.precondition else {
            panic!("a folder is a tree");
        };
        let kept = job.clear(&target.folder, entries).unwrap();
        assert_eq!(kept.as_deref(), Some(KEPT));
        let left: BTreeMap<_, _> = bench
            .everything()
            .into_iter()
            .filter(|(_, what)| what.starts_with("file"))
            .map(|(path, what)| (path, what.rsplit(' ').next().unwrap().to_owned()))
            .collect();
        let expected = [
            (format!("{KEPT}/a"), "changed"),
            (format!("{KEPT}/link/deep"), "deep"),
            (format!("{KEPT}/sub/new"), "theirs"),
            ("beside".to_owned(), "x"),
        ];
        let expected: BTreeMap<_, _> = expected
            .into_iter()
            .map(|(path, content)| (path, content.to_owned()))
            .collect();
        assert_eq!(left, expected);
    });
}

fn reconcile(bench: &Bench, draft: &Draft) -> &'static str {
    match job(bench, draft).reconcile_remove().unwrap() {
        Reconciled::Done(_) => "done",
        Reconciled::NotDone => "not done",
        Reconciled::Unknown => "unknown",
    }
}

/// The paths of the tree in the order in which they are removed.
const ORDER: [&str; 5] = ["sub/empty", "sub/b", "sub", "link", "a"];

#[test]
fn a_removal_that_was_cut_short_is_finished() {
    // After each of its steps: the set-aside, and then each entry, moved out and unlinked.
    for removed in 0..=ORDER.len() {
        for out in [false, true] {
            let bench = tree(Bench::new());
            let draft = bench.rm_tree("old").unwrap();
            fs::rename(bench.at("old"), bench.at(TEMPORARY)).unwrap();
            for path in &ORDER[..removed] {
                let path = bench.at(TEMPORARY).join(path);
                if path.is_dir() && !path.is_symlink() {
                    fs::remove_dir(path).unwrap();
                } else {
                    fs::remove_file(path).unwrap();
                }
            }
            let next = ORDER
                .get(removed)
                .map(|path| bench.at(TEMPORARY).join(path));
            if let Some(next) = next.filter(|next| out && (next.is_symlink() || next.is_file())) {
                fs::rename(next, bench.at(ENTRY)).unwrap();
            }
            assert_eq!(reconcile(&bench, &draft), "done", "{removed} {out}");
            assert_eq!(bench.names(), ["beside"], "{removed} {out}");
            assert_eq!(reconcile(&bench, &draft), "done");
        }
    }
}

#[test]
fn names_of_one_file_in_a_tree_go_together() {
    let bench = tree(Bench::new());
    fs::hard_link(bench.at("old/a"), bench.at("old/again")).unwrap();
    let draft = bench.rm_tree("old").unwrap();
    fs::rename(bench.at("old"), bench.at(TEMPORARY)).unwrap();
    for path in ["sub/empty", "sub/b", "sub", "link", "again"] {
        let path = bench.at(TEMPORARY).join(path);
        fs::remove_file(&path)
            .or_else(|_| fs::remove_dir(&path))
            .unwrap();
    }
    assert_eq!(reconcile(&bench, &draft), "done");
    assert_eq!(bench.names(), ["beside"]);
    // And one after the other without a crash.
    let bench = tree(Bench::new());
    fs::hard_link(bench.at("old/a"), bench.at("old/again")).unwrap();
    let draft = bench.rm_tree("old").unwrap();
    remove(&bench, &draft).unwrap();
    assert_eq!(bench.names(), ["beside"]);
}

#[test]
fn what_is_kept_is_told_also_after_a_crash() {
    let bench = tree(Bench::new());
    let draft = bench.rm_tree("old").unwrap();
    fs::rename(bench.at("old"), bench.at(KEPT)).unwrap();
    let Reconciled::Done(result) = job(&bench, &draft).reconcile_remove().unwrap() else {
        panic!("it is out of its place");
    };
    assert_eq!(
        String::from_utf8(result.bytes).unwrap(),
        format!("{{\"entries\":5,\"kept\":\"{KEPT}\",\"path\":\"old\"}}")
    );
    assert_eq!(bench.names(), [KEPT, "beside"]);
}

#[test]
fn before_its_first_step_nothing_was_done() {
    let bench = tree(Bench::new());
    let draft = bench.rm_tree("old").unwrap();
    let before = bench.everything();
    assert_eq!(reconcile(&bench, &draft), "not done");
    assert_eq!(bench.everything(), before);
    // Changed since, and still in its place.
    fs::write(bench.at("old/a"), "new").unwrap();
    assert_eq!(reconcile(&bench, &draft), "not done");
    assert_eq!(bench.text("old/a"), "new");
}

#[test]
fn what_was_set_aside_and_is_another_goes_back() {
    for (_, change) in CHANGES.into_iter().filter(|(what, _)| {
        // An entry that is missing may have been removed by the call itself.
        !what.ends_with("gone") && !what.starts_with("its mode")
    }) {
        let bench = tree(Bench::new());
        let draft = bench.rm_tree("old").unwrap();
        change(&bench);
        let before = bench.everything();
        fs::rename(bench.at("old"), bench.at(TEMPORARY)).unwrap();
        let said = reconcile(&bench, &draft);
        if before.contains_key("old/pipe") {
            // What cannot be listed stays where it is.
            assert_eq!(said, "unknown");
            assert!(bench.at(TEMPORARY).exists());
        } else {
            assert_eq!(said, "not done");
            assert_eq!(bench.everything(), before);
        }
    }
}

#[test]
fn what_nobody_can_tell_stays() {
    // Begun, and changed since.
    let bench = tree(Bench::new());
    let draft = bench.rm_tree("old").unwrap();
    fs::rename(bench.at("old"), bench.at(TEMPORARY)).unwrap();
    fs::remove_dir(bench.at(TEMPORARY).join("sub/empty")).unwrap();
    fs::write(bench.at(TEMPORARY).join("theirs"), "x").unwrap();
    let before = bench.everything();
    assert_eq!(reconcile(&bench, &draft), "unknown");
    assert_eq!(bench.everything(), before);
    // Another folder has the name by now.
    let bench = tree(Bench::new());
    let draft = bench.rm_tree("old").unwrap();
    fs::rename(bench.at("old"), bench.at(TEMPORARY)).unwrap();
    fs::write(bench.at(TEMPORARY).join("theirs"), "x").unwrap();
    let bench = bench.has_folder("old");
    let before = bench.everything();
    assert_eq!(reconcile(&bench, &draft), "unknown");
    assert_eq!(bench.everything(), before);
    // The entry that is out is no entry.
    let bench = tree(Bench::new());
    let draft = bench.rm_tree("old").unwrap();
    fs::rename(bench.at("old"), bench.at(TEMPORARY)).unwrap();
    let bench = bench.has(ENTRY, "theirs");
    let before = bench.everything();
    assert_eq!(reconcile(&bench, &draft), "unknown");
    assert_eq!(bench.everything(), before);
    // It is gone, and another is there.
    let bench = tree(Bench::new());
    let draft = bench.rm_tree("old").unwrap();
    fs::remove_dir_all(bench.at("old")).unwrap();
    let bench = bench.has_folder("old");
    assert_eq!(reconcile(&bench, &draft), "unknown");
}

#[test]
fn a_new_thing_of_the_name_does_not_undo_a_removal() {
    let bench = tree(Bench::new());
    let draft = bench.rm_tree("old").unwrap();
    fs::rename(bench.at("old"), bench.at(TEMPORARY)).unwrap();
    let bench = bench.has("old", "new");
    assert_eq!(reconcile(&bench, &draft), "done");
    assert_eq!(bench.names(), ["beside", "old"]);
}
