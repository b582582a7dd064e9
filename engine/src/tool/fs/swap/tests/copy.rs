//! Files and folders that are copied, and what a crash leaves of the copies.

use super::relocate::transfer;
use super::tree::CHANGES;
use super::*;
use crate::tool::Reconciled;

const ENTRY: &str = ".placet-b3e41f07-c1.entry.tmp";

fn copy(bench: &Bench, draft: &Draft) -> Result<String, ToolError> {
    transfer(bench, draft)
        .copy()
        .map(|text| String::from_utf8(text.bytes).unwrap())
}

fn reconcile(bench: &Bench, draft: &Draft) -> &'static str {
    match transfer(bench, draft).reconcile_copy().unwrap() {
        Reconciled::Done(_) => "done",
        Reconciled::NotDone => "not done",
        Reconciled::Unknown => "unknown",
    }
}

fn tree(bench: Bench) -> Bench {
    bench
        .has_folder("old/sub/empty")
        .has("old/a", "one")
        .has("old/sub/b", "two")
        .has("old/sub/run", "#!")
        .has("inside", "x")
        .has_link("old/link", "../inside")
        .has_mode("old/sub/run", 0o750)
        .has_mode("old/a", 0o640)
        .has_folder("to")
}

/// The same with folders and files that nobody may write.
fn locked(bench: Bench) -> Bench {
    tree(bench)
        .has_mode("old/a", 0o400)
        .has_mode("old/sub/empty", 0o500)
        .has_mode("old/sub", 0o550)
        .has_mode("old", 0o555)
}

/// So that the folders can be cleared up.
fn unlock(bench: &Bench) {
    for path in ["old", "old/sub", "new", "new/sub"] {
        drop(fs::set_permissions(
            bench.at(path),
            fs::Permissions::from_mode(0o700),
        ));
    }
}

/// The paths of the tree in the order in which they are copied.
const ORDER: [&str; 6] = ["a", "link", "sub", "sub/b", "sub/empty", "sub/run"];

#[test]
fn copies_a_file_with_its_mode() {
    both_ways(|bench| {
        for mode in [0o750, 0o400, 0o666] {
            let bench = Bench::in_folder(tempfile::TempDir::new_in(bench.folder.path()).unwrap())
                .has("a", "one")
                .has_mode("a", mode);
            let draft = bench.cp("a", "b", "").unwrap();
            let digest = digest(Purpose::File, b"one");
            assert_eq!(
                copy(&bench, &draft).unwrap(),
                format!("{{\"bytes\":3,\"digest\":\"{digest}\",\"from\":\"a\",\"path\":\"b\"}}")
            );
            let everything = bench.everything();
            assert_eq!(everything["b"], everything["a"]);
            assert_eq!(bench.names(), ["a", "b"]);
            stale(copy(&bench, &draft), "something of that name");
        }
    });
}

#[test]
fn replaces_the_previewed_file_which_keeps_its_mode() {
    both_ways(|bench| {
        let bench = bench.has("a", "one").has("b", "two").has_mode("b", 0o600);
        let draft = bench.cp("a", "b", "o").unwrap();
        copy(&bench, &draft).unwrap();
        assert_eq!(bench.everything()["b"], "file 600 one");
        assert_eq!(bench.text("a"), "one");
        stale(copy(&bench, &draft), "b is not as it was previewed");
        let bench = bench.has("b", "theirs");
        let draft = bench.cp("a", "b", "o").unwrap();
        swap_in(&bench.at("b"), "newest");
        stale(copy(&bench, &draft), "it is another file");
        assert_eq!(bench.text("b"), "newest");
        assert_eq!(bench.names(), ["a", "b"]);
    });
}

#[test]
fn copies_a_folder_with_everything_in_it() {
    both_ways(|bench| {
        let bench = locked(bench);
        let mut expected = bench.everything();
        let draft = bench.cp("old", "new", "r").unwrap();
        assert_eq!(
            copy(&bench, &draft).unwrap(),
            "{\"entries\":6,\"from\":\"old\",\"path\":\"new\"}"
        );
        expected.insert("new".into(), expected["old"].clone());
        for path in ORDER {
            expected.insert(
                format!("new/{path}"),
                expected[&format!("old/{path}")].clone(),
            );
        }
        assert_eq!(bench.everything(), expected);
        let inode = |path: &str| bench.at(path).symlink_metadata().unwrap().ino();
        assert_ne!(inode("new/a"), inode("old/a"));
        stale(copy(&bench, &draft), "something of that name");
        unlock(&bench);
    });
}

