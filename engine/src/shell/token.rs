//! The tokens that a command is made of, as both shells cut them.

use super::Word;
use super::hazard::{Hazard, HazardKind};

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A word, which may turn out to be a reserved one.
    Word(Lexeme),
    /// What stands between commands, or around them.
    Operator(Operator),
    /// A redirection with its target, and with the number before it.
    Redirection {
        /// Where its operator begins.
        at: usize,
        /// What it does.
        effect: Effect,
        /// What it does to the command that it stands in.
        extent: Extent,
    },
    /// From `#` to the end of the line.
    Comment {
        /// Where it begins.
        at: usize,
    },
}

/// What stands between commands, or around them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    /// The end of a line.
    Newline,
    /// `;`, `&`, `&&`, `|`, `||` or `|&`.
    Separator,
    /// `;;`, `;&` or `;;&`, after which a pattern of `case` follows.
    CaseBreak,
    /// `(`
    Open,
    /// `)`
    Close,
}

/// What a redirection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// It reads or writes a file, or nobody knows.
    File,
    /// It discards, or copies or closes a descriptor.
    Harmless,
}

/// What a redirection does to the command that it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// It is a part of it.
    Within,
    /// In dash it ends it: `&> FILE` is `&` and `> FILE` there.
    EndsCommand,
}

/// Where reading ends before the text does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// At something whose inside is another program, or that never ends.
    Hazard(Hazard),
    /// Where the shells part, and nothing that follows could be a hazard in either.
    Doubt(&'static str),
}

impl Stop {
    /// A hazard at a place.
    pub(super) const fn hazard(kind: HazardKind, at: usize) -> Self {
        Self::Hazard(Hazard { kind, at })
    }
}

/// What the shell makes of a word, the strongest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Expansion {
    /// Itself.
    #[default]
    Never,
    /// The names of files, or a home: there is a glob or a tilde in it.
    Pattern,
    /// Anything: there is a variable in it.
    Variable,
}

/// A word as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Lexeme {
    /// Where it begins.
    pub(super) at: usize,
    /// The text without its quotes; expansions as they were written.
    pub(super) text: String,
    /// Bytes of the text before the first quote, escape or expansion: only there can a reserved
    /// word, a name before `=` or a number before `>` stand.
    pub(super) bare: usize,
    /// A quote, an escape or a `$` is in it.
    pub(super) is_quoted: bool,
    /// What the shell makes of it.
    pub(super) expansion: Expansion,
    /// An unquoted brace is in it.
    pub(super) has_brace: bool,
    /// Why a command with this word is not plain.
    pub(super) not_plain: Option<&'static str>,
}

impl Lexeme {
    /// The text, if that is how it was written.
    pub(super) fn unquoted(&self) -> Option<&str> {
        (!self.is_quoted).then_some(self.text.as_str())
    }

    /// Whether it assigns, where an assignment can stand: `NAME=` or `NAME+=`, unquoted.
    pub(super) fn is_assignment(&self) -> bool {
        let rest = self.after_name();
        rest.is_some_and(|rest| rest.starts_with('=') || rest.starts_with("+="))
    }

    /// Whether an array is meant, where an assignment can stand: `NAME[`, unquoted. bash reads on
    /// to the `]`, blanks and all, and evaluates what is between.
    pub(super) fn has_subscript(&self) -> bool {
        self.after_name().is_some_and(|rest| rest.starts_with('['))
    }

    /// What follows a name at the start, quotes excluded.
    fn after_name(&self) -> Option<&str> {
        let bare = self.text.get(..self.bare)?;
        let rest = bare.trim_start_matches(is_name_part);
        let is_name = bare.starts_with(is_name_start) && rest.len() < bare.len();
        is_name.then_some(rest)
    }

    /// Whether it belongs to a redirection that follows without a blank: a number, or in bash
    /// `{name}`.
    pub(super) fn is_descriptor(&self) -> bool {
        self.unquoted().is_some_and(|text| {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            is_number || (text.starts_with('{') && text.ends_with('}'))
        })
    }

    /// The word as others see it.
    pub(super) fn into_word(self) -> Word {
        Word {
            text: self.text,
            expands: self.expansion > Expansion::Never,
        }
    }
}

/// Whether a name of a variable can begin so.
pub(super) const fn is_name_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

/// Whether a name of a variable can go on so.
pub(super) const fn is_name_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
