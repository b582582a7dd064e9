//! Where talking to models stands: the turn of the conversation, and what a model is asked beside.

use crate::budget::Spend;
use crate::content::Blob;
use crate::event::{ModelTask, Stop};
use crate::id::{EventId, Version};
use crate::time::Timestamp;

/// Where the conversation with the model stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// The model is to be called.
    Ready,
    /// It was called.
    Called {
        /// Which attempt.
        attempt: u32,
        /// In which segment.
        epoch: u32,
        /// What was set aside.
        reserved: Spend,
    },
    /// It replied.
    Replied {
        /// Why it stopped.
        stop: Stop,
        /// Id of the reply's record.
        id: EventId,
        /// Time of the reply's record; expiries count from it.
        at: Timestamp,
        /// What it said.
        reply: Option<Blob>,
    },
    /// It could not.
    Failed {
        /// What happened.
        detail: Option<Blob>,
        /// Whether and when it is called again.
        retry: Option<Retry>,
    },
}

/// A call of a model that is tried once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// The attempt that failed.
    pub attempt: u32,
    /// When the next one may be made.
    pub at: Timestamp,
}

/// What a model was asked beside the turns of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aside {
    /// What for.
    pub task: ModelTask,
    /// Which attempt.
    pub attempt: u32,
    /// How that stands.
    pub stands: AsideStands,
}

/// How such a call stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AsideStands {
    /// It was made.
    Called {
        /// In which segment.
        epoch: u32,
        /// What was set aside.
        reserved: Spend,
    },
    /// It failed.
    Failed {
        /// What happened.
        detail: Option<Blob>,
        /// When it may be made again, if it is.
        retry: Option<Timestamp>,
    },
}

impl Aside {
    /// Whether it was made in this segment and has not ended.
    pub fn is_open_in(&self, epoch: u32) -> bool {
        matches!(self.stands, AsideStands::Called { epoch: of, .. } if of == epoch)
    }
}

/// What the model sees in place of its first replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    /// How many replies that is.
    pub replies: usize,
    /// The summary.
    pub summary: Option<Blob>,
    /// The record that says so.
    pub version: Version,
}
