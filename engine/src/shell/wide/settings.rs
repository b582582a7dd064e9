//! What a text sets so that the names of programs mean others: where it does, they cannot be read.

use super::hosts::program_at;
use super::programs::{among, name_of};
use super::scan::{Segment, Word};

/// Commands of the shell that set the variables that they name.
const SETTERS: &str =
    "read printf for select getopts mapfile readarray declare typeset local unset";

/// Whether something in the text says where programs are looked for, or what git and make read
/// beside their words.
pub(super) fn unreadable(segments: &[Segment]) -> bool {
    segments.iter().any(|segment| {
        let words = || segment.words.iter().filter(|word| !word.target);
        let by_name = program_at(segment).is_some_and(|at| {
            let name = segment.words.get(at).map(|word| name_of(&word.text));
            name.is_some_and(|name| sets_by_name(&name, segment))
        });
        by_name || words().any(sets)
    })
}

/// Whether a command of the shell gives the variable a value that no word of its own holds.
fn sets_by_name(name: &str, segment: &Segment) -> bool {
    let mut words = segment.words.iter().map(|word| word.text.as_str());
    if name == "hash" {
        return words.any(|word| word.starts_with('-') && word.contains('p'));
    }
    among(SETTERS, name) && words.any(|word| word == "PATH" || word.ends_with("=PATH"))
}

/// Whether git is told to read settings from a file that a word names.
pub(super) fn includes(segments: &[Segment]) -> bool {
    let words = segments.iter().flat_map(|segment| &segment.words);
    let mut dotted = words.filter(|word| word.text.contains('.'));
    dotted.any(|word| {
        let lower = word.text.to_ascii_lowercase();
        lower.contains("include.path") || lower.contains("includeif.")
    })
}

/// Whether a word assigns such a variable.
fn sets(word: &Word) -> bool {
    let text = word.text.as_str();
    if text.contains("{PATH:=") || text.contains("{PATH=") {
        return true;
    }
    let Some((name, value)) = text.split_once('=') else {
        return false;
    };
    match name.strip_suffix('+').unwrap_or(name) {
        "PATH" | "GIT_EXEC_PATH" => true,
        "GIT_CONFIG_NOSYSTEM" => false,
        "MAKEFLAGS" | "GNUMAKEFLAGS" => word.expands || value.contains("ev") || value.contains('E'),
        name => name.starts_with("GIT_CONFIG") || name.starts_with("BASH_FUNC_"),
    }
}
