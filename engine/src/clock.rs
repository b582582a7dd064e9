//! The system clock: the only reader of time in the workspace.

use placet_ledger::clock::Clock;
use placet_ledger::time::Timestamp;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// The clocks of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

const fn nanos(time: Timespec) -> (i64, i64) {
    (time.tv_sec, time.tv_nsec)
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let (seconds, nanos) = nanos(clock_gettime(ClockId::Realtime));
        let micros = seconds
            .saturating_mul(1_000_000)
            .saturating_add(nanos / 1_000);
        Timestamp::from_micros(micros).unwrap_or(Timestamp::EPOCH)
    }

    fn monotonic_ms(&self) -> u64 {
        // Boottime counts suspend, as budgets and limits must.
        let (seconds, nanos) = nanos(clock_gettime(ClockId::Boottime));
        let ms = seconds
            .saturating_mul(1_000)
            .saturating_add(nanos / 1_000_000);
        u64::try_from(ms).unwrap_or(0)
    }
}