#[test]
fn a_source_that_changed_is_stale_and_nothing_is_left() {
    for (expected, change) in CHANGES {
        both_ways(|bench| {
            let bench = tree(bench);
            let draft = bench.cp("old", "to/new", "r").unwrap();
            change(&bench);
            let before = bench.everything();
            stale(copy(&bench, &draft), expected);
            assert_eq!(bench.everything(), before);
        });
    }
    let bench = Bench::new().has("a", "one");
    let draft = bench.cp("a", "b", "").unwrap();
    fs::write(bench.at("a"), "new").unwrap();
    stale(copy(&bench, &draft), "its content is different");
    assert_eq!(bench.names(), ["a"]);
}

#[test]
fn a_source_that_changes_while_it_is_copied_leaves_nothing() {
    type Change = fn(&Bench);
    let changes: [(&str, Change); 5] = [
        ("a in it is different", |bench| {
            fs::remove_file(bench.at("old/a")).unwrap();
            fs::write(bench.at("old/a"), "new").unwrap();
        }),
        ("sub/run", |bench| {
            fs::remove_file(bench.at("old/sub/run")).unwrap();
        }),
        ("sub/run in it is different", |bench| {
            fs::write(bench.at("old/sub/run"), "new").unwrap();
        }),
        ("no place inside by now", |bench| {
            fs::remove_file(bench.at("inside")).unwrap();
            symlink("/etc/passwd", bench.at("inside")).unwrap();
        }),
        ("old/sub is not a folder", |bench| {
            fs::rename(bench.at("old/sub"), bench.at("was")).unwrap();
            symlink("../was", bench.at("old/sub")).unwrap();
        }),
    ];
    for (expected, change) in changes {
        let bench = tree(Bench::new());
        let draft = bench.cp("old", "new", "r").unwrap();
        let Precondition::Transfer { source, .. } = &draft.precondition else {
            panic!("a copy is a transfer");
        };
        let Precondition::Tree { entries, mode, .. } = &**source else {
            panic!("a folder is a tree");
        };
        // As if it had been looked at before.
        change(&bench);
        let before = bench.everything();
        let transfer = transfer(&bench, &draft);
        let places = transfer.places().unwrap();
        let (_, lock) = transfer.locks().unwrap();
        let copied = transfer.copy_tree(&lock, (&places.from, &places.to), entries, *mode);
        stale(copied, expected);
        assert_eq!(bench.everything(), before);
    }
}

#[test]
fn a_target_that_appeared_is_stale_and_stays() {
    type Appear = fn(&Path);
    let appearances: [Appear; 3] = [
        |path| fs::write(path, "theirs").unwrap(),
        |path| symlink("nowhere", path).unwrap(),
        |path| fs::create_dir(path).unwrap(),
    ];
    for appear in appearances {
        for source in ["old", "inside"] {
            both_ways(|bench| {
                let bench = locked(bench);
                let draft = bench.cp(source, "new", "r").unwrap();
                let transfer = transfer(&bench, &draft);
                let places = transfer.places().unwrap();
                appear(&bench.at("new"));
                let before = bench.everything();
                stale(copy(&bench, &draft), "something of that name");
                // Also at the last moment, with the copy complete.
                if let Precondition::Transfer { source, .. } = &draft.precondition
                    && let Precondition::Tree { entries, mode, .. } = &**source
                {
                    let (_, lock) = transfer.locks().unwrap();
                    let copied =
                        transfer.copy_tree(&lock, (&places.from, &places.to), entries, *mode);
                    stale(copied, "something of that name");
                }
                assert_eq!(bench.everything(), before);
                unlock(&bench);
            });
        }
    }
}

#[test]
fn a_leftover_is_never_written_into() {
    for source in ["old", "inside"] {
        let bench = tree(Bench::new()).has_folder(TEMPORARY);
        let draft = bench.cp(source, "new", "r").unwrap();
        let before = bench.everything();
        assert!(matches!(
            copy(&bench, &draft),
            Err(ToolError::Failed { .. })
        ));
        assert_eq!(bench.everything(), before);
    }
}

