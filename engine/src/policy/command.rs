//! What is certain about a command from its text and its proposal: what the gate and the
//! classifier both stand on.

use placet_ledger::judge::CommandInput;
use placet_ledger::program::ProgramClass;

use crate::shell::{COMMAND_CHARS_MAX, HazardKind, Reading, known, read};

/// What is certain about a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Certain {
    /// High-risk, whoever judges, and for which reason.
    HighRisk(String),
    /// It changes nothing.
    ReadOnly,
    /// Nothing; with the reason why it is not plainly read-only.
    Nothing(String),
}

/// What is certain about a command.
pub fn certain(command: &CommandInput) -> Certain {
    let Some(text) = &command.text else {
        return Certain::HighRisk(String::from("its text cannot be read"));
    };
    if text.chars().count() > COMMAND_CHARS_MAX {
        return Certain::HighRisk(format!("it is longer than {COMMAND_CHARS_MAX} characters"));
    }
    let plain = match read(text) {
        Reading::Hazard(hazards) => {
            let first = hazards.first().map(|hazard| hazard.kind);
            let words = first.map_or("a hazard", words);
            return Certain::HighRisk(format!("it holds {words}"));
        }
        Reading::Neither(why) => return Certain::Nothing(why),
        Reading::Plain(plain) => plain,
    };
    let claims = match known::read_only(&plain) {
        Ok(claims) => claims,
        Err(not) => return Certain::Nothing(not.why),
    };
    let Some(program) = &command.program else {
        return Certain::Nothing(String::from("its program cannot be read"));
    };
    let why = if command.class != Some(ProgramClass::System) {
        Some(format!("{} is no program of the system", program.path))
    } else if let Some(outside) = program.outside.first() {
        Some(format!("{outside} is outside the workspace"))
    } else if !command.network.is_empty() {
        Some(String::from("it wants the network"))
    } else if claims.repository && !program.repository.is_empty() {
        let runs = program.repository.join(", ");
        Some(format!("the repository configures {runs}"))
    } else {
        None
    };
    why.map_or(Certain::ReadOnly, Certain::Nothing)
}

/// A hazard, as people read of it.
const fn words(kind: HazardKind) -> &'static str {
    match kind {
        HazardKind::Unterminated => "a quote or expansion that is never closed",
        HazardKind::CommandSubstitution => "a command substitution",
        HazardKind::ProcessSubstitution => "a process substitution",
        HazardKind::Arithmetic => "an arithmetic expansion",
        HazardKind::Expansion => "an expansion that may run what a variable holds",
        HazardKind::Redirection => "a redirection of a file",
        HazardKind::ExpandingName => "a command name that expands",
        HazardKind::Unreadable => "bytes that no command has",
    }
}
