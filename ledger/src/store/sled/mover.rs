//! The mover: a thread that takes frames out of the log into sled, behind the answers.
//!
//! It waits until there is enough to fill units, packs whatever there is across groups, and syncs
//! sled after some hundreds of units, and always before a half of the log is begun anew. After
//! many records it writes the index of their streams, with the mark, in one batch. While there is
//! nothing else to do it seals (`tile::seal`), one tile at a time.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use ::sled::Batch;

use super::blocks::Blocks;
use super::index::Index;
use super::log::{self, HALF_BYTES_MAX, Half};
use super::memory::Written;
use super::read::damaged;
use super::refused::{self, OpenError};
use super::shared::Shared;
use super::tile::TILE;
use super::tile::seal::{SealError, Sealer};
use super::{folder, keys, unit, values};
use crate::store::{ReadError, chain};

/// Bytes of frames that are worth a move: ten units at least.
pub(super) const MOVE_BYTES: usize = 64 * 1024;

/// Bytes of units in one batch: sled holds up everybody else for as long as it takes one.
const BATCH_BYTES: usize = 512 * 1024;

/// Units after which sled is synced.
const SYNC_UNITS: usize = 256;

/// A half grows where this part of its length was written to the other one while it was made free.
const BEHIND: u64 = 4;

/// Records after which their index is written.
const INDEX_RECORDS: usize = 16_384;

/// Records in memory above which a store that is closed writes its index, so that the next one to
/// open it has less to read.
const CLOSE_RECORDS: usize = 1_024;

/// How far the mover is, and what is wanted of it.
#[derive(Debug, Default)]
pub(super) struct Moving {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Something changed since the mover looked.
    more: bool,
    /// Somebody waits for a half.
    wanted: Option<Half>,
    /// The half that was filled last: it is made free before anybody waits for it.
    left: Option<Half>,
    /// A half that can be begun anew, and how large it is.
    free: Option<(Half, u64)>,
    /// Somebody waits until everything is in sled.
    settle: bool,
    life: Life,
}

/// What the mover still does.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Life {
    #[default]
    Moving,
    /// The store is being closed.
    Closing,
    /// The mover is gone.
    Ended,
}

impl Moving {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// There is more to look at.
    pub(super) fn more(&self) {
        self.state().more = true;
        self.changed.notify_all();
    }

