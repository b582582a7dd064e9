//! The plainly read-only programs and flags: a command that is certain to change nothing needs no
//! judge.

use super::Plain;

/// What must still be looked at before a command counts as read-only.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claims {
    /// Words that name files or folders: each must resolve inside the workspace or a system folder.
    pub operands: Vec<String>,
    /// It reads a repository, whose own configuration can name programs to run.
    pub repository: bool,
}

/// Why a command is not known to be read-only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotKnown {
    /// The reason, as the end of a sentence about the command.
    pub why: String,
}

/// Whether the text of a command is on the list, flags and operands included.
pub fn read_only(plain: &Plain) -> Result<Claims, NotKnown> {
    Err(NotKnown {
        why: format!("{} is not on the list", plain.program()),
    })
}
