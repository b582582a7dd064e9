//! The fixtures: recorded runs as files, and the worked example of the event format.

use placet_engine::recording::Recording;
use placet_ledger::content::{Content, Contents, Salt};
use placet_ledger::envelope::{Envelope, RecordError};
use serde::Deserialize;

/// The records of the worked example, one a line.
pub const WORKED_EXAMPLE_RECORDS: &str = include_str!("../fixtures/worked_example/records.jsonl");

/// The contents of the worked example: content n has the salt n, 32 times.
pub const WORKED_EXAMPLE_CONTENTS: &str = include_str!("../fixtures/worked_example/contents.jsonl");

/// A content of the worked example.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExampleContent {
    /// Its number, and the byte of its salt.
    pub n: u8,
    /// Its text.
    pub content: String,
    /// Its commitment.
    pub commitment: String,
}

/// Why a fixture cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A record.
    #[error("cannot read a record of the fixture")]
    Record(#[from] RecordError),
    /// A content.
    #[error("cannot read a content of the fixture")]
    Content(#[from] serde_json::Error),
}

/// The worked example as a recording.
pub fn worked_example() -> Result<Recording, CorpusError> {
    let mut recording = Recording::default();
    for line in WORKED_EXAMPLE_RECORDS.lines() {
        let envelope = Envelope::parse(line.as_bytes())?;
        if envelope.stream() == envelope.header().ledger.authority() {
            recording.authority.push(envelope);
        } else {
            recording.run.push(envelope);
        }
    }
    recording.contents = contents()?;
    Ok(recording)
}

/// The contents of the worked example.
pub fn contents() -> Result<Contents, CorpusError> {
    let mut contents = Contents::default();
    for line in WORKED_EXAMPLE_CONTENTS.lines() {
        let line: ExampleContent = serde_json::from_str(line)?;
        contents.insert(Content::new(Salt([line.n; 32]), line.content.into_bytes()));
    }
    Ok(contents)
}
