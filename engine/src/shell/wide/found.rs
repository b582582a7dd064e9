//! Programs that run the files which they find: what such a file is called, the text does not say.

use super::is_flag;
use super::marks;
use super::programs::{Kind, among, kind, name_of};
use super::scan::{Segment, Word, is_assignment};

/// Programs that put what they find in place of braces.
const FINDERS: &str = "find gfind fd fdfind";

/// Flags of find behind which a command begins.
const EXECUTING: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];

/// Flags of fd behind which a command begins.
const RUNNING: &[&str] = &["-x", "-X", "--exec", "--exec-batch"];

/// Behind how many flags and wrappers a program is looked for.
const BEFORE_MAX: usize = 32;

/// Whether a command runs what it finds as a program.
pub(super) fn runs_what_it_finds(segment: &Segment) -> bool {
    let braces = |word: &Word| !word.target && stands_for_a_file(&word.text);
    if !segment.words.iter().any(braces) {
        return false;
    }
    let words: Vec<&Word> = segment.words.iter().filter(|word| !word.target).collect();
    let mut finder: Option<bool> = None;
    for (at, word) in words.iter().enumerate() {
        let text = word.text.as_str();
        let behind = words.get(at.saturating_add(1)..).unwrap_or_default();
        match finder {
            Some(false) if EXECUTING.contains(&text) && names_none(behind) => return true,
            Some(true) if RUNNING.iter().any(|mark| marks::is_mark(mark, text)) => {
                if stands_for_a_file(text) || names_none(behind) {
                    return true;
                }
            }
            Some(_) | None => {
                let name = name_of(text);
                if among(FINDERS, &name) {
                    finder = Some(name.starts_with("fd"));
                }
            }
        }
    }
    false
}

/// Whether braces stand in a word for a file that is found.
fn stands_for_a_file(word: &str) -> bool {
    word.contains('{') && word.contains('}')
}

/// Whether braces stand where these words name their program.
fn names_none(words: &[&Word]) -> bool {
    // The values that flags before it may still take.
    let mut values = 0_usize;
    for word in words.iter().take(BEFORE_MAX) {
        let text = word.text.as_str();
        if stands_for_a_file(text) {
            return true;
        }
        let runs = || matches!(kind(text, &[]), Some(Kind::Wrapper | Kind::Arguments));
        if is_flag(text) {
            values = 1;
        } else if values > 0 {
            values = 0;
        } else if !is_assignment(word) && !runs() && !text.starts_with(|c: char| c.is_ascii_digit())
        {
            return false;
        }
    }
    words.len() > BEFORE_MAX
}
