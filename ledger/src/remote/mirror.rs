//! A run as another process knows it: folded here from the records that the owner sent.

use std::sync::Arc;

use crate::content::{Commitment, Content, Contents};
use crate::envelope::Envelope;
use crate::error::LedgerError;
use crate::id::{RunId, Version};
use crate::run::{Head, Origin, RunState, evolve};
use crate::store::chain;

use super::frame::Attachment;
use super::protocol::attached;

/// A run in memory.
#[derive(Default)]
pub(super) struct Mirror {
    pub(super) state: Option<RunState>,
    pub(super) contents: Contents,
    /// The newest record that is durable.
    pub(super) durable: Option<Version>,
}

impl Mirror {
    /// The newest record that is known.
    pub(super) fn head(&self) -> Option<Head> {
        self.state.as_ref().map(RunState::head)
    }

    /// The folded state.
    pub(super) fn state(&self, run: RunId) -> Result<&RunState, LedgerError> {
        self.state.as_ref().ok_or(LedgerError::NoRun(run))
    }

    /// Takes in what came. What does not follow is no news of this run, and nothing is kept then.
    pub(super) fn learn(
        &mut self,
        run: RunId,
        origin: &Origin,
        (records, contents): (Vec<Attachment>, Vec<(Commitment, Attachment)>),
    ) -> Result<(), LedgerError> {
        for (commitment, bytes) in contents {
            let content = checked(commitment, &bytes)?;
            self.contents.insert_checked(commitment, content);
        }
        for bytes in records {
            let wrong = |error: &dyn std::error::Error| LedgerError::Integrity(chain(error));
            let envelope =
                Envelope::parse(Arc::<[u8]>::from(bytes)).map_err(|error| wrong(&error))?;
            let state = self.state.take();
            origin
                .verify_link(run.stream(), state.as_ref(), &envelope)
                .map_err(|error| wrong(&error))?;
            let state = evolve(state, &envelope).map_err(|error| wrong(&error))?;
            self.state = Some(state);
        }
        Ok(())
    }
}

/// A content that was attached, if it is the one that is named.
pub(super) fn checked(commitment: Commitment, bytes: &[u8]) -> Result<Content, LedgerError> {
    let wrong = || LedgerError::Integrity(format!("what was sent is not the content {commitment}"));
    let content = attached(bytes).ok_or_else(wrong)?;
    if content.commitment() == commitment {
        Ok(content)
    } else {
        Err(wrong())
    }
}
