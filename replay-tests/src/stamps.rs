//! Time, ids and salts for tests: a clock that moves only when told to, and stamps that count.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use async_trait::async_trait;
use placet_ledger::clock::{Clock, Stamps};
use placet_ledger::content::Salt;
use placet_ledger::id::{CommandId, DriverId, EventId, StreamId, Version};
use placet_ledger::time::Timestamp;
use uuid::Uuid;

/// 2026-12-01T09:00:00Z, when every simulated clock starts.
const START_MICROS: i64 = 1_796_115_600_000_000;

/// A clock that stands until a test moves it.
#[derive(Debug)]
pub struct SimClock(AtomicI64);

impl Default for SimClock {
    fn default() -> Self {
        Self(AtomicI64::new(START_MICROS))
    }
}

impl SimClock {
    /// A clock that stands at this time.
    pub fn standing_at(time: Timestamp) -> Self {
        Self(AtomicI64::new(time.micros()))
    }

    /// Moves the clock on.
    pub fn advance_ms(&self, ms: u64) {
        let micros = i64::try_from(ms).unwrap_or(0).saturating_mul(1_000);
        self.0.fetch_add(micros, Ordering::SeqCst);
    }

    /// Sets the clock back, as a machine with a wrong clock does.
    pub fn step_back_ms(&self, ms: u64) {
        let micros = i64::try_from(ms).unwrap_or(0).saturating_mul(1_000);
        self.0.fetch_sub(micros, Ordering::SeqCst);
    }
}

#[async_trait]
impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst)).unwrap_or(Timestamp::EPOCH)
    }

    fn monotonic_ms(&self) -> u64 {
        u64::try_from(self.now().millis()).unwrap_or(0)
    }

    /// Time passes at once.
    async fn pause(&self, ms: u64) {
        self.advance_ms(ms);
    }
}

/// Stamps whose ids and salts are numbers that rise, so that no two are alike and none is random.
#[derive(Debug)]
pub struct CountingStamps {
    clock: Arc<SimClock>,
    ids: AtomicU64,
    salts: AtomicU64,
}

impl CountingStamps {
    /// Stamps with the time of this clock.
    pub fn new(clock: Arc<SimClock>) -> Self {
        Self {
            clock,
            ids: AtomicU64::new(0),
            salts: AtomicU64::new(0),
        }
    }

    /// Stamps that go on from where these are, with the time of another clock.
    #[must_use]
    pub fn with_clock(&self, clock: Arc<SimClock>) -> Self {
        Self {
            clock,
            ids: AtomicU64::new(self.ids.load(Ordering::SeqCst)),
            salts: AtomicU64::new(self.salts.load(Ordering::SeqCst)),
        }
    }

    /// A random-looking UUID that is a number: runs, answers, hosts.
    pub fn uuid(&self) -> Uuid {
        let number = self.ids.fetch_add(1, Ordering::SeqCst);
        let mut bytes = [0_u8; 16];
        // The number comes first: people shorten ids, so the first digits must differ.
        let (high, low) = bytes.split_at_mut(8);
        high.copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        low.copy_from_slice(&number.to_be_bytes());
        uuid::Builder::from_random_bytes(bytes).into_uuid()
    }
}

impl Stamps for CountingStamps {
    fn at(&self, _: StreamId, _: Version, not_before: Timestamp) -> Timestamp {
        self.clock.now().max(not_before)
    }

    fn id(&self, _: StreamId, _: Version, at: Timestamp, _: Option<CommandId>) -> EventId {
        let number = self.ids.fetch_add(1, Ordering::SeqCst);
        let ms = u64::try_from(at.millis()).unwrap_or(0);
        let mut tail = [0_u8; 10];
        tail.iter_mut()
            .rev()
            .zip(number.to_le_bytes())
            .for_each(|(to, from)| *to = from);
        EventId::new(uuid::Builder::from_unix_timestamp_millis(ms, &tail).into_uuid())
    }

    fn driver(&self) -> DriverId {
        DriverId::new(self.uuid())
    }

    fn salt(&self, _: StreamId, _: Version, _: &str, _: &[u8]) -> Salt {
        let number = self.salts.fetch_add(1, Ordering::SeqCst);
        let mut salt = [0_u8; 32];
        salt.iter_mut()
            .zip(number.to_be_bytes())
            .for_each(|(to, from)| *to = from);
        Salt(salt)
    }
}
