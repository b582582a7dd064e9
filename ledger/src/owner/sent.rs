//! Who sends a command to the owner, from which process, and under which id it may be asked for
//! again.

use crate::id::CommandId;
use crate::run::Caller;

/// One way into the owner: this process, or a connection of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seat {
    /// Of all ways into this owner.
    pub(crate) number: u64,
    /// The process at the other end, as the kernel names it.
    pub(crate) pid: u32,
}

impl Seat {
    /// This process.
    pub(crate) fn here() -> Self {
        Self {
            number: 0,
            pid: std::process::id(),
        }
    }
}

/// A sender.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent<'a> {
    /// Who sends it.
    pub(crate) caller: &'a Caller,
    /// The way it came in.
    pub(crate) seat: Seat,
    /// Its id, where it came from another process.
    pub(crate) id: Option<CommandId>,
}

impl<'a> Sent<'a> {
    /// Somebody in this process.
    pub(crate) fn here(caller: &'a Caller) -> Self {
        Self {
            caller,
            seat: Seat::here(),
            id: None,
        }
    }
}
