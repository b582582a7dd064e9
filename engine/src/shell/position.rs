//! Where in a command a word stands, and so what it is: a name, an argument, a reserved word.
//!
//! Neither nesting nor what closes what is followed: a word that could be the name of a command is
//! taken for one, and a text that both shells refuse may be read in any way.

use super::token::{Extent, Lexeme, Operator};

/// Where a word stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Position {
    /// Where a command begins.
    #[default]
    Start,
    /// After an assignment, a redirection, or what one of the shells takes for a command: a command
    /// may go on or begin.
    Prefix,
    /// After `time`, whose options come before the command.
    Time,
    /// After `coproc`, where a name may come before the command.
    Coproc,
    /// After the name of a command.
    Arguments,
    /// After `for` or `select`.
    LoopName,
    /// After the name of a loop.
    LoopWords,
    /// After `case`.
    CaseSubject,
    /// After the subject of `case`.
    CaseIn,
    /// Where a pattern of `case` stands, up to its `)`.
    Pattern,
    /// After `function`.
    FunctionName,
}

/// What a word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The name of a command.
    Name,
    /// A word after it.
    Argument,
    /// `NAME=value` before it.
    Assignment,
    /// A word of the grammar, or one that the grammar takes.
    Grammar,
}

/// The reserved words of both shells, and where the next word then stands.
const RESERVED: [(&str, Position); 22] = [
    ("!", Position::Start),
    ("{", Position::Start),
    ("}", Position::Start),
    ("[[", Position::Arguments),
    ("]]", Position::Prefix),
    ("case", Position::CaseSubject),
    ("coproc", Position::Coproc),
    ("do", Position::Start),
    ("done", Position::Start),
    ("elif", Position::Start),
    ("else", Position::Start),
    ("esac", Position::Start),
    ("fi", Position::Start),
    ("for", Position::LoopName),
    ("function", Position::FunctionName),
    ("if", Position::Start),
    ("in", Position::Arguments),
    ("select", Position::LoopName),
    ("then", Position::Start),
    ("time", Position::Time),
    ("until", Position::Start),
    ("while", Position::Start),
];

impl Position {
    /// Whether one of the shells may take what stands here for the arguments of a command.
    pub(super) fn may_be_arguments(self) -> bool {
        matches!(
            self,
            Self::Prefix | Self::Time | Self::Coproc | Self::CaseIn
        )
    }

    /// What a word is here, and where the next one stands.
    pub(super) fn word(self, word: &Lexeme) -> (Role, Self) {
        let text = word.unquoted().unwrap_or_default();
        match self {
            Self::Arguments => (Role::Argument, Self::Arguments),
            Self::Start | Self::Prefix | Self::Coproc => self.command(word),
            Self::Time if text.starts_with('-') => (Role::Grammar, Self::Time),
            Self::LoopName => (Role::Grammar, Self::LoopWords),
            Self::LoopWords if matches!(text, "do" | "{") => (Role::Grammar, Self::Start),
            Self::LoopWords => (Role::Grammar, Self::Arguments),
            Self::CaseSubject => (Role::Grammar, Self::CaseIn),
            Self::CaseIn if text == "in" => (Role::Grammar, Self::Pattern),
            Self::Time | Self::CaseIn => Self::Prefix.word(word),
            Self::Pattern if text == "esac" => (Role::Grammar, Self::Start),
            Self::Pattern => (Role::Grammar, Self::Pattern),
            Self::FunctionName => (Role::Grammar, Self::Prefix),
        }
    }

    /// A word where a command may begin.
    fn command(self, word: &Lexeme) -> (Role, Self) {
        let reserved = word
            .unquoted()
            .and_then(|text| RESERVED.iter().find(|(reserved, _)| *reserved == text));
        match reserved {
            Some((_, next)) => (Role::Grammar, *next),
            None if word.is_assignment() => (Role::Assignment, Self::Prefix),
            None if self == Self::Coproc => (Role::Name, Self::Prefix),
            None => (Role::Name, Self::Arguments),
        }
    }

    /// Where a word stands after a redirection. What follows `&> FILE` is an argument in bash, and
    /// another command in dash, for which the first ended at the `&`.
    pub(super) fn redirection(self, extent: Extent) -> Self {
        match (extent, self) {
            (Extent::EndsCommand, _) | (Extent::Within, Self::Start) => Self::Prefix,
            (Extent::Within, other) => other,
        }
    }

    /// Where a word stands after an operator.
    pub(super) fn operator(self, operator: Operator) -> Self {
        match (operator, self) {
            // Lines may end and parentheses open before a pattern, and `|` stands between two.
            (Operator::Newline, Self::CaseIn) => Self::CaseIn,
            (Operator::Newline | Operator::Open | Operator::Separator, Self::Pattern)
            | (Operator::CaseBreak, _) => Self::Pattern,
            // What is closed may be an array, and then no word is reserved.
            (Operator::Close, _) => Self::Prefix,
            (Operator::Newline | Operator::Open | Operator::Separator, _) => Self::Start,
        }
    }
}
