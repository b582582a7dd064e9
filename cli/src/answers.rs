//! What queries answer, as verbs need it.

use std::collections::BTreeMap;

use placet_ledger::id::RunId;
use placet_ledger::projection::Answer;

use crate::error::{CommandError, Kind};

/// An answer to something that was not asked.
pub(crate) fn unexpected() -> CommandError {
    let what = "the process that holds the ledger answered something else than was asked";
    CommandError::new(Kind::Failed, what)
}

/// The run that was looked for.
pub(crate) fn run(answer: Answer) -> Result<RunId, CommandError> {
    match answer {
        Answer::Find(found) => Ok(found?),
        _ => Err(unexpected()),
    }
}

/// The beginnings of ids that were asked for.
pub(crate) fn prefixes(answer: Answer) -> Result<Vec<String>, CommandError> {
    match answer {
        Answer::Prefixes { prefixes } => Ok(prefixes),
        _ => Err(unexpected()),
    }
}

/// How runs are named in commands.
pub(crate) struct Prefixes(BTreeMap<RunId, String>);

impl Prefixes {
    /// These runs, and how each is named.
    pub(crate) fn of(runs: Vec<RunId>, prefixes: Vec<String>) -> Self {
        Self(runs.into_iter().zip(prefixes).collect())
    }

    /// How a run is named.
    pub(crate) fn get(&self, run: RunId) -> String {
        let known = self.0.get(&run).cloned();
        known.unwrap_or_else(|| run.to_string())
    }
}
