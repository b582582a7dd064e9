//! The page of one run: what it is, its timeline, what waits, how it ended.

use std::fmt::Write;

use placet_ledger::id::Name;
use placet_ledger::view::{Card, Row};

use super::card::{self, Look};
use super::reason::{reason, word};
use super::report;
use super::text::{self, Letters};
use super::timeline::{self, time};
use crate::wire::runs::{LimitsOut, RunShow, ShownFacts};
use crate::wire::usage::summary;

/// Lines and bytes of a prompt or a last text that the page shows; --json has all of it.
const LINES_MAX: usize = 40;
const BYTES_MAX: usize = 8 * 1024;

/// The page.
pub(crate) fn page(
    show: &RunShow,
    rows: &[Row],
    cards: &[Card],
    prefix: &str,
    look: &Look,
) -> String {
    let state = show.outcome.or(show.state).unwrap_or("quarantined");
    let mut out = look.title(&format!("run {} {state}", show.run));
    out.push('\n');
    if let Some(facts) = &show.facts {
        about(&mut out, facts, look);
    }
    if let Some(found) = &show.quarantine {
        let (position, version) = (found.position, found.version);
        let detail = text::inline(&found.detail);
        let _ignored = writeln!(
            out,
            "  it does not fold and is not driven any more: the record at position {position} \
             (version {version}): {detail}\n  {} audit verify tells more",
            look.program
        );
    }
    out.push('\n');
    out.push_str(&look.title("timeline (UTC)"));
    out.push('\n');
    out.push_str(&timeline::rows(rows, &show.events));
    for one in cards {
        out.push('\n');
        out.push_str(&card::card(one, prefix, look));
    }
    if let Some(facts) = &show.facts {
        next(&mut out, facts, cards, prefix, look);
        resumed(&mut out, show, facts, prefix, look);
    }
    out
}

fn line(out: &mut String, name: &str, value: &str) {
    let _ignored = writeln!(out, "  {name:<12} {value}");
}

fn about(out: &mut String, facts: &ShownFacts, look: &Look) {
    let agent = text::marked(facts.agent.as_str());
    let model = text::marked(facts.model.as_str());
    line(out, "agent", &format!("{agent}, model {model}"));
    let attendance = match facts.attendance {
        placet_ledger::policy::Attendance::Person => "a person attends",
        placet_ledger::policy::Attendance::Park => "waits for answers",
        placet_ledger::policy::Attendance::Nobody => "declines what would ask",
    };
    let started = facts.policy_at_start;
    let started = started.map(|policy| format!(" (started with {policy})"));
    let started = started.unwrap_or_default();
    line(
        out,
        "policy",
        &format!("{}{started}, {attendance}", facts.policy),
    );
    allowed(out, facts);
    if let Some(workspace) = &facts.workspace {
        line(out, "workspace", &text::quoted(workspace, Letters::Marked));
    }
    line(out, "started", &time(facts.started_at));
    if let Some(driver) = &facts.driver {
        line(out, "driven by", &driver.to_string());
    }
    line(out, "budget left", &budget(&facts.limits, &facts.left));
    line(out, "so far", &summary(&facts.calls, &facts.usage));
    for (name, shown) in [("prompt", &facts.prompt), ("last text", &facts.text)] {
        if let Some(shown) = shown {
            words(out, name, shown, look);
        }
    }
    if let Some(error) = &facts.error {
        words(out, "the model could not go on", error, look);
    }
    if let Some(cap) = &facts.cap {
        line(out, "ended on", cap);
    }
    report::steered(out, &facts.steered);
    report::amended(out, &facts.amended);
    for call in facts.unsuccessful.iter().chain(&facts.declined) {
        let name = call.tool.as_deref().or(call.named.as_deref());
        let name = name.map_or_else(|| String::from("(no name)"), text::marked);
        let reason = reason(call).map(|reason| format!(": {reason}"));
        let reason = reason.unwrap_or_default();
        line(
            out,
            word(call.why),
            &format!("{} {name}{reason}", call.call),
        );
        if let Some(detail) = &call.detail {
            text::block(out, detail, look.margin(Letters::Kept));
        }
    }
}

/// The tools that run unasked, where some were added since the start.
fn allowed(out: &mut String, facts: &ShownFacts) {
    let names = |tools: &[Name]| {
        let names: Vec<_> = tools
            .iter()
            .map(|tool| text::marked(tool.as_str()))
            .collect();
        names.join(", ")
    };
    if !facts.allowed_later.is_empty() {
        let (all, later) = (names(&facts.allowed_tools), names(&facts.allowed_later));
        line(
            out,
            "run unasked",
            &format!("{all} (since the start: {later})"),
        );
    }
}

/// Text of a person or a model behind its margin, and how much of it was left out.
pub(super) fn words(out: &mut String, name: &str, shown: &str, look: &Look) {
    let _ignored = writeln!(out, "  {name}");
    let (shown, left) = text::head(shown, LINES_MAX, BYTES_MAX);
    text::block(out, shown, look.margin(Letters::Kept));
    if let Some(left) = left {
        let _ignored = writeln!(out, "    ({left})");
    }
}

/// What is left of each cap.
pub(crate) fn budget(limits: &LimitsOut, left: &LimitsOut) -> String {
    let of = |left: Option<u64>, limit: Option<u64>, what: &str| {
        Some(format!("{} of {} {what}", left?, limit?))
    };
    let cost = |limits: &LimitsOut| limits.cost_usd.map(|cost| cost.to_string());
    let seconds = |ms: Option<u64>| ms.map(|ms| ms / 1000);
    let parts = [
        of(left.iterations, limits.iterations, "model calls"),
        of(left.tokens, limits.tokens, "tokens"),
        cost(left)
            .zip(cost(limits))
            .map(|(left, limit)| format!("{left} of {limit} USD")),
        of(
            seconds(left.duration_ms),
            seconds(limits.duration_ms),
            "active seconds",
        ),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        "no caps".to_owned()
    } else {
        parts.join(", ")
    }
}

/// The caps of an agent.
pub(crate) fn caps(limits: &LimitsOut) -> String {
    let of = |limit: Option<u64>, what: &str| Some(format!("{} {what}", limit?));
    let parts = [
        of(limits.iterations, "model calls"),
        of(limits.tokens, "tokens"),
        limits.cost_usd.map(|cost| format!("{cost} USD")),
        of(limits.duration_ms.map(|ms| ms / 1000), "active seconds"),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        "none".to_owned()
    } else {
        parts.join(", ")
    }
}

/// How a run goes on for which nobody has to answer.
fn resumed(out: &mut String, show: &RunShow, facts: &ShownFacts, prefix: &str, look: &Look) {
    let program = &look.program;
    let _ignored = match show.state {
        _ if facts.driver.is_some() => Ok(()),
        _ if facts.undriven => writeln!(
            out,
            "\nnobody drives it: {program} runs resume {prefix} goes on with it"
        ),
        Some("waiting") if facts.pending.is_empty() => {
            writeln!(out, "\nnext: {program} runs resume {prefix}")
        }
        Some(_) | None => Ok(()),
    };
}

/// What can be done now.
fn next(out: &mut String, facts: &ShownFacts, cards: &[Card], prefix: &str, look: &Look) {
    if facts.expired {
        let _ignored = writeln!(
            out,
            "\nnobody answered in time: the next command that moves the run ends it as expired"
        );
    } else if let Some(set) = &facts.set {
        out.push('\n');
        out.push_str(&card::answers(prefix, set, &card::approvals(cards), look));
    }
    for one in cards {
        out.push_str(&card::words(one, prefix, look));
    }
}
