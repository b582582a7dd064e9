//! The plainly read-only programs and flags: a command that is certain to change nothing needs no
//! judge.
//!
//! The tables are written for the programs of Linux (GNU, util-linux, procps, git) and hold exactly
//! what is accepted: a program, a flag, a word of `find` that is not in them is not read-only, so
//! neither is an abbreviated long flag. Nothing here looks at the machine. What a command would
//! read is handed on in [`Claims`], and three things are relied on: the program that the name
//! resolves to lies in a system folder; its environment is the scrubbed one, without
//! `RIPGREP_CONFIG_PATH`, `POSIXLY_CORRECT`, `GIT_*`, `PAGER` and the like; its input is closed.

mod find;
mod flags;
mod git;
mod paths;
mod special;
mod table;

#[cfg(test)]
mod tests;

use super::{COMMAND_CHARS_MAX, Plain};
pub(crate) use paths::{is_private, is_system_file};
use table::{Operands, Rule};

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

/// The answer of each step inside; the text says what was not accepted.
type Verdict<T> = Result<T, String>;

/// Whether the text of a command is on the list, flags and operands included.
pub fn read_only(plain: &Plain) -> Result<Claims, NotKnown> {
    judge(plain).map_err(|why| NotKnown { why })
}

fn judge(plain: &Plain) -> Verdict<Claims> {
    if let Some(word) = plain.words().iter().find(|word| word.expands) {
        let text = &word.text;
        return Err(format!("`{text}` expands, so other words may come of it"));
    }
    let words: Vec<&str> = plain
        .words()
        .iter()
        .map(|word| word.text.as_str())
        .collect();
    let chars = words.iter().map(|word| word.chars().count() + 1);
    if chars.sum::<usize>() > COMMAND_CHARS_MAX {
        return Err(format!("it is longer than {COMMAND_CHARS_MAX} characters"));
    }
    let Some((program, arguments)) = words.split_first() else {
        return Err("it has no words".to_owned());
    };
    let name = paths::program_name(program)?;
    match table::rule(name) {
        None => Err(format!("{name} is not on the list")),
        Some(Rule::Words) => Ok(Claims::default()),
        Some(Rule::Exact(lines)) => exact(name, lines, arguments),
        Some(Rule::Flags(spec, operands)) => by_flags(name, spec, operands, arguments),
        Some(Rule::Judge(judge)) => judge(arguments),
    }
}

/// Only whole lines of arguments, as they are written in the table.
fn exact(name: &str, lines: &[&str], arguments: &[&str]) -> Verdict<Claims> {
    let line = arguments.join(" ");
    if lines.contains(&line.as_str()) {
        return Ok(Claims::default());
    }
    Err(format!(
        "`{name} {line}` is not among the forms of {name} on the list"
    ))
}

/// A program that is known by its flags and what its operands are.
fn by_flags(
    name: &str,
    spec: &[&'static str],
    operands: Operands,
    arguments: &[&str],
) -> Verdict<Claims> {
    // They put the words of that file there before they read any.
    let is_file = |word: &&&str| word.starts_with('@');
    if matches!(operands, Operands::Objects)
        && let Some(word) = arguments.iter().find(is_file)
    {
        return Err(format!("`{word}` of {name} would name a file of flags"));
    }
    let parsed = flags::parse(name, spec, arguments)?;
    let mut claims = Claims::default();
    for path in &parsed.paths {
        paths::claim(path, paths::Use::Contents, &mut claims)?;
    }
    operands.check(name, &parsed, &mut claims)?;
    Ok(claims)
}
