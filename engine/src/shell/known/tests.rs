//! The accept-list against tables of commands, and against flags that nobody knows.

use proptest::prelude::*;
use serde_json::Value;

use super::super::{Plain, Word};
use super::read_only;

const TABLES: [&str; 2] = [
    include_str!("../../../../replay-tests/fixtures/shell/read_only_commands.jsonl"),
    include_str!("../../../../replay-tests/fixtures/shell/more_commands.jsonl"),
];

/// Splits at blanks outside of quotes. Good for the tables, and for nothing else.
fn split(command: &str) -> Plain {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut quote = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        if quote.is_none() && c == ' ' {
            words.extend(word.take());
            continue;
        }
        let fresh = || Word {
            text: String::new(),
            expands: false,
        };
        let current = word.get_or_insert_with(fresh);
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '\\') => current.text.extend(chars.next()),
            (quoted, c) => {
                let expands = match quoted {
                    None => "$*?[".contains(c) || (c == '~' && current.text.is_empty()),
                    Some(open) => open == '"' && c == '$',
                };
                // A bracket alone is the command of that name.
                current.expands |= expands && command != "[" && !(c == '[' && words.is_empty());
                current.text.push(c);
            }
        }
    }
    words.extend(word);
    Plain { words }
}

fn cases() -> impl Iterator<Item = (String, bool)> {
    TABLES.iter().flat_map(|table| table.lines()).map(|line| {
        let case: Value = serde_json::from_str(line).unwrap();
        let command = case["command"].as_str().unwrap().to_owned();
        (command, case["read_only"].as_bool().unwrap())
    })
}

#[test]
fn the_tables_hold() {
    let wrong: Vec<_> = cases()
        .filter_map(|(command, expected)| {
            let found = read_only(&split(&command));
            (found.is_ok() != expected).then(|| format!("{expected}: {command}: {found:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
