//! A store that also tells what was appended, for `--events`.

use std::sync::Arc;

use async_trait::async_trait;
use placet_ledger::content::{Commitment, Contents};
use placet_ledger::envelope::Recorded;
use placet_ledger::id::{Position, StreamId, Version};
use placet_ledger::store::{
    AppendError, Appended, Batch, EventStore, Expected, ReadError, ReadStore, Stored, Tail, Unless,
};
use tokio::sync::mpsc::UnboundedSender;

/// A store that also tells what was appended.
pub(crate) struct Tee {
    /// The store.
    pub(crate) store: Arc<dyn EventStore>,
    /// Whoever wants to know.
    pub(crate) told: UnboundedSender<Recorded>,
}

#[async_trait]
impl EventStore for Tee {
    async fn append(
        &self,
        stream: StreamId,
        expected: Expected,
        batch: Batch,
        unless: &[Unless],
    ) -> Result<Appended, AppendError> {
        let records = batch.records.clone();
        let appended = self.store.append(stream, expected, batch, unless).await?;
        for (position, envelope) in (appended.first.get()..).zip(records) {
            let position = Position::new(position);
            // Nobody may be listening any more; the record stands all the same.
            drop(self.told.send(Recorded { position, envelope }));
        }
        Ok(appended)
    }
}

#[async_trait]
impl ReadStore for Tee {
    async fn read_run(
        &self,
        stream: StreamId,
        from: Version,
        limit: usize,
    ) -> Result<Vec<Stored>, ReadError> {
        self.store.read_run(stream, from, limit).await
    }

    async fn read_all(&self, from: Position, limit: usize) -> Result<Vec<Stored>, ReadError> {
        self.store.read_all(from, limit).await
    }

    async fn tail(&self) -> Result<Tail, ReadError> {
        self.store.tail().await
    }

    async fn content(
        &self,
        stream: StreamId,
        commitments: &[Commitment],
    ) -> Result<Contents, ReadError> {
        self.store.content(stream, commitments).await
    }
}
