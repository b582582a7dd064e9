//! Where time, ids and salts come from: two small traits, implemented at the edge.

use async_trait::async_trait;

use crate::content::Salt;
use crate::id::{CommandId, DriverId, EventId, StreamId, Version};
use crate::time::Timestamp;

/// Wall time and a monotonic clock.
#[async_trait]
pub trait Clock: Send + Sync {
    /// The time of day now.
    fn now(&self) -> Timestamp;

    /// Milliseconds on a clock that never steps and counts suspend; its zero means nothing.
    fn monotonic_ms(&self) -> u64;

    /// Waits for so many milliseconds.
    async fn pause(&self, ms: u64);
}

/// What is drawn for the record of one stream at one version. A replay hands back what the
/// record holds; everything else about a record is derived.
pub trait Stamps: Send + Sync {
    /// The time of the record; `not_before` is the newest time in the log.
    fn at(&self, stream: StreamId, version: Version, not_before: Timestamp) -> Timestamp;

    /// The id of the record, which is the first that comes of a command `of` another process.
    fn id(
        &self,
        stream: StreamId,
        version: Version,
        at: Timestamp,
        of: Option<CommandId>,
    ) -> EventId;

    /// A driver's id.
    fn driver(&self) -> DriverId;

    /// The salt of a content that the record names first, under `name`.
    fn salt(&self, stream: StreamId, version: Version, name: &str, bytes: &[u8]) -> Salt;
}
