//! Everything that is known about a command from its text, for a person or a program to see.

use serde::Serialize;

use super::{COMMAND_CHARS_MAX, Hazard, Plain, Reading, Word, covers, key, known, read};

/// What is known about a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The command.
    pub command: String,
    /// Whether its syntax makes it high-risk, whoever judges.
    pub syntax_high_risk: bool,
    /// What does.
    pub hazards: Vec<Hazard>,
    /// Its allowlist key.
    pub key: Option<String>,
    /// Whether the text is on the list of commands that change nothing.
    pub read_only: bool,
    /// Whether one of the entries covers it.
    pub covered: bool,
    /// Its words, where they are certain.
    pub words: Option<Vec<Word>>,
    /// The reason, in words.
    pub why: String,
}

/// Explains a command beside the entries of an allowlist.
pub fn explain<S: AsRef<str>>(command: &str, entries: &[S]) -> Explanation {
    let key = key(command);
    let is_covered = |key: &String| entries.iter().any(|entry| covers(entry.as_ref(), key));
    let mut explanation = Explanation {
        command: command.to_owned(),
        syntax_high_risk: false,
        hazards: Vec::new(),
        covered: key.as_ref().is_some_and(is_covered),
        key,
        read_only: false,
        words: None,
        why: String::new(),
    };
    match read(command) {
        Reading::Hazard(hazards) => {
            explanation.why = found(&hazards);
            explanation.syntax_high_risk = true;
            explanation.hazards = hazards;
        }
        Reading::Neither(why) => explanation.why = format!("not one plain command: {why}"),
        Reading::Plain(plain) => {
            (explanation.read_only, explanation.why) = judge(command, &plain);
            explanation.words = Some(plain.words().to_vec());
        }
    }
    explanation
}

/// The kinds of hazards in the order in which they were found, each once.
fn found(hazards: &[Hazard]) -> String {
    let mut kinds: Vec<&str> = Vec::new();
    for kind in hazards.iter().map(|hazard| hazard.kind.as_str()) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.join(", ")
}

/// Whether a plain command changes nothing, and why that is known or is not.
fn judge(command: &str, plain: &Plain) -> (bool, String) {
    if command.chars().nth(COMMAND_CHARS_MAX).is_some() {
        let why = format!("one plain command of more than {COMMAND_CHARS_MAX} characters");
        return (false, why);
    }
    match known::read_only(plain) {
        Ok(_) => (true, "one plain command, which changes nothing".to_owned()),
        Err(known::NotKnown { why }) => (false, format!("one plain command: {why}")),
    }
}
