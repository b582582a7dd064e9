//! What `edit_file` replaces, and why it does not.

use super::*;

#[test]
fn repetitive_texts_are_searched_in_time() {
    let bench = Bench::new().has("a", "a".repeat(CONTENT_BYTES_MAX));
    let half = "a".repeat(CONTENT_BYTES_MAX / 2 + 1);
    said(bench.edit("a", &half, "b"), "occurs 2 times");
    said(
        bench.edit("a", "a", "b"),
        "occurs 16777216 times in a (lines 1, 1,",
    );
}

#[test]
fn an_edit_says_why_its_text_is_not_found() {
    let bench = Bench::new().has("a", "one  two\r\nthree\r\n");
    said(bench.edit("a", "", "x"), "old_text is empty");
    said(bench.edit("a", "four", "x"), "read the file again");
    said(
        bench.edit("a", "two\nthree", "x"),
        "line endings, which are CRLF",
    );
    said(bench.edit("a", "one two", "x"), "only in white space");
    said(bench.edit("missing", "x", "y"), "there is no missing");
}

#[test]
fn an_edit_must_match_once_unless_told_otherwise() {
    let bench = Bench::new().has("a", "x\ny\nx\nzz x\n").has("b", "aaa");
    said(
        bench.edit("a", "x", "q"),
        "occurs 3 times in a (lines 1, 3, 4)",
    );
    said(bench.edit("b", "aa", "q"), "occurs 2 times");
    said(bench.edit("b", "aaaa", "q"), "does not occur");
    let all = json!({"new_text": "q", "old_text": "x", "path": "a", "replace_all": true});
    let draft = super::super::edit::draft(&bench.files, &all).unwrap();
    assert_eq!(
        draft.execute_arguments,
        json!({"content": "q\ny\nq\nzz q\n", "path": "a"})
    );
    assert_eq!(
        draft.message,
        "Edit a in 3 places: 3 lines added, 3 removed."
    );
    let draft = bench.edit("a", "y\n", "").unwrap();
    assert_eq!(draft.message, "Edit a: 1 line removed.");
    assert_eq!(draft.arguments["replace_all"], json!(false));
}

#[test]
fn an_edit_does_not_grow_beyond_what_a_content_may_have() {
    let bench = Bench::new().has("a", "x".repeat(1_000_000));
    let arguments = json!({"new_text": "y".repeat(1_000_000), "old_text": "x", "path": "a", "replace_all": true});
    said(
        super::super::edit::draft(&bench.files, &arguments),
        "of at most",
    );
    said(
        bench.write("b", &"x".repeat(CONTENT_BYTES_MAX + 1)),
        "of at most",
    );
}
