//! `placet audit verify`: whether a ledger, or an export, is what was written.

use std::fmt::Write;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use placet_engine::policy::Gate;
use placet_ledger::audit::{HeadPosition, verify, verify_lines, verify_records};
use placet_ledger::limits::{CONTENT_BYTES_MAX, RECORD_BYTES_MAX};
use placet_ledger::regular;
use placet_ledger::store::ReadStore;
use placet_ledger::store::head::Head;
use placet_ledger::store::sled::OpenError;

use crate::commands::words;
use crate::error::{CommandError, Kind};
use crate::exit::ExitStatus;
use crate::reading::quietly;
use crate::ui::bar::{Bar, Read as BarRead};
use crate::ui::text;
use crate::wire::verify::{FindingOut, Verified};
use crate::wiring::Wiring;

/// Bytes of one line of an export: a content of which every byte is written as six, and as many
/// bytes beside it as a record may have. A reader of evidence must not be kept reading without end.
const LINE_BYTES_MAX: u64 = (6 * CONTENT_BYTES_MAX + RECORD_BYTES_MAX) as u64;

/// Verify the ledger, or an export
///
/// Every record, link, content and automatic decision, on a copy: nothing is changed, but rights
/// of others to the keys are taken away. Exit 6 where something is not as it was written; the first
/// bad position is named with the reason.
///
/// Example: placet audit verify evidence.jsonl
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Everything from the first record on, which is what this release always does
    #[arg(long)]
    full: bool,

    /// The records alone: that none was changed, dropped or moved. What they say, contents,
    /// decisions and runs as they are read by themselves are not looked at
    #[arg(long, conflicts_with_all = ["full", "file"])]
    records: bool,

    /// An export [default: the ledger]
    file: Option<PathBuf>,
}

/// Verifies.
pub(crate) fn run(args: &VerifyArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let (verified, what) = match &args.file {
        Some(file) => {
            let path = wiring.printer.io().path(file);
            (of_file(&path)?, "export")
        }
        None => (of_ledger(wiring, args.records)?, "ledger"),
    };
    if wiring.printer.json() {
        wiring.printer.value(&verified)?;
    } else {
        wiring.printer.data(&page(&verified, what))?;
    }
    Ok(if verified.ok {
        ExitStatus::Done
    } else {
        ExitStatus::Integrity
    })
}

/// The ledger, on a copy: a store that is damaged may make the library under it panic.
fn of_ledger(wiring: &mut Wiring<'_>, records: bool) -> Result<Verified, CommandError> {
    let head_dir = wiring.head_dir()?;
    let verified = quietly(|| {
        let _scratch;
        let (store, why): (Arc<dyn ReadStore>, _) = match wiring.open_copy() {
            Ok(copied) => {
                _scratch = copied.scratch;
                (Arc::new(copied.store), copied.why.map(CommandError::from))
            }
            // Another process holds it: that one hands over the records, and the walk judges them.
            Err(error) if error.kind == Kind::Conflict => (Arc::new(wiring.reach()?), None),
            Err(error) => return unopened(error),
        };
        let head = Head::read(&head_dir).ok();
        let head = head.as_ref().map(HeadPosition::from);
        let bar = Bar::new(&wiring.printer, "verifying");
        let report = wiring.block_on(async {
            if records {
                let read = BarRead::new(&*store, &bar, 1).await;
                verify_records(&read, head).await
            } else {
                let read = BarRead::new(&*store, &bar, 2).await;
                verify(&read, head, Some(&Gate)).await
            }
        });
        bar.end();
        let mut verified = Verified::from(report);
        if let Some((kind, why)) = why.and_then(|why| own_finding(&why, verified.ok)) {
            verified.findings.push(FindingOut::of_store(kind, why));
            verified.ok = false;
        }
        Ok(verified)
    });
    verified.unwrap_or_else(|panic| {
        let detail = format!("reading the store failed: {panic}");
        Ok(Verified::failed(FindingOut::of_store(
            "store_unreadable",
            detail,
        )))
    })
}

/// A store that does not open is a finding; one that is not there, or in use, is an error.
fn unopened(error: CommandError) -> Result<Verified, CommandError> {
    if error.kind == Kind::Integrity {
        let finding = FindingOut::of_store("store_unreadable", error.message());
        Ok(Verified::failed(finding))
    } else {
        Err(error)
    }
}

