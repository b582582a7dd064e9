//! What was acknowledged and does not lie in sled yet: frames by position, and the index above the
//! mark. Readers look here first; whatever leaves is in sled by then.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::entry::Entry;
use super::index::Index;
use super::log::Half;
use crate::id::StreamId;
use crate::merkle::Frontier;
use crate::store::check::Head;

/// What was written with one sync.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) first: u64,
    pub(super) entries: Vec<Entry>,
    /// The tree after it.
    pub(super) frontier: Frontier,
    /// The half in which it lies.
    pub(super) half: Half,
    pub(super) bytes: usize,
}

impl Written {
    /// The position after its last record.
    pub(super) fn end(&self) -> u64 {
        self.first.saturating_add(self.entries.len() as u64)
    }
}

/// A stream as a frame leaves it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub(super) ordinal: u32,
    pub(super) head: Head,
}

/// The ends of streams.
pub(super) type Heads = BTreeMap<StreamId, Known>;

/// Frames and index.
#[derive(Debug, Default)]
pub(super) struct Memory {
    frames: VecDeque<Arc<Written>>,
    /// Bytes of the frames.
    bytes: usize,
    pub(super) index: Index,
}

impl Memory {
    /// Adds a frame that is durable, with the streams as it leaves them and those that begin in it.
    pub(super) fn add<'a>(
        &mut self,
        frame: Arc<Written>,
        heads: impl IntoIterator<Item = &'a Known>,
        begun: &[(StreamId, u32)],
    ) {
        for (position, entry) in (frame.first..).zip(&frame.entries) {
            self.index.add(position, entry);
        }
        self.index.names.extend(begun.iter().copied());
        for known in heads {
            self.index.heads.insert(known.ordinal, known.head);
        }
        self.bytes = self.bytes.saturating_add(frame.bytes);
        self.frames.push_back(frame);
    }

    /// The entry at a position, if it is not in sled yet.
    pub(super) fn entry(&self, position: u64) -> Option<&Entry> {
        let at = self.frames.partition_point(|frame| frame.end() <= position);
        let frame = self.frames.get(at)?;
        let at = usize::try_from(position.checked_sub(frame.first)?).ok()?;
        frame.entries.get(at)
    }

    /// Everything that is not in sled yet.
    pub(super) fn frames(&self) -> Vec<Arc<Written>> {
        self.frames.iter().cloned().collect()
    }

    /// Bytes of the frames.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Forgets the frames that end at `end` or before: they are in sled.
    pub(super) fn forget(&mut self, end: u64) {
        while let Some(frame) = self.frames.front().filter(|frame| frame.end() <= end) {
            self.bytes = self.bytes.saturating_sub(frame.bytes);
            self.frames.pop_front();
        }
    }
}
