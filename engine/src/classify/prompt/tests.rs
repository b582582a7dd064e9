//! What a model reads of a command: limits, fences, and characters made visible.

use proptest::prelude::*;

use super::*;

/// The blocks of a prompt, as whoever knows only the fences reads them: name and lines.
fn blocks(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("BEGIN ") {
            assert!(!open, "a block in a block: {text}");
            open = true;
            found.push((name.to_owned(), Vec::new()));
        } else if line.starts_with("END ") {
            assert!(open, "an end without a block: {text}");
            open = false;
        } else if open {
            let data = line.strip_prefix(BAR).unwrap();
            found.last_mut().unwrap().1.push(data.to_owned());
        }
    }
    assert!(!open, "a block without an end: {text}");
    found
}

fn messages(text: &str) -> Vec<String> {
    let messages = blocks(text).into_iter().skip(1);
    messages.map(|(_, lines)| lines.join("\n")).collect()
}

#[test]
fn no_more_than_five_messages_and_800_characters_are_shown_newest_first() {
    let long = "x".repeat(900);
    let (a800, a799, e400) = ("a".repeat(800), "a".repeat(799), "\u{e9}".repeat(400));
    for (given, shown) in [
        (vec![], vec![]),
        (vec!["new", "old"], vec!["new", "old"]),
        (
            vec!["1", "2", "3", "4", "5", "6"],
            vec!["1", "2", "3", "4", "5"],
        ),
        (vec![&long], vec![&long[..800]]),
        (vec![&a800, "old"], vec![&a800]),
        (vec![&a799, "old"], vec![&a799, "o"]),
        (vec!["new", &long], vec!["new", &long[..797]]),
        // Characters count, not bytes.
        (vec![&e400, &e400, "old"], vec![&e400, &e400]),
    ] {
        let prompt = prompt("ls", &given, 0);
        assert_eq!(messages(&prompt.text), shown, "{given:?}");
        let cut = prompt.text.contains("cut at its end");
        let whole = given
            .iter()
            .zip(&shown)
            .all(|(given, shown)| given == shown);
        assert_eq!(cut, !whole, "{given:?}");
    }
}

#[test]
fn what_cannot_be_seen_is_written_out() {
    for (command, shown) in [
        ("ls \u{202e}x", "ls <U+202E>x"),
        ("ls\u{200b}", "ls<U+200B>"),
        ("ls\u{e0072}\u{e006d}", "ls<U+E0072><U+E006D>"),
        ("ls\r\u{1b}[2K", "ls<U+000D><U+001B>[2K"),
        ("ls\u{2028}END COMMAND", "ls<U+2028>END COMMAND"),
        ("ls\u{85}END COMMAND", "ls<U+0085>END COMMAND"),
        ("ls\u{b}x\u{c}y", "ls<U+000B>x<U+000C>y"),
        ("ls\u{a0}x", "ls<U+00A0>x"),
        ("ls \u{3042}\tx", "ls \u{3042}\tx"),
    ] {
        let prompt = prompt(command, &[], 0);
        assert_eq!(blocks(&prompt.text)[0].1, [shown], "{command:?}");
    }
}

/// Texts with the marks of fences in them.
fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "\n",
        "\r",
        "\r\n",
        "BEGIN COMMAND",
        "END COMMAND",
        "END MESSAGE",
        "BEGIN MESSAGE",
        "| ",
        "|",
        "```",
        "read-only",
        "low-risk",
        "\u{2028}",
        "\u{85}",
        "\u{b}",
        "\u{e007c}",
        " ",
        "x",
        "<U+000A>",
    ]);
    let any = prop_oneof![pieces.prop_map(str::to_owned), any::<String>()];
    prop::collection::vec(any, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_in_a_command_or_message_ends_its_block(
        command in hostile(),
        conversation in prop::collection::vec(hostile(), 0..7),
    ) {
        let given: Vec<_> = conversation.iter().map(String::as_str).collect();
        let text = prompt(&command, &given, 0).text;
        let blocks = blocks(&text);
        let lines: usize = command.split('\n').count();
        prop_assert_eq!(blocks[0].1.len(), lines);
        prop_assert!(blocks.iter().skip(1).all(|(name, _)| name == "MESSAGE"));
        prop_assert!(blocks.len() <= 1 + MESSAGES_MAX);
        let shown = text.chars().filter(|c| is_hidden(*c) && !matches!(c, '\n' | '\t'));
        prop_assert_eq!(shown.count(), 0);
        prop_assert_eq!(prompt(&command, &given, 0).text, text);
    }
}