/// What opening found and the walk cannot see: a file that is missing or torn.
fn own_finding(why: &CommandError, nothing_else: bool) -> Option<(&'static str, String)> {
    let kind = match why.source.downcast_ref::<OpenError>() {
        Some(OpenError::HeadMissing(_)) => "head_missing",
        Some(OpenError::Head(_)) => "head_unreadable",
        Some(OpenError::KeysMissing(_)) => "keys_missing",
        Some(OpenError::Keys { .. }) => "keys_unreadable",
        _ if nothing_else => "store_unreadable",
        _ => return None,
    };
    Some((kind, why.message()))
}

fn of_file(path: &Path) -> Result<Verified, CommandError> {
    let shown = path.display();
    let cannot = |error: std::io::Error| {
        let kind = words::unreadable(&error);
        CommandError::new(kind, format!("cannot read the export {shown}: {error}"))
    };
    let malformed = |detail| Verified::failed(FindingOut::of_store("export_malformed", detail));
    let mut reader = BufReader::new(regular::open_named(path).map_err(cannot)?);
    let mut lines = Vec::new();
    loop {
        let number = lines.len().saturating_add(1);
        let mut line = Vec::new();
        let mut bounded = (&mut reader).take(LINE_BYTES_MAX.saturating_add(1));
        let read = bounded.read_until(b'\n', &mut line).map_err(cannot)?;
        if read == 0 {
            break;
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if bounded.limit() == 0 {
            let detail =
                format!("line {number} of the export has more than {LINE_BYTES_MAX} bytes");
            return Ok(malformed(detail));
        }
        let Ok(line) = String::from_utf8(line) else {
            return Ok(malformed(format!(
                "line {number} of the export is not UTF-8"
            )));
        };
        lines.push(line);
    }
    match verify_lines(lines, None, Some(&Gate)) {
        Ok(report) => Ok(report.into()),
        Err(error) => {
            let detail = CommandError::new(Kind::Integrity, error).message();
            Ok(malformed(detail))
        }
    }
}

fn page(verified: &Verified, what: &str) -> String {
    let mut out = String::new();
    let found = match verified.findings.len() {
        1 => "1 finding".to_owned(),
        count => format!("{count} findings"),
    };
    let first = verified
        .findings
        .iter()
        .find_map(|finding| finding.position);
    let _ignored = match (verified.ok, first) {
        (true, _) if !verified.unchecked.is_empty() => {
            writeln!(
                out,
                "ok: the records of the {what} are those that were written"
            )
        }
        (true, _) => writeln!(out, "ok: the {what} is what was written"),
        (false, Some(position)) => {
            writeln!(
                out,
                "NOT OK: {found}, the first bad position is #{position}"
            )
        }
        (false, None) => writeln!(out, "NOT OK: {found}"),
    };
    for finding in &verified.findings {
        let place = finding.position.map(|position| format!("#{position} "));
        let stream = finding.run.map(|run| match finding.version {
            Some(version) => format!("{run}@{version} "),
            None => format!("{run} "),
        });
        let (place, stream) = (place.unwrap_or_default(), stream.unwrap_or_default());
        let (kind, detail) = (finding.kind, text::inline(&finding.detail));
        let _ignored = writeln!(out, "  {place}{stream}{kind}: {detail}");
    }
    if verified.findings_left_out > 0 {
        let _ignored = writeln!(out, "  and {} more", verified.findings_left_out);
    }
    let _ignored = writeln!(out, "  size       {} records", verified.size);
    if let Some(root) = &verified.root {
        let _ignored = writeln!(out, "  root       {root}");
    }
    if let Some(head) = &verified.head {
        let _ignored = writeln!(out, "  head       {} records, {}", head.size, head.root);
    }
    if !verified.unchecked.is_empty() {
        let unchecked = verified.unchecked.join(", ");
        let _ignored = writeln!(out, "  unchecked  {unchecked}");
        return out;
    }
    let (content, decisions) = (&verified.content, &verified.decisions);
    let _ignored = writeln!(
        out,
        "  contents   {} readable, {} not\n  decisions  {} judged again, {} not",
        content.readable, content.unreadable, decisions.judged, decisions.unjudged
    );
    out
}
