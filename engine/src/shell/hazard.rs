//! What makes a command high-risk by its syntax alone.

use serde::Serialize;

/// What makes a command high-risk by its syntax.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Hazard {
    /// What it is.
    pub kind: HazardKind,
    /// Where it begins, in bytes from the start of the command.
    pub at: usize,
}

/// Kinds of hazards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HazardKind {
    /// A quote or an expansion that is never closed.
    Unterminated,
    /// `$(..)` or backticks.
    CommandSubstitution,
    /// `<(..)` or `>(..)`.
    ProcessSubstitution,
    /// `$((..))`, `$[..]`, `((..))`, and the subscript of an array.
    Arithmetic,
    /// A parameter expansion that may run what a variable holds.
    Expansion,
    /// A redirection that reads or writes a file.
    Redirection,
    /// A command name that expands.
    ExpandingName,
    /// Bytes that no command has: NUL, or what is no UTF-8; or too many.
    Unreadable,
}

impl HazardKind {
    /// What it is, in words, as it stands in a list of what was found.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unterminated => "a quote or an expansion that is never closed",
            Self::CommandSubstitution => "a command substitution",
            Self::ProcessSubstitution => "a process substitution",
            Self::Arithmetic => "arithmetic",
            Self::Expansion => "an expansion that may run what a variable holds",
            Self::Redirection => "a redirection that reads or writes a file",
            Self::ExpandingName => "a command name that expands",
            Self::Unreadable => "bytes that no command has, or too many",
        }
    }
}
