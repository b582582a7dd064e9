//! What `find` comes by, in which order, and what it passes over.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::*;
use crate::tool::Awaited;

pub(super) fn awaited() -> Awaited {
    Awaited::given(true)
}

fn find(bench: &Bench, arguments: &Value) -> Result<String, ToolError> {
    super::super::find::find(&bench.files, arguments, &awaited())
        .map(|text| String::from_utf8(text.bytes).unwrap())
}

fn tree() -> Bench {
    Bench::new()
        .has_folder("src/deep")
        .has_folder(".git/objects")
        .has_folder("target/debug")
        .has("a.rs", "")
        .has("b.md", "")
        .has("src/a-b.rs", "")
        .has("src/deep/c.rs", "")
        .has("src/deep/c.log", "")
        .has(".git/config", "")
        .has("target/debug/c.rs", "")
        .has(".gitignore", "target/\n*.log\n# comment\n")
}

#[test]
fn finds_everything_in_one_order() {
    let bench = tree();
    let expected = ".gitignore\na.rs\nb.md\nsrc/\nsrc/a-b.rs\nsrc/deep/\nsrc/deep/c.rs\n";
    assert_eq!(find(&bench, &json!({})).unwrap(), expected);
    assert_eq!(
        find(&bench, &json!({"path": "./src/.."})).unwrap(),
        expected
    );
    assert_eq!(
        find(&bench, &json!({"path": "src"})).unwrap(),
        "src/a-b.rs\nsrc/deep/\nsrc/deep/c.rs\n"
    );
    said(find(&bench, &json!({"path": "a.rs"})), "is not a folder");
    said(find(&bench, &json!({"path": "none"})), "there is no none");
    said(
        find(&bench, &json!({"path": ".."})),
        "outside the workspace",
    );
}

#[test]
fn narrows_by_glob_and_type() {
    let bench = tree();
    symlink("a.rs", bench.at("link.rs")).unwrap();
    for (arguments, expected) in [
        (
            json!({"glob": "*.rs"}),
            "a.rs\nlink.rs\nsrc/a-b.rs\nsrc/deep/c.rs\n",
        ),
        (json!({"glob": "*.rs", "type": "link"}), "link.rs\n"),
        (json!({"glob": "src/*.rs"}), "src/a-b.rs\n"),
        (json!({"glob": "**/deep/*"}), "src/deep/c.rs\n"),
        (json!({"glob": "deep/*", "path": "src"}), "src/deep/c.rs\n"),
        (json!({"glob": "?.{md,txt}"}), "b.md\n"),
        (json!({"type": "folder"}), "src/\nsrc/deep/\n"),
        (json!({"glob": "none"}), "(nothing found)\n"),
    ] {
        assert_eq!(find(&bench, &arguments).unwrap(), expected, "{arguments}");
    }
    said(find(&bench, &json!({"glob": "[a"})), "the glob is none");
    said(find(&bench, &json!({"glob": "x".repeat(1_001)})), "shorter");
}

#[test]
fn ignore_files_hold_downwards_and_can_be_turned_off() {
    let bench = tree().has("src/.gitignore", "!c.log\n/a-b.rs\n");
    let found = find(&bench, &json!({"type": "file"})).unwrap();
    assert_eq!(
        found,
        ".gitignore\na.rs\nb.md\nsrc/.gitignore\nsrc/deep/c.log\nsrc/deep/c.rs\n"
    );
    // Those above the folder where the walk begins hold as well.
    let bench = tree();
    assert_eq!(
        find(&bench, &json!({"path": "src/deep"})).unwrap(),
        "src/deep/c.rs\n"
    );
    let all = find(&bench, &json!({"gitignore": false, "glob": "c.*"})).unwrap();
    assert_eq!(all, "src/deep/c.log\nsrc/deep/c.rs\ntarget/debug/c.rs\n");
    let git = find(&bench, &json!({"git": true, "glob": ".git/**"})).unwrap();
    assert_eq!(git, ".git/config\n.git/objects/\n");
}

#[test]
fn ignore_files_are_bounded_in_all_and_what_is_left_out_is_told() {
    let told = |count: usize| {
        format!(
            "... {count} ignore files are too large, or too many hold at once, and were left out \
             of account\n"
        )
    };
    let of = |count: usize| "x?y*z\n".repeat(count);
    // A chain of files each of which is allowed alone, and one that never is.
    let bench = Bench::new()
        .has_folder("a/b/c/d")
        .has(".gitignore", of(8_000))
        .has("a/.gitignore", of(8_000))
        .has("a/b/.gitignore", of(8_000) + "d\n")
        .has("a/b/c/.gitignore", "d\n")
        .has_folder("beside")
        .has("beside/.gitignore", "#".repeat(1024 * 1024 + 1));
    let found = find(&bench, &json!({"type": "folder"})).unwrap();
    assert_eq!(found, format!("a/\na/b/\na/b/c/\nbeside/\n{}", told(2)));
    let found = find(&bench, &json!({"path": "a/b/c"})).unwrap();
    assert_eq!(found, format!("a/b/c/.gitignore\n{}", told(1)));
    // One after the other they hold all.
    let bench = Bench::new();
    let bench = ["a", "b", "c", "d"].iter().fold(bench, |bench, name| {
        let bench = bench.has_folder(&format!("{name}/no"));
        bench.has(&format!("{name}/.gitignore"), of(8_000) + "no\n")
    });
    let found = find(&bench, &json!({"type": "folder"})).unwrap();
    assert_eq!(found, "a/\nb/\nc/\nd/\n");
}

