//! The card of a pending call as text: what would run, whole, and how it was judged.
//!
//! All text on it is the recorded proposal's and passes `text`. A card never shortens anything.

mod command;
pub(crate) mod screen;
#[cfg(test)]
pub(crate) mod tests;
mod words;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

use placet_engine::steering::asks_always;
use placet_ledger::approval::Demands;
use placet_ledger::id::{CallId, Name};
use placet_ledger::time::Timestamp;
use placet_ledger::view::{Card, CardKind};
use serde_json::Value;

use super::steered;
use super::text::rows::{self, Paint, Row};
use super::text::{self, Letters, Margin};
use super::timeline::time;
pub(crate) use command::key;

/// Arguments that hold text for people or files; every other one may name something, so that
/// letters that look like ASCII are marked in it.
const TEXT_ARGUMENTS: &[&str] = &[
    "content", "message", "new_text", "old_text", "options", "question", "text",
];

/// The part that shows what a call changes.
const DIFF: &str = "diff";

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
    /// Why rules are there, by their names.
    pub(crate) reasons: BTreeMap<Name, String>,
}

impl Look {
    /// Why a rule is there; one that cannot be read whether it is meant has the same reason.
    pub(crate) fn reason(&self, rule: &Name) -> Option<&String> {
        let rule = rule.as_str();
        let rule = rule.strip_prefix("unreadable:").unwrap_or(rule);
        self.reasons.get(&rule.parse::<Name>().ok()?)
    }

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
    let mut out = look.title(&title(card, prefix));
    out.push('\n');
    for (name, value) in facts(card, look) {
        line(&mut out, name, &value);
    }
    for part in parts(card, look, usize::MAX) {
        line(&mut out, part.name, &part.beside);
        for row in part.rows {
            out.push_str(&row.shown);
            out.push('\n');
        }
    }
    if let Some(request) = &card.request {
        line(&mut out, "request", &request.to_string());
    }
    out
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

/// What a card asks, in a line.
fn title(card: &Card, prefix: &str) -> String {
    let asks = match card.kind {
        CardKind::Approval => "may it run?",
        CardKind::Question => "the agent asks",
        CardKind::InDoubt => "in doubt: it was started, and nobody knows whether it took effect",
    };
    format!("{} {} of run {prefix}: {asks}", card.call, card.tool)
}

/// A part of a card that holds text of others.
struct Part {
    name: &'static str,
    /// What stands beside its name.
    beside: String,
    rows: Vec<Row>,
}

impl Part {
    fn of(name: &'static str, rows: Vec<Row>) -> Self {
        Self {
            name,
            beside: String::new(),
            rows,
        }
    }
}

/// The parts of a card, of each at most so many rows and one that stands for the rest.
fn parts(card: &Card, look: &Look, most: usize) -> Vec<Part> {
    let block = |text: &str, letters| block(text, letters, look, most);
    let mut parts = Vec::new();
    if card.steered_more > 0 {
        let beside = format!("{} older calls, which runs show names", card.steered_more);
        parts.push(Part {
            name: "steered by",
            beside,
            rows: Vec::new(),
        });
    }
    for by in &card.steered {
        parts.push(Part {
            name: "steered by",
            beside: format!("{}: look at these files first", by.call),
            rows: block(&steered::words(by), Letters::Marked),
        });
    }
    for denied in &card.denied_before {
        let note = denied.note.as_ref();
        parts.push(Part {
            name: "denied before",
            beside: format!("{} on the same target", denied.call),
            rows: note.map_or_else(Vec::new, |note| block(note, Letters::Kept)),
        });
    }
    if let (CardKind::Question, Some(message)) = (card.kind, &card.message) {
        // All of its arguments, as a person reads them.
        parts.push(Part::of("question", block(message, Letters::Kept)));
        return parts;
    }
    let detail = card.detail.as_ref();
    parts.extend(detail.map(|text| Part::of("what is known", block(text, Letters::Marked))));
    let runs = "what would run";
    parts.push(match &card.arguments {
        Some(value) => Part::of(runs, arguments(value, look, most)),
        None => Part {
            name: runs,
            beside: String::from("cannot be read"),
            rows: Vec::new(),
        },
    });
    parts.extend(command::parts(card, look, most));
    let given = card.arguments_given.as_ref();
    parts.extend(given.map(|value| Part::of("arguments as given", arguments(value, look, most))));
    let message = card.message.as_ref();
    parts.extend(message.map(|text| Part::of("message", block(text, Letters::Marked))));
    let preview = card.preview.as_ref();
    parts.extend(preview.map(|text| match card.program {
        Some(_) => Part::of("words", block(text, Letters::Marked)),
        None => Part::of(DIFF, diff(text, look, most)),
    }));
    parts
}

fn block(text: &str, letters: Letters, look: &Look, most: usize) -> Vec<Row> {
    let paint = Paint {
        letters,
        color: None,
        strong: &[],
    };
    rows::rows(text, look.margin(letters), most, |_| paint)
}

/// The command lines that answer all that is pending in a run.
pub(crate) fn answers(prefix: &str, set: &str, pending: &Approvals, look: &Look) -> String {
    let program = &look.program;
    let mut out = format!("set code {set}: it stands for every request of {prefix} above\n");
    let Approvals { open, denied_only } = pending;
    if denied_only.is_empty() {
        let _ignored = writeln!(out, "  {program} runs approve {prefix} --set {set}");
    }
    let _ignored = writeln!(
        out,
        "  {program} runs reject {prefix} --set {set} --note \"why\""
    );
    let (some, rest) = match (open.as_slice(), denied_only.is_empty()) {
        ([first @ .., last], true) => (first, vec![*last]),
        (all, _) => (all, denied_only.clone()),
    };
    if !some.is_empty() {
        let words = |calls: &[CallId]| {
            let calls: Vec<_> = calls.iter().map(CallId::to_string).collect();
            calls.join(" ")
        };
        let _ignored = writeln!(
            out,
            "  {program} runs approve {prefix} {} --reject {} --set {set} --note \"why\"",
            words(some),
            words(&rest)
        );
    }
    out
}

/// Whether an answer to this card is too late.
pub(crate) fn is_expired(card: &Card, look: &Look) -> bool {
    card.kind != CardKind::InDoubt && card.expires_at.is_some_and(|at| look.now >= at)
}

/// The calls of one run that wait for an approval.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Approvals {
    /// Those that can be approved.
    open: Vec<CallId>,
    /// Those of which only a denial is accepted.
    denied_only: Vec<CallId>,
}

