//! `placet shell explain`: how a command is read, without running it.

use std::fmt::Write;

use clap::Args;
use placet_engine::shell::Word;
use placet_engine::shell::explain::{Explanation, explain};
use serde::Deserialize;

use crate::commands::grants;
use crate::commands::words::Object;
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::ui::{Printer, text};
use crate::unusable::cannot;
use crate::wire::shell::ExplainedOut;

/// The most bytes of commands that are read at once.
const STDIN_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Tell how a command is read: its words, hazards and key
///
/// Nothing is run and no ledger is opened. --entry asks whether entries of an allowlist cover it.
/// --stdin reads {"command":"git status","entries":["git"]} on each line, and answers each in JSON.
///
/// Example: placet shell explain 'git status --short' --entry git
#[expect(
    clippy::doc_link_with_quotes,
    reason = "it is JSON, and help shows it as it is"
)]
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The command, as one word
    #[arg(required_unless_present = "stdin", conflicts_with = "stdin")]
    command: Option<String>,

    /// An entry of an allowlist, such as git or git status; may be repeated
    #[arg(long = "entry", value_name = "ENTRY", conflicts_with = "stdin")]
    entries: Vec<String>,

    /// Read commands from standard input, one JSON object a line; needs --json
    #[arg(long)]
    stdin: bool,
}

/// A line of standard input.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    command: String,
    #[serde(default)]
    entries: Vec<String>,
}

/// Explains commands.
pub(crate) fn run(
    args: &ExplainArgs,
    printer: &mut Printer<'_>,
) -> Result<ExitStatus, CommandError> {
    let Some(command) = &args.command else {
        return each_line(printer);
    };
    let explanation = explain(command, &keys(&args.entries)?);
    if printer.json() {
        printer.value(&ExplainedOut::of(&explanation))?;
    } else {
        printer.data(&page(&explanation, &args.entries))?;
    }
    Ok(ExitStatus::Done)
}

/// The entries, each one that `grants add` would take.
fn keys(entries: &[String]) -> Result<Vec<String>, CommandError> {
    entries
        .iter()
        .map(|entry| grants::entry_key(entry))
        .collect()
}

/// Explains the commands of standard input up to the first line that is wrong.
fn each_line(printer: &mut Printer<'_>) -> Result<ExitStatus, CommandError> {
    if !printer.json() {
        return Err(CommandError::usage("--stdin answers in JSON").hint("add --json"));
    }
    let bytes = printer.io().stdin_up_to(STDIN_BYTES_MAX);
    let bytes = bytes
        .map_err(cannot("read standard input"))?
        .ok_or_else(|| {
            let most = STDIN_BYTES_MAX;
            CommandError::usage(format!("the commands may have at most {most} bytes"))
                .hint("explain them in several goes")
        })?;
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    if bytes.is_empty() {
        return Ok(ExitStatus::Done);
    }
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let number = index.saturating_add(1);
        let Object(Line { command, entries }) = serde_json::from_slice(line).map_err(|error| {
            let form = "{\"command\":\"git status\",\"entries\":[\"git\"]}";
            let what =
                format!("line {number} of standard input does not have the form {form}: {error}");
            CommandError::usage(what)
        })?;
        let keys = keys(&entries).map_err(|error| CommandError {
            source: format!("line {number} of standard input: {error}").into(),
            ..error
        })?;
        printer.value(&ExplainedOut::of(&explain(&command, &keys)))?;
        if printer.is_unread() {
            break;
        }
    }
    Ok(ExitStatus::Done)
}

/// What is known, a line each.
fn page(explanation: &Explanation, entries: &[String]) -> String {
    let mut out = String::new();
    let mut line = |name: &str, value: &str| {
        let _ignored = writeln!(out, "{name:<10} {value}");
    };
    line("command", &text::inline(&explanation.command));
    // Each hazard has a line of its own.
    let is_hazard = explanation.syntax_high_risk;
    let why = text::inline(&explanation.why);
    line(
        "read as",
        if is_hazard {
            "high-risk by its syntax"
        } else {
            &why
        },
    );
    for hazard in &explanation.hazards {
        let what = hazard.kind.as_str();
        line("hazard", &format!("{what}, at byte {}", hazard.at));
    }
    if let Some(words) = &explanation.words {
        let shown: Vec<_> = words.iter().map(shown).collect();
        line("words", &shown.join(" "));
    }
    let key = explanation.key.as_deref().map(text::inline);
    line("key", key.as_deref().unwrap_or("none: no entry covers it"));
    line("read-only", yes_or_no(explanation.read_only));
    if !entries.is_empty() {
        line("covered", yes_or_no(explanation.covered));
    }
    out
}

/// A word with its limits, and whether the shell may make others of it.
fn shown(word: &Word) -> String {
    let text = text::inline(&word.text);
    let mark = if word.expands { "..." } else { "" };
    format!("[{text}]{mark}")
}

const fn yes_or_no(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}
