//! What a card tells of a command: its words, its program, what it may reach, what judged it, and
//! which entry of the per-command list would have covered it.

use placet_engine::policy::allowlist;
use placet_engine::policy::rules::shipped;
use placet_engine::shell;
use placet_ledger::containment::{Containment, Part};
use placet_ledger::event::RiskSource;
use placet_ledger::program::ProgramClass;
use placet_ledger::risk::DeclaredRisk;
use placet_ledger::view::{Card, CardJudged, CardKind, CardProgram};

use super::{Look, Part as CardPart, block};
use crate::ui::text::{self, Letters};

/// Digits of a digest that tell two files apart for a person.
const DIGEST_DIGITS: usize = 10;

/// The allowlist key of a command, or why it has none.
pub(crate) fn key(card: &Card) -> Option<Result<String, String>> {
    let command = card.command()?;
    Some(shell::key(command).ok_or_else(|| allowlist::no_key(command)))
}

/// What is told of a command before how it is shut in.
pub(super) fn before(card: &Card) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    facts.extend(judged(card).map(|value| ("judged", value)));
    if let Some(program) = &card.program {
        facts.push(("program", self::program(program)));
        let list = |words: &[String]| {
            let words = words.iter().map(|word| text::quoted(word, Letters::Marked));
            words.collect::<Vec<_>>().join(", ")
        };
        if !program.outside.is_empty() {
            facts.push(("reaches out", list(&program.outside)));
        }
        if !program.repository.is_empty() {
            let value = format!("{}, as the repository says", list(&program.repository));
            facts.push(("may also run", value));
        }
        facts.push(("network", network(card)));
    }
    facts
}

/// What is told of it last: which entry would cover it, and which one nearly did.
pub(super) fn after(card: &Card) -> Vec<(&'static str, String)> {
    let near = card.nearly.as_ref().map(|near| {
        let (key, why) = (
            text::quoted(&near.key, Letters::Marked),
            text::inline(&near.why),
        );
        (
            "nearly covered",
            format!("by {} ({key}): {why}", near.grant),
        )
    });
    allowlist_key(card).into_iter().chain(near).collect()
}

fn allowlist_key(card: &Card) -> Option<(&'static str, String)> {
    let value = match key(card)? {
        Ok(key) => keyed(card.command()?, &key),
        Err(why) => format!("none: {}", text::inline(&why)),
    };
    (card.kind == CardKind::Approval).then_some(("allowlist key", value))
}

/// A key, and what a grant of it would not cover, or let by.
fn keyed(command: &str, key: &str) -> String {
    let shown = text::quoted(key, Letters::Marked);
    if shipped().destructive(command).is_some() {
        return format!("{shown}, but no grant covers a variant that destroys");
    }
    match allowlist::caution(key) {
        Some(caution) => format!("{shown}; to grant it needs --force: it {}", caution.why()),
        None => shown,
    }
}

fn program(program: &CardProgram) -> String {
    let path = text::quoted(&program.path, Letters::Marked);
    let whose = match program.class {
        ProgramClass::System => "of the system",
        ProgramClass::User => "not the system's: people can change it",
        ProgramClass::Workspace => "in the workspace, where the agent can change it",
    };
    let digest: String = program
        .digest
        .to_string()
        .chars()
        .take(DIGEST_DIGITS)
        .collect();
    let how = if program.shell {
        "through sh"
    } else {
        "without a shell"
    };
    format!("{path} ({whose}, {digest}), {how}")
}

fn network(card: &Card) -> String {
    let open = match card.containment {
        Containment::InProcess | Containment::Full => false,
        Containment::Partial | Containment::None => card.missing.contains(&Part::Network),
    };
    if open {
        return String::from("open: this machine cannot shut it off");
    }
    let ports: Vec<String> = card.network.iter().map(ToString::to_string).collect();
    if ports.is_empty() {
        String::from("no network")
    } else {
        format!("TCP {}", ports.join(", "))
    }
}

/// How a call is shut in, with what is missing.
pub(super) fn containment(card: &Card) -> String {
    let missing: Vec<_> = card.missing.iter().map(|part| part.as_str()).collect();
    let level = card.containment.as_str();
    if missing.is_empty() {
        level.to_owned()
    } else {
        format!("{level}: without {}", missing.join(", "))
    }
}

/// What judged a call; of a command also that nothing did.
fn judged(card: &Card) -> Option<String> {
    let Some(judged) = &card.judged else {
        let unjudged = card.tier == Some(DeclaredRisk::Unknown) && card.program.is_some();
        return unjudged.then(|| String::from("by nothing: whatever it is, it asks"));
    };
    let by = match (judged.source, &judged.model) {
        (RiskSource::Rule, _) => String::from("by rule"),
        (RiskSource::Plugin, _) => String::from("by the plugin"),
        (RiskSource::Model, Some(model)) => format!("by model {}", text::marked(model.as_str())),
        (RiskSource::Model, None) => String::from("by a model"),
        (RiskSource::Floor, _) => String::from("by nothing, so high-risk"),
    };
    let reason = ours(judged).map(|reason| format!(": {}", text::inline(reason)));
    Some(by + &reason.unwrap_or_default())
}

/// A reason of ours, in a few words.
fn ours(judged: &CardJudged) -> Option<&str> {
    match judged.source {
        RiskSource::Rule | RiskSource::Floor => judged.reason.as_deref(),
        RiskSource::Plugin | RiskSource::Model => None,
    }
}

/// What others said on the risk of a call.
pub(super) fn parts(card: &Card, look: &Look, most: usize) -> Vec<CardPart> {
    let mut parts = Vec::new();
    if let Some(judged) = &card.judged
        && let (None, Some(reason)) = (ours(judged), &judged.reason)
    {
        parts.push(CardPart::of(
            "judged so, as",
            block(reason, Letters::Kept, look, most),
        ));
    }
    parts
}

#[cfg(test)]
mod tests;