    /// The store is being closed: the mover ends.
    pub(super) fn close(&self) {
        let mut state = self.state();
        if state.life == Life::Moving {
            state.life = Life::Closing;
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until a half can be begun anew; gives back how large it is, or `None` where the mover
    /// is gone.
    pub(super) fn take(&self, half: Half) -> Option<u64> {
        let mut state = self.state();
        loop {
            if let Some((_, length)) = state.free.take_if(|(free, _)| *free == half) {
                state.left = Some(log::other(half));
                self.changed.notify_all();
                return Some(length);
            }
            if state.life == Life::Ended {
                return None;
            }
            state.wanted = Some(half);
            self.changed.notify_all();
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until everything that was acknowledged before is in sled, with its index, and sealed
    /// as far as it may be.
    #[cfg(any(test, feature = "conformance"))]
    pub(super) fn settle(&self) {
        let mut state = self.state();
        state.settle = true;
        self.changed.notify_all();
        while state.settle && state.life != Life::Ended {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn settled(&self) {
        self.state().settle = false;
        self.changed.notify_all();
    }

    /// Waits until there is something to do; says what. Sealing, if there is any, comes last.
    fn next(&self, bytes: impl Fn() -> usize, seal: bool) -> Wanted {
        let mut state = self.state();
        loop {
            if state.life == Life::Closing {
                return Wanted::End;
            }
            if let Some(half) = state.wanted {
                return Wanted::Half(half);
            }
            if state.settle {
                return Wanted::Settle;
            }
            if let Some(half) = state.left {
                return Wanted::Half(half);
            }
            if state.more {
                state.more = false;
                drop(state);
                if bytes() >= MOVE_BYTES {
                    return Wanted::Move;
                }
                state = self.state();
                continue;
            }
            if seal {
                return Wanted::Seal;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A half can be begun anew.
    pub(super) fn give(&self, half: Half, length: u64) {
        let mut state = self.state();
        state.wanted.take_if(|wanted| *wanted == half);
        state.left.take_if(|left| *left == half);
        state.free = Some((half, length));
        self.changed.notify_all();
    }

    fn end(&self) {
        self.state().life = Life::Ended;
        self.changed.notify_all();
    }
}

/// What the mover is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Move,
    Settle,
    Half(Half),
    Seal,
    End,
}

/// Why something was not moved.
#[derive(Debug, thiserror::Error)]
enum MoveError {
    #[error("moving records into sled failed")]
    Rows(#[from] ReadError),
    #[error("syncing sled failed")]
    Sync(#[source] io::Error),
    #[error("making the log larger failed")]
    Grow(#[source] io::Error),
    #[error("sealing records failed")]
    Seal(#[from] SealError),
}

/// The one thread that writes to sled.
pub(super) struct Mover {
    pub(super) shared: Arc<Shared>,
    /// A second descriptor of sled's file: sled keeps its own to itself.
    pub(super) rows_file: File,
    /// Second descriptors of the halves.
    pub(super) halves: [File; 2],
    /// Units since sled was synced.
    pub(super) unsynced: usize,
    /// Up to where records are in sled.
    pub(super) end: u64,
    pub(super) blocks: Blocks,
    pub(super) sealer: Sealer,
}

impl Mover {
    /// Moves until the store is closed.
    pub(super) fn run(mut self) {
        loop {
            let bytes = || self.shared.remember(|memory| memory.bytes());
            let seal = self.sealer.has_work(self.border(), false);
            let done = match self.shared.moving.next(bytes, seal) {
                Wanted::End => {
                    if self.shared.closed().is_none()
                        && let Err(error) = self.leave()
                    {
                        // What is in the log is moved by the next one to open it.
                        tracing::warn!(error = chain(&error), "the index was not written");
                    }
                    break;
                }
                Wanted::Move => self.moved(),
                Wanted::Half(half) => self.free(half),
                Wanted::Settle => self.settle(),
                Wanted::Seal => self.seal().map(drop),
            };
            if let Err(error) = done {
                let reason = chain(&error);
                tracing::error!(error = reason, "the store is closed for writing");
                self.shared.close(&reason);
                break;
            }
        }
        self.shared.moving.end();
    }

    /// Moves what there is.
    fn moved(&mut self) -> Result<(), MoveError> {
        let frames = self.shared.remember(|memory| memory.frames());
        self.insert(&frames)?;
        if self.unsynced >= SYNC_UNITS {
            self.sync()?;
        }
        self.index_if_long()
    }

    fn index_if_long(&mut self) -> Result<(), MoveError> {
        let records = self.shared.remember(|memory| memory.index.len());
        if records >= INDEX_RECORDS {
            self.index()?;
        }
        Ok(())
    }

    /// Puts into sled, durably, what was found in the log: that it can be read there does not mean
    /// that it is on disk, where the last sync of it failed or never was.
    pub(super) fn adopt(&mut self, home: &Path) -> Result<(), OpenError> {
        let frames = self.shared.remember(|memory| memory.frames());
        if frames.is_empty() {
            return Ok(());
        }
        let moved = self.insert(&frames).and_then(|()| self.sync());
        moved.map_err(|error| match error {
            MoveError::Rows(error) | MoveError::Seal(SealError::Rows(error)) => error.into(),
            MoveError::Sync(source)
            | MoveError::Grow(source)
            | MoveError::Seal(SealError::Write(source) | SealError::Fault(source)) => {
                let doing = "moving the log of the store into sled";
                refused::failed(doing, &folder::sled_file(home))(source)
            }
        })
    }

    /// Makes a half free. It was too small if the other one is well under way by then.
    fn free(&mut self, half: Half) -> Result<(), MoveError> {
        let frames = self.shared.remember(|memory| memory.frames());
        let last = frames.iter().rposition(|frame| frame.half == half);
        let count = last.map_or(0, |last| last.saturating_add(1));
        self.insert(frames.get(..count).unwrap_or(&frames))?;
        self.sync()?;
        let file = self.halves.get(half).unwrap_or(&self.rows_file);
        let length = file.metadata().map_err(MoveError::Grow)?.len();
        let since = self.shared.remember(|memory| memory.bytes()) as u64;
        let behind = since > length.checked_div(BEHIND).unwrap_or(length);
        let wanted = if behind {
            length.saturating_mul(2).min(HALF_BYTES_MAX)
        } else {
            length
        };
        let length = log::grow(file, wanted).map_err(MoveError::Grow)?;
        self.shared.moving.give(half, length);
        // Where halves are all that is ever wanted, this is the only place.
        self.index_if_long()
    }

    /// Puts frames into sled, in batches; memory lets them go only after that.
    fn insert(&mut self, frames: &[Arc<Written>]) -> Result<(), MoveError> {
        let mut rest = frames;
        while !rest.is_empty() {
            let mut bytes = 0_usize;
            let small = |frame: &&Arc<Written>| {
                bytes = bytes.saturating_add(frame.bytes);
                bytes <= BATCH_BYTES
            };
            let count = rest.iter().take_while(small).count().max(1);
            let (now, later) = rest.split_at_checked(count).unwrap_or((rest, &[]));
            rest = later;
            let (Some(first), Some(last)) = (now.first(), now.last()) else {
                break;
            };
            if first.first != self.end {
                let detail = format!("records from {} do not follow {}", first.first, self.end);
                return Err(damaged(Some(self.end), detail).into());
            }
            let mut batch = Batch::default();
            let entries = now.iter().flat_map(|frame| &frame.entries);
            let units = unit::pack(first.first, entries);
            let blocks = units.iter().map(|(_, unit)| unit::cut(unit).len());
            let count = blocks.fold(0, usize::saturating_add);
            self.blocks.make(&self.shared.rows, count as u64)?;
            for (position, unit) in &units {
                self.blocks.put(&mut batch, *position, unit);
            }
            self.unsynced = self.unsynced.saturating_add(count);
            batch.insert(keys::TREE, last.frontier.to_bytes());
            self.shared.rows.apply(batch)?;
            let records = last.end().saturating_sub(self.end);
            self.end = last.end();
            self.shared.remember(|memory| memory.forget(self.end));
            self.sealer.moved(&last.frontier, bytes_of(now));
            self.keep_pace(records)?;
        }
        Ok(())
    }

    /// Where too much is in sled, as many records leave it as came to it.
    fn keep_pace(&mut self, records: u64) -> Result<(), MoveError> {
        let mut tiles = records.checked_div(TILE).unwrap_or(0).saturating_add(1);
        while tiles > 0 && self.sealer.is_behind() && self.sealer.has_work(self.border(), false) {
            self.seal()?;
            tiles = tiles.saturating_sub(1);
        }
        Ok(())
    }

    /// Up to where records may be sealed.
    fn border(&self) -> u64 {
        let mark = self.shared.remember(|memory| memory.index.mark);
        self.sealer.border(self.end, mark)
    }

    /// Writes one more tile, or ends the batch of those that are written; says whether there was
    /// anything to do.
    fn seal(&mut self) -> Result<bool, MoveError> {
        if self.sealer.write_next(self.border())? {
            return Ok(true);
        }
        self.end_seal()
    }

    fn end_seal(&mut self) -> Result<bool, MoveError> {
        if !self.sealer.place()? {
            return Ok(false);
        }
        self.sync()?;
        self.sealer.remove_rows()?;
        Ok(true)
    }

    fn sync(&mut self) -> Result<(), MoveError> {
        self.shared.rows.flush()?;
        self.rows_file.sync_data().map_err(MoveError::Sync)?;
        self.unsynced = 0;
        Ok(())
    }

    /// Writes the index of what is in sled. Its units are durable before it is.
    fn index(&mut self) -> Result<(), MoveError> {
        self.sync()?;
        let mut batch = Batch::default();
        let end = self.end;
        self.shared
            .remember(|memory| rows_of(&memory.index, end, &mut batch));
        batch.insert(keys::MARK, end.to_be_bytes().as_slice());
        self.shared.rows.apply(batch)?;
        self.shared.remember(|memory| memory.index.forget(end));
        Ok(())
    }

    /// Leaves little to read to whoever opens the store next.
    fn leave(&mut self) -> Result<(), MoveError> {
        self.end_seal()?;
        let records = self.shared.remember(|memory| memory.index.len());
        if records < CLOSE_RECORDS {
            return Ok(());
        }
        self.move_all()
    }

    /// Moves everything there is, and writes its index.
    fn move_all(&mut self) -> Result<(), MoveError> {
        let frames = self.shared.remember(|memory| memory.frames());
        self.insert(&frames)?;
        self.index()?;
        self.sync()
    }

    /// The same, and seals all that may be sealed.
    fn settle(&mut self) -> Result<(), MoveError> {
        self.move_all()?;
        while self.sealer.has_work(self.border(), true) {
            self.seal()?;
        }
        self.sync()?;
        self.shared.moving.settled();
        Ok(())
    }
}

fn bytes_of(frames: &[Arc<Written>]) -> usize {
    let bytes = frames.iter().map(|frame| frame.bytes);
    bytes.fold(0, usize::saturating_add)
}

/// The rows of the index for records before `end`. A head may be ahead of it: the records above
/// the mark lead to the same one.
fn rows_of(index: &Index, end: u64, batch: &mut Batch) {
    for (ordinal, chunk) in &index.chunks {
        let count = chunk.places.partition_point(|place| place.position < end);
        let mut below = chunk.clone();
        below.places.truncate(count);
        for (version, row) in below.encode() {
            batch.insert(keys::index(*ordinal, version), row);
        }
        if count > 0
            && let Some(head) = index.heads.get(ordinal)
        {
            batch.insert(keys::head(*ordinal), values::encode_head(head));
        }
    }
    for (stream, ordinal) in &index.names {
        batch.insert(keys::name(*stream), ordinal.to_be_bytes().as_slice());
    }
}
