//! Stamps of a live ledger: time from a clock, ids and salts from the system's random numbers.

use std::sync::Arc;

use placet_ledger::clock::{Clock, Stamps};
use placet_ledger::content::Salt;
use placet_ledger::id::{CommandId, DriverId, EventId, StreamId, Version};
use placet_ledger::time::Timestamp;
use uuid::Uuid;

/// Stamps of a live ledger.
pub struct LiveStamps {
    clock: Arc<dyn Clock>,
}

impl LiveStamps {
    /// Stamps with the time of this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock }
    }
}

impl Stamps for LiveStamps {
    fn at(&self, _: StreamId, _: Version, not_before: Timestamp) -> Timestamp {
        self.clock.now().max(not_before)
    }

    fn id(&self, _: StreamId, _: Version, at: Timestamp, of: Option<CommandId>) -> EventId {
        let ms = u64::try_from(at.millis()).unwrap_or(0);
        let command = of.unwrap_or_else(|| CommandId::new(Uuid::new_v4()));
        EventId::of_command(ms, command)
    }

    fn driver(&self) -> DriverId {
        DriverId::new(Uuid::new_v4())
    }

    fn salt(&self, _: StreamId, _: Version, _: &str, _: &[u8]) -> Salt {
        // Two UUIDs hold 244 random bits; the crate has no way to fail, where the system has none.
        let mut salt = [0; 32];
        let halves = [Uuid::new_v4().into_bytes(), Uuid::new_v4().into_bytes()];
        salt.iter_mut()
            .zip(halves.as_flattened())
            .for_each(|(to, from)| *to = *from);
        Salt(salt)
    }
}
