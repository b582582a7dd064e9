//! Reading what a world's store holds: records, names of events, recordings.

use placet_engine::recording::Recording;
use placet_ledger::digest::Digest;
use placet_ledger::envelope::Envelope;
use placet_ledger::id::{RunId, StreamId, Version};
use placet_ledger::store::pages::read_stream;

use crate::world::{World, WorldError, ledger_id};

impl World {
    /// Everything durable of a run.
    pub async fn records(&self, run: RunId) -> Result<Vec<Envelope>, WorldError> {
        self.stream(run.stream()).await
    }

    /// Where a run stands: two equal heads are two equal histories.
    pub async fn head(&self, run: RunId) -> Result<Option<(Version, Digest)>, WorldError> {
        let records = self.records(run).await?;
        Ok(records.last().map(|last| (last.version(), last.digest())))
    }

    /// The names of the events of a run, in order.
    pub async fn names(&self, run: RunId) -> Result<Vec<&'static str>, WorldError> {
        let records = self.records(run).await?;
        Ok(records.iter().map(|record| record.event().name()).collect())
    }

    /// Everything in the journal.
    pub async fn journal(&self) -> Result<Vec<Envelope>, WorldError> {
        self.stream(self.ledger().authority().journal()).await
    }

    /// Everything in a stream.
    pub async fn stream(&self, stream: StreamId) -> Result<Vec<Envelope>, WorldError> {
        let records = read_stream(&**self.store(), stream, Version::ZERO).await?;
        Ok(records.into_iter().map(|record| record.envelope).collect())
    }

    /// A run as a recording: what a replay needs of it.
    pub async fn recording(&self, run: RunId) -> Result<Recording, WorldError> {
        Ok(Recording::gather(&**self.store(), ledger_id(), run).await?)
    }
}
