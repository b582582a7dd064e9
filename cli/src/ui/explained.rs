//! What would become of a call: a line for each layer of the gate, and a mark on the one that
//! decides.

use placet_engine::engine::Explained;
use placet_engine::policy::rules::Stand;
use placet_engine::policy::{Certain, CommandStands, RuleStands, Stands};
use placet_ledger::approval::{By, Demands};
use placet_ledger::containment::Containment;
use placet_ledger::judge::Verdict;

use super::card::Look;
use super::table::table;
use super::text;
use crate::wire::run::refusal_word;

/// The page.
pub(crate) fn page(explained: &Explained, look: &Look) -> String {
    let tool = text::marked(explained.tool.as_str());
    let mut out = look.title(&format!("{tool}: {}", says(&explained.verdict)));
    out.push('\n');
    let decides = explained.decided_by();
    let mut reached = true;
    let rows: Vec<_> = explained
        .layers
        .iter()
        .map(|(layer, verdict)| {
            let decides = decides.is_some_and(|one| one.name == layer.name);
            let says = match verdict {
                _ if !reached => String::from("not reached"),
                Some(verdict) => says(verdict),
                None => String::from("-"),
            };
            reached = reached && !decides;
            vec![
                String::from(if decides { ">" } else { " " }),
                layer.name.to_owned(),
                says,
            ]
        })
        .collect();
    out.push_str(&table(&[], &rows));
    beside(&mut out, explained);
    out
}

/// What is told beside the layers, a line each.
fn beside(out: &mut String, explained: &Explained) {
    let stands = &explained.stands;
    let mut rows = Vec::new();
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    if let Some(command) = &stands.command {
        command_rows(&mut row, command);
        for over in &explained.over {
            let why = over.why();
            let key = text::inline(&over.key);
            row("entry", format!("{key} ({}): {why}", over.grant));
        }
    }
    for rule in &stands.rules {
        row("rule", rule_row(rule));
    }
    row("sandbox", sandbox(stands));
    row(
        "at most",
        format!("{}, under high-risk", says(&stands.at_most)),
    );
    out.push_str(&table(&[], &rows));
}

fn command_rows(row: &mut impl FnMut(&str, String), command: &CommandStands) {
    let reading = &command.reading;
    let by_syntax = reading.syntax_high_risk;
    let why = text::inline(&reading.why);
    row(
        "read as",
        if by_syntax {
            format!("high-risk by its syntax: {why}")
        } else {
            why
        },
    );
    let key = reading.key.as_deref().map(text::inline);
    row(
        "key",
        key.unwrap_or_else(|| String::from("none: no entry and no allow covers it")),
    );
    row(
        "tier",
        match &command.certain {
            Certain::ReadOnly => String::from("read-only, by its text and its program"),
            Certain::HighRisk(why) => format!("high-risk, since {}", text::inline(why)),
            Certain::Nothing(why) => format!(
                "not certain, since {}: a plugin or a model judges where the policy asks for it, else \
             it is high-risk",
                text::inline(why)
            ),
        },
    );
    for member in &command.members {
        let key = member.key.as_deref().map_or_else(
            || String::from("no key"),
            |key| format!("key {}", text::inline(key)),
        );
        let entries = member
            .entries
            .iter()
            .map(|grant| format!("grant {grant} covers it"));
        let rules = member.rules.iter().map(|(rule, effect)| {
            format!("{} says {}", text::marked(rule.as_str()), effect.as_str())
        });
        let alone: Vec<_> = [key].into_iter().chain(entries).chain(rules).collect();
        row(
            "member",
            format!("{}: {}", text::inline(&member.text), alone.join(", ")),
        );
    }
    for entry in &command.entries {
        let ports: Vec<_> = entry.without.iter().map(u16::to_string).collect();
        let without = if ports.is_empty() {
            String::new()
        } else {
            format!(", without TCP {}, which it wants", ports.join(", "))
        };
        let how = match &entry.short {
            Some(why) => why.clone(),
            None => format!("covers it{without}"),
        };
        let key = text::inline(&entry.key);
        row(
            "entry",
            format!("{key} ({}): {}", entry.grant, text::inline(&how)),
        );
    }
}

fn rule_row(rule: &RuleStands) -> String {
    let of = if rule.workspace {
        " of the workspace"
    } else {
        ""
    };
    let how = match &rule.stand {
        Stand::Speaks => String::new(),
        Stand::Unreadable => String::from(": which programs run cannot all be read, so it asks"),
        Stand::Short(why) => format!(": does not cover it, {}", text::inline(why)),
    };
    let reason = rule.reason.as_deref().map(text::inline);
    let reason = reason
        .map(|reason| format!(" ({reason})"))
        .unwrap_or_default();
    let name = text::marked(rule.rule.as_str());
    let needs = needs(&rule.demands);
    format!("{} by {name}{of}{needs}{how}{reason}", rule.effect.as_str())
}

fn sandbox(stands: &Stands) -> String {
    let ports: Vec<_> = stands.network.iter().map(u16::to_string).collect();
    let network = if ports.is_empty() {
        String::from("no network")
    } else {
        format!("TCP {}", ports.join(", "))
    };
    match stands.level.containment() {
        Containment::InProcess => String::from("none needed: it starts no process"),
        level @ (Containment::Full | Containment::Partial | Containment::None) => {
            let missing: Vec<_> = stands
                .level
                .missing()
                .iter()
                .map(|part| part.as_str())
                .collect();
            let without = if missing.is_empty() {
                String::new()
            } else {
                format!(" without {}", missing.join(", "))
            };
            format!("{}{without}, {network}", level.as_str())
        }
    }
}

/// A verdict in words.
fn says(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Approve { by, tier, network } => {
            let ports: Vec<_> = network.iter().map(u16::to_string).collect();
            let network = if ports.is_empty() {
                String::new()
            } else {
                format!(", with TCP {}", ports.join(", "))
            };
            format!("approve ({tier}), by {}{network}", whose(by))
        }
        Verdict::Ask {
            rule,
            demands,
            tier,
            ..
        } => {
            let rule = text::marked(rule.as_str());
            format!("ask a person ({tier}), by {rule}{}", needs(demands))
        }
        Verdict::Question => String::from("put the question to a person"),
        Verdict::Unjudged => String::from("ask whoever judges how risky it is"),
        Verdict::Decline { kind, of, rule } => {
            let of = of.map(|of| format!(" {of}")).unwrap_or_default();
            let rule = rule
                .as_ref()
                .map(|forbids| format!(" {}", text::marked(forbids.rule.as_str())));
            let (kind, rule) = (
                refusal_word(*kind).replace('_', " "),
                rule.unwrap_or_default(),
            );
            format!("decline, {kind}{rule}{of}")
        }
    }
}

/// What is demanded of approvals, where one by anyone is not enough.
pub(super) fn needs(demands: &Demands) -> String {
    if *demands == Demands::default() {
        return String::new();
    }
    text::marked(&format!(", needs {demands}"))
}

fn whose(by: &By) -> String {
    match by {
        By::Policy { rule } | By::Rule { rule } => text::marked(rule.as_str()),
        By::List { tool } => format!("list entry {}", text::marked(tool.as_str())),
        By::Person { principal, .. } => text::marked(principal.as_str()),
        By::Grant { grant } => format!("grant {grant}"),
        By::Tool => String::from("the tool"),
    }
}
