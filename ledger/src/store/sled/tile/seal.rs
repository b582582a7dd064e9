//! Sealing: records that are old enough leave sled for tiles, in steps that the mover takes while
//! nothing else is to be done.
//!
//! A tile is written under another name and synced; some tiles later all get their names, and the
//! folders are synced; then sled is, so that the index of the records is on disk before any of
//! their rows goes; and only then each tile's rows are removed, in one batch with the size of what
//! is sealed. A crash anywhere leaves the rows or the tiles, or both with equal bytes: a tile above
//! the sealed size is written again.
//!
//! What sled gives back is hashed on the way. Where the tree over it is not that of what was
//! acknowledged, nothing more is sealed and the store is closed for writing.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;

use ::sled::Batch;
use rustix::fs::statvfs;

use super::super::blocks;
use super::super::fault::{FaultPoint, Faults, Sealing};
use super::super::keys;
use super::super::read::damaged;
use super::super::shared::Shared;
use super::bundle;
use super::path::{self, KINDS};
use super::{RECORDS, TILE, Tiles};
use crate::digest::{Purpose, digest};
use crate::limits::ROOM_BYTES_MIN;
use crate::merkle::Frontier;
use crate::store::ReadError;

/// Why records were not sealed.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum SealError {
    #[error("taking sealed records out of sled failed")]
    Rows(#[from] ReadError),
    #[error("writing a tile failed")]
    Write(#[from] io::Error),
    #[error("sealing was stopped")]
    Fault(#[source] io::Error),
}

/// A tile that is written and whose rows are still there.
#[derive(Debug)]
struct Ready {
    number: u64,
    /// The tree with it.
    tree: Frontier,
    /// The keys of its rows.
    keys: Vec<Vec<u8>>,
    /// Bytes of its rows.
    bytes: u64,
}

/// How far sealing is.
pub(in super::super) struct Sealer {
    shared: Arc<Shared>,
    faults: Arc<dyn Faults>,
    sealing: Sealing,
    /// The tree over all records in tiles, those that are ready among them.
    tree: Frontier,
    ready: Vec<Ready>,
    /// Trees of what was acknowledged, at some sizes above.
    known: VecDeque<Frontier>,
    /// Bytes of rows that came to sled and did not leave it, since the store was opened.
    unsealed: u64,
}

impl Sealer {
    /// `tree` is that of what is sealed, `end` that of what is in sled.
    pub(in super::super) fn new(
        shared: Arc<Shared>,
        faults: Arc<dyn Faults>,
        tree: Frontier,
        end: Frontier,
    ) -> Self {
        let sealing = faults.sealing();
        Self {
            shared,
            faults,
            sealing,
            tree,
            ready: Vec::new(),
            known: VecDeque::from([end]),
            unsealed: 0,
        }
    }

    /// More came to sled.
    pub(in super::super) fn moved(&mut self, tree: &Frontier, bytes: usize) {
        self.unsealed = self.unsealed.saturating_add(bytes as u64);
        let last = self.known.back().map_or(0, Frontier::size);
        // One for each tile will do.
        if tree.size() >= last.saturating_add(TILE) {
            self.known.push_back(tree.clone());
        }
    }

    /// Up to where records may be sealed, of those before `end` with an index up to `mark`.
    pub(in super::super) fn border(&self, end: u64, mark: u64) -> u64 {
        self.sealing.border(end, mark, self.tiles().anchored())
    }

    /// Whether there is a step to take. A batch is begun where there are tiles for all of it, or
    /// `any` at all will do.
    pub(in super::super) fn has_work(&self, border: u64, any: bool) -> bool {
        if !self.ready.is_empty() {
            return true;
        }
        let left = border.saturating_sub(self.tree.size());
        let tiles = if any { 1 } else { self.sealing.tiles };
        left >= TILE.saturating_mul(tiles as u64) && self.has_room()
    }

    /// Whether so much is in sled that appends must wait for sealing.
    pub(in super::super) fn is_behind(&self) -> bool {
        self.unsealed > self.sealing.backlog
    }

    /// Writes the next tile, if the batch is not full and there is one below the border.
    pub(in super::super) fn write_next(&mut self, border: u64) -> Result<bool, SealError> {
        let first = self.tree.size();
        let end = first.saturating_add(TILE);
        if end > border || self.ready.len() >= self.sealing.tiles {
            return Ok(false);
        }
        let units = blocks::between(&self.shared.rows, first, end)?;
        let mut entries = Vec::with_capacity(RECORDS);
        let (mut keys, mut bytes) = (Vec::new(), 0_u64);
        for rows in units {
            let unit = rows.unpack()?;
            if Some(unit.first) != first.checked_add(entries.len() as u64) {
                return Err(
                    damaged(Some(unit.first), "its unit is out of place".to_owned()).into(),
                );
            }
            entries.extend(unit.entries);
            keys.extend(rows.keys());
        }
        for entry in &entries {
            bytes = bytes.saturating_add(entry.bytes() as u64);
            self.tree.push(&digest(Purpose::Event, &entry.record));
            self.compare()?;
        }
        let files = bundle::encode(&entries);
        let files = files.ok_or_else(|| damaged(Some(first), "it fills no tile".to_owned()))?;
        let number = first.checked_div(TILE).unwrap_or(first);
        for (kind, file) in KINDS.into_iter().zip(&files) {
            path::write(&self.tiles().folder, kind, number, file)?;
        }
        self.ready.push(Ready {
            number,
            tree: self.tree.clone(),
            keys,
            bytes,
        });
        self.reach(FaultPoint::TileWritten)?;
        Ok(true)
    }

    /// Gives the tiles that are written their names, durably; says whether there were any.
    pub(in super::super) fn place(&self) -> Result<bool, SealError> {
        let mut touched = BTreeSet::new();
        for ready in &self.ready {
            for kind in KINDS {
                path::place(&self.tiles().folder, kind, ready.number, &mut touched)?;
            }
        }
        if self.ready.is_empty() {
            return Ok(false);
        }
        self.reach(FaultPoint::TilesPlaced)?;
        for folder in touched {
            super::super::folder::sync(&folder)?;
        }
        self.reach(FaultPoint::TilesSynced)?;
        Ok(true)
    }

    /// Takes the rows of tiles that are durable out of sled.
    pub(in super::super) fn remove_rows(&mut self) -> Result<(), SealError> {
        for ready in std::mem::take(&mut self.ready) {
            // Readers look at the tile from here on: whoever misses a row must find it there.
            self.tiles().seal_up_to(ready.tree.size());
            let mut batch = Batch::default();
            for key in ready.keys {
                batch.remove(key);
            }
            batch.insert(keys::SEALED, ready.tree.to_bytes());
            self.shared.rows.apply(batch)?;
            self.unsealed = self.unsealed.saturating_sub(ready.bytes);
            self.reach(FaultPoint::RowsRemoved)?;
        }
        Ok(())
    }

    /// Compares the tree with what was acknowledged, where that is known of this size.
    fn compare(&mut self) -> Result<(), ReadError> {
        while let Some(known) = self.known.front() {
            if known.size() > self.tree.size() {
                break;
            }
            if known.size() == self.tree.size() && *known != self.tree {
                let what = "what sled gives back is not what was acknowledged";
                return Err(damaged(Some(self.tree.size()), what.to_owned()));
            }
            self.known.pop_front();
        }
        Ok(())
    }

    /// A tile stands beside its rows for a while: what is kept free for outcomes is not for that.
    fn has_room(&self) -> bool {
        // Where the system does not tell, writing will.
        let told = statvfs(&self.tiles().folder).ok();
        let free = told.map(|told| told.f_bavail.saturating_mul(told.f_frsize));
        free.is_none_or(|free| self.faults.room(free) >= ROOM_BYTES_MIN.saturating_mul(2))
    }

    fn tiles(&self) -> &Tiles {
        &self.shared.tiles
    }

    fn reach(&self, point: FaultPoint) -> Result<(), SealError> {
        self.faults.reach(point).map_err(SealError::Fault)
    }
}
