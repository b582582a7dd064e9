//! What the rules of a file do, a paragraph each.

use std::fmt::Write;

use placet_engine::policy::rules::Effect;

use super::explained::needs;
use super::text;
use crate::wire::policy::{CheckedOut, RuleOut};

/// The page.
pub(crate) fn page(checked: &CheckedOut) -> String {
    let mut out = String::new();
    for rule in &checked.rules {
        let _ignored = writeln!(out, "{}\n  {}", text::marked(&rule.rule), does(rule));
        if let Some(reason) = &rule.reason {
            let _ignored = writeln!(out, "  reason: {}", text::inline(reason));
        }
        for warning in &rule.warnings {
            let _ignored = writeln!(out, "  warning: it {}", text::inline(warning));
        }
    }
    let examples: usize = checked.rules.iter().map(|rule| rule.examples).sum();
    let rules = count(checked.rules.len(), "rule");
    let _ignored = writeln!(out, "{rules}, {} as written", count(examples, "example"));
    out
}

fn count(number: usize, what: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{number} {what}{end}")
}

/// What a rule does, in a line.
fn does(rule: &RuleOut) -> String {
    let mut line = String::from(match rule.effect {
        Effect::Allow => "allows",
        Effect::NoEntry => "keeps out of every entry and allow",
        Effect::Ask => "asks for",
        Effect::Deny => "denies",
    });
    line.push_str(&text::inline(&about(rule)));
    if !rule.network.is_empty() {
        let ports: Vec<_> = rule.network.iter().map(u16::to_string).collect();
        let _ignored = write!(line, ", with TCP {}", ports.join(", "));
    }
    if let Some(expires) = &rule.expires {
        let _ignored = write!(line, ", for {}", text::inline(expires));
    }
    line.push_str(&needs(&rule.demands.require));
    line
}

fn about(rule: &RuleOut) -> String {
    match (&rule.command, &rule.path, &rule.tool) {
        (Some(command), ..) if rule.effect == Effect::Allow => {
            format!(" the command {command}, by its key")
        }
        (Some(command), ..) => format!(" the command {command}, wherever it stands"),
        (None, Some(path), Some(tool)) => format!(" calls of {tool} at {path}"),
        (None, Some(path), None) => format!(" every call at {path}"),
        (None, None, Some(tool)) => format!(" every call of {tool}"),
        (None, None, None) => String::new(),
    }
}
