//! The system clock: the only reader of time in the workspace.

use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use placet_ledger::clock::Clock;
use placet_ledger::time::Timestamp;
use rustix::time::{ClockId, Timespec, clock_gettime};
use tokio::sync::oneshot;

/// The clocks of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

const fn nanos(time: Timespec) -> (i64, i64) {
    (time.tv_sec, time.tv_nsec)
}

#[async_trait]
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

    /// On a thread of its own: whoever waits may be driven by any executor.
    async fn pause(&self, ms: u64) {
        let (sender, passed) = oneshot::channel::<()>();
        let timer = thread::Builder::new().name(String::from("placet-pause"));
        let waits = timer.spawn(move || {
            thread::sleep(Duration::from_millis(ms));
            drop(sender);
        });
        match waits {
            Ok(_) => drop(passed.await),
            Err(error) => tracing::warn!(%error, "the system has no room to wait"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_needs_no_timer_of_the_executor_and_does_not_end_too_early() {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let before = SystemClock.monotonic_ms();
        runtime.unwrap().block_on(SystemClock.pause(3));
        assert!(SystemClock.monotonic_ms() >= before + 3);
    }
}
