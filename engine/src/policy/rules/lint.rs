//! What is odd about rules that load: those that never speak, allows that say more than they seem
//! to, and demands that nobody can meet.

use placet_ledger::id::Name;

use crate::shell::wide::Match;

use super::{Effect, Rule, Rules, Target, shipped};
use crate::policy::allowlist::caution;

/// Something that whoever wrote the rules should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The place of the rule in the list, from 1.
    pub number: usize,
    /// Its name.
    pub rule: Name,
    /// What is odd, as the end of a sentence about it.
    pub what: String,
}

impl Rules {
    /// What is odd about these rules.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for (index, rule) in self.rules.iter().enumerate() {
            let mut warn = |what: String| {
                warnings.push(Warning {
                    number: index.saturating_add(1),
                    rule: rule.name.clone(),
                    what,
                });
            };
            let before = self.rules.iter().take(index);
            if let Some(same) = before.clone().find(|other| is_same(rule, other)) {
                warn(format!("says what {} says", same.name));
            } else if let Some(over) = self.rules.iter().find(|other| hides(other, rule)) {
                let effect = match over.effect {
                    Effect::Deny => "denies",
                    Effect::Ask => "asks for",
                    Effect::NoEntry => "keeps out of every allow",
                    Effect::Allow => "allows",
                };
                warn(format!(
                    "never speaks: {} {effect} all that it matches",
                    over.name
                ));
            }
            if rule.demands.is_out_of_reach() {
                let demands = &rule.demands;
                warn(format!(
                    "needs {demands}: nobody can give that in this release, so only denials will \
                     be accepted"
                ));
            }
            if let (Target::Path { .. }, None) = (&rule.target, &rule.tool) {
                let what = "binds what writes and removes, not what tools read or commands touch";
                warn(String::from(what));
            }
            if let (Effect::Allow, Target::Command { entry, .. }) = (rule.effect, &rule.target) {
                if let Some(caution) = caution(entry) {
                    let program = entry.split(' ').next().unwrap_or_default();
                    warn(format!(
                        "allows more than it says: {program} {}",
                        caution.why()
                    ));
                }
                for (example, by) in kept_out(rule) {
                    warn(format!(
                        "does not let its example {example:?} run: {by} keeps it out"
                    ));
                }
            }
        }
        warnings
    }
}

/// Examples of an allow that it does not let run, and the shipped rules by which they ask.
fn kept_out(rule: &Rule) -> impl Iterator<Item = (&str, &Name)> {
    let examples = rule.written.matches.iter().map(String::as_str);
    examples.filter_map(|example| Some((example, shipped().destructive(example)?.name())))
}

fn is_same(rule: &Rule, other: &Rule) -> bool {
    let (a, b) = (&rule.written, &other.written);
    rule.tool == other.tool
        && rule.effect == other.effect
        && rule.demands == other.demands
        && rule.expires_ms == other.expires_ms
        && (&a.command, &a.path) == (&b.command, &b.path)
}

/// Whether `over` is stricter and matches all that `rule` does.
fn hides(over: &Rule, rule: &Rule) -> bool {
    let stricter = match (over.effect, rule.effect) {
        (Effect::Deny, Effect::Allow | Effect::Ask)
        | (Effect::Ask | Effect::NoEntry, Effect::Allow) => true,
        (Effect::Deny, Effect::NoEntry | Effect::Deny)
        | (Effect::Ask | Effect::NoEntry, Effect::NoEntry | Effect::Ask | Effect::Deny)
        | (Effect::Allow, _) => false,
    };
    let of_tool = over.tool.is_none() || over.tool == rule.tool;
    stricter && of_tool && covers(over, rule)
}

fn covers(over: &Rule, rule: &Rule) -> bool {
    match (&over.target, &rule.target) {
        (Target::Tool, _) => true,
        (Target::Command { pattern, .. }, Target::Command { entry, .. }) => {
            pattern.matches(entry) == Match::Matches
        }
        (Target::Path { .. }, Target::Path { .. }) => rule
            .written
            .path
            .as_deref()
            .is_some_and(|path| over.reaches(path)),
        (Target::Command { .. }, Target::Tool | Target::Path { .. })
        | (Target::Path { .. }, Target::Tool | Target::Command { .. }) => false,
    }
}
