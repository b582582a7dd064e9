//! Screens of every size at every place of the walk: none is overfull, and no text of an agent
//! stands where ours does.

use placet_ledger::steered::Steered;
use placet_ledger::view::{CardKind, DeniedBefore, SteeredBy};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::terminal::Key;
use crate::ui::card::tests::{look, sample};
use crate::ui::dialog::{Asked, Kept, Move};

/// A text that no row of ours holds.
const EVIL: &str = "EVIL";

fn cards() -> Vec<Shown> {
    let evil = format!("{EVIL} \u{1b}[2J{EVIL}\n\r{EVIL}\u{202e} \u{5bbd}{EVIL}\n").repeat(30);
    let beside = Beside {
        prefix: "b3e41f".into(),
        budget: "49 of 50 model calls".into(),
    };
    let kinds = [CardKind::Approval, CardKind::Question, CardKind::InDoubt];
    let card = |(kind, call): (CardKind, &str)| Shown {
        card: Card {
            kind,
            call: call.parse().unwrap(),
            arguments: Some(json!({"path": evil, evil.clone(): evil})),
            message: Some(evil.clone()),
            preview: Some(evil.clone()),
            rule: Some("always:toolchain".parse().unwrap()),
            supersedes: Some("c4".parse().unwrap()),
            denied_before: vec![DeniedBefore {
                call: "c5".parse().unwrap(),
                note: Some(evil.clone()),
            }],
            steered: vec![SteeredBy {
                call: "c6".parse().unwrap(),
                what: Some(Steered {
                    made: vec![evil.clone()],
                    ..Steered::default()
                }),
            }],
            ..sample()
        },
        beside: beside.clone(),
        miss: None,
    };
    kinds
        .into_iter()
        .zip(["c1", "c2", "c3"])
        .map(card)
        .collect()
}

fn walk(shown: &[Shown]) -> Walk {
    let asked = shown.iter().map(|shown| Asked {
        run: shown.card.run,
        call: shown.card.call,
        request: shown.card.request,
        asks: match shown.card.kind {
            CardKind::Approval => Asks::Approval {
                always: Always::Tool,
                miss: None,
            },
            CardKind::Question => Asks::Question,
            CardKind::InDoubt => Asks::InDoubt,
        },
    });
    Walk::new(asked.collect(), &Kept::default()).unwrap()
}

/// Columns that a row takes at most, without the codes of its colours.
fn columns(row: &str) -> usize {
    let mut columns = 0;
    let mut chars = row.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            chars.by_ref().find(|c| *c == 'm');
        } else {
            columns += if c.is_ascii() { 1 } else { 2 };
        }
    }
    columns
}

fn some_key() -> impl Strategy<Value = Key> {
    let chars = prop::sample::select(
        "adADtevbps?rynl xEVIL\u{5bbd}\u{202e}"
            .chars()
            .collect::<Vec<_>>(),
    );
    prop_oneof![
        8 => chars.prop_map(Key::Char),
        2 => Just(Key::Enter),
        1 => Just(Key::Escape),
        1 => Just(Key::Paste("a long text that was pasted ".repeat(20))),
    ]
}

proptest! {
    #[test]
    fn no_screen_is_overfull_at_any_place_and_size(
        keys in prop::collection::vec(some_key(), 0..30),
        columns_ in 1_usize..130,
        rows in 1_usize..60,
        color in any::<bool>(),
    ) {
        let shown = cards();
        let mut walk = walk(&shown);
        let size = Size { columns: columns_, rows };
        for key in keys {
            if let Some(cut) = frame(&walk, &shown, size, &look(color), true).cut {
                walk.on_screen(cut);
            }
            if walk.press(&key) == Move::Send {
                break;
            }
            for ready in [false, true] {
                let frame = frame(&walk, &shown, size, &look(color), ready);
                prop_assert!(frame.rows.len() <= rows, "{:#?}", frame.rows);
                for row in &frame.rows {
                    prop_assert!(!row.contains('\n') && columns(row) <= columns_, "{:?}", row);
                    let theirs = row.starts_with("    |") || row.starts_with("    >");
                    // What a person writes has a margin in the first column.
                    let own = matches!(walk.at(), At::Writing { .. })
                        && (row.starts_with('|') || row.starts_with('>'));
                    let word = matches!(walk.at(), At::Summary | At::Card(_))
                        && !walk_is_without_words(&walk);
                    let evil = row.contains(EVIL);
                    prop_assert!(!evil || theirs || own || word, "{:?}", row);
                }
            }
        }
    }
}

/// Whether nobody has written anything yet that a screen would tell.
fn walk_is_without_words(walk: &Walk) -> bool {
    (0..walk.asked().len()).all(|card| match walk.verdict(card) {
        None | Some(Verdict::Approve | Verdict::Always | Verdict::Deny(None) | Verdict::Leave) => {
            true
        }
        Some(Verdict::Deny(Some(_)) | Verdict::Reply(_) | Verdict::Settle { .. }) => false,
    })
}