/// The approvals among the cards of one run.
pub(crate) fn approvals<'a>(cards: impl IntoIterator<Item = &'a Card>) -> Approvals {
    let mut approvals = Approvals::default();
    let asks = cards
        .into_iter()
        .filter(|card| card.kind == CardKind::Approval);
    for card in asks {
        let calls = if card.demands.is_out_of_reach() {
            &mut approvals.denied_only
        } else {
            &mut approvals.open
        };
        calls.push(card.call);
    }
    approvals
}

fn line(out: &mut String, name: &str, value: &str) {
    let written = format!("  {name:<14} {value}");
    out.push_str(written.trim_end());
    out.push('\n');
}

/// How the call was judged, what to beware of, and what holds for it.
fn facts(card: &Card, look: &Look) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Some(tier) = card.tier {
        let rule = card.rule.as_ref().map(|rule| text::marked(rule.as_str()));
        let rule = rule
            .map(|rule| format!(", asked by {rule}"))
            .unwrap_or_default();
        facts.push(("tier", format!("{tier}{rule}")));
    }
    if let Some(reason) = card.rule.as_ref().and_then(|rule| look.reason(rule)) {
        facts.push(("reason", text::inline(reason)));
    }
    facts.extend(warnings(card));
    if card.kind != CardKind::Question {
        facts.extend(command::before(card));
        facts.push(("containment", command::containment(card)));
    }
    let asks = card.kind != CardKind::InDoubt;
    if let Some(expires) = card.expires_at.filter(|_| asks) {
        let left = if look.now >= expires {
            "expired: an answer is too late".to_owned()
        } else {
            format!("in {}", span(expires.ms_since(look.now)))
        };
        facts.push(("expires", format!("{} ({left})", time(expires))));
    }
    // Where one by anyone is enough, whoever reads the card knows that it has none.
    if card.demands != Demands::default() {
        facts.push(("needs", text::marked(&card.demands.to_string())));
    }
    if card.demands.is_out_of_reach() {
        let value = "nobody can give that in this release: only a denial is accepted";
        facts.push(("no approval", value.to_owned()));
    }
    facts.extend(command::after(card));
    facts
}

