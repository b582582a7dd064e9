//! Hostile texts are shown whole, harmless, and never alike.

use proptest::prelude::*;

use super::*;

const HOSTILE: &str = include_str!("../../../tests/fixtures/hostile.json");

fn hostile() -> Vec<String> {
    serde_json::from_str(HOSTILE).unwrap()
}

/// Reads back what was shown: there is one text for each.
fn read(shown: &str) -> String {
    let mut out = String::new();
    let mut rest = shown.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match rest.next().unwrap() {
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'x' => {
                let digits: String = rest.by_ref().take(2).collect();
                out.push(char::from(u8::from_str_radix(&digits, 16).unwrap()));
            }
            'u' => {
                let digits: String = rest.by_ref().skip(1).take_while(|&c| c != '}').collect();
                let number = u32::from_str_radix(&digits, 16).unwrap();
                out.push(char::from_u32(number).unwrap());
            }
            other => out.push(other),
        }
    }
    out
}

fn read_block(shown: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for row in shown.lines() {
        let row = row.strip_prefix("    ").expect("every row is indented");
        let (bar, row) = row.split_at(1);
        let row = row.strip_prefix(' ').unwrap_or(row);
        match bar {
            "|" => lines.push(row.to_owned()),
            ">" => lines.last_mut().unwrap().push_str(row),
            other => panic!("a row begins with {other:?}"),
        }
    }
    read(&lines.join("\n"))
}

fn as_block(text: &str, letters: Letters) -> String {
    let margin = Margin {
        indent: 4,
        width: 80,
        letters,
    };
    let mut out = String::new();
    block(&mut out, text, margin);
    out
}

fn check(text: &str) {
    for shown in [inline(text), marked(text), quoted(text, Letters::Kept)] {
        assert!(!shown.chars().any(is_hidden), "{shown:?}");
        let inner = shown.strip_prefix('"').filter(|_| shown.ends_with('"'));
        let back = read(&shown);
        let quoted = inner.is_some() && back != text;
        let back = if quoted {
            &back[1..back.len() - 1]
        } else {
            &back
        };
        assert_eq!(back, text);
    }
    assert!(marked(text).bytes().all(|b| (b' '..=b'~').contains(&b)));
    for letters in [Letters::Kept, Letters::Marked] {
        let shown = as_block(text, letters);
        assert!(!shown.chars().any(|c| c != '\n' && is_hidden(c)));
        assert_eq!(read_block(&shown), text);
        for row in shown.lines() {
            assert!(row.starts_with("    | ") || row.starts_with("    > ") || row == "    |");
            assert!(columns_of(row) < 80, "{row:?}");
        }
    }
    let hidden = |c: char| c != '\n' && is_hidden(c);
    assert!(!sentence(text).chars().any(hidden));
    let value = serde_json::to_string(text).unwrap();
    let safe = json(&value);
    assert!(!safe.chars().any(is_hidden));
    assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), text);
    assert!(!excerpt(text, 40).chars().any(is_hidden));
}

#[test]
fn hostile_texts_are_shown_whole_and_harmless() {
    let texts = hostile();
    assert!(texts.len() >= 100, "{} texts", texts.len());
    for text in &texts {
        check(text);
    }
}

#[test]
fn no_two_hostile_texts_look_alike() {
    let texts = hostile();
    for show in [inline, marked, |text: &str| as_block(text, Letters::Kept)] {
        let shown: std::collections::BTreeSet<_> = texts.iter().map(|text| show(text)).collect();
        assert_eq!(shown.len(), texts.len());
    }
}

#[test]
fn every_character_is_shown_or_escaped() {
    for c in '\0'..=char::MAX {
        let shown = inline(&c.to_string());
        assert!(!shown.chars().any(is_hidden), "{c:?}");
        assert_eq!(read(&shown), c.to_string());
    }
}

