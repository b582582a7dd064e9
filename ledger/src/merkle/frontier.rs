//! The right edge of the tree: as much of it as is needed to append and to know the root.

use super::{Hash, Root, empty_hash, leaf_hash, node_hash};
use crate::digest::Digest;

/// The largest size that is read; nobody appends from here to the end of the number range.
const SIZE_MAX: u64 = u64::MAX >> 1;

/// Why bytes are not a frontier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrontierError {
    /// The bytes end within the size or within a hash.
    #[error("a frontier of {0} bytes is cut short")]
    Truncated(usize),
    /// Another number of hashes than the size has subtrees.
    #[error("a frontier of size {size} cannot have {hashes} hashes")]
    Hashes {
        /// The size that was read.
        size: u64,
        /// How many hashes follow it.
        hashes: usize,
    },
    /// A size that no tree reaches.
    #[error("a frontier of size {0} is too large")]
    TooLarge(u64),
}

/// Why one tree does not join another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a tree over {next} leaves does not join one over {size}")]
pub struct JoinError {
    /// The size of the tree before.
    pub size: u64,
    /// The size of the tree that was to join it.
    pub next: u64,
}

/// A tree that grows, by the roots of its complete subtrees.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frontier {
    size: u64,
    /// One for each bit that is set in `size`, the largest subtree first.
    hashes: Vec<Hash>,
}

impl Frontier {
    /// The tree without leaves.
    pub const fn new() -> Self {
        Self {
            size: 0,
            hashes: Vec::new(),
        }
    }

    /// Appends the event with this digest.
    pub fn push(&mut self, event: &Digest) {
        self.push_leaf(leaf_hash(event.as_bytes()));
    }

    /// How many events the tree holds.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// The root over all of them.
    pub fn root(&self) -> Root {
        let hash = self
            .hashes
            .iter()
            .rev()
            .copied()
            .reduce(|right, left| node_hash(&left, &right));
        Root(hash.unwrap_or_else(empty_hash))
    }

    /// Whether this tree may go on from an earlier one: the subtrees that both have are the same.
    /// The others of the earlier one are inside larger ones here, and are not told of.
    pub fn may_extend(&self, earlier: &Self) -> bool {
        let (size, before) = (self.size, earlier.size);
        let Some(different) = (size ^ before).checked_ilog2() else {
            return self == earlier;
        };
        let common = size.unbounded_shr(different).count_ones();
        let common = usize::try_from(common.saturating_sub(1)).unwrap_or(usize::MAX);
        size > before && self.hashes.get(..common) == earlier.hashes.get(..common)
    }

    /// Appends all leaves of the tree over those that follow. Its subtrees must be subtrees of the
    /// whole: the largest of them must begin at a multiple of its size.
    pub fn join(&mut self, next: &Self) -> Result<(), JoinError> {
        let (size, added) = (self.size, next.size);
        let failed = JoinError { size, next: added };
        let largest = added.checked_ilog2().map_or(1, |level| 1 << level);
        let all = size.checked_add(added).filter(|all| *all <= SIZE_MAX);
        if !size.is_multiple_of(largest) || all.is_none() {
            return Err(failed);
        }
        let levels = (0..u64::BITS).rev().filter(|level| added >> level & 1 == 1);
        for (level, hash) in levels.zip(&next.hashes) {
            self.push_subtree(level, *hash);
        }
        Ok(())
    }

    /// Size (8 bytes, big-endian), then 32 bytes for each subtree, the largest first.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.size.to_be_bytes().to_vec();
        bytes.extend(self.hashes.iter().flatten());
        bytes
    }

    /// Reads what `to_bytes` wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FrontierError> {
        let truncated = || FrontierError::Truncated(bytes.len());
        let (size, rest) = bytes.split_first_chunk::<8>().ok_or_else(truncated)?;
        let size = u64::from_be_bytes(*size);
        let (hashes, odd) = rest.as_chunks::<32>();
        if !odd.is_empty() {
            return Err(truncated());
        }
        if usize::try_from(size.count_ones()) != Ok(hashes.len()) {
            let hashes = hashes.len();
            return Err(FrontierError::Hashes { size, hashes });
        }
        if size > SIZE_MAX {
            return Err(FrontierError::TooLarge(size));
        }
        Ok(Self {
            size,
            hashes: hashes.to_vec(),
        })
    }

    /// Appends a leaf.
    pub(super) fn push_leaf(&mut self, leaf: Hash) {
        self.push_subtree(0, leaf);
    }

    /// Appends a subtree of 2^level leaves, where the size is a multiple of that; each bit of the
    /// size that carries joins two subtrees of equal size.
    fn push_subtree(&mut self, level: u32, subtree: Hash) {
        let mut hash = subtree;
        for _ in 0..(self.size >> level).trailing_ones() {
            if let Some(left) = self.hashes.pop() {
                hash = node_hash(&left, &hash);
            }
        }
        self.hashes.push(hash);
        self.size = self.size.saturating_add(1 << level);
    }
}
