//! Places in a commit where a test can make it fail, or look at what lies on disk by then.

use std::io;
use std::time::Duration;

/// A disk that takes longer to sync a group does not come back, or is no disk to rely on.
const PATIENCE: Duration = Duration::from_secs(30);

/// A place in a commit.
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
}

/// Decides what happens at these places.
pub trait Faults: Send + Sync {
    /// Called by the committer at each place; an error is taken as one of the disk.
    fn reach(&self, point: FaultPoint) -> io::Result<()>;

    /// How long writing one group may take before the store is closed for writing.
    fn patience(&self) -> Duration {
        PATIENCE
    }

    /// Free bytes that the committer believes in, given those there are.
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