#[test]
fn before_keys_count_none_is_shown_and_nothing_else_moves() {
    let shown = cards();
    for columns in [80, 40] {
        let mut walk = walk(&shown);
        let size = Size { columns, rows: 24 };
        let before = frame(&walk, &shown, size, &look(false), false);
        walk.on_screen(before.cut.unwrap());
        let after = frame(&walk, &shown, size, &look(false), true);
        assert_eq!(before.cut, after.cut);
        let rule = before.rows.len() - 2;
        assert_eq!(before.rows[..=rule], after.rows[..=rule]);
        assert_eq!(before.rows[rule + 1], "");
        assert!(after.rows[rule + 1].starts_with("a approve"));
    }
}

#[test]
fn a_window_that_is_too_small_says_so() {
    let shown = cards();
    let walk = walk(&shown);
    for (columns, rows, fits) in [
        (35, 24, false),
        (80, 9, false),
        (36, 24, true),
        (80, 24, true),
    ] {
        let size = Size { columns, rows };
        let frame = frame(&walk, &shown, size, &look(false), true);
        assert_eq!(frame.cut.is_some(), fits, "{columns} x {rows}");
        assert_eq!(frame.rows[0].starts_with("This window is"), !fits);
    }
}

/// The numbers in the rows that tell what is left out.
fn told(rows: &[String]) -> Cut {
    let told = rows.iter().filter_map(|row| {
        let (_, told) = row.split_once("+ ").filter(|_| row.ends_with(": v"))?;
        let mut numbers = told.split(|c: char| !c.is_ascii_digit());
        let mut number = || numbers.find_map(|part| part.parse().ok());
        Some(Cut {
            lines: number()?,
            bytes: number()?,
        })
    });
    told.sum()
}

#[test]
fn a_warning_tells_exactly_what_is_left_out_beside_it() {
    for key in ['a', 't', 'A'] {
        for rows in 14..60 {
            let mut shown = cards();
            shown.truncate(1);
            let mut walk = walk(&shown);
            let size = Size { columns: 40, rows };
            let whole = frame(&walk, &shown, size, &look(false), true);
            walk.on_screen(whole.cut.unwrap());
            walk.press(&Key::Char(key));
            let before = frame(&walk, &shown, size, &look(false), false);
            let after = frame(&walk, &shown, size, &look(false), true);
            let Some(cut) = after.cut else {
                assert!(rows < 18, "{key} at {rows}");
                continue;
            };
            assert_eq!(cut, told(&after.rows), "{:#?}", after.rows);
            let said = after.rows.join(" ");
            assert!(said.contains(&cut.to_string()), "{said}");
            assert!(said.contains(&format!("{key} again approves")), "{said}");
            // Before keys count none is named, and nothing else moves.
            let rule = after.rows.iter().rposition(|row| row.starts_with("---"));
            let rule = rule.unwrap();
            assert_eq!(before.rows[..=rule], after.rows[..=rule]);
            let below = before.rows[rule + 1..].join(" ");
            assert!(below.contains(&cut.to_string()), "{below}");
            assert!(!below.contains("again"), "{below}");
        }
    }
}

#[test]
fn a_card_that_fits_beside_its_warning_says_so() {
    let mut shown = cards();
    shown.truncate(1);
    shown[0].card = sample();
    let mut walk = walk(&shown);
    walk.on_screen(Cut { lines: 1, bytes: 1 });
    walk.press(&Key::Char('a'));
    let size = Size {
        columns: 80,
        rows: 60,
    };
    let last = frame(&walk, &shown, size, &look(false), true).rows.pop();
    let said = "now all of it is on the screen: a again approves";
    assert_eq!(last.as_deref(), Some(said));
}

#[test]
fn a_warning_says_how_much_nobody_saw_and_what_to_press() {
    for ((key, cards, lines, bytes), told) in [
        (
            ('a', 1, 4, 26),
            "4 lines, 26 bytes are not on the screen: v shows them, a again approves",
        ),
        (
            ('t', 1, 1, 1),
            "1 line, 1 byte are not on the screen: v shows them, t again approves",
        ),
        (
            ('A', 1, 4, 26),
            "4 lines, 26 bytes of 1 card were not on the screen: v shows a card whole, A again \
             approves all",
        ),
        (
            ('A', 3, 12, 80),
            "12 lines, 80 bytes of 3 cards were not on the screen: v shows a card whole, A again \
             approves all",
        ),
        (
            ('t', 1, 0, 0),
            "now all of it is on the screen: t again approves",
        ),
    ] {
        let cut = Cut { lines, bytes };
        let warning = Warning { key, cards, cut };
        assert_eq!(format!("{}: {}", unseen(warning), again(warning)), told);
    }
}

#[test]
fn a_command_offers_its_key_in_quotes_and_a_long_one_stands_on_the_card_alone() {
    let asks = Asks::Approval {
        always: Always::Command,
        miss: None,
    };
    for (command, offered) in [
        ("git push origin", "always this command (\"git push\")"),
        ("x\u{430} d-deny", "always this command"),
        (
            "git push-with-a-very-long-word-behind",
            "always this command",
        ),
    ] {
        let card = Card {
            tool: "execute_command".parse().unwrap(),
            arguments: Some(json!({"command": command})),
            ..sample()
        };
        let label = label('t', asks, Some(&card));
        assert!(label.starts_with(offered), "{label}");
        assert!(label.is_ascii(), "{label}");
        assert!(
            label.len() <= offered.len().max(20 + KEY_COLUMNS + 3),
            "{label}"
        );
    }
}
