//! Cards on screens of every size: what is shown, and that the rest is counted exactly.

use proptest::prelude::*;
use serde_json::json;

use super::super::tests::{look, sample};
use super::*;
use crate::ui::text::Letters;

fn beside() -> Beside {
    Beside {
        prefix: "b3e41f".into(),
        budget: "49 of 50 model calls".into(),
    }
}

fn shown(card: &Card, width: usize, rows: usize) -> Option<String> {
    let look = Look {
        width,
        ..look(false)
    };
    let fitted = super::card(card, &beside(), &look, rows)?;
    Some(fitted.rows.join("\n"))
}

#[test]
fn a_card_that_fits_is_shown_whole() {
    insta::assert_snapshot!(shown(&sample(), 80, 22).unwrap(), @r#"
    tier           high-risk, asked by policy:false
    containment    in-process
    expires        2026-12-01T10:30:00Z (in 90 min)
    budget left    49 of 50 model calls
    what would run
      mode 420
      path "notes.txt"
      content
      | milk
      | eggs
      |
    message
      | Write notes.txt.
    diff
      | @@ -1 +1,2 @@
      |  milk
      | +eggs
      | -old
      |
    "#);
}

#[test]
fn what_does_not_fit_is_counted_part_by_part() {
    insta::assert_snapshot!(shown(&sample(), 80, 14).unwrap(), @"
    tier           high-risk, asked by policy:false
    containment    in-process
    expires        2026-12-01T10:30:00Z (in 90 min)
    budget left    49 of 50 model calls
    what would run
      mode 420
      + 5 lines, 30 bytes: v shows all of it
    message
      | Write notes.txt.
    diff
      | @@ -1 +1,2 @@
      |  milk
      | +eggs
      + 2 lines, 5 bytes: v shows all of it
    ");
    insta::assert_snapshot!(shown(&sample(), 40, 6).unwrap(), @"
    tier           high-risk, asked by
      + 4 lines, 73 bytes: v
    what would run
      + 6 lines, 37 bytes: v
    message + 1 line, 16 bytes: v
    diff + 5 lines, 31 bytes: v
    ");
}

#[test]
fn a_screen_without_a_row_for_each_part_shows_no_card() {
    assert_eq!(shown(&sample(), 80, 4), None);
    assert!(shown(&sample(), 80, 5).is_some());
}

#[test]
fn what_stands_beside_the_name_of_a_part_is_broken_too() {
    let denied = placet_ledger::view::DeniedBefore {
        call: "c1".parse().unwrap(),
        note: None,
    };
    let card = Card {
        denied_before: vec![denied],
        ..sample()
    };
    let shown = shown(&card, 36, 60).unwrap();
    let denied = "\n  denied before  c1 on the same\n                 target\n  what";
    assert!(shown.contains(denied), "{shown}");
}

#[test]
fn what_is_cut_is_what_the_rows_tell() {
    let look = look(false);
    for rows in 5..24 {
        let Fitted { rows, cut } = card(&sample(), &beside(), &look, rows).unwrap();
        let shown = rows.join("\n");
        let told = shown.split("+ ").skip(1).filter_map(|told| {
            let mut numbers = told.split(|c: char| !c.is_ascii_digit());
            let mut number = || numbers.find_map(|part| part.parse().ok());
            let (lines, bytes) = (number()?, number()?);
            told.contains(": v").then_some(Cut { lines, bytes })
        });
        assert_eq!(cut, told.sum(), "{shown}");
        assert_eq!(cut.is_nothing(), !shown.contains(": v"), "{shown}");
    }
}

#[test]
fn text_of_ours_is_broken_at_spaces_where_that_is_possible() {
    for (text, room, rows) in [
        ("", 5, &[""][..]),
        ("one", 5, &["one"]),
        ("one two", 5, &["one", "two"]),
        ("one two", 7, &["one two"]),
        ("one two three", 7, &["one two", "three"]),
        ("seventeen", 4, &["seve", "ntee", "n"]),
        ("a seventeen", 4, &["a", "seve", "ntee", "n"]),
        ("  indented text", 10, &["  indented", "text"]),
        ("one  two", 4, &["one ", "two"]),
    ] {
        assert_eq!(wrapped(text, room), rows, "{text:?} in {room}");
    }
}

/// The numbers of the row that tells what is left out of the part with this name.
fn told(shown: &str, name: &str) -> (usize, usize) {
    let part = shown.split(name).nth(1).unwrap();
    let row = part
        .lines()
        .find(|row| row.contains(" + ") || row.trim_start().starts_with("+ "));
    let row = row.unwrap_or("+ 0 lines, 0 bytes");
    let words: Vec<&str> = row.split("+ ").last().unwrap().split(' ').collect();
    (words[0].parse().unwrap(), words[2].parse().unwrap())
}

proptest! {
    #[test]
    fn no_screen_is_overfull_and_nothing_is_lost(
        lines in prop::collection::vec("[a-z \u{e9}\u{5bbd}]{0,60}", 1..60),
        width in 40_usize..120,
        rows in 4_usize..50,
    ) {
        let text = lines.join("\n");
        let card = Card {
            arguments: Some(json!({})),
            message: Some(text.clone()),
            preview: None,
            ..sample()
        };
        let Some(shown) = shown(&card, width, rows) else {
            return Err(TestCaseError::fail("no card"));
        };
        prop_assert!(shown.lines().count() <= rows, "{}", shown);
        let (lines_left, bytes_left) = told(&shown, "  message");
        // Beside the whole text: the rows that are shown and those that are told come to all.
        let look = Look { width, ..look(false) };
        let all = super::super::block(&text, Letters::Marked, &look, usize::MAX);
        let of_message = shown.split("  message").nth(1).unwrap();
        let kept = of_message
            .lines()
            .filter(|row| row.starts_with("    |") || row.starts_with("    >"))
            .count();
        let bytes: usize = all.iter().take(kept).map(|row| row.bytes).sum();
        prop_assert_eq!(bytes + bytes_left, text.len());
        let whole = all.iter().skip(kept).filter(|row| row.first).count();
        let torn = all.get(kept).is_some_and(|row| !row.first);
        prop_assert_eq!(lines_left, whole + usize::from(torn));
    }
}
