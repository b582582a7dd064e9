//! What `grep` finds, how much of it is shown, and what it skips.

use super::find::awaited;
use super::*;
use crate::tool::fs::walk::Patience;

fn grep(bench: &Bench, arguments: &Value) -> Result<String, ToolError> {
    super::super::grep::grep(&bench.files, arguments, &awaited())
        .map(|text| String::from_utf8(text.bytes).unwrap())
}

fn tree() -> Bench {
    Bench::new()
        .has_folder("src")
        .has_folder(".git")
        .has("a.txt", "one\nTwo\nthree\nfour\nfive\nsix two\n")
        .has("src/b.rs", "fn two() {}\r\n")
        .has("src/c.log", "two\n")
        .has(".git/config", "two\n")
        .has(".gitignore", "*.log\n")
}

#[test]
fn finds_lines_with_path_and_number() {
    let bench = tree();
    for (arguments, expected) in [
        (
            json!({"pattern": "two"}),
            "a.txt:6:six two\nsrc/b.rs:1:fn two() {}\n",
        ),
        (
            json!({"pattern": "two", "case": "insensitive", "glob": "*.txt"}),
            "a.txt:2:Two\na.txt:6:six two\n",
        ),
        (json!({"pattern": "Two", "case": "smart"}), "a.txt:2:Two\n"),
        (
            json!({"pattern": "^t.*e$", "context": 1}),
            "a.txt:2-Two\na.txt:3:three\na.txt:4-four\n",
        ),
        (
            json!({"pattern": "one|six", "context": 1, "path": "a.txt"}),
            "a.txt:1:one\na.txt:2-Two\n--\na.txt:5-five\na.txt:6:six two\n",
        ),
        (
            json!({"pattern": "two", "path": "src"}),
            "src/b.rs:1:fn two() {}\n",
        ),
        (
            json!({"pattern": "two", "gitignore": false, "git": true, "glob": "{.git,src}/*"}),
            ".git/config:1:two\nsrc/b.rs:1:fn two() {}\nsrc/c.log:1:two\n",
        ),
        (json!({"pattern": "zzz"}), "(no line matches)\n"),
    ] {
        assert_eq!(grep(&bench, &arguments).unwrap(), expected, "{arguments}");
    }
    said(
        grep(&bench, &json!({"pattern": "x", "path": "none"})),
        "there is no none",
    );
    said(
        grep(&bench, &json!({"pattern": "x", "path": "../home"})),
        "outside",
    );
}

#[test]
fn a_pattern_that_is_none_or_too_large_is_a_clear_error() {
    let bench = tree();
    for pattern in [
        "(",
        "a{2,1}",
        "\\w{500}{500}",
        "\\w{1000}",
        "one\ntwo",
        "(?P<x",
        "\\",
        "a**{9}{99999}",
    ] {
        said(
            grep(&bench, &json!({"pattern": pattern})),
            "the pattern is no regular expression",
        );
    }
    said(
        grep(&bench, &json!({"pattern": "x".repeat(1_001)})),
        "shorter",
    );
    said(
        grep(&bench, &json!({"pattern": "x", "glob": "[a"})),
        "the glob is none",
    );
}

#[test]
fn a_pattern_as_people_write_it_is_not_too_large() {
    let bench = Bench::new().has("a", "a_b-1@example.org\n");
    for pattern in [
        r"[\w.+-]{1,64}@[\w-]{1,40}\.\w{2,10}",
        r"(?i)^(\w|-){1,32}@",
        r"\b\p{L}+_\p{L}",
    ] {
        let found = grep(&bench, &json!({"pattern": pattern})).unwrap();
        assert_eq!(found, "a:1:a_b-1@example.org\n", "{pattern}");
    }
}

#[test]
fn a_pathological_pattern_ends() {
    let bench = Bench::new().has("a", "a".repeat(900_000) + "\n");
    for pattern in ["(a+)+$x", "(a*)*b", "(a|a|a)*(a|aa)+c", "(.*)*(.*)*x"] {
        assert_eq!(
            grep(&bench, &json!({"pattern": pattern})).unwrap(),
            "(no line matches)\n"
        );
    }
}

#[test]
fn what_is_left_out_is_told() {
    let bench = Bench::new()
        .has("a", "x\n".repeat(150))
        .has("b", "x\n")
        .has("binary", "x\n\0")
        .has("long", "y".repeat(2 * 1024 * 1024) + "\nx\n");
    fs::File::create(bench.at("large"))
        .unwrap()
        .set_len(CONTENT_BYTES_MAX as u64 + 1)
        .unwrap();
    let found = grep(&bench, &json!({"pattern": "x"})).unwrap();
    assert_eq!(
        found.lines().filter(|line| line.starts_with("a:")).count(),
        100
    );
    assert!(
        found.ends_with(
            "a:100:x\n... and 51 more matching lines, left out\n\
             ... files skipped: 1 binary\n\
             ... files skipped: 1 larger than a tool can handle\n\
             ... files skipped: 1 with a line that is too long, searched up to it\n"
        ),
        "{found}"
    );
    let found = grep(
        &bench,
        &json!({"pattern": "x", "max_matches": 1, "context": 1}),
    )
    .unwrap();
    assert!(found.starts_with("a:1:x\n"), "{found}");
    assert!(found.contains("... and 150 more matching lines"), "{found}");
    assert!(found.lines().count() < 8, "{found}");
}

