//! Where a run stands, in a few lines, and what to type next.

use std::fmt::Write;

use placet_ledger::view::SteeredBy;

use super::Printer;
use super::card::Look;
use super::reason::{reason, word};
use super::run_page::words;
use super::{steered, text};
use crate::error::CommandError;
use crate::wire::done::{DoneCall, Known};
use crate::wire::run::{AmendedCall, LeftCall, PolicyChange, RunReport, UnsuccessfulCall};

/// Columns of a reason: the whole of it stands in `audit show`.
const DETAIL_COLUMNS: usize = 100;

/// Prints where a run stands; `prefix` is how it is named.
pub(crate) fn print(
    printer: &mut Printer<'_>,
    report: &RunReport,
    prefix: &str,
    look: &Look,
) -> Result<(), CommandError> {
    let state = report.outcome.unwrap_or(report.state);
    let mut out = look.title(&format!("run {} {state}", report.run));
    out.push('\n');
    if let Some(said) = &report.text {
        words(&mut out, "last text", said, look);
    }
    if let Some(error) = &report.error {
        words(&mut out, "the model could not go on", error, look);
    }
    if let Some(cap) = &report.cap {
        let _ignored = writeln!(out, "  ended on     {cap}");
        let left = match report.unheard.as_slice() {
            [] => String::from("the model was to be asked again"),
            calls => format!("the model was not told what came of {}", calls.join(", ")),
        };
        let _ignored = writeln!(out, "  left undone  {left}");
    }
    steered(&mut out, &report.steered);
    amended(&mut out, &report.amended);
    for call in &report.done {
        done(&mut out, call);
    }
    for call in report.unsuccessful.iter().chain(&report.declined) {
        not_done(&mut out, call);
    }
    // An interruption is told above, by its cause and with what the tool said, and so is what was
    // done.
    let above = |left: &&LeftCall| {
        let mut told = report.unsuccessful.iter();
        let mut done = report.done.iter();
        left.state == "interrupted" && told.any(|call| call.call == left.call)
            || done.any(|call| call.call == left.call)
    };
    for call in report.left.iter().filter(|left| !above(left)) {
        let tool = call.tool.as_deref().map(text::marked).unwrap_or_default();
        let state = call.state.replace('_', " ");
        let _ignored = writeln!(out, "  {state:<12} {} {tool}", call.call);
    }
    for call in &report.pending {
        let asks = match call.kind {
            "in_doubt" => "in doubt",
            "question" => "asks you",
            _ => "waits",
        };
        let tool = text::marked(&call.tool);
        let _ignored = writeln!(out, "  {:<12} {} {tool}", asks, call.call);
    }
    if let Some(driver) = &report.driver {
        let program = &look.program;
        let _ignored = writeln!(out, "driven by {driver}: {program} runs show {prefix}");
    } else if !report.pending.is_empty() {
        let _ignored = writeln!(out, "next: {} runs show {prefix}", look.program);
    } else if report.outcome.is_none() {
        let _ignored = writeln!(out, "next: {} runs resume {prefix}", look.program);
    }
    printer.data(&out)
}

/// What a change of the policy comes to; `prefix` is how the run is named.
pub(crate) fn policy(change: &PolicyChange, prefix: &str, look: &Look) -> String {
    let before = if change.before == change.policy {
        String::from("as before")
    } else {
        format!("before: {}", change.before)
    };
    let title = format!("run {} policy {} ({before})", change.run, change.policy);
    let mut out = look.title(&title);
    out.push('\n');
    let program = &look.program;
    let _ignored = match change.pending.len() {
        0 => Ok(()),
        1 => writeln!(
            out,
            "  1 call still needs an answer: {program} runs show {prefix}"
        ),
        calls => writeln!(
            out,
            "  {calls} calls still need an answer: {program} runs show {prefix}"
        ),
    };
    out
}

/// The calls that left files that steer programs otherwise than they were.
pub(super) fn steered(out: &mut String, calls: &[SteeredBy]) {
    for by in calls {
        let (call, words) = (by.call, text::marked(&steered::words(by)));
        let _ignored = writeln!(out, "  {:<12} {call}: {words} (look at that)", "steers");
    }
}

/// The calls to which a person gave other arguments.
pub(super) fn amended(out: &mut String, calls: &[AmendedCall]) {
    for AmendedCall {
        call,
        tool,
        superseded_by,
    } in calls
    {
        let tool = text::marked(tool);
        let _ignored = writeln!(
            out,
            "  {:<12} {call} {tool}: {superseded_by} stands in its place",
            "amended"
        );
    }
}

/// A call that took effect, and what it changed or what was said of it.
fn done(out: &mut String, call: &DoneCall) {
    let (word, took_effect) = match call.known {
        Known::Executed => ("done", ""),
        Known::Settled => ("settled", ": it took effect"),
    };
    let tool = text::marked(&call.tool);
    let _ignored = write!(out, "  {word:<12} {} {tool}{took_effect}", call.call);
    if let Some(message) = &call.message {
        let _ignored = write!(out, ": {}", text::excerpt(message, DETAIL_COLUMNS));
    }
    out.push('\n');
}

/// A call that was not done, and why.
fn not_done(out: &mut String, call: &UnsuccessfulCall) {
    let name = call.tool.as_deref().or(call.named.as_deref());
    let name = name.map_or_else(|| String::from("(no name)"), text::marked);
    let _ignored = write!(out, "  {:<12} {} {name}", word(call.why), call.call);
    if let Some(reason) = reason(call) {
        let _ignored = write!(out, ": {reason}");
    }
    if let Some(detail) = &call.detail {
        let _ignored = write!(out, ": {}", text::excerpt(detail, DETAIL_COLUMNS));
    }
    out.push('\n');
}
