//! Who sends a command to the owner, from which process, and under which id it may be asked for
//! again.

use serde::{Deserialize, Serialize};

use super::Owner;
use crate::envelope::Envelope;
use crate::error::LedgerError;
use crate::id::{CommandId, StreamId, Version};
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

/// Under which id a command is sent, so that it can be sent again where its answer was lost.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sending {
    /// The id.
    pub(crate) id: CommandId,
    /// Whether it was sent before: it is looked for first.
    pub(crate) again: bool,
    /// The newest durable record of the stream that was known before it was sent the first time.
    /// What was merely staged may have been lost since, and its number taken by another record.
    pub(crate) since: Option<Version>,
}

impl Owner {
    /// What came of a command that was sent before, if it is one.
    pub(crate) async fn before(
        &self,
        stream: StreamId,
        sending: Sending,
    ) -> Result<Option<Vec<Envelope>>, LedgerError> {
        if !sending.again {
            return Ok(None);
        }
        self.recorded(stream, sending.id, sending.since).await
    }
}
