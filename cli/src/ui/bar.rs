//! How far something is that takes long: a bar on standard error, at a terminal alone, from the
//! third second on, and gone when it is done.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use placet_engine::clock::SystemClock;
use placet_ledger::clock::Clock;
use placet_ledger::content::{Commitment, Contents};
use placet_ledger::id::{Position, StreamId, Version};
use placet_ledger::store::{ReadError, ReadStore, Show, Stored, Tail};

use super::Printer;

/// What is done before is not worth a bar.
const SHOWN_AFTER_MS: u64 = 2_000;

/// A bar; what is told of it may come from any thread.
pub(crate) struct Bar {
    what: &'static str,
    /// Whether there is anybody to look at it.
    wanted: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// When the first word came.
    since: Option<u64>,
    drawn: Option<ProgressBar>,
}

impl Bar {
    /// Nothing yet; it shows itself where standard error shows what goes on.
    pub(crate) fn new(printer: &Printer<'_>, what: &'static str) -> Self {
        Self::wanted(printer.shows_progress(), what)
    }

    fn wanted(wanted: bool, what: &'static str) -> Self {
        Self {
            what,
            wanted,
            state: Mutex::default(),
        }
    }

    /// So much is done of so much.
    pub(crate) fn tell(&self, done: u64, all: u64) {
        if self.wanted {
            let now_ms = SystemClock.monotonic_ms();
            self.tell_at(done, all, now_ms, ProgressDrawTarget::stderr);
        }
    }

    fn tell_at(&self, done: u64, all: u64, now_ms: u64, target: fn() -> ProgressDrawTarget) {
        let mut state = self.state();
        let since = *state.since.get_or_insert(now_ms);
        if !self.wanted || now_ms.saturating_sub(since) < SHOWN_AFTER_MS {
            return;
        }
        let drawn = state.drawn.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(Some(all), target());
            let form = ProgressStyle::with_template("{msg} [{bar:30}] {percent}%, {eta} left");
            // A form that cannot be read leaves the one that every bar has.
            let bar = match form {
                Ok(form) => bar.with_style(form.progress_chars("=> ")),
                Err(_) => bar,
            };
            bar.with_message(self.what)
        });
        drawn.set_length(all);
        drawn.set_position(done);
    }

    /// Takes it away.
    pub(crate) fn end(&self) {
        if let Some(drawn) = self.state().drawn.take() {
            drawn.finish_and_clear();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.end();
    }
}

/// A store of which somebody reads the whole log, with a bar that tells how far.
pub(crate) struct Read<'a> {
    store: &'a dyn ReadStore,
    bar: &'a Bar,
    all: u64,
    /// How often all of it is read, by positions or by streams.
    passes: u64,
    /// Records that were read on those ways, from several threads.
    done: AtomicU64,
}

impl<'a> Read<'a> {
    /// The log as it is now, which will be read so many times.
    pub(crate) async fn new(store: &'a dyn ReadStore, bar: &'a Bar, passes: u64) -> Self {
        // One that does not tell its size is read without a bar.
        let all = store.tail().await.map_or(0, |tail| tail.size);
        Self {
            store,
            bar,
            all,
            passes,
            done: AtomicU64::new(0),
        }
    }

    fn more(&self, count: u64) {
        let done = self.done.fetch_add(count, Ordering::Relaxed);
        let all = self.all.saturating_mul(self.passes);
        if all > 0 {
            self.bar.tell(done.saturating_add(count).min(all), all);
        }
    }
}

#[async_trait]
impl ReadStore for Read<'_> {
    async fn read_run(
        &self,
        stream: StreamId,
        from: Version,
        limit: usize,
    ) -> Result<Vec<Stored>, ReadError> {
        let page = self.store.read_run(stream, from, limit).await?;
        self.more(page.len() as u64);
        Ok(page)
    }

    async fn show_all(
        &self,
        from: Position,
        limit: usize,
        show: &mut Show<'_>,
    ) -> Result<(), ReadError> {
        let mut count = 0_u64;
        let mut counted = |position: Position, bytes: &[u8]| {
            count = count.saturating_add(1);
            show(position, bytes);
        };
        self.store.show_all(from, limit, &mut counted).await?;
        self.more(count);
        Ok(())
    }

    async fn read_all(&self, from: Position, limit: usize) -> Result<Vec<Stored>, ReadError> {
        if self.all > 0 {
            self.bar.tell(from.get().min(self.all), self.all);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What is drawn after words at these times.
    fn after(wanted: bool, times: &[u64]) -> Option<(Option<u64>, u64, String)> {
        let bar = Bar::wanted(wanted, "copying");
        for (done, now_ms) in (1..).zip(times) {
            bar.tell_at(done, 10, *now_ms, ProgressDrawTarget::hidden);
        }
        let state = bar.state();
        let drawn = state.drawn.as_ref()?;
        Some((drawn.length(), drawn.position(), drawn.message()))
    }

    #[test]
    fn a_bar_is_drawn_once_two_seconds_are_over() {
        let drawn = |done| Some((Some(10), done, String::from("copying")));
        for (times, shown) in [
            (&[][..], None),
            (&[5_000], None),
            (&[5_000, 6_999], None),
            (&[5_000, 7_000], drawn(2)),
            (&[5_000, 6_000, 9_000, 9_000], drawn(4)),
            // A clock that steps back draws nothing.
            (&[5_000, 4_000], None),
        ] {
            assert_eq!(after(true, times), shown, "{times:?}");
            assert_eq!(after(false, times), None, "nobody looks: {times:?}");
        }
    }

    #[test]
    fn nothing_is_left_of_it() {
        let bar = Bar::wanted(true, "copying");
        bar.tell_at(1, 2, 0, ProgressDrawTarget::hidden);
        bar.tell_at(2, 2, 2_000, ProgressDrawTarget::hidden);
        let drawn = bar.state().drawn.clone().unwrap();
        bar.end();
        assert!(drawn.is_finished());
        assert!(bar.state().drawn.is_none());
    }
}
