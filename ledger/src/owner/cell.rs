//! A run in memory: its folded state, its contents, and what was decided but is not durable yet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::lock::OwnedMutexGuard;

use super::sent::Seat;
use super::stage::{STAGED_BYTES_MAX, STAGED_RECORDS_MAX};
use super::{Owner, lock};
use crate::content::{Blob, Blobs, Commitment, Content, Contents, Media, Text, Texts, size_class};
use crate::envelope::Envelope;
use crate::error::LedgerError;
use crate::id::{RunId, StreamId, Version};
use crate::run::{Call, FoldError, Head, Phase, RunState, Snapshot, evolve};
use crate::store::pages::each_of_stream;
use crate::store::{Batch, Expected, chain};

/// A run in memory.
#[derive(Default)]
pub(super) struct Cell {
    /// Whether the store was read.
    pub(super) loaded: bool,
    /// The state, staged records included.
    pub(super) state: Option<RunState>,
    /// Every content of the run.
    pub(super) contents: Contents,
    /// Decided, folded, not durable.
    pub(super) staged: Batch,
    /// The ways by which it came.
    pub(super) staged_by: BTreeSet<u64>,
    /// The oldest authority version that anything staged was judged on.
    pub(super) judged: Option<Version>,
    /// The newest record that is durable.
    pub(super) durable: Option<Head>,
    /// The version of the newest state that is kept beside the log.
    pub(super) kept: Option<Version>,
    /// Contents by what they say: equal text of one run has one commitment.
    known: BTreeMap<(Media, Arc<[u8]>), Blob>,
}

impl Cell {
    /// What an append of what is staged must find.
    pub(super) fn expected(&self) -> Expected {
        match &self.durable {
            None => Expected::Start,
            Some(head) => Expected::Head {
                version: head.version,
                digest: head.digest,
            },
        }
    }

    /// Forgets everything, so that the store is read again.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Whether something is staged, all of it by one way.
    pub(super) fn is_staged_by(&self, seat: Seat) -> bool {
        !self.staged.records.is_empty() && self.staged_by.iter().eq([&seat.number])
    }

    /// Whether what one more command decides might not fit into one append.
    pub(super) fn is_nearly_full(&self) -> bool {
        let bytes: usize = self
            .staged
            .records
            .iter()
            .map(|record| record.bytes().len())
            .sum();
        let contents: usize = self.staged.contents.values().map(|c| c.bytes.len()).sum();
        self.staged.records.len() >= STAGED_RECORDS_MAX
            || bytes.saturating_add(contents) >= STAGED_BYTES_MAX
    }

    /// Whether memory alone knows something of it, or somebody may act on a permit for it.
    pub(super) fn must_stay(&self) -> bool {
        let executing = |call: &Call| matches!(call.phase(), Phase::Executing { .. });
        let acts = |state: &RunState| state.batch().any(executing);
        !self.staged.records.is_empty() || self.state.as_ref().is_some_and(acts)
    }

    pub(super) fn state(&self, run: RunId) -> Result<&RunState, LedgerError> {
        self.state.as_ref().ok_or(LedgerError::NoRun(run))
    }

    fn learn(&mut self, blobs: impl Iterator<Item = Blob>) {
        for blob in blobs {
            if let Some(content) = self.contents.get(&blob.commitment) {
                self.known
                    .entry((blob.media, content.bytes.clone()))
                    .or_insert(blob);
            }
        }
    }

    /// Its state as it can be kept beside the log; only what is durable can.
    pub(super) fn snapshot(&self) -> Option<Vec<u8>> {
        let state = self.state.as_ref()?;
        // One that lacked the commitment of a text would lose it to whoever goes on from there.
        let whole = self.known.len() == self.contents.len();
        let durable = self.durable == Some(state.head());
        (whole && durable).then(|| Snapshot::write(state, self.known.values().copied()))
    }
}

/// Texts that a command brings, committed to but not yet staged.
#[derive(Default)]
pub(super) struct Interned {
    /// How the record will name them.
    pub(super) blobs: Blobs,
    /// Those that the run does not have yet.
    pub(super) fresh: Vec<(Media, Content)>,
}

impl Interned {
    /// Drops what no record names: a verdict may bring a text that nothing came of.
    pub(super) fn keep_named(&mut self, envelopes: &[Envelope]) {
        let named = |commitment: &Commitment| {
            let mut blobs = envelopes.iter().flat_map(|record| record.blobs().values());
            blobs.any(|blob| blob.commitment == *commitment)
        };
        self.fresh
            .retain(|(_, content)| named(&content.commitment()));
    }

    /// Adds what is new to the cell, staged with the records that were just decided.
    pub(super) fn stage(self, cell: &mut Cell) {
        for (media, content) in self.fresh {
            let bytes = content.bytes.clone();
            let size = size_class(bytes.len() as u64);
            let commitment = cell.contents.insert(content.clone());
            cell.staged.contents.insert(commitment, content);
            cell.known.insert(
                (media, bytes),
                Blob {
                    commitment,
                    media,
                    size,
                },
            );
        }
    }
}

