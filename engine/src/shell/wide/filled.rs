//! Words that the shell fills in from variables and the names of files: what a pattern wants may
//! come out of them.

use super::scan::{Segment, Word};
use super::{Command, Match, Pattern, globs, hosts, is_flag, programs, says};
use crate::steering::without_case;

/// How many words of one command are tried as names that the shell fills in.
const FILLED_MAX: usize = 8;

impl Pattern {
    /// Whether the shell may fill in its program where one that nobody knows may run it.
    pub(super) fn may_fill(&self, segment: &Segment) -> bool {
        let can_be =
            |word: &Word| word.expands && !word.target && globs::can_be(&word.text, &self.program);
        let words = segment.words.iter().enumerate();
        let filled = words.filter(|(_, word)| can_be(word));
        let mut filled = filled.take(FILLED_MAX).peekable();
        if filled.peek().is_none() {
            return false;
        }
        let first = hosts::program_at(segment).and_then(|at| segment.words.get(at));
        if first.is_some_and(|word| globs::is_known(&programs::name_of(&word.text))) {
            return false;
        }
        filled.any(|(at, _)| {
            let mut words = segment.words.get(at..).unwrap_or_default().to_vec();
            if let Some(first) = words.first_mut() {
                first.text.clone_from(&self.program);
            }
            self.among(&words, false) != Match::Apart
        })
    }

    /// Whether words of one plain command that the shell fills in can come to be what it wants: a
    /// file may be called as a flag is.
    pub fn may_become(&self, command: &Command) -> bool {
        let one = |command: &Command| {
            let segment = command.segments.first().filter(|_| command.plain);
            segment.is_some_and(|segment| self.may_come_of(&segment.words))
        };
        one(command) || command.followed.as_deref().is_some_and(one)
    }

    fn may_come_of(&self, words: &[Word]) -> bool {
        let is_program = |word: &Word| {
            let text = without_case(&word.text);
            self.names(text.rsplit('/').next().unwrap_or_default())
        };
        let Some(at) = words.iter().position(is_program) else {
            return false;
        };
        let is_verb =
            |word: &&String| word.starts_with(char::is_alphanumeric) && !word.contains('=');
        let mut verbs = self.words.iter().take_while(is_verb).peekable();
        let mut rest = self.words.iter().skip_while(is_verb);
        let flags_alone = rest.all(|word| is_flag(word));
        let behind = words.get(at.saturating_add(1)..).unwrap_or_default();
        let (mut after_flag, mut ended) = (false, false);
        for word in behind.iter().filter(|word| !word.target) {
            ended |= word.text == "--";
            if is_filled(word) && !(ended && flags_alone) {
                return true;
            }
            if !is_flag(&word.text)
                && let Some(verb) = verbs.peek()
            {
                if word.expands && globs::can_be(&word.text, verb) {
                    return true;
                }
                if says(&word.text, verb) {
                    verbs.next();
                } else if !after_flag {
                    return false;
                }
            }
            after_flag = is_flag(&word.text) && !word.text.contains('=');
        }
        false
    }
}

/// Whether what the shell makes of a word can begin in any way, or as a flag does. A glob behind a
/// folder cannot.
fn is_filled(word: &Word) -> bool {
    word.expands && (word.text.starts_with(['*', '?', '[', '-']) || word.text.contains('$'))
}
