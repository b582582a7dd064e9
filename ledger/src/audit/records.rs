//! The pass over all records by positions: bytes, digests, links and tree, each thread the next
//! range.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};

use super::report::HeadPosition;
use super::spans::{Chains, Span};
use super::threads::on_each;
use crate::id::Position;
use crate::limits::PAGE_RECORDS_MAX;
use crate::store::ReadStore;

/// Records over which a tree is made by itself; a thread has at least so many to do.
const TILE: u64 = 1 << 10;

/// Ranges for each thread: whichever is done takes the next, so that none waits for long.
const PARTS: usize = 8;

/// What all records before `end` come to; `None` where anything is wrong, or cannot be read.
pub(super) async fn pass(
    store: &dyn ReadStore,
    end: u64,
    head: Option<HeadPosition>,
    threads: NonZeroUsize,
) -> Option<Chains> {
    let tiles = end.div_ceil(TILE);
    let most = usize::try_from(tiles).unwrap_or(usize::MAX);
    let threads = threads.get().min(most).max(1);
    let parts = if threads == 1 {
        1
    } else {
        threads.saturating_mul(PARTS)
    };
    let share = tiles.div_ceil(u64::try_from(parts).ok()?).max(1);
    let share = share.checked_mul(TILE)?;
    let next = AtomicU64::new(0);
    let next = &next;
    let done = on_each(threads, |_| async move {
        let mut done = Vec::new();
        loop {
            let first = next.fetch_add(share, Ordering::Relaxed);
            if first >= end {
                return done;
            }
            let stop = first.saturating_add(share).min(end);
            done.push((first, span(store, first, stop, head).await));
        }
    })
    .await?;
    let mut spans: Vec<_> = done.into_iter().flatten().collect();
    spans.sort_unstable_by_key(|(first, _)| *first);
    let mut chains = Chains::new(head);
    for (_, span) in spans {
        chains.join(span)?;
    }
    (chains.size() == end).then_some(chains)
}

/// The records of one range.
async fn span(store: &dyn ReadStore, first: u64, end: u64, head: Option<HeadPosition>) -> Span {
    let mut span = Span::new(Position::new(first), TILE, head);
    while let Some(next) = span.next().filter(|next| next.get() < end) {
        let left = usize::try_from(end.saturating_sub(next.get())).unwrap_or(usize::MAX);
        let mut take = |position: Position, bytes: &[u8]| {
            if position.get() < end {
                span.take(position, bytes);
            }
        };
        let limit = left.min(PAGE_RECORDS_MAX);
        let shown = store.show_all(next, limit, &mut take).await;
        if shown.is_err() || span.next() == Some(next) {
            span.spoil();
        }
    }
    span
}
