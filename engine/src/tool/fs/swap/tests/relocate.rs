//! Files and folders that move, and what a crash leaves of them.

use super::tree::CHANGES;
use super::*;
use crate::tool::Reconciled;
use crate::tool::fs::swap::transfer::Places;

/// Where the source is between its places.
pub(super) const ASIDE: &str = ".placet-b3e41f07-c1.from.tmp";
const ASIDE_KEPT: &str = ".placet-b3e41f07-c1.from.kept";

pub(super) fn transfer<'a>(bench: &'a Bench, draft: &'a Draft) -> Transfer<'a> {
    let arguments = &draft.execute_arguments;
    Transfer::new(&bench.files, call(), arguments, Some(&draft.precondition)).unwrap()
}

fn relocate(bench: &Bench, draft: &Draft) -> Result<String, ToolError> {
    transfer(bench, draft)
        .relocate()
        .map(|text| String::from_utf8(text.bytes).unwrap())
}

fn reconcile(bench: &Bench, draft: &Draft) -> &'static str {
    match transfer(bench, draft).reconcile_relocate().unwrap() {
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
        .has_link("old/link", "../outside")
        .has_folder("to")
}

fn node(path: &Path) -> u64 {
    path.symlink_metadata().unwrap().ino()
}

#[test]
fn moves_a_file_or_a_folder() {
    both_ways(|bench| {
        let bench = bench.has("a", "one").has_mode("a", 0o750).has_folder("to");
        let inode = node(&bench.at("a"));
        let draft = bench.mv("a", "to/b", "").unwrap();
        let digest = digest(Purpose::File, b"one");
        assert_eq!(
            relocate(&bench, &draft).unwrap(),
            format!("{{\"bytes\":3,\"digest\":\"{digest}\",\"from\":\"a\",\"path\":\"to/b\"}}")
        );
        assert_eq!(bench.names(), ["to"]);
        assert_eq!(bench.everything()["to/b"], "file 750 one");
        assert_eq!(node(&bench.at("to/b")), inode);
        stale(relocate(&bench, &draft), "there is no a");
    });
    both_ways(|bench| {
        let bench = tree(bench);
        let mut expected = bench.everything();
        let draft = bench.mv("old", "to/new", "r").unwrap();
        let inode = node(&bench.at("old"));
        assert_eq!(
            relocate(&bench, &draft).unwrap(),
            "{\"entries\":5,\"from\":\"old\",\"path\":\"to/new\"}"
        );
        assert_eq!(node(&bench.at("to/new")), inode);
        for path in ["", "/sub", "/sub/empty", "/a", "/sub/b", "/link"] {
            let what = expected.remove(&format!("old{path}")).unwrap();
            expected.insert(format!("to/new{path}"), what);
        }
        assert_eq!(bench.everything(), expected);
    });
}

#[test]
fn replaces_the_previewed_file() {
    both_ways(|bench| {
        let bench = bench.has("a", "one").has("b", "two");
        let draft = bench.mv("a", "b", "o").unwrap();
        relocate(&bench, &draft).unwrap();
        assert_eq!((bench.text("b").as_str(), bench.names().len()), ("one", 1));
    });
}

#[test]
fn a_source_that_changed_is_stale_and_stays_as_it_is() {
    for (expected, change) in CHANGES {
        both_ways(|bench| {
            let bench = tree(bench);
            let draft = bench.mv("old", "to/new", "r").unwrap();
            change(&bench);
            let before = bench.everything();
            stale(relocate(&bench, &draft), expected);
            assert_eq!(bench.everything(), before);
            // Also where it changed after it was looked at, and was set aside.
            let transfer = transfer(&bench, &draft);
            let Places { from, to } = transfer.places().unwrap();
            let aside = transfer.source.set_aside(&from, &to.folder);
            stale(aside, "old is not as it was previewed");
            assert_eq!(bench.everything(), before);
        });
    }
    both_ways(|bench| {
        let bench = bench.has("a", "one").has("b", "two");
        let draft = bench.mv("a", "b", "o").unwrap();
        swap_in(&bench.at("a"), "one");
        stale(
            relocate(&bench, &draft),
            "a is not as it was previewed: it is another file",
        );
        assert_eq!(
            (bench.text("a"), bench.text("b")),
            ("one".into(), "two".into())
        );
        assert_eq!(bench.names(), ["a", "b"]);
    });
}

