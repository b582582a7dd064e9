//! `placet audit export`: evidence that can be verified without this ledger.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use placet_ledger::export::{ExportWriteError, Exported, What, export};
use serde::Serialize;

use crate::error::{BACKUP, CommandError, Kind};
use crate::exit::ExitStatus;
use crate::reading::Reading;
use crate::ui::bar::{Bar, Read};
use crate::unusable::cannot_use;
use crate::wiring::Wiring;

/// Write records and contents as JSON lines that audit verify checks
///
/// Contents stand in it in clear unless --facts-only is given. An existing file is not
/// overwritten.
///
/// Example: placet audit export --run b3e41f --out evidence.jsonl
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// This run alone, with the authority stream; by the first digits of its id
    #[arg(long, value_name = "R")]
    run: Option<String>,

    /// The new file [default: standard output]
    #[arg(long, value_name = "F")]
    out: Option<PathBuf>,

    /// Leave contents out; what is left still verifies
    #[arg(long)]
    facts_only: bool,
}

/// What was written to a file.
#[derive(Debug, Serialize)]
struct ExportOut {
    out: String,
    lines: u64,
    complete: bool,
    unreadable: u64,
}

/// Writes an export.
pub(crate) fn run(args: &ExportArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    if args.out.is_none() && wiring.printer.io().stdout_is_terminal {
        return Err(CommandError::usage("an export is not for a terminal")
            .hint("name a file with --out F, or send standard output somewhere"));
    }
    let reading = Reading::open(wiring)?;
    let run = match &args.run {
        Some(prefix) => Some(wiring.block_on(reading.find(prefix))?),
        None => None,
    };
    let what = What {
        run,
        facts_only: args.facts_only,
    };
    match &args.out {
        Some(out) => {
            let path = wiring.printer.io().path(out);
            to_file(wiring, &reading, what, &path)?;
        }
        None => to_stdout(wiring, &reading, what)?,
    }
    Ok(ExitStatus::Done)
}

fn to_stdout(wiring: &mut Wiring<'_>, reading: &Reading, what: What) -> Result<(), CommandError> {
    let sink: Box<dyn Write + Send> = Box::new(std::io::sink());
    let mut out = std::mem::replace(&mut wiring.printer.io().stdout, sink);
    let exported = exported(wiring, reading, what, &mut out);
    wiring.printer.io().stdout = out;
    match exported {
        Ok(exported) => {
            say_unreadable(wiring, exported);
            Ok(())
        }
        // A reader that has gone away wants no more.
        Err(ExportWriteError::Write(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            Ok(())
        }
        Err(error) => Err(failed(error)),
    }
}

/// Writes it all, and shows how far that is.
fn exported(
    wiring: &Wiring<'_>,
    reading: &Reading,
    what: What,
    out: &mut (dyn Write + Send),
) -> Result<Exported, ExportWriteError> {
    let bar = Bar::new(&wiring.printer, "exporting");
    let done = wiring.block_on(async {
        let read = Read::new(reading.store(), &bar, 1).await;
        export(&read, what, out).await
    });
    bar.end();
    done
}

fn say_unreadable(wiring: &mut Wiring<'_>, exported: Exported) {
    if exported.unreadable > 0 {
        let what = format!(
            "{} contents cannot be read and are not in it",
            exported.unreadable
        );
        wiring.printer.warn(&what);
    }
}

fn to_file(
    wiring: &mut Wiring<'_>,
    reading: &Reading,
    what: What,
    path: &Path,
) -> Result<(), CommandError> {
    let shown = path.display();
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| {
            if error.kind() == std::io::ErrorKind::AlreadyExists {
                CommandError::new(Kind::Refused, format!("{shown} exists already"))
                    .hint("an export overwrites nothing: name a new file")
            } else {
                CommandError::new(Kind::Failed, format!("cannot write {shown}: {error}"))
                    .hint("--out names a new file in a folder that exists")
            }
        })?;
    let mut out = BufWriter::new(file);
    let written = exported(wiring, reading, what, &mut out)
        .map_err(failed)
        .and_then(|exported| {
            let flushed = out.flush().and_then(|()| out.get_ref().sync_all());
            flushed
                .map(|()| exported)
                .map_err(cannot_use("write", path))
        });
    let exported = match written {
        Ok(exported) => exported,
        Err(error) => {
            // Half an export is no evidence of anything.
            drop(std::fs::remove_file(path));
            return Err(error);
        }
    };
    let (lines, complete) = (
        exported.trailer.lines.saturating_add(1),
        exported.trailer.complete,
    );
    if wiring.printer.json() {
        wiring.printer.value(&ExportOut {
            out: shown.to_string(),
            lines,
            complete,
            unreadable: exported.unreadable,
        })?;
    } else {
        let end = if complete {
            "every run in it has ended"
        } else {
            "runs in it go on"
        };
        wiring
            .printer
            .note(&format!("wrote {lines} lines to {shown}: {end}"));
    }
    say_unreadable(wiring, exported);
    Ok(())
}

fn failed(error: ExportWriteError) -> CommandError {
    let kind = match &error {
        ExportWriteError::Read(_) => Kind::Integrity,
        ExportWriteError::Write(_) | ExportWriteError::Encode(_) => Kind::Failed,
        ExportWriteError::Empty | ExportWriteError::NoRun(_) => Kind::NotFound,
    };
    let hint = kind == Kind::Integrity;
    let error = CommandError::new(kind, error);
    if hint {
        error.hint("placet audit verify tells more").hint(BACKUP)
    } else {
        error
    }
}
