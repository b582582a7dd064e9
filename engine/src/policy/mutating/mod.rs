//! Commands that clearly change something: no model lowers them, whatever the conversation says.
//!
//! The lists name programs and their verbs. They are looked for in every part of a command that
//! operators divide, behind paths, assignments, flags and other programs, so that a wrapper or an
//! interpreter hides nothing. Words that a program only prints or searches for do not count. What
//! may be any program counts as one that is on the lists.

mod first;
mod list;
mod operands;
mod script;

use list::{DATA, FIRST, PROGRAMS, RUNS_TEXT, VERBS};

/// What in a command clearly changes something, if it is on the lists.
pub fn mutating(command: &str) -> Option<String> {
    // Quotes and escapes may join what stands beside them, or part it: both are tried.
    let is_quote = |c: char| matches!(c, '\'' | '"' | '\\');
    let joined = command.replace("\\\n", "");
    // `$` before a quote is none of the letters, for one of the shells.
    let marked = joined
        .replace("$'", "")
        .replace("$\"", "")
        .replace(is_quote, "");
    let joined = joined.replace(is_quote, "");
    let parted = command.replace(is_quote, " ");
    in_text(&joined)
        .or_else(|| in_text(&marked))
        .or_else(|| in_text(&parted))
        .or_else(|| operands::changing(command))
        .or_else(|| first::odd(command).map(|word| format!("{word} may be any program")))
}

fn in_text(text: &str) -> Option<String> {
    let divides = |c: char| matches!(c, ';' | '&' | '|' | '\n' | '(' | ')' | '{' | '}' | '`');
    let parts: Vec<Vec<String>> = text
        .split(divides)
        .map(|part| part.split_whitespace().map(name).collect())
        .collect();
    // What one part prints, another may run.
    let is_run = parts.iter().flatten().any(|word| holds(RUNS_TEXT, word));
    let is_data = |words: &[String]| words.first().is_some_and(|word| holds(DATA, word));
    let mut acting = parts.iter().filter(|words| is_run || !is_data(words));
    acting.find_map(|words| in_part(words))
}

/// A word as programs are compared: without the folders before it, in one case. Of flags the case
/// counts.
fn name(word: &str) -> String {
    if word.starts_with('-') {
        return word.to_owned();
    }
    let base = word.rsplit('/').next().unwrap_or(word);
    base.to_ascii_lowercase()
}

fn holds(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|listed| listed == word)
}

fn in_part(words: &[String]) -> Option<String> {
    let is_assignment = |word: &&String| word.contains('=');
    let first = words.iter().find(|word| !is_assignment(word));
    if let Some(first) = first.filter(|first| holds(FIRST, first)) {
        return Some(first.clone());
    }
    words.iter().enumerate().find_map(|(at, word)| {
        if holds(PROGRAMS, word) || word.starts_with("mkfs.") || word.starts_with("fsck.") {
            return Some(word.clone());
        }
        let (_, verbs) = VERBS.iter().find(|(programs, _)| holds(programs, word))?;
        let after = words.get(at.saturating_add(1)..)?;
        let verb = after.iter().find(|word| is_verb(word, verbs))?;
        Some(format!("{word} {verb}"))
    })
}

/// Whether a word is one of the verbs. A long flag counts with a value too, a single letter also
/// among others.
fn is_verb(word: &str, verbs: &str) -> bool {
    let is = |verb: &str| {
        let Some(flag) = verb.strip_prefix('-').filter(|flag| !flag.is_empty()) else {
            return false;
        };
        let rest = word.strip_prefix(verb);
        if flag.starts_with('-') {
            rest.is_some_and(|rest| rest.starts_with('='))
        } else if flag.len() == 1 {
            let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            letters.is_some_and(|letters| letters.contains(flag))
        } else {
            rest.is_some()
        }
    };
    holds(verbs, word) || verbs.split_ascii_whitespace().any(is)
}

#[cfg(test)]
mod tests;