fn warnings(card: &Card) -> Vec<(&'static str, String)> {
    let mut warnings = Vec::new();
    let always = card.rule.as_ref().map(Name::as_str).and_then(asks_always);
    if let Some(about) = always.filter(|_| card.kind == CardKind::Approval) {
        let value = format!("{about}, whatever the policy");
        warnings.push(("asks always", value));
    }
    if let Some(old) = card.supersedes {
        let value = format!("{old}, to which a person gave these arguments");
        warnings.push(("in place of", value));
    }
    if card.kind == CardKind::Question {
        let value = "the agent asks, not placet, which never asks for passwords or secrets here";
        warnings.push(("who asks", value.to_owned()));
    }
    if let Some(earlier) = card.depends_on {
        let value = format!("{earlier} is about the same place: once it ran, this one is stale");
        warnings.push(("depends on", value));
    }
    if let Some(earlier) = card.amended_before {
        let value = format!("{earlier} asked for the same, and a person changed it");
        warnings.push(("changed before", value));
    }
    if !card.unreadable.is_empty() {
        let parts: Vec<_> = card
            .unreadable
            .iter()
            .map(|part| text::marked(part))
            .collect();
        let value = format!("{}: do not approve what you cannot see", parts.join(", "));
        warnings.push(("unreadable", value));
    }
    warnings
}

fn arguments(value: &Value, look: &Look, most: usize) -> Vec<Row> {
    match value {
        Value::Object(fields) if fields.is_empty() => vec![Row {
            shown: String::from("    (no arguments)"),
            first: true,
            lines: 1,
            bytes: 0,
        }],
        Value::Object(fields) => {
            let rows = fields
                .iter()
                .map(|(name, value)| argument(name, value, look, most));
            let mut rows: Vec<Vec<Row>> = rows.collect();
            // What fits beside its name says what it is about: it is never below a long text.
            rows.sort_by_key(|rows| rows.len() > 1);
            rows.into_iter().flatten().collect()
        }
        other => block(&other.to_string(), Letters::Marked, look, most),
    }
}

fn argument(name: &str, value: &Value, look: &Look, most: usize) -> Vec<Row> {
    let letters = if TEXT_ARGUMENTS.contains(&name) {
        Letters::Kept
    } else {
        Letters::Marked
    };
    let text = match value {
        Value::String(text) => Cow::Borrowed(text.as_str()),
        other => Cow::Owned(other.to_string()),
    };
    let shown_name = argument_name(name);
    let room = look.width.saturating_sub(INDENT.saturating_add(4));
    let beside = room.saturating_sub(shown_name.len());
    // What is shown of a text is never shorter than the text.
    let shown = (text.len() <= beside && !text.contains('\n')).then(|| match value {
        Value::String(text) => text::quoted(text, letters),
        _ => text::marked(&text),
    });
    let row = |shown: String, bytes| Row {
        shown,
        first: true,
        lines: 1,
        bytes,
    };
    if let Some(shown) = shown.filter(|shown| shown.len() <= beside) {
        let bytes = name.len().saturating_add(text.len());
        return vec![row(format!("    {shown_name} {shown}"), bytes)];
    }
    let mut rows = if shown_name.len() <= room {
        vec![row(format!("    {shown_name}"), name.len())]
    } else {
        // A row that the terminal breaks itself would go on where rows of ours begin.
        block(name, Letters::Marked, look, most)
    };
    rows.extend(block(&text, letters, look, most));
    rows
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

/// The rows of a diff; above its first hunk it names files.
fn diff(preview: &str, look: &Look, most: usize) -> Vec<Row> {
    let changed = if look.color {
        words::changed(preview, most)
    } else {
        Vec::new()
    };
    let mut changed = changed.iter();
    let mut letters = Letters::Marked;
    rows::rows(preview, look.margin(letters), most, |line| {
        if line.starts_with("@@") {
            letters = Letters::Kept;
        }
        let color = match line.chars().next() {
            Some('+') => Some((GREEN, PLAIN)),
            Some('-') => Some((RED, PLAIN)),
            Some('@') => Some((CYAN, PLAIN)),
            Some(_) | None => None,
        };
        Paint {
            letters,
            color: color.filter(|_| look.color),
            strong: changed.next().map(Vec::as_slice).unwrap_or_default(),
        }
    })
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
