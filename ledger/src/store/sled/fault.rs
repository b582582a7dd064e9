//! Places in a commit where a test can make it fail, or look at what lies on disk by then.

use std::io;

/// A place in a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultPoint {
    /// Nothing was written.
    BeforeBatch,
    /// The rows were handed to sled, which may not have written them.
    AfterBatch,
    /// The rows are durable.
    AfterSync,
    /// So is the head, where this append needs one; nobody was answered.
    BeforeAnswer,
}

/// Decides what happens at these places.
pub trait Faults: Send + Sync {
    /// Called by the committer at each place; an error is taken as one of the disk.
    fn reach(&self, point: FaultPoint) -> io::Result<()>;

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
