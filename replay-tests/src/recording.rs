//! Recordings as files: a run exported as JSON lines, loaded, and replayed with a readable end.
//!
//! ```no_run
//! # async fn test(text: &str) -> Result<(), Box<dyn std::error::Error>> {
//! // text: what `placet audit export --run RUN` wrote
//! let recording = placet_replay::recording::load(text)?;
//! placet_replay::recording::replay(&recording).await?;
//! # Ok(())
//! # }
//! ```

use std::fmt;
use std::sync::Arc;

use placet_engine::diff::unified;
use placet_engine::policy::Gate;
use placet_engine::replay::{Divergence, ReplayError};
use placet_ledger::export::{self, ExportWriteError, What};
use placet_ledger::id::RunId;
use placet_ledger::judge::Judge;
use placet_ledger::store::ReadStore;
use serde_json::Value;

pub use placet_engine::recording::{Recording, RecordingError, load};
pub use placet_engine::replay::Replayed;

/// Writes the export of one run, contents included.
pub async fn save(store: &dyn ReadStore, run: RunId) -> Result<Vec<u8>, ExportWriteError> {
    let mut text = Vec::new();
    let what = What {
        run: Some(run),
        facts_only: false,
    };
    export::export(store, what, &mut text).await?;
    Ok(text)
}

/// Why a recording does not replay, told for people.
pub struct NotReplayed(ReplayError);

impl NotReplayed {
    /// Where it came to something else, if that is why.
    pub fn divergence(&self) -> Option<&Divergence> {
        match &self.0 {
            ReplayError::Diverged(divergence) => Some(divergence),
            ReplayError::Authority(_) | ReplayError::Empty | ReplayError::Ledger(_) => None,
        }
    }
}

impl fmt::Display for NotReplayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)?;
        if let Some(divergence) = self.divergence() {
            write!(f, "\n{}", explain(divergence))?;
        }
        Ok(())
    }
}

impl fmt::Debug for NotReplayed {
    // A test that unwraps shows this.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for NotReplayed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

/// Drives a run again from its recording and compares, byte for byte, under the gate of today.
pub async fn replay(recording: &Recording) -> Result<Replayed, NotReplayed> {
    replay_under(recording, Arc::new(Gate)).await
}

/// The same under another judge: that of the world in which the run was made.
pub async fn replay_under(
    recording: &Recording,
    judge: Arc<dyn Judge>,
) -> Result<Replayed, NotReplayed> {
    let replayed = placet_engine::replay::replay(recording, judge).await;
    replayed.map_err(NotReplayed)
}

/// A record with a line for each field, so that two can be compared.
fn lines(record: &str) -> String {
    let pretty =
        serde_json::from_str(record).and_then(|value: Value| serde_json::to_string_pretty(&value));
    match pretty {
        Ok(text) => text + "\n",
        Err(_) => format!("{record}\n"),
    }
}

/// The first divergence as a diff from what was recorded to what the replay came to.
pub fn explain(divergence: &Divergence) -> String {
    let recorded = divergence.recorded.as_deref().map(lines);
    let replayed = divergence.replayed.as_deref().map(lines);
    let name = format!("version {}", divergence.version);
    unified(&name, recorded.as_deref(), replayed.as_deref()).text
}
