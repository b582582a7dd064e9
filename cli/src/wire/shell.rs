//! What `shell explain` says.

use placet_engine::shell::explain::Explanation;
use placet_engine::shell::{Hazard, Word};
use serde::Serialize;

/// How a command is read. What there is none of is `null`, so that each line has the same fields.
#[derive(Debug, Serialize)]
pub(crate) struct ExplainedOut<'a> {
    command: &'a str,
    syntax_high_risk: bool,
    hazards: &'a [Hazard],
    key: Option<&'a str>,
    read_only: bool,
    covered: bool,
    words: Option<Vec<&'a str>>,
    why: &'a str,
}

impl<'a> ExplainedOut<'a> {
    /// The shape of an explanation.
    pub(crate) fn of(explanation: &'a Explanation) -> Self {
        let texts = |words: &'a Vec<Word>| words.iter().map(|word| word.text.as_str()).collect();
        Self {
            command: &explanation.command,
            syntax_high_risk: explanation.syntax_high_risk,
            hazards: &explanation.hazards,
            key: explanation.key.as_deref(),
            read_only: explanation.read_only,
            covered: explanation.covered,
            words: explanation.words.as_ref().map(texts),
            why: &explanation.why,
        }
    }
}
