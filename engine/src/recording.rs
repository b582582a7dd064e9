//! Recordings: what a replay needs of a run, gathered from a store or read from an export.

use placet_ledger::content::{Commitment, Contents};
use placet_ledger::envelope::Envelope;
use placet_ledger::export::{ExportError, read_export};
use placet_ledger::id::{LedgerId, RunId, StreamId, Version};
use placet_ledger::store::pages::read_stream;
use placet_ledger::store::{ReadError, ReadStore};

/// What a replay needs of a run: its records, those of the authority stream, and the contents.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    /// The authority stream.
    pub authority: Vec<Envelope>,
    /// The run.
    pub run: Vec<Envelope>,
    /// The contents of both.
    pub contents: Contents,
}

impl Recording {
    /// Gathers a run from a store.
    pub async fn gather(
        store: &dyn ReadStore,
        ledger: LedgerId,
        run: RunId,
    ) -> Result<Self, ReadError> {
        let mut recording = Self::default();
        recording.authority = recording.stream(store, ledger.authority()).await?;
        recording.run = recording.stream(store, run.stream()).await?;
        Ok(recording)
    }

    /// All records of a stream; its contents are added to the others.
    async fn stream(
        &mut self,
        store: &dyn ReadStore,
        stream: StreamId,
    ) -> Result<Vec<Envelope>, ReadError> {
        let records = read_stream(store, stream, Version::ZERO).await?;
        let records: Vec<_> = records.into_iter().map(|record| record.envelope).collect();
        for record in &records {
            let named = record.blobs().values();
            let wanted: Vec<_> = named.map(|blob| blob.commitment).collect();
            if !wanted.is_empty() {
                self.contents.extend(store.content(stream, &wanted).await?);
            }
        }
        Ok(records)
    }
}

/// Why a text is no recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// It is no export.
    #[error("cannot read the recording")]
    Export(#[from] ExportError),
    /// A record of it cannot be read.
    #[error("cannot read a record of the recording")]
    Record(#[from] ReadError),
    /// A content does not fit its commitment.
    #[error("the content {0} of the recording was changed")]
    Content(Commitment),
    /// It is an export of a whole ledger.
    #[error("the recording is of no single run")]
    NoRun,
}

/// Reads the export of one run.
pub fn load(text: &str) -> Result<Recording, RecordingError> {
    let export = read_export(text.lines())?;
    let run = export.header.run.ok_or(RecordingError::NoRun)?;
    let authority = export.header.ledger.authority();
    let mut recording = Recording::default();
    for stored in export.records {
        let envelope = stored.parse()?.envelope;
        if envelope.stream() == run.stream() {
            recording.run.push(envelope);
        } else if envelope.stream() == authority {
            recording.authority.push(envelope);
        }
    }
    for exported in export.contents {
        if exported.content.commitment() != exported.commitment {
            return Err(RecordingError::Content(exported.commitment));
        }
        recording.contents.insert(exported.content);
    }
    Ok(recording)
}
