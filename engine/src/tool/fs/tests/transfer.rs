//! What `mv` and `cp` propose.

use super::*;

const BOTH: [Verb; 2] = [Verb::Move, Verb::Copy];

#[test]
fn a_file_goes_to_a_new_place() {
    let bench = Bench::new()
        .has("a", "one\ntwo\n")
        .has_mode("a", 0o640)
        .has_folder("src")
        .has_link("link", "src");
    let draft = bench.mv("./a", "link/../src/b", "").unwrap();
    assert_eq!(draft.message, "Move a to src/b (8 bytes, mode 640).");
    assert_eq!(draft.preview.unwrap(), "rename from a\nrename to src/b\n");
    let arguments = json!({"from": "a", "overwrite": false, "recursive": false, "to": "src/b"});
    assert_eq!(
        (&draft.arguments, &draft.execute_arguments),
        (&arguments, &arguments)
    );
    assert_eq!(draft.precondition.places(), ["a", "src/b"]);
    let draft = bench.cp("a", "b", "").unwrap();
    assert_eq!(draft.message, "Copy a to b (8 bytes, mode 640).");
    assert_eq!(
        draft.preview.unwrap(),
        "copy from a\ncopy to b\n--- /dev/null\n+++ b/b\n@@ -0,0 +1,2 @@\n+one\n+two\n"
    );
    fs::hard_link(bench.at("a"), bench.at("c")).unwrap();
    let message = bench.mv("a", "b", "").unwrap().message;
    assert!(
        message.ends_with("It has 2 hard links; its other names stay."),
        "{message}"
    );
    let bench = bench.has("binary", "\0");
    let draft = bench.cp("binary", "b", "").unwrap();
    assert!(
        draft
            .preview
            .unwrap()
            .ends_with("+++ b/b\nBinary file, 1 byte.\n")
    );
    assert!(!bench.at("b").exists(), "proposing changes nothing");
}

#[test]
fn what_is_replaced_is_shown() {
    let bench = Bench::new()
        .has("a", "one\n")
        .has("b", "two\n")
        .has("c", "\0")
        .has_mode("a", 0o644)
        .has_mode("b", 0o600);
    fs::hard_link(bench.at("b"), bench.at("d")).unwrap();
    let draft = bench.mv("a", "b", "o").unwrap();
    assert_eq!(
        draft.message,
        "Move a over the existing file b: 1 line added, 1 removed. Its mode becomes 644, from 600. \
         The file has 2 hard links; its other names keep the present content."
    );
    assert_eq!(
        draft.preview.unwrap(),
        "rename from a\nrename to b\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-two\n+one\n"
    );
    let draft = bench.cp("a", "b", "o").unwrap();
    assert!(
        draft
            .message
            .starts_with("Copy a over the existing file b: 1 line added, 1 removed. The")
    );
    let draft = bench.cp("a", "c", "o").unwrap();
    assert_eq!(
        draft.message,
        "Copy a over the existing file c: binary, 1 byte before and 4 bytes after."
    );
    assert!(
        draft
            .preview
            .unwrap()
            .ends_with("Binary files: 1 byte before, 4 bytes after.\n")
    );
    let Precondition::Transfer { target, .. } = draft.precondition else {
        panic!("a copy is a transfer");
    };
    assert!(matches!(*target, Precondition::File { .. }));
}

#[test]
fn nothing_is_replaced_without_leave_and_a_folder_never() {
    let bench = Bench::new()
        .has("a", "x")
        .has("b", "y")
        .has("same", "x")
        .has_folder("src")
        .has_folder("src/a")
        .has_link("link", "b")
        .has_link("dangling", "none");
    fs::hard_link(bench.at("a"), bench.at("twin")).unwrap();
    pipe(&bench.at("pipe"));
    for verb in BOTH {
        for (from, to, switches, expected) in [
            ("a", "b", "", "there is a file b already: set overwrite"),
            ("a", "b", "r", "there is a file b already: set overwrite"),
            ("a", "src", "o", "such as src/a"),
            ("src", "b", "ro", "a folder replaces nothing"),
            ("src/a", "src", "ro", "no folder is replaced"),
            ("a", "a", "o", "same path twice"),
            ("a", "./src/../a", "o", "same path twice"),
            ("a", "twin", "o", "two names of one file"),
            ("a", "link", "o", "is a symbolic link"),
            ("a", "dangling", "o", "is a symbolic link"),
            ("a", "pipe", "o", "is a pipe"),
            ("link", "to", "", "is a symbolic link"),
            ("none", "to", "", "there is no none"),
            ("a", "none/to", "", "there is no folder none"),
            ("a", "b/to", "", "b is not a folder"),
            ("a", "src/to/", "", "name a file"),
            ("a", "../to", "", "outside the workspace"),
            ("../home", "to", "r", "outside the workspace"),
            ("/etc/passwd", "to", "", "outside the workspace"),
            ("a", "t\no", "", "control characters"),
            ("a", "", "", "is empty"),
            ("a", ".placet-b3e41f07-c1.tmp", "", "kept for placet's own"),
        ] {
            said(bench.transfer(verb, from, to, switches), expected);
        }
    }
    said(bench.cp("a", "same", "o"), "exactly the content");
    assert!(bench.mv("a", "same", "o").is_ok());
}

#[test]
fn a_folder_does_not_go_into_itself() {
    let bench = Bench::new()
        .has_folder("src/deep")
        .has_link("link", "src/deep");
    for verb in BOTH {
        for to in ["src/to", "src/deep/to", "link/to", "src/deep/../to"] {
            said(bench.transfer(verb, "src", to, "r"), "into itself");
        }
        said(bench.transfer(verb, "src", "src", "r"), "same path twice");
        assert!(bench.transfer(verb, "src", "srcs", "r").is_ok());
        assert!(bench.transfer(verb, "src/deep", "src/to", "r").is_ok());
    }
}

#[test]
fn links_are_copied_only_if_they_lead_inside() {
    for (leads_to, place, is_copied) in [
        ("file", "to", true),
        ("../b", "to", true),
        ("..", "to", true),
        ("../old/./sub/..", "to", true),
        // From a place less deep it would lead out.
        ("../../b", "to", false),
        ("none", "to", false),
        ("link", "to", false),
        ("../../home", "to", false),
        ("/etc/passwd", "to", false),
        ("../innocent", "to", false),
    ] {
        let bench = Bench::new()
            .has_folder("old/sub")
            .has("old/file", "x")
            .has("b", "x")
            .has_link("old/link", leads_to);
        let key = bench.folder.path().join("home/key");
        fs::write(&key, "secret").unwrap();
        fs::hard_link(&key, bench.at("innocent")).unwrap();
        let copied = bench.cp("old", place, "r");
        assert_eq!(copied.is_ok(), is_copied, "{leads_to}");
        if !is_copied {
            said(copied, "old/link is a symbolic link to no place inside");
        }
        // Moving makes no new link.
        assert!(bench.mv("old", place, "r").is_ok());
    }
    let bench = Bench::new()
        .has_folder("old/sub")
        .has("b", "x")
        .has_link("old/sub/link", "../../b");
    assert!(bench.cp("old", "to", "r").is_ok());
    said(bench.cp("old/sub", "to", "r"), "to no place inside");
}

#[test]
fn a_copy_makes_no_name_that_is_kept_for_placet() {
    let bench = Bench::new()
        .has_folder("old")
        .has("old/.placet-b3e41f07-c1.kept", "x");
    said(bench.cp("old", "to", "r"), "kept for placet's own");
    assert!(bench.rm_tree("old").is_ok());
}
