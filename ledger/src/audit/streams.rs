//! The pass over all streams, each read by itself as whoever drives a run reads it: whether it is
//! that of the log, events, contents, decisions.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::report::{ContentCounts, DecisionCounts};
use super::spans::{Chains, Piece};
use super::threads::on_each;
use super::walk::Walk;
use super::{contents_of, parsed};
use crate::authority::{AuthorityState, evolve_authority};
use crate::id::{StreamId, Version};
use crate::judge::Judge;
use crate::limits::PAGE_RECORDS_MAX;
use crate::store::ReadStore;

/// A thread has at least so many records to do.
const RECORDS_MIN: u64 = 1 << 10;

/// What was counted on the way.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) content: ContentCounts,
    pub(super) decisions: DecisionCounts,
}

impl Counts {
    fn of(walk: &Walk<'_>) -> Self {
        Self {
            content: walk.contents.counts,
            decisions: walk.decisions,
        }
    }

    fn and(self, other: Self) -> Self {
        let (content, decisions) = (self.content, self.decisions);
        Self {
            content: ContentCounts {
                readable: content.readable.saturating_add(other.content.readable),
                unreadable: content.unreadable.saturating_add(other.content.unreadable),
            },
            decisions: DecisionCounts {
                judged: decisions.judged.saturating_add(other.decisions.judged),
                unjudged: decisions.unjudged.saturating_add(other.decisions.unjudged),
            },
        }
    }
}

/// Reads all streams of a log; `None` where anything is wrong, or cannot be read.
pub(super) async fn pass(
    store: &dyn ReadStore,
    chains: &Chains,
    judge: Option<&dyn Judge>,
    threads: NonZeroUsize,
) -> Option<Counts> {
    let (Some(ledger), Some((authority, rest))) = (chains.ledger, chains.streams.split_first())
    else {
        return Some(Counts::default());
    };
    let mut walk = Walk::new(None, judge);
    walk.links.ledger = Some(ledger);
    let mut first = Reader::new(store, ledger.authority(), walk);
    first.stream(authority).await?;
    let known = &first.walk;
    let most = usize::try_from(chains.size() / RECORDS_MIN).unwrap_or(usize::MAX);
    let next = AtomicUsize::new(0);
    let next = &next;
    let counted = on_each(threads.get().min(most), |_| async move {
        let mut reader = Reader::new(store, ledger.authority(), known.beside());
        while let Some(piece) = rest.get(next.fetch_add(1, Ordering::Relaxed)) {
            reader.stream(piece).await?;
            reader.walk.forget(piece.stream);
        }
        Some(Counts::of(&reader.walk))
    })
    .await?;
    let mut counts = Counts::of(known);
    for counted in counted {
        counts = counts.and(counted?);
    }
    Some(counts)
}

/// The authority after so many records of its stream.
#[derive(Clone, Default)]
struct Standing {
    era: u64,
    state: Option<AuthorityState>,
}

/// Reads streams in the order in which they began.
struct Reader<'a> {
    store: &'a dyn ReadStore,
    authority: StreamId,
    walk: Walk<'a>,
    /// What was in force when the stream began. A stream that began later has no older one.
    base: Standing,
    /// What is in force in the walk.
    era: u64,
}

impl<'a> Reader<'a> {
    fn new(store: &'a dyn ReadStore, authority: StreamId, walk: Walk<'a>) -> Self {
        Self {
            store,
            authority,
            walk,
            base: Standing::default(),
            era: 0,
        }
    }

    /// Walks the records of one stream, which must be those of the log.
    async fn stream(&mut self, piece: &Piece) -> Option<()> {
        let base = std::mem::take(&mut self.base);
        self.base = self.after(base, piece.era).await?;
        let mut next = Some(Version::ZERO);
        while let Some(from) = next.filter(|next| *next <= piece.last) {
            let left = piece.last.get().saturating_sub(from.get());
            let left = usize::try_from(left).ok()?.saturating_add(1);
            let limit = left.min(PAGE_RECORDS_MAX);
            let page = self.store.read_run(piece.stream, from, limit).await.ok()?;
            if page.is_empty() {
                return None;
            }
            let page = parsed(&page);
            contents_of(self.store, &mut self.walk, &page).await;
            for read in &page {
                let envelope = read.parsed.as_ref().ok()?;
                if envelope.stream() != piece.stream {
                    return None;
                }
                let version = envelope.version();
                self.put_in_force(piece.era_at(version)).await?;
                self.walk.part(read);
                next = version.next();
            }
            if !self.walk.findings.is_empty() {
                return None;
            }
        }
        let last = self.walk.links.last(piece.stream)?;
        ((last.version, last.digest) == (piece.last, piece.digest)).then_some(())
    }

    /// Has the walk judge by what was in force after so many records of the authority stream.
    async fn put_in_force(&mut self, era: u64) -> Option<()> {
        // A stream of which the authority is in the walk, or the authority stream itself.
        if era == self.era {
            return Some(());
        }
        let before = if (self.base.era..era).contains(&self.era) {
            let state = self.walk.put_in_force(None);
            Standing {
                era: self.era,
                state,
            }
        } else {
            self.base.clone()
        };
        let now = self.after(before, era).await?;
        self.era = era;
        self.walk.put_in_force(now.state);
        Some(())
    }

    /// What was in force after more records.
    async fn after(&self, before: Standing, era: u64) -> Option<Standing> {
        let Standing {
            era: mut at,
            mut state,
        } = before;
        while at < era {
            let from = Version::new(u32::try_from(at).ok()?);
            let left = usize::try_from(era.saturating_sub(at)).unwrap_or(usize::MAX);
            let limit = left.min(PAGE_RECORDS_MAX);
            let page = self
                .store
                .read_run(self.authority, from, limit)
                .await
                .ok()?;
            if page.is_empty() {
                return None;
            }
            for read in parsed(&page).iter().take(limit) {
                let envelope = read.parsed.as_ref().ok()?;
                state = Some(evolve_authority(state, envelope).ok()?);
                at = at.saturating_add(1);
            }
        }
        Some(Standing { era: at, state })
    }
}
