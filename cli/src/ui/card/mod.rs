//! The card of a pending call as text: what would run, whole, and how it was judged.
//!
//! All text on it is the recorded proposal's and passes `text`. A card never shortens anything.

#[cfg(test)]
mod tests;

use std::fmt::Write;

use placet_ledger::containment::Containment;
use placet_ledger::id::CallId;
use placet_ledger::time::Timestamp;
use placet_ledger::view::{Card, CardKind};
use serde_json::Value;

use super::text::{self, Letters, Margin, Paint};
use super::timeline::time;

/// Arguments that hold text for people or files; every other one may name something, so that
/// letters that look like ASCII are marked in it.
const TEXT_ARGUMENTS: &[&str] = &["content", "message", "new_text", "old_text", "text"];

/// Columns before the margin of a block on a card.
const INDENT: usize = 4;

const GREEN: &str = "\x1b[32m";
const RED: &str = "\x1b[31m";
const CYAN: &str = "\x1b[36m";
const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

/// How cards are shown.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    /// With colour.
    pub(crate) color: bool,
    /// Columns of the screen.
    pub(crate) width: usize,
    /// The time to which expiries are compared.
    pub(crate) now: Timestamp,
    /// How the program is called, with the options that lead to this ledger.
    pub(crate) program: String,
}

impl Look {
    /// A margin under a line of a card.
    pub(crate) fn margin(&self, letters: Letters) -> Margin {
        Margin {
            indent: INDENT,
            width: self.width,
            letters,
        }
    }

    /// A title, bold where there is colour.
    pub(crate) fn title(&self, text: &str) -> String {
        if self.color {
            format!("{BOLD}{text}{PLAIN}")
        } else {
            text.to_owned()
        }
    }
}

/// One card; `prefix` is how its run is named.
pub(crate) fn card(card: &Card, prefix: &str, look: &Look) -> String {
    let asks = match card.kind {
        CardKind::Approval => "may it run?",
        CardKind::Question => "the agent asks",
        CardKind::InDoubt => "in doubt: it was started, and nobody knows whether it took effect",
    };
    let title = format!("{} {} of run {prefix}: {asks}", card.call, card.tool);
    let mut out = look.title(&title);
    out.push('\n');
    facts(&mut out, card, look);
    warnings(&mut out, card, look);
    let asks = card.kind == CardKind::Question;
    if !asks {
        would_run(&mut out, card, look);
    }
    if let Some(message) = &card.message {
        let (name, letters) = if asks {
            ("question", Letters::Kept)
        } else {
            ("message", Letters::Marked)
        };
        line(&mut out, name, "");
        text::block(&mut out, message, look.margin(letters));
    }
    if let Some(preview) = &card.preview {
        line(&mut out, "diff", "");
        diff(&mut out, preview, look);
    }
    if let Some(request) = &card.request {
        line(&mut out, "request", &request.to_string());
    }
    out
}

fn would_run(out: &mut String, card: &Card, look: &Look) {
    match &card.arguments {
        Some(shown) => arguments(out, "what would run", shown, look),
        None => line(out, "what would run", "cannot be read"),
    }
    if let Some(given) = &card.arguments_given {
        arguments(out, "arguments as given", given, look);
    }
}

/// The command lines by which a person says what the card asks, where no approval answers it.
pub(crate) fn words(card: &Card, prefix: &str, look: &Look) -> String {
    let (program, call) = (&look.program, card.call);
    match card.kind {
        CardKind::Question if !is_expired(card, look) => format!(
            "\n{call} asks you\n  \
             {program} runs reply {prefix} {call} \"your reply\"\n"
        ),
        CardKind::InDoubt => format!(
            "\n{call} is in doubt: look at what it would have changed, then say what became of it\n  \
             {program} runs settle {prefix} {call} --as done --note \"how you know\"\n  \
             {program} runs settle {prefix} {call} --as not-done --note \"how you know\"\n"
        ),
        CardKind::Approval | CardKind::Question => String::new(),
    }
}

/// The command lines that answer all that is pending in a run, which are `calls`.
pub(crate) fn answers(prefix: &str, set: &str, calls: &[CallId], look: &Look) -> String {
    let program = &look.program;
    let mut out = format!(
        "set code {set}: it stands for every request of {prefix} above\n  \
         {program} runs approve {prefix} --set {set}\n  \
         {program} runs reject {prefix} --set {set} --note \"why\"\n"
    );
    if let [first @ .., last] = calls
        && !first.is_empty()
    {
        let first: Vec<_> = first.iter().map(CallId::to_string).collect();
        let _ignored = writeln!(
            out,
            "  {program} runs approve {prefix} {} --reject {last} --set {set} --note \"why\"",
            first.join(" ")
        );
    }
    out
}

/// Whether an answer to this card is too late.
pub(crate) fn is_expired(card: &Card, look: &Look) -> bool {
    card.kind != CardKind::InDoubt && card.expires_at.is_some_and(|at| look.now >= at)
}

/// The approvals among the cards of one run.
pub(crate) fn approvals<'a>(cards: impl IntoIterator<Item = &'a Card>) -> Vec<CallId> {
    let asks = cards
        .into_iter()
        .filter(|card| card.kind == CardKind::Approval);
    asks.map(|card| card.call).collect()
}

