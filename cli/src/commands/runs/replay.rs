//! `placet runs replay`: drive a run again from its record, and compare.

use std::sync::Arc;

use clap::Args;
use placet_engine::policy::Gate;
use placet_engine::replay::{Recording, ReplayError, replay};
use placet_ledger::content::Contents;
use placet_ledger::envelope::Envelope;
use placet_ledger::event::Outcome;
use placet_ledger::id::{StreamId, Version};
use placet_ledger::store::EventStore;
use placet_ledger::store::pages::read_stream;
use serde_json::json;

use crate::commands::runs::find;
use crate::error::{CommandError, Kind};
use crate::exit::ExitStatus;
use crate::reading;
use crate::wiring::Wiring;

/// Drive a run again from its record; exit 6 and the first divergence if it differs
///
/// Nothing is done outside: no tool runs, no model is asked.
///
/// Example: placet runs replay b3e41f
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The run, by the first digits of its id
    run: String,
}

/// Replays a run.
pub(crate) fn run(args: &ReplayArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let open = wiring.open()?;
    let run = find(wiring, &open, &args.run)?;
    let authority = open.ledger.authority().ledger().authority();
    let recording = wiring.block_on(async {
        let store = &**open.ledger.store();
        let mut recording = Recording::default();
        recording.authority = stream(store, authority, &mut recording.contents).await?;
        recording.run = stream(store, run.stream(), &mut recording.contents).await?;
        Ok::<_, CommandError>(recording)
    })?;
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

/// All records of a stream, and all of its contents.
async fn stream(
    store: &dyn EventStore,
    stream: StreamId,
    contents: &mut Contents,
) -> Result<Vec<Envelope>, CommandError> {
    let read = read_stream(store, stream, Version::ZERO).await;
    let records: Vec<_> = read
        .map_err(reading::damaged)?
        .into_iter()
        .map(|record| record.envelope)
        .collect();
    for record in &records {
        let wanted: Vec<_> = record
            .blobs()
            .values()
            .map(|blob| blob.commitment)
            .collect();
        if !wanted.is_empty() {
            let opened = store.content(stream, &wanted).await;
            contents.extend(opened.map_err(reading::damaged)?);
        }
    }
    Ok(records)
}
