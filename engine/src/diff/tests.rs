//! The format to the letter, and what happens at its bounds.

use super::*;

#[test]
fn writes_the_previews_of_the_worked_example() {
    let edit = unified("notes.txt", Some("milk\n"), Some("milk\neggs\n"));
    assert_eq!(
        edit.text,
        "--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1,2 @@\n milk\n+eggs\n"
    );
    assert_eq!(edit.summary(), "1 line added");
    let removal = unified("old.log", Some("debug 1\n"), None);
    assert_eq!(
        removal.text,
        "--- a/old.log\n+++ /dev/null\n@@ -1 +0,0 @@\n-debug 1\n"
    );
    assert_eq!(removal.summary(), "1 line removed");
}

#[test]
fn writes_creation_and_empty_files() {
    let creation = unified("a", None, Some("x\ny\n"));
    assert_eq!(
        creation.text,
        "--- /dev/null\n+++ b/a\n@@ -0,0 +1,2 @@\n+x\n+y\n"
    );
    assert_eq!(
        unified("a", None, Some("")).text,
        "--- /dev/null\n+++ b/a\n"
    );
    assert_eq!(
        unified("a", Some(""), None).text,
        "--- a/a\n+++ /dev/null\n"
    );
}

#[test]
fn tells_a_missing_newline_at_the_end() {
    let diff = unified("a", Some("x"), Some("x\n"));
    assert_eq!(
        diff.text,
        "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+x\n"
    );
    assert_eq!(diff.summary(), "1 line added, 1 removed");
}

#[test]
fn numbers_lines_far_from_the_beginning() {
    let old = (1..=100).fold(String::new(), |text, n| text + &format!("line {n}\n"));
    let new = old.replace("line 50\n", "line fifty\n");
    let diff = unified("a", Some(&old), Some(&new));
    assert_eq!(
        diff.text,
        "--- a/a\n+++ b/a\n@@ -47,7 +47,7 @@\n line 47\n line 48\n line 49\n-line 50\n\
         +line fifty\n line 51\n line 52\n line 53\n"
    );
    let two = new.replace("line 10\n", "");
    let diff = unified("a", Some(&old), Some(&two));
    assert!(diff.text.contains("@@ -7,7 +7,6 @@\n"), "{}", diff.text);
    assert!(diff.text.contains("@@ -47,7 +46,7 @@\n"), "{}", diff.text);
    assert_eq!(diff.summary(), "1 line added, 2 removed");
}

#[test]
fn a_carriage_return_ends_no_line() {
    let diff = unified("a", Some("x\ry\n"), Some("x\rz\n"));
    assert_eq!(diff.text, "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\ry\n+x\rz\n");
}

#[test]
fn splits_no_character() {
    let diff = unified("a", Some("\u{e9}\n"), Some("\u{e8}\n"));
    assert!(diff.text.ends_with("-\u{e9}\n+\u{e8}\n"));
    let diff = unified("a", Some("\u{1e9}"), Some("\u{2e9}"));
    assert_eq!(diff.summary(), "1 line added, 1 removed");
}

#[test]
fn says_what_is_cut() {
    let old = "x\n".repeat(100_000);
    let new = "y\n".repeat(200_000);
    let diff = unified("a", Some(&old), Some(&new));
    assert!(diff.text.len() < DIFF_BYTES_MAX + 100);
    let last = diff.text.lines().last().unwrap();
    let shown = diff.text.lines().count() - 4;
    let cut = 300_000 - shown;
    assert_eq!(
        last,
        format!("\\ {cut} lines ({} bytes) of this diff left out", cut * 3)
    );
    assert_eq!((diff.added, diff.removed), (200_000, 100_000));
}

#[test]
fn one_long_line_is_cut_whole() {
    let diff = unified("a", None, Some(&"x".repeat(DIFF_BYTES_MAX)));
    assert!(diff.text.contains("\\ 1 line ("), "{}", diff.text);
    assert!(diff.text.len() < 200);
}

#[test]
fn hard_comparisons_end_in_time() {
    let text = |seed: u64| -> String {
        let mut state = seed;
        let mut text = String::new();
        for _ in 0..40_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            text.push_str(&(state >> 56).to_string());
            text.push('\n');
        }
        text
    };
    let (old, new) = (text(1), text(2));
    let diff = unified("a", Some(&old), Some(&new));
    assert_eq!(
        40_000 - diff.removed,
        40_000 - diff.added,
        "what stays is the same on both sides"
    );
}

#[test]
fn applying_the_diff_gives_the_new_text() {
    let words = ["a\n", "b\n", "c\n", "d", "\n", "e\r\n"];
    let mut state = 7_u64;
    let mut pick = |bound: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(99);
        usize::try_from(state >> 33).unwrap() % bound
    };
    for _ in 0..2_000 {
        let old: String = (0..pick(12)).map(|_| words[pick(words.len())]).collect();
        let new: String = (0..pick(12)).map(|_| words[pick(words.len())]).collect();
        let diff = unified("a", Some(&old), Some(&new));
        assert_eq!(apply(&old, &diff.text), new, "{old:?}\n{}", diff.text);
    }
}

/// As `patch` does, for diffs that fit exactly.
fn apply(old: &str, diff: &str) -> String {
    let old: Vec<_> = old.split_inclusive('\n').collect();
    let mut new = String::new();
    let mut at = 0;
    let mut mark = ' ';
    for line in diff.split_inclusive('\n').skip(2) {
        if let Some(header) = line.strip_prefix("@@ -") {
            let range = header.split(' ').next().unwrap();
            let (start, len) = range.split_once(',').unwrap_or((range, "1"));
            let start: usize = start.parse().unwrap();
            let start = if len == "0" { start } else { start - 1 };
            new.extend(old[at..start].iter().copied());
            at = start;
            continue;
        }
        let text = &line[1..];
        match line.chars().next().unwrap() {
            '\\' if mark != '-' => assert_eq!(new.pop(), Some('\n')),
            '\\' => {}
            '+' => new.push_str(text),
            kept => {
                assert_eq!(old[at].trim_end_matches('\n'), text.trim_end_matches('\n'));
                at += 1;
                if kept == ' ' {
                    new.push_str(text);
                }
            }
        }
        mark = line.chars().next().unwrap();
    }
    new.extend(old[at..].iter().copied());
    new
}