/// Copies the first entries to the temporary name, as they are before the folders get their modes.
fn begun(bench: &Bench, count: usize) {
    fs::create_dir(bench.at(TEMPORARY)).unwrap();
    for path in &ORDER[..count] {
        let (from, to) = (bench.at("old").join(path), bench.at(TEMPORARY).join(path));
        if from.is_symlink() {
            symlink(fs::read_link(from).unwrap(), to).unwrap();
        } else if from.is_dir() {
            fs::create_dir(to).unwrap();
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

#[test]
fn a_copy_that_was_cut_short_is_removed() {
    for count in 0..=ORDER.len() {
        for part in [None, Some(""), Some("o"), Some("tw")] {
            let bench = tree(Bench::new());
            let draft = bench.cp("old", "new", "r").unwrap();
            let before = bench.everything();
            begun(&bench, count);
            let next = ORDER.get(count).map(|path| bench.at(TEMPORARY).join(path));
            let is_file = ORDER.get(count).is_some_and(|path| {
                let original = bench.at("old").join(path);
                let content = fs::read_to_string(&original).unwrap_or_default();
                original.is_file()
                    && !original.is_symlink()
                    && part.is_some_and(|part| content.starts_with(part))
            });
            if let (Some(next), Some(part), true) = (next, part, is_file) {
                fs::write(next, part).unwrap();
            }
            assert_eq!(reconcile(&bench, &draft), "not done", "{count} {part:?}");
            assert_eq!(bench.everything(), before);
            assert_eq!(reconcile(&bench, &draft), "not done");
        }
    }
}

#[test]
fn a_removal_of_a_copy_that_was_cut_short_goes_on() {
    let bench = tree(Bench::new());
    let draft = bench.cp("old", "new", "r").unwrap();
    let before = bench.everything();
    begun(&bench, 4);
    fs::rename(bench.at(TEMPORARY).join("sub/b"), bench.at(ENTRY)).unwrap();
    assert_eq!(reconcile(&bench, &draft), "not done");
    assert_eq!(bench.everything(), before);
    begun(&bench, 3);
    let bench = bench.has(ENTRY, "theirs");
    let before = bench.everything();
    assert_eq!(reconcile(&bench, &draft), "unknown");
    assert_eq!(bench.everything(), before);
}

#[test]
fn a_copy_that_is_in_place_is_done() {
    let bench = tree(Bench::new());
    let draft = bench.cp("old", "new", "r").unwrap();
    copy(&bench, &draft).unwrap();
    let before = bench.everything();
    assert_eq!(reconcile(&bench, &draft), "done");
    fs::rename(bench.at("new"), bench.at(TEMPORARY)).unwrap();
    assert_eq!(reconcile(&bench, &draft), "not done");
    assert_eq!(bench.everything().len(), before.len() - 7);
    // Nothing tells any more that it was this call which took the copy away.
    assert_eq!(reconcile(&bench, &draft), "unknown");
}

#[test]
fn what_is_not_provably_a_copy_stays() {
    type Change = fn(&Bench);
    let changes: [Change; 6] = [
        |bench| fs::write(bench.at(TEMPORARY).join("sub/theirs"), "x").unwrap(),
        |bench| fs::write(bench.at(TEMPORARY).join("sub/b"), "tx").unwrap(),
        |bench| fs::write(bench.at(TEMPORARY).join("a"), "on").unwrap(),
        // Without its original a beginning is nobody's for sure.
        |bench| {
            fs::write(bench.at("old/sub/b"), "twice").unwrap();
            fs::write(bench.at(TEMPORARY).join("sub/b"), "tw").unwrap();
        },
        |bench| {
            fs::remove_dir_all(bench.at(TEMPORARY)).unwrap();
            fs::write(bench.at(TEMPORARY), "theirs").unwrap();
        },
        |bench| {
            fs::remove_dir_all(bench.at(TEMPORARY)).unwrap();
            fs::create_dir(bench.at("new")).unwrap();
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let bench = tree(Bench::new());
        let draft = bench.cp("old", "new", "r").unwrap();
        begun(&bench, 4);
        if bench.at(TEMPORARY).join("a").exists() {
            let mode = fs::Permissions::from_mode(0o600);
            fs::set_permissions(bench.at(TEMPORARY).join("a"), mode).unwrap();
        }
        change(&bench);
        let before = bench.everything();
        assert_eq!(reconcile(&bench, &draft), "unknown", "{number}");
        assert_eq!(bench.everything(), before, "{number}");
    }
}

#[test]
fn reconciles_what_a_crash_left_of_a_copied_file() {
    // Content of the source, of the file beside, and of the target, where `P` stands for the
    // previewed one.
    type Case = (
        [Option<&'static str>; 3],
        &'static str,
        [Option<&'static str>; 3],
    );
    let (one, two, x) = (Some("one"), Some("P"), Some("x"));
    let cases: [Case; 11] = [
        ([one, None, two], "not done", [one, None, two]),
        ([one, Some("on"), two], "not done", [one, None, two]),
        ([one, one, two], "not done", [one, None, two]),
        ([one, two, one], "done", [one, None, one]),
        ([one, None, one], "done", [one, None, one]),
        ([one, x, one], "not done", [one, None, x]),
        ([one, x, two], "unknown", [one, x, two]),
        // The source is gone or another one.
        ([None, two, one], "done", [None, None, one]),
        ([x, None, one], "done", [x, None, one]),
        ([x, one, two], "not done", [x, None, two]),
        ([x, Some("on"), two], "unknown", [x, Some("on"), two]),
    ];
    for (before, expected, after) in cases {
        let bench = Bench::new().has("a", "one").has("b", "two");
        let draft = bench.cp("a", "b", "o").unwrap();
        let original = bench.folder.path().join("P");
        fs::rename(bench.at("b"), &original).unwrap();
        fs::remove_file(bench.at("a")).unwrap();
        for (name, content) in ["a", TEMPORARY, "b"].into_iter().zip(before) {
            match content {
                Some("P") => fs::rename(&original, bench.at(name)).unwrap(),
                Some(content) => fs::write(bench.at(name), content).unwrap(),
                None => {}
            }
        }
        assert_eq!(reconcile(&bench, &draft), expected, "{before:?}");
        for (name, content) in ["a", TEMPORARY, "b"].into_iter().zip(after) {
            let content = content.map(|content| if content == "P" { "two" } else { content });
            let found = fs::read_to_string(bench.at(name)).ok();
            assert_eq!(found.as_deref(), content, "{before:?} {name}");
        }
    }
}

#[test]
fn a_copy_of_several_names_of_one_file_is_known_after_a_crash() {
    let bench = tree(Bench::new());
    fs::hard_link(bench.at("old/a"), bench.at("old/again")).unwrap();
    let draft = bench.cp("old", "new", "r").unwrap();
    copy(&bench, &draft).unwrap();
    assert_eq!(reconcile(&bench, &draft), "done");
}

#[test]
fn a_copy_lets_nobody_in_beyond_its_mode() {
    use rustix::fs::{XattrFlags, flistxattr, fsetxattr};

    // The owner, the user 2, the group, the mask and all others: each may read and write.
    let entries: [(u16, u16, u32); 5] = [
        (1, 7, u32::MAX),
        (2, 7, 2),
        (4, 7, u32::MAX),
        (16, 7, u32::MAX),
        (32, 7, u32::MAX),
    ];
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        list.extend(tag.to_le_bytes());
        list.extend(permissions.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    let bench = tree(Bench::new());
    let to = fs::File::open(bench.at("to")).unwrap();
    let name = "system.posix_acl_default";
    if fsetxattr(&to, name, &list, XattrFlags::empty()).is_err() {
        return;
    }
    copy(&bench, &bench.cp("old", "to/new", "r").unwrap()).unwrap();
    copy(&bench, &bench.cp("old/a", "to/a", "").unwrap()).unwrap();
    for path in ["a", "new", "new/a", "new/sub", "new/sub/b", "new/sub/empty"] {
        let file = fs::File::open(bench.at("to").join(path)).unwrap();
        let mut names = [0_u8; 256];
        let length = flistxattr(&file, names.as_mut_slice()).unwrap();
        let names = String::from_utf8_lossy(&names[..length]);
        assert!(!names.contains("posix_acl"), "{path}: {names}");
    }
    let mode = |path: &str| bench.at(path).metadata().unwrap().mode();
    assert_eq!(mode("to/a"), mode("old/a"));
    assert_eq!(mode("to/new/sub"), mode("old/sub"));
}
