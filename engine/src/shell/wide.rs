//! Which programs a text may run, behind paths, wrappers and interpreters: how a rule that denies
//! or demands is matched.

use std::fmt;

/// A program and the words that must follow it, in order, with anything between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    program: String,
    words: Vec<String>,
}

/// Why a text is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a program and, if wanted, further words, as in `kubectl delete`; found {0:?}")]
pub struct PatternError(pub String);

/// How a command stands to a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// It may run that.
    Matches,
    /// Which programs it runs cannot all be read: any rule that denies or demands asks.
    Unreadable,
    /// It runs other programs.
    Apart,
}

impl Pattern {
    /// Reads a pattern.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let mut words = text.split(' ').map(str::to_owned);
        let program = words.next().unwrap_or_default();
        if program.is_empty() {
            return Err(PatternError(text.to_owned()));
        }
        Ok(Self {
            program,
            words: words.collect(),
        })
    }

    /// How a command stands to it.
    pub fn matches(&self, _command: &str) -> Match {
        Match::Unreadable
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.program)?;
        self.words.iter().try_for_each(|word| write!(f, " {word}"))
    }
}
