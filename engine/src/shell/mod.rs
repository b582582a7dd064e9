//! Reading a command the way the shell will read it: what is certain about a text before it runs.
//!
//! One forward pass without recursion, linear in the text, without a panic on any bytes. There are
//! three answers. A *hazard* may do more than its words say, by syntax alone. *Plain* is provably
//! one command with these words. *Neither* is all the rest: what cannot be proven is not plain.
//!
//! What runs a command is one fixed `/bin/sh`, dash here and bash there. So a text is read for
//! both: where they part, it is not plain, and what may be a hazard in one of them is one. Neither
//! has a history or aliases, since nobody types there.
//!
//! `cursor` moves through the text, `word` reads quotes and expansions, `lexer` cuts tokens,
//! `position` says what a word is where it stands, and `reader` gives the answer.

mod cursor;
pub mod explain;
mod hazard;
mod key;
pub mod known;
mod lexer;
mod position;
mod reader;
mod token;
pub mod wide;
mod word;

use serde::Serialize;

use reader::Reader;

pub use hazard::{Hazard, HazardKind};
pub use key::{covers, key};

/// Bytes of a command that is read at all.
pub const COMMAND_BYTES_MAX: usize = 64 * 1024;

/// Characters of a command that has a key, may be read-only, or is classified.
pub const COMMAND_CHARS_MAX: usize = 4_000;

/// How a command is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// It may do more than its words say: high-risk, whoever judges. Reading ends where another
    /// program begins inside of it or nothing is certain any more, so that these may not be all.
    Hazard(Vec<Hazard>),
    /// Provably one plain command.
    Plain(Plain),
    /// Anything else, with the reason in words.
    Neither(String),
}

/// One plain command: at least one word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plain {
    words: Vec<Word>,
}

/// One word, its quotes removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Word {
    /// The text; where it expands, as it was written without its quotes.
    pub text: String,
    /// Whether the shell may make other words of it: a variable, a glob, a tilde.
    pub expands: bool,
}

impl Plain {
    /// The words, the program first.
    pub fn words(&self) -> &[Word] {
        &self.words
    }

    /// The program as written.
    pub fn program(&self) -> &str {
        self.words.first().map_or("", |word| word.text.as_str())
    }

    /// The words as the program gets them, if no word expands: such a command needs no shell.
    pub fn argv(&self) -> Option<Vec<&str>> {
        let literal = |word: &Word| !word.expands;
        self.words
            .iter()
            .all(literal)
            .then(|| self.words.iter().map(|word| word.text.as_str()).collect())
    }
}

/// Reads a command.
pub fn read(command: &str) -> Reading {
    if let Some(at) = unreadable(command) {
        let kind = HazardKind::Unreadable;
        return Reading::Hazard(vec![Hazard { kind, at }]);
    }
    Reader::default().read(command)
}

/// Reads a command that may be no text.
pub fn read_bytes(command: &[u8]) -> Reading {
    match std::str::from_utf8(command) {
        Ok(command) => read(command),
        Err(error) => {
            let (kind, at) = (HazardKind::Unreadable, error.valid_up_to());
            Reading::Hazard(vec![Hazard { kind, at }])
        }
    }
}

/// Where a command cannot be read: no shell takes NUL, and none is asked to take so much.
fn unreadable(command: &str) -> Option<usize> {
    let too_long = (command.len() > COMMAND_BYTES_MAX).then_some(COMMAND_BYTES_MAX);
    too_long.or_else(|| command.find('\0'))
}

#[cfg(test)]
mod tests;