fn line(out: &mut String, name: &str, value: &str) {
    let written = format!("  {name:<14} {value}");
    out.push_str(written.trim_end());
    out.push('\n');
}

fn facts(out: &mut String, card: &Card, look: &Look) {
    if let Some(tier) = card.tier {
        let rule = card.rule.as_ref().map(|rule| text::marked(rule.as_str()));
        let rule = rule
            .map(|rule| format!(", asked by {rule}"))
            .unwrap_or_default();
        line(out, "tier", &format!("{tier}{rule}"));
    }
    if card.kind != CardKind::Question {
        line(out, "containment", containment(card.containment));
    }
    let asks = card.kind != CardKind::InDoubt;
    if let Some(expires) = card.expires_at.filter(|_| asks) {
        let left = if look.now >= expires {
            "expired: an answer is too late".to_owned()
        } else {
            format!("in {}", span(expires.ms_since(look.now)))
        };
        line(out, "expires", &format!("{} ({left})", time(expires)));
    }
    if let Some(quorum) = card.quorum.filter(|_| asks) {
        let value = format!("{} of {} approvals", quorum.have, quorum.need);
        line(out, "quorum", &value);
    }
}

fn warnings(out: &mut String, card: &Card, look: &Look) {
    if let Some(old) = card.supersedes {
        let value = format!("{old}, to which a person gave these arguments");
        line(out, "in place of", &value);
    }
    if let Some(earlier) = card.depends_on {
        let value = format!("{earlier} is about the same place: once it ran, this one is stale");
        line(out, "depends on", &value);
    }
    if let Some(earlier) = card.amended_before {
        let value = format!("{earlier} asked for the same, and a person changed it");
        line(out, "changed before", &value);
    }
    for denied in &card.denied_before {
        line(
            out,
            "denied before",
            &format!("{} on the same target", denied.call),
        );
        if let Some(note) = &denied.note {
            text::block(out, note, look.margin(Letters::Kept));
        }
    }
    if !card.unreadable.is_empty() {
        let parts: Vec<_> = card
            .unreadable
            .iter()
            .map(|part| text::marked(part))
            .collect();
        let value = format!("{}: do not approve what you cannot see", parts.join(", "));
        line(out, "unreadable", &value);
    }
}

const fn containment(containment: Containment) -> &'static str {
    match containment {
        Containment::InProcess => "in-process",
        Containment::Full => "full",
        Containment::Partial => "partial",
        Containment::None => "none",
    }
}

fn arguments(out: &mut String, name: &str, value: &Value, look: &Look) {
    line(out, name, "");
    match value {
        Value::Object(fields) if fields.is_empty() => out.push_str("    (no arguments)\n"),
        Value::Object(fields) => {
            for (name, value) in fields {
                argument(out, name, value, look);
            }
        }
        other => {
            let json = other.to_string();
            text::block(out, &json, look.margin(Letters::Marked));
        }
    }
}

fn argument(out: &mut String, name: &str, value: &Value, look: &Look) {
    let letters = if TEXT_ARGUMENTS.contains(&name) {
        Letters::Kept
    } else {
        Letters::Marked
    };
    let shown = match value {
        Value::String(text) if text.contains('\n') => None,
        Value::String(text) => Some(text::quoted(text, letters)),
        other => Some(text::marked(&other.to_string())),
    };
    let name = argument_name(name);
    let room = look.width.saturating_sub(name.len().saturating_add(8));
    match (shown.filter(|shown| shown.len() <= room), value) {
        (Some(shown), _) => {
            let _ignored = writeln!(out, "    {name} {shown}");
        }
        (None, Value::String(text)) => {
            let _ignored = writeln!(out, "    {name}");
            text::block(out, text, look.margin(letters));
        }
        (None, other) => {
            let _ignored = writeln!(out, "    {name}");
            text::block(out, &other.to_string(), look.margin(letters));
        }
    }
}

/// The name of an argument; in quotes where it is no plain word, so that it draws no margin.
fn argument_name(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if !name.is_empty() && name.chars().all(plain) {
        name.to_owned()
    } else {
        text::quoted(name, Letters::Marked)
    }
}

/// A diff; above its first hunk it names files.
fn diff(out: &mut String, preview: &str, look: &Look) {
    let mut letters = Letters::Marked;
    text::painted(out, preview, look.margin(letters), |line| {
        if line.starts_with("@@") {
            letters = Letters::Kept;
        }
        let color = match line.chars().next() {
            Some('+') => Some((GREEN, PLAIN)),
            Some('-') => Some((RED, PLAIN)),
            Some('@') => Some((CYAN, PLAIN)),
            Some(_) | None => None,
        };
        let color = color.filter(|_| look.color);
        Paint { letters, color }
    });
}

/// A span of time in its largest unit, rounded down.
pub(crate) fn span(ms: u64) -> String {
    let (amount, unit) = match ms / 1000 {
        seconds @ 0..120 => (seconds, "s"),
        seconds @ 120..7_200 => (seconds / 60, "min"),
        seconds @ 7_200..172_800 => (seconds / 3_600, "h"),
        seconds => (seconds / 86_400, "days"),
    };
    format!("{amount} {unit}")
}