#[test]
fn long_lines_are_cut_and_say_so() {
    let bench = Bench::new().has("a", format!("{}\u{e9}tail\n", "x".repeat(399)));
    let found = grep(&bench, &json!({"pattern": "x"})).unwrap();
    assert_eq!(found, format!("a:1:{} ... (+6 bytes)\n", "x".repeat(399)));
    let lines = format!("{}\n", "x".repeat(5_000)).repeat(900);
    let bench = Bench::new().has("a", lines);
    let found = grep(&bench, &json!({"pattern": "x", "max_matches": 1_000})).unwrap();
    assert!(found.len() < 300 * 1024, "{}", found.len());
    assert!(found.contains(" more matching lines, left out"));
}

#[test]
fn wrong_bytes_pipes_and_links_do_not_disturb() {
    let bench = Bench::new().has("latin", b"caf\xe9 x\n").has("a\nb", "x\n");
    pipe(&bench.at("pipe"));
    symlink("latin", bench.at("link")).unwrap();
    let found = grep(&bench, &json!({"pattern": "x"})).unwrap();
    assert_eq!(found, "a\\nb:1:x\nlatin:1:caf\u{fffd} x\n");
}

#[test]
fn nothing_closed_is_searched() {
    let bench = Bench::new();
    let home = bench.folder.path().join("home");
    fs::write(home.join("key"), "secret").unwrap();
    fs::hard_link(home.join("key"), bench.at("innocent")).unwrap();
    symlink(home.join("key"), bench.at("link")).unwrap();
    let none = "(no line matches)\n";
    assert_eq!(grep(&bench, &json!({"pattern": "secret"})).unwrap(), none);
    for (path, expected) in [("innocent", "closed:"), ("link", "outside the workspace")] {
        said(
            grep(&bench, &json!({"pattern": "secret", "path": path})),
            expected,
        );
    }
    fs::remove_file(bench.at("innocent")).unwrap();
    fs::rename(&home, bench.at("moved")).unwrap();
    assert_eq!(grep(&bench, &json!({"pattern": "secret"})).unwrap(), none);
}

#[test]
fn a_search_out_of_time_says_so() {
    let bench = tree();
    let patience = Patience::of(&awaited(), 0);
    let found =
        super::super::grep::grep_within(&bench.files, &json!({"pattern": "two"}), &patience);
    let found = String::from_utf8(found.unwrap().bytes).unwrap();
    assert!(
        found.contains("... stopped before the end: it took too long"),
        "{found}"
    );
    let one = json!({"pattern": "two", "path": "a.txt"});
    let found = super::super::grep::grep_within(&bench.files, &one, &patience);
    let found = String::from_utf8(found.unwrap().bytes).unwrap();
    assert!(
        found.contains("... stopped before the end: it took too long"),
        "{found}"
    );
}

#[test]
fn a_slow_search_ends_in_the_middle_of_a_file() {
    let line = "fdmvjixqdwdzdvxebrhpkwrsvcglvelkv aszeqcwozpnmglzdziqhfob".repeat(80) + "\n";
    let bench = Bench::new().has("a", line.repeat(3_000));
    let arguments = json!({"pattern": r"[^u-z]\w{1,100}[a-m].{100}\W\W\W"});
    let patience = Patience::of(&awaited(), 1);
    let found = super::super::grep::grep_within(&bench.files, &arguments, &patience);
    let found = String::from_utf8(found.unwrap().bytes).unwrap();
    assert!(found.contains("... stopped before the end"), "{found}");
}

#[test]
fn no_path_forges_the_line_of_another_file() {
    let bench = Bench::new()
        .has("a:1:evil", "two\n")
        .has("a-1-evil", "one\ntwo\n")
        .has("... files skipped", "two\n")
        .has("b\u{202e}c\\n", "two\n");
    assert_eq!(
        grep(&bench, &json!({"pattern": "two", "context": 1})).unwrap(),
        "./... files skipped:1:two\na-1-evil:1-one\na-1-evil:2:two\na\\x3a1\\x3aevil:1:two\n\
         b\\u{202e}c\\\\n:1:two\n"
    );
    let one = json!({"pattern": "two", "path": "a:1:evil"});
    assert_eq!(grep(&bench, &one).unwrap(), "a\\x3a1\\x3aevil:1:two\n");
}