#[test]
fn a_target_that_changed_is_stale_and_stays_as_it_is() {
    type Change = fn(&Bench);
    let changes: [(&str, Change); 5] = [
        ("content", |bench| {
            fs::write(bench.at("to/b"), "new").unwrap();
        }),
        ("another file", |bench| swap_in(&bench.at("to/b"), "two")),
        ("there is no to/b", |bench| {
            fs::remove_file(bench.at("to/b")).unwrap();
        }),
        ("a folder", |bench| {
            fs::remove_file(bench.at("to/b")).unwrap();
            fs::create_dir(bench.at("to/b")).unwrap();
        }),
        ("its folder is another one", |bench| {
            fs::rename(bench.at("to"), bench.at("was")).unwrap();
            fs::create_dir(bench.at("to")).unwrap();
            fs::write(bench.at("to/b"), "two").unwrap();
        }),
    ];
    for (expected, change) in changes {
        both_ways(|bench| {
            let bench = bench.has("a", "one").has_folder("to").has("to/b", "two");
            let draft = bench.mv("a", "to/b", "o").unwrap();
            change(&bench);
            let before = bench.everything();
            stale(relocate(&bench, &draft), expected);
            assert_eq!(bench.everything(), before);
        });
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
        for source in ["old", "to"] {
            both_ways(|bench| {
                let bench = tree(bench);
                let draft = bench.mv(source, "new", "r").unwrap();
                appear(&bench.at("new"));
                let before = bench.everything();
                stale(relocate(&bench, &draft), "something of that name");
                // Also where it appears at the last moment.
                let transfer = transfer(&bench, &draft);
                let Places { from, to } = transfer.places().unwrap();
                transfer.source.set_aside(&from, &to.folder).unwrap();
                let moved = transfer
                    .source
                    .move_between((&to.folder, ASIDE), (&to.folder, "new"));
                assert_eq!(moved, Err(Errno::EXIST));
                stale(
                    Err::<(), _>(transfer.both_back(&from, &to, Errno::EXIST)),
                    "of that name",
                );
                assert_eq!(bench.everything(), before);
            });
        }
    }
}

#[test]
fn both_go_back_and_what_cannot_is_kept() {
    both_ways(|bench| {
        let bench = bench.has("a", "one").has("b", "two");
        let draft = bench.mv("a", "b", "o").unwrap();
        let transfer = transfer(&bench, &draft);
        let Places { from, to } = transfer.places().unwrap();
        let both_aside = || {
            transfer.source.set_aside(&from, &to.folder).unwrap();
            transfer.target.set_aside(&to, &to.folder).unwrap();
        };
        let before = bench.everything();
        both_aside();
        stale(
            Err::<(), _>(transfer.both_back(&from, &to, Errno::EXIST)),
            "of that name",
        );
        assert_eq!(bench.everything(), before);
        both_aside();
        fs::write(bench.at("a"), "new a").unwrap();
        fs::write(bench.at("b"), "new b").unwrap();
        let error = transfer.both_back(&from, &to, Errno::EXIST).to_string();
        assert!(
            error.contains(KEPT) && error.contains(ASIDE_KEPT),
            "{error}"
        );
        assert_eq!(bench.text(KEPT), "two");
        assert_eq!(bench.text(ASIDE_KEPT), "one");
        assert_eq!(
            (bench.text("a"), bench.text("b")),
            ("new a".into(), "new b".into())
        );
    });
}

#[test]
fn a_leftover_is_never_written_over() {
    for leftover in [TEMPORARY, ASIDE] {
        let bench = Bench::new()
            .has("a", "one")
            .has("b", "two")
            .has(leftover, "precious");
        let draft = bench.mv("a", "b", "o").unwrap();
        let before = bench.everything();
        let error = relocate(&bench, &draft).unwrap_err();
        assert!(matches!(error, ToolError::Failed { .. }), "{error}");
        assert_eq!(bench.everything(), before);
    }
}