impl Owner {
    /// The cell of a run, locked, and loaded from the store if it was not.
    pub(super) async fn cell(&self, run: RunId) -> Result<OwnedMutexGuard<Cell>, LedgerError> {
        let cell = lock(&self.cells).take(run, || self.driven());
        let mut guard = cell.lock_owned().await;
        if !guard.loaded
            // In a box, since most who ask find it loaded.
            && let Err(error) = Box::pin(self.load(run, &mut guard)).await
        {
            guard.forget();
            return Err(error);
        }
        Ok(guard)
    }

    async fn load(&self, run: RunId, cell: &mut Cell) -> Result<(), LedgerError> {
        cell.forget();
        let stream = run.stream();
        if self.is_reserved(stream) {
            return Err(LedgerError::NoRun(run));
        }
        let kept = self.kept_state(run);
        let version = kept.as_ref().map(|kept| kept.state.head().version);
        let gone_on = match kept {
            Some(kept) => self.fold(run, Some(kept)).await.inspect_err(|error| {
                tracing::debug!(%run, error = chain(error), "a kept state does not fit the log");
            }),
            None => Ok(None),
        };
        let folded = match gone_on {
            Ok(Some(folded)) => {
                cell.kept = version;
                Some(folded)
            }
            Ok(None) | Err(_) => self.fold(run, None).await?,
        };
        if let Some(Snapshot { state, blobs }) = folded {
            let wanted: Vec<_> = blobs.keys().copied().collect();
            cell.contents = self.parts.store.content(stream, &wanted).await?;
            cell.learn(blobs.into_values());
            cell.durable = Some(state.head());
            cell.state = Some(state);
        }
        cell.loaded = true;
        self.keep(run, cell);
        Ok(())
    }

    /// Folds the records of a run: those after a kept state, where the log has the record of that,
    /// else all of them.
    async fn fold(
        &self,
        run: RunId,
        kept: Option<Snapshot>,
    ) -> Result<Option<Snapshot>, LedgerError> {
        let (origin, stream) = (self.origin(), run.stream());
        let quarantined = |error: FoldError| LedgerError::Quarantined {
            run,
            why: chain(&error),
        };
        let unfit = || LedgerError::Integrity(format!("the log of {run} does not lead to it"));
        let mut awaited = kept.as_ref().map(|kept| kept.state.head());
        let from = awaited.map_or(Version::ZERO, |head| head.version);
        let (mut state, mut blobs) = match kept {
            Some(kept) => (Some(kept.state), kept.blobs),
            None => (None, BTreeMap::new()),
        };
        each_of_stream(&*self.parts.store, stream, from, |recorded| {
            self.records_read.fetch_add(1, Ordering::Relaxed);
            let envelope = recorded.envelope;
            if let Some(head) = awaited.take() {
                let is_it = (envelope.version(), envelope.digest()) == (head.version, head.digest);
                return if is_it { Ok(()) } else { Err(unfit()) };
            }
            origin
                .verify_link(stream, state.as_ref(), &envelope)
                .map_err(|error| quarantined(error.into()))?;
            let evolved = evolve(state.take(), &envelope);
            state = Some(evolved.map_err(|error| quarantined(error.into()))?);
            self.events_folded.fetch_add(1, Ordering::Relaxed);
            for blob in envelope.blobs().values() {
                blobs.entry(blob.commitment).or_insert(*blob);
            }
            Ok(())
        })
        .await?;
        if awaited.is_some() {
            return Err(unfit());
        }
        Ok(state.map(|state| Snapshot { state, blobs }))
    }

    /// Whether a stream is the authority stream or the journal, which are no runs.
    fn is_reserved(&self, stream: StreamId) -> bool {
        let authority = self.standing();
        stream == authority.state.ledger().authority() || stream == authority.state.journal()
    }

    /// Commits to the texts of a command: those the run has already keep their commitment.
    pub(super) fn intern(&self, run: RunId, cell: &Cell, texts: Texts) -> Interned {
        let version = match &cell.state {
            None => Version::ZERO,
            Some(state) => state.head().version.next().unwrap_or_default(),
        };
        let mut interned = Interned::default();
        let mut now: BTreeMap<(Media, Arc<[u8]>), Blob> = BTreeMap::new();
        for (name, Text { media, bytes }) in texts {
            let key = (media, Arc::<[u8]>::from(bytes));
            let known = cell.known.get(&key).or_else(|| now.get(&key)).copied();
            let blob = known.unwrap_or_else(|| {
                let bytes = key.1.clone();
                let salt = self.parts.stamps.salt(run.stream(), version, &name, &bytes);
                let content = Content { salt, bytes };
                let size = size_class(content.bytes.len() as u64);
                let blob = Blob {
                    commitment: content.commitment(),
                    media,
                    size,
                };
                interned.fresh.push((media, content));
                now.insert(key, blob);
                blob
            });
            interned.blobs.insert(name, blob);
        }
        interned
    }
}
