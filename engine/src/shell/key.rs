//! The key of a command, under which a list may hold it.

use super::{COMMAND_CHARS_MAX, Reading, Word, read};

/// The allowlist key of a command: its program, and the next word where that says what the program
/// will do. `None` for what is not plain, for a program whose name holds a blank, and for more than
/// [`COMMAND_CHARS_MAX`] characters.
pub fn key(command: &str) -> Option<String> {
    if command.chars().nth(COMMAND_CHARS_MAX).is_some() {
        return None;
    }
    let Reading::Plain(plain) = read(command) else {
        return None;
    };
    let mut words = plain.words().iter();
    let program = words.next().filter(|word| stands_in_a_key(word))?;
    let next = words.next().filter(|word| stands_in_a_key(word));
    Some(match next.filter(|word| !word.text.starts_with('-')) {
        Some(next) => format!("{} {}", program.text, next.text),
        None => program.text.clone(),
    })
}

/// Whether an entry covers a key: its own, and longer ones at a word boundary.
pub fn covers(entry: &str, key: &str) -> bool {
    entry == key
        || key
            .strip_prefix(entry)
            .is_some_and(|rest| rest.starts_with(' '))
}

/// A key is cut at its blanks, so that no word of it may hold one; nor may it be other words when
/// the command runs.
fn stands_in_a_key(word: &Word) -> bool {
    let is_blank = |c: char| c.is_whitespace() || c.is_control();
    !word.expands && !word.text.is_empty() && !word.text.contains(is_blank)
}
