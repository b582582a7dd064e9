//! Reading a command the way the shell will read it: what is certain about a text before it runs.
//!
//! One forward pass without recursion, linear in the text, without a panic on any bytes. There are
//! three answers. A *hazard* may do more than its words say, by syntax alone. *Plain* is provably
//! one command with these words. *Neither* is all the rest: what cannot be proven is not plain.

pub mod known;
pub mod wide;

/// Characters of a command that has a key, may be read-only, or is classified.
pub const COMMAND_CHARS_MAX: usize = 4_000;

/// How a command is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// It may do more than its words say: high-risk, whoever judges.
    Hazard(Vec<Hazard>),
    /// Provably one plain command.
    Plain(Plain),
    /// Anything else, with the reason in words.
    Neither(String),
}

/// What makes a command high-risk by its syntax.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hazard {
    /// What it is.
    pub kind: HazardKind,
    /// Where it begins, in bytes from the start of the command.
    pub at: usize,
}

/// Kinds of hazards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HazardKind {
    /// A quote or an expansion that is never closed.
    Unterminated,
    /// `$(..)` or backticks.
    CommandSubstitution,
    /// `<(..)` or `>(..)`.
    ProcessSubstitution,
    /// `$((..))`, `$[..]`.
    Arithmetic,
    /// A parameter expansion that does more than name a variable.
    Expansion,
    /// A redirection that reads or writes a file.
    Redirection,
    /// A command name that expands.
    ExpandingName,
    /// Bytes that no command has: NUL, or what is no UTF-8; or too many.
    Unreadable,
}

/// One plain command: at least one word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plain {
    words: Vec<Word>,
}

/// One word, its quotes removed.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    // Nothing is known yet of any command.
    Reading::Neither(format!("{} bytes that nobody read", command.len()))
}

/// The allowlist key of a command: its program, and the next word where that says what the program
/// will do. `None` for what is not plain, and for a program whose name holds a blank.
pub fn key(command: &str) -> Option<String> {
    let Reading::Plain(plain) = read(command) else {
        return None;
    };
    Some(plain.program().to_owned())
}

/// Whether an entry covers a key: its own, and longer ones at a word boundary.
pub fn covers(entry: &str, key: &str) -> bool {
    entry == key
        || key
            .strip_prefix(entry)
            .is_some_and(|rest| rest.starts_with(' '))
}
