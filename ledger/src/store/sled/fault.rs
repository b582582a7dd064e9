//! Places in a commit, in sealing and in writing the head, where a test can make it fail, or look
//! at what lies on disk by then.

use std::io;
use std::time::Duration;

use super::tile::TILE;

/// A disk that takes longer to sync a group does not come back, or is no disk to rely on.
const PATIENCE: Duration = Duration::from_secs(30);

/// Appends of one run follow each other faster than this while nobody is waited for; whoever cuts
/// the log by hand does not.
const IDLE: Duration = Duration::from_millis(50);

/// A place in a commit, in sealing, or in writing the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultPoint {
    /// Nothing was written.
    BeforeFrame,
    /// The frame was written, and may not be on disk.
    AfterFrame,
    /// The frame is durable.
    AfterSync,
    /// So is the head, where this append needs one; nobody was answered.
    BeforeAnswer,
    /// A tile was written and synced, under a name that is not its own.
    TileWritten,
    /// Some tiles have their names, which may not be on disk.
    TilesPlaced,
    /// They are on disk.
    TilesSynced,
    /// The rows of one of them are gone, which may not be on disk.
    RowsRemoved,
    /// The head is to be written, behind the answers.
    HeadBehind,
}

/// When records leave sled for tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sealing {
    /// The newest records, so many of them, stay in sled.
    pub window: u64,
    /// Tiles that are made durable together.
    pub tiles: usize,
    /// The head file is at most so many records behind; nothing above it is sealed.
    pub head: u64,
    /// Bytes in sled above which appends wait for sealing.
    pub backlog: u64,
}

impl Sealing {
    /// Up to where records may be sealed, where sled holds those before `end`, rows tell where
    /// those before `mark` are, and the head file is at a size.
    ///
    /// What is sealed is never written again: its stream would lose what no row tells of, and the
    /// head alone tells that the end of it is gone.
    pub(super) fn border(&self, end: u64, mark: u64, head: u64) -> u64 {
        let old = end.saturating_sub(self.window);
        let border = old.min(mark).min(head);
        border.saturating_sub(border.checked_rem(TILE).unwrap_or(0))
    }
}

impl Default for Sealing {
    fn default() -> Self {
        Self {
            window: 32_768,
            tiles: 32,
            head: 16_384,
            backlog: 256 * 1024 * 1024,
        }
    }
}

/// Decides what happens at these places.
pub trait Faults: Send + Sync {
    /// Called by committer, mover and anchor at each place; an error is taken as one of the disk.
    fn reach(&self, point: FaultPoint) -> io::Result<()>;

    /// How long writing one group may take before the store is closed for writing.
    fn patience(&self) -> Duration {
        PATIENCE
    }

    /// How long no append must come before the head is written behind the answers.
    fn idle(&self) -> Duration {
        IDLE
    }

    /// When records leave sled.
    fn sealing(&self) -> Sealing {
        Sealing::default()
    }

    /// Free bytes that committer and mover believe in, given those there are.
    fn room(&self, free_bytes: u64) -> u64;
}

/// Lets everything pass.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFaults;

impl Faults for NoFaults {
    fn reach(&self, _point: FaultPoint) -> io::Result<()> {
        Ok(())
    }

    fn room(&self, free_bytes: u64) -> u64 {
        free_bytes
    }
}

/// Lets everything pass, and has whatever fills so many tiles sealed, new or not.
#[cfg(any(test, feature = "conformance"))]
#[derive(Debug, Clone, Copy)]
pub struct SealsEarly {
    /// Tiles that are made durable together.
    pub tiles: usize,
}

#[cfg(any(test, feature = "conformance"))]
impl Faults for SealsEarly {
    fn reach(&self, point: FaultPoint) -> io::Result<()> {
        NoFaults.reach(point)
    }

    fn sealing(&self) -> Sealing {
        Sealing {
            window: 0,
            tiles: self.tiles,
            head: 1,
            ..Sealing::default()
        }
    }

    fn room(&self, free_bytes: u64) -> u64 {
        NoFaults.room(free_bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn nothing_is_sealed_above_index_or_head_nor_what_is_new(
            [end, mark, head, window] in [0..400_u64, 0..400_u64, 0..400_u64, 0..100_u64],
        ) {
            let sealing = Sealing { window, ..Sealing::default() };
            let border = sealing.border(end, mark, head);
            prop_assert!(border <= mark && border <= head && border.is_multiple_of(TILE));
            prop_assert!(border == 0 || border + window <= end);
            // And as much is as may be.
            let more = border + TILE;
            prop_assert!(more > mark || more > head || more + window > end);
        }
    }
}
