//! `placet runs replay`: drive a run again from its record, and compare.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use placet_engine::policy::Gate;
use placet_engine::recording::{Recording, RecordingError, load};
use placet_engine::replay::{ReplayError, replay};
use placet_ledger::event::Outcome;
use placet_ledger::regular;
use serde_json::json;

use crate::commands::words;
use crate::error::{CommandError, Kind};
use crate::exit::ExitStatus;
use crate::reading::{self, Reading};
use crate::wiring::Wiring;

/// What makes an export that can be replayed.
const EXPORT_ONE: &str = "placet audit export --run RUN";

/// Bytes of an export that is replayed: all of it is held in memory.
const EXPORT_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;

/// Drive a run again from its record, and compare
///
/// Nothing is done outside: no tool runs, no model is asked. Exit 6 where it differs; the first
/// divergence is named.
///
/// Example: placet runs replay b3e41f
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The run, by the first digits of its id, or a file with its export
    #[arg(value_name = "RUN|FILE")]
    run: String,
}

/// Replays a run.
pub(crate) fn run(args: &ReplayArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let recording = recording(&args.run, wiring)?;
    let Some(run) = recording.run.first().map(|first| first.stream().run()) else {
        return Err(CommandError::new(Kind::NotFound, "the record holds no run"));
    };
    match wiring.block_on(replay(&recording, Arc::new(Gate))) {
        Ok(replayed) => {
            let outcome = replayed.outcome.map(Outcome::as_str);
            if wiring.printer.json() {
                let run = run.to_string();
                let value = json!({"ok": true, "run": run, "records": replayed.records});
                wiring.printer.value(&value)?;
            } else {
                let end = outcome.map_or_else(|| "not ended".to_owned(), str::to_owned);
                let text = format!(
                    "replayed {} records, byte for byte ({end})\n",
                    replayed.records
                );
                wiring.printer.data(&text)?;
            }
            Ok(ExitStatus::Done)
        }
        Err(ReplayError::Diverged(divergence)) => {
            if wiring.printer.json() {
                wiring.printer.value(&json!({
                    "ok": false, "run": run.to_string(), "version": divergence.version,
                    "detail": divergence.detail,
                    "recorded": divergence.recorded, "replayed": divergence.replayed,
                }))?;
            }
            Err(CommandError::new(Kind::Integrity, *divergence))
        }
        Err(error) => Err(CommandError::new(Kind::Integrity, error)),
    }
}

fn text_of(path: &Path) -> Result<String, CommandError> {
    let shown = path.display();
    let bytes = regular::read_named(path, EXPORT_BYTES_MAX).map_err(|error| {
        let what = format!("cannot read the export {shown}: {error}");
        CommandError::new(words::unreadable(&error), what)
    })?;
    String::from_utf8(bytes)
        .map_err(|_| CommandError::usage(format!("the export {shown} is not UTF-8")))
}

/// The record of a run: of the ledger, or of an export in a file.
fn recording(named: &str, wiring: &mut Wiring<'_>) -> Result<Recording, CommandError> {
    let path = wiring.printer.io().path(Path::new(named));
    // What is there and no file is named as what it is, not looked for as a run.
    if path.exists() && (path.is_file() || named.contains(['/', '.'])) {
        let text = text_of(&path)?;
        let recording = load(&text).map_err(|error| match error {
            RecordingError::NoRun => CommandError::usage(error).hint(EXPORT_ONE),
            changed => CommandError::new(Kind::Integrity, changed),
        })?;
        let named = recording
            .run
            .iter()
            .flat_map(|record| record.blobs().values());
        let mut left_out = named.filter(|blob| recording.contents.get(&blob.commitment).is_none());
        if left_out.next().is_some() {
            let what = "the export holds facts alone; a replay needs the contents";
            return Err(CommandError::usage(what).hint(EXPORT_ONE));
        }
        return Ok(recording);
    }
    if named.contains(['/', '.']) {
        let what = format!("there is no file {}", path.display());
        return Err(CommandError::new(Kind::NotFound, what));
    }
    let reading = Reading::open(wiring)?;
    let run = wiring.block_on(reading.find(named))?;
    let ledger = wiring.home.ledger();
    let ledger = ledger.ok_or_else(|| CommandError::new(Kind::NotFound, "there is no ledger"))?;
    let gathered = wiring.block_on(Recording::gather(reading.store(), ledger, run));
    gathered.map_err(reading::damaged)
}