#[test]
fn the_ignore_files_far_above_are_not_read_without_end() {
    let deep = vec!["d"; 140].join("/");
    let bench = Bench::new().has_folder(&deep);
    let found = find(&bench, &json!({"path": deep})).unwrap();
    assert!(
        found.starts_with("(nothing found)\n... 1 ignore files"),
        "{found}"
    );
    let found = find(&bench, &json!({"path": deep, "gitignore": false})).unwrap();
    assert_eq!(found, "(nothing found)\n");
}

#[test]
fn nothing_closed_or_outside_is_found_and_no_link_is_followed() {
    let bench = Bench::new().has_folder("src").has("src/a", "");
    let home = bench.folder.path().join("home");
    fs::write(home.join("key"), "secret").unwrap();
    fs::hard_link(home.join("key"), bench.at("src/innocent")).unwrap();
    symlink(&home, bench.at("out")).unwrap();
    symlink("src", bench.at("in")).unwrap();
    symlink("..", bench.at("src/up")).unwrap();
    let expected = "in\nout\nsrc/\nsrc/a\nsrc/up\n";
    assert_eq!(find(&bench, &json!({})).unwrap(), expected);
    assert_eq!(
        find(&bench, &json!({"path": "in"})).unwrap(),
        "src/a\nsrc/up\n"
    );
    said(
        find(&bench, &json!({"path": "out"})),
        "outside the workspace",
    );
    fs::rename(&home, bench.at("moved")).unwrap();
    assert!(!find(&bench, &json!({})).unwrap().contains("moved"));
    said(find(&bench, &json!({"path": "moved"})), "closed:");
}

#[test]
fn names_forge_no_entry() {
    let bench = Bench::new().has("a\nb", "").has("c\u{1b}[2J", "");
    let wrong = OsStr::from_bytes(b"d\xff\n");
    fs::create_dir(bench.at("").join(wrong)).unwrap();
    fs::write(bench.at("").join(wrong).join("e"), "").unwrap();
    assert_eq!(
        find(&bench, &json!({})).unwrap(),
        "a\\nb\nc\\u{1b}[2J\nd\\xff\\n/\nd\\xff\\n/e\n"
    );
}

#[test]
fn two_names_are_never_shown_alike_and_lead_where_they_say() {
    let bench = Bench::new()
        .has_folder(r"d\xff")
        .has(r"d\xff/.gitignore", "no\n")
        .has(r"d\xff/no", "")
        .has("... and 1 more, left out", "")
        .has("(nothing found)", "");
    let wrong = OsStr::from_bytes(b"d\xff");
    fs::create_dir(bench.at("").join(wrong)).unwrap();
    fs::write(bench.at("").join(wrong).join("no"), "").unwrap();
    assert_eq!(
        find(&bench, &json!({})).unwrap(),
        "./(nothing found)\n./... and 1 more, left out\nd\\\\xff/\nd\\\\xff/.gitignore\n\
         d\\xff/\nd\\xff/no\n"
    );
    let draft = bench.mkdir(r"d\xff/a/b", true).unwrap();
    assert_eq!(draft.precondition.path(), r"d\xff/a/b");
}

#[test]
fn what_is_left_out_is_told() {
    let bench = Bench::new();
    for number in 0..1_003 {
        fs::write(bench.at(&format!("{number:04}")), "").unwrap();
    }
    let found = find(&bench, &json!({})).unwrap();
    assert!(
        found.ends_with("0999\n... and 3 more, left out\n"),
        "{found}"
    );
    assert_eq!(found.lines().count(), 1_001);
    let deep = "d/".repeat(130);
    let bench = Bench::new().has_folder(&deep);
    let found = find(&bench, &json!({})).unwrap();
    assert!(
        found.ends_with("... 1 folders lie too deep and were not entered\n"),
        "{found}"
    );
    assert_eq!(found.lines().count(), 130);
}

#[test]
fn a_walk_that_nobody_waits_for_ends() {
    let bench = tree();
    let gone = Awaited::given(false);
    let found = super::super::find::find(&bench.files, &json!({}), &gone).unwrap();
    let found = String::from_utf8(found.bytes).unwrap();
    assert!(
        found.starts_with("(nothing found)\n... stopped before the end"),
        "{found}"
    );
}

#[tokio::test]
async fn a_dropped_future_tells_its_thread() {
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let (ended, has_ended) = tokio::sync::oneshot::channel();
    let work = crate::tool::searching(move |awaited| {
        begun.send(()).unwrap();
        while awaited.holds() {
            std::hint::spin_loop();
        }
        ended.send(()).unwrap();
        Ok(())
    });
    let waiting = tokio::spawn(work);
    has_begun.await.unwrap();
    waiting.abort();
    has_ended.await.unwrap();
}