#[test]
fn letters_stay_and_what_hides_does_not() {
    assert_eq!(inline("caf\u{e9} \u{4f60}"), "caf\u{e9} \u{4f60}");
    assert_eq!(
        marked("caf\u{e9}"),
        "caf\\u{e9}".replace("\\u{e9}", "\\xe9")
    );
    assert_eq!(marked("\u{430}dmin"), "\\u{430}dmin");
    assert_eq!(inline("a\u{202e}b\u{1b}[2J"), "a\\u{202e}b\\x1b[2J");
    assert_eq!(inline("a\\x1b"), "a\\\\x1b");
    assert_eq!(
        quoted("say \"hi\"\n", Letters::Kept),
        "\"say \\\"hi\\\"\\n\""
    );
    assert_eq!(
        inline("\u{301}e\u{301}\u{302}\u{303}"),
        "\\u{301}e\u{301}\u{302}\\u{303}"
    );
}

#[test]
fn a_block_has_its_margin_on_every_row() {
    let text = format!("a\n{} \n", "x".repeat(100));
    let shown = as_block(&text, Letters::Kept);
    let x = |count| "x".repeat(count);
    let rows = format!("    | a\n    | {}\n    > {}\\x20\n    |\n", x(73), x(27));
    assert_eq!(shown, rows);
}

#[test]
fn what_is_left_out_is_counted() {
    assert_eq!(excerpt("one\ntwo\nthree\n", 40), "one (+2 lines, 10 bytes)");
    assert_eq!(excerpt("short", 40), "short");
    assert_eq!(excerpt("abcdef", 3), "abc (+3 bytes)");
    assert_eq!(head("a\nb\n", 5, 100), ("a\nb\n", None));
    let (shown, note) = head("a\nb\nc\nd", 2, 100);
    assert_eq!(shown, "a\nb");
    assert_eq!(
        note.unwrap(),
        "2 more lines, 3 bytes left out: --json has all of it"
    );
    let (shown, note) = head("abcdef", 2, 3);
    assert_eq!((shown, note.is_some()), ("abc", true));
}

proptest! {
    #[test]
    fn any_text_is_shown_whole_and_harmless(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn text_of_hidden_characters_is_shown_whole(
        text in "[a\\\\\"\n \u{0}-\u{1f}\u{7f}-\u{a0}\u{300}-\u{310}\u{200b}-\u{2070}\u{fe00}-\u{fe0f}]{0,200}"
    ) {
        check(&text);
    }
}

#[test]
fn rows_that_are_left_out_are_counted_as_if_they_were_built() {
    let texts = [
        "",
        "one",
        "one\n",
        "one\ntwo\nthree",
        "a word and another ".repeat(30).as_str(),
        "x\n\u{5bbd}\u{5b57}\u{5b57} y\n\n".repeat(9).as_str(),
    ]
    .map(str::to_owned);
    for text in texts {
        let margin = Margin {
            indent: 4,
            width: 30,
            letters: Letters::Kept,
        };
        let paint = Paint {
            letters: Letters::Kept,
            color: None,
            strong: &[],
        };
        let all = rows::rows(&text, margin, usize::MAX, |_| paint);
        let lines: usize = all.iter().map(|row| row.lines).sum();
        let bytes: usize = all.iter().map(|row| row.bytes).sum();
        assert_eq!(
            (lines, bytes),
            (text.split('\n').count(), text.len()),
            "{text:?}"
        );
        for most in 0..all.len() {
            let some = rows::rows(&text, margin, most, |_| paint);
            assert_eq!(some[..most], all[..most], "{text:?}");
            let left = &all[most..];
            let rest = &some[most];
            assert_eq!(some.len(), most + 1, "{text:?}");
            assert_eq!(rest.first, left[0].first, "{text:?} from {most}");
            assert_eq!(
                rest.lines,
                left.iter().map(|row| row.lines).sum::<usize>(),
                "{text:?}"
            );
            assert_eq!(
                rest.bytes,
                left.iter().map(|row| row.bytes).sum::<usize>(),
                "{text:?}"
            );
        }
    }
}