/// A file of each name: `S` the previewed source, `T` the previewed target, else its content.
type State = [Option<&'static str>; 4];

const NAMES: [&str; 4] = ["a", ASIDE, TEMPORARY, "b"];

fn into_state(bench: &Bench, state: State) {
    let originals = bench.folder.path();
    fs::rename(bench.at("a"), originals.join("S")).unwrap();
    if bench.at("b").exists() {
        fs::rename(bench.at("b"), originals.join("T")).unwrap();
    }
    for (name, content) in NAMES.into_iter().zip(state) {
        let Some(content) = content else { continue };
        if !matches!(content, "S" | "T") {
            fs::write(bench.at(name), content).unwrap();
        } else if originals.join(content).exists() {
            fs::rename(originals.join(content), bench.at(name)).unwrap();
        } else {
            let first = NAMES[state.iter().position(|it| *it == Some(content)).unwrap()];
            fs::hard_link(bench.at(first), bench.at(name)).unwrap();
        }
    }
}

fn state(bench: &Bench) -> Vec<Option<String>> {
    NAMES
        .iter()
        .map(|name| fs::read_to_string(bench.at(name)).ok())
        .collect()
}

fn check(cases: &[(State, &str, State)], switches: &str) {
    for (before, expected, after) in cases {
        let mut bench = Bench::new().has("a", "one");
        if switches == "o" {
            bench = bench.has("b", "two");
        }
        let draft = bench.mv("a", "b", switches).unwrap();
        into_state(&bench, *before);
        assert_eq!(reconcile(&bench, &draft), *expected, "{before:?}");
        let after: Vec<_> = after
            .iter()
            .map(|content| {
                content.map(|content| match content {
                    "S" => "one".to_owned(),
                    "T" => "two".to_owned(),
                    content => content.to_owned(),
                })
            })
            .collect();
        assert_eq!(state(&bench), after, "{before:?}");
    }
}

#[test]
fn reconciles_what_a_crash_left_of_a_move() {
    let (s, x) = (Some("S"), Some("theirs"));
    check(
        &[
            ([s, None, None, None], "not done", [s, None, None, None]),
            ([None, s, None, None], "not done", [s, None, None, None]),
            ([s, s, None, None], "not done", [s, None, None, None]),
            ([None, s, None, s], "done", [None, None, None, s]),
            ([None, None, None, s], "done", [None, None, None, s]),
            ([x, None, None, s], "done", [x, None, None, s]),
            // Never compared: it goes back as well.
            ([None, x, None, None], "not done", [x, None, None, None]),
            ([None, s, None, x], "not done", [s, None, None, x]),
            ([x, s, None, None], "unknown", [x, s, None, None]),
            (
                [None, None, None, None],
                "unknown",
                [None, None, None, None],
            ),
            ([None, None, None, x], "unknown", [None, None, None, x]),
            ([x, None, None, None], "unknown", [x, None, None, None]),
        ],
        "",
    );
}

#[test]
fn reconciles_what_a_crash_left_of_a_replacing_move() {
    let (s, t, x) = (Some("S"), Some("T"), Some("theirs"));
    check(
        &[
            ([s, None, None, t], "not done", [s, None, None, t]),
            ([None, s, None, t], "not done", [s, None, None, t]),
            ([None, s, t, None], "not done", [s, None, None, t]),
            ([None, s, t, t], "not done", [s, None, None, t]),
            ([None, None, t, s], "done", [None, None, None, s]),
            ([None, None, None, s], "done", [None, None, None, s]),
            ([None, s, x, None], "not done", [s, None, None, x]),
            ([None, s, t, x], "unknown", [s, None, t, x]),
            ([None, None, x, s], "unknown", [None, None, x, s]),
            ([None, None, None, t], "unknown", [None, None, None, t]),
        ],
        "o",
    );
}

#[test]
fn what_was_written_into_since_is_nobodys_to_judge() {
    let (s, t) = (Some("S"), Some("T"));
    // The file in the new place, and the one that it replaced.
    for (written, place) in [
        ("b", [None, None, None, s]),
        (TEMPORARY, [None, None, t, s]),
    ] {
        let bench = Bench::new().has("a", "one").has("b", "two");
        let draft = bench.mv("a", "b", "o").unwrap();
        into_state(&bench, place);
        fs::write(bench.at(written), "written").unwrap();
        let before = bench.everything();
        assert_eq!(reconcile(&bench, &draft), "unknown");
        assert_eq!(bench.everything(), before);
    }
}

#[test]
fn reconciles_what_a_crash_left_of_a_moving_folder() {
    for (place, expected) in [("old", "not done"), ("to", "not done"), ("new", "done")] {
        let bench = tree(Bench::new());
        let draft = bench.mv("old", "to/new", "r").unwrap();
        let before = bench.everything();
        let at = match place {
            "old" => bench.at("old"),
            "to" => bench.at("to").join(ASIDE),
            _ => bench.at("to/new"),
        };
        fs::rename(bench.at("old"), &at).unwrap();
        assert_eq!(reconcile(&bench, &draft), expected);
        if expected == "not done" {
            assert_eq!(bench.everything(), before);
        }
        assert_eq!(bench.everything().len(), before.len());
        assert_eq!(reconcile(&bench, &draft), expected);
    }
    // What was set aside and is another one goes back whatever it is.
    for (_, change) in CHANGES {
        let bench = tree(Bench::new());
        let draft = bench.mv("old", "to/new", "r").unwrap();
        change(&bench);
        let before = bench.everything();
        fs::rename(bench.at("old"), bench.at("to").join(ASIDE)).unwrap();
        assert_eq!(reconcile(&bench, &draft), "not done");
        assert_eq!(bench.everything(), before);
    }
}

#[test]
fn a_call_needs_a_precondition_for_both_places() {
    let bench = Bench::new().has("a", "one").has("c", "x");
    let draft = bench.mv("a", "b", "").unwrap();
    let other = bench.rm("a").unwrap();
    let wrong = |from: &str, to: &str| json!({"from": from, "to": to});
    for (arguments, precondition) in [
        (draft.execute_arguments.clone(), None),
        (draft.execute_arguments.clone(), Some(&other.precondition)),
        (wrong("c", "b"), Some(&draft.precondition)),
        (wrong("a", "c"), Some(&draft.precondition)),
        (json!({"from": "a"}), Some(&draft.precondition)),
    ] {
        assert!(Transfer::new(&bench.files, call(), &arguments, precondition).is_err());
    }
}
