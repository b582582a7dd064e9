//! What would become of a call: a line for each layer of the gate, and a mark on the one that
//! decides.

use placet_engine::engine::Explained;
use placet_ledger::approval::By;
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
    out
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
        Verdict::Ask { rule, tier, .. } => {
            format!("ask a person ({tier}), by {}", text::marked(rule.as_str()))
        }
        Verdict::Question => String::from("put the question to a person"),
        Verdict::Unjudged => String::from("ask whoever judges how risky it is"),
        Verdict::Decline { kind, of, rule } => {
            let of = of.map(|of| format!(" {of}")).unwrap_or_default();
            let rule = rule
                .as_ref()
                .map(|rule| format!(" {}", text::marked(rule.as_str())));
            let (kind, rule) = (
                refusal_word(*kind).replace('_', " "),
                rule.unwrap_or_default(),
            );
            format!("decline, {kind}{rule}{of}")
        }
    }
}

fn whose(by: &By) -> String {
    match by {
        By::Policy { rule } => text::marked(rule.as_str()),
        By::List { tool } => format!("list entry {}", text::marked(tool.as_str())),
        By::Person { principal, .. } => text::marked(principal.as_str()),
        By::Grant { grant } => format!("grant {grant}"),
        By::Rule { rule } => text::marked(rule.as_str()),
        By::Tool => String::from("the tool"),
    }
}
