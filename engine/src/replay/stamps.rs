//! Time, ids and salts of a replay: those of the record, each handed back at its place.

use std::collections::BTreeMap;

use async_trait::async_trait;
use placet_ledger::clock::{Clock, Stamps};
use placet_ledger::content::{Blob, Blobs, Contents, Salt};
use placet_ledger::envelope::Envelope;
use placet_ledger::id::{CommandId, DriverId, EventId, StreamId, Version};
use placet_ledger::time::Timestamp;

use crate::recording::Recording;

/// Hands back the stamps of the record.
pub(super) struct RecordedStamps {
    at: BTreeMap<(StreamId, Version), (Timestamp, EventId)>,
    /// By their place, the contents that records name, each with its name there.
    named: BTreeMap<(StreamId, Version), Blobs>,
    contents: Contents,
}

impl RecordedStamps {
    pub(super) fn new(recording: &Recording) -> Self {
        let place = |record: &Envelope| (record.stream(), record.version());
        let stamp = |record: &Envelope| (record.at(), record.header().id);
        let run = &recording.run;
        Self {
            at: run.iter().map(|r| (place(r), stamp(r))).collect(),
            named: run.iter().map(|r| (place(r), r.blobs().clone())).collect(),
            contents: recording.contents.clone(),
        }
    }

    fn says(&self, blob: &Blob, bytes: &[u8]) -> Option<Salt> {
        let content = self.contents.get(&blob.commitment)?;
        (*content.bytes == *bytes).then_some(content.salt)
    }
}

impl Stamps for RecordedStamps {
    fn at(&self, stream: StreamId, version: Version, not_before: Timestamp) -> Timestamp {
        self.at
            .get(&(stream, version))
            .map_or(not_before, |(at, _)| *at)
    }

    fn id(
        &self,
        stream: StreamId,
        version: Version,
        _: Timestamp,
        _: Option<CommandId>,
    ) -> EventId {
        let recorded = self.at.get(&(stream, version)).map(|(_, id)| *id);
        recorded.unwrap_or_else(|| EventId::new(uuid::Uuid::nil()))
    }

    fn driver(&self) -> DriverId {
        // A replay takes runs up as the drivers of the record.
        DriverId::new(uuid::Uuid::nil())
    }

    fn salt(&self, stream: StreamId, version: Version, name: &str, bytes: &[u8]) -> Salt {
        // Equal texts in another form, or in another stream, have commitments of their own.
        let here = self.named.get(&(stream, version));
        let here = here.and_then(|blobs| self.says(blobs.get(name)?, bytes));
        let later = || {
            // A note goes by another name in the command than in the record, which may be one of
            // several that the command comes to.
            let records = self.named.range((stream, version)..);
            let mut blobs = records
                .take_while(|((of, _), _)| *of == stream)
                .flat_map(|(_, blobs)| blobs.values());
            blobs.find_map(|blob| self.says(blob, bytes))
        };
        here.or_else(later).unwrap_or(Salt([0; 32]))
    }
}

/// Time stands still in a replay: whatever matters is in the records.
pub(super) struct StoppedClock;

#[async_trait]
impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        Timestamp::EPOCH
    }

    fn monotonic_ms(&self) -> u64 {
        0
    }

    async fn pause(&self, _ms: u64) {}
}
