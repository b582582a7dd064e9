//! Folding a run: each record's link is checked, then its event evolves the state.

use super::evolve::{IllegalEvent, evolve};
use super::state::RunState;
use crate::digest::Digest;
use crate::envelope::{Envelope, LinkError, stream_genesis};
use crate::id::{LedgerId, StreamId, Version};

/// What a stream's first record must follow: the ledger, and the digest of the record that
/// created it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The ledger.
    pub ledger: LedgerId,
    /// Digest of `ledger.created`.
    pub created: Digest,
}

impl Origin {
    /// Whether `envelope` follows `state` in the chain of its stream.
    pub fn verify_link(
        &self,
        stream: StreamId,
        state: Option<&RunState>,
        envelope: &Envelope,
    ) -> Result<(), LinkError> {
        let (expected, prev) = match state {
            None => (
                Version::ZERO,
                stream_genesis(self.ledger, &self.created, stream),
            ),
            Some(state) => {
                let head = state.head();
                let found = envelope.version();
                let after = LinkError::Version {
                    expected: head.version,
                    found,
                };
                (head.version.next().ok_or(after)?, head.digest)
            }
        };
        envelope.verify_link(self.ledger, stream, expected, prev)
    }
}

/// Why a stored run does not fold. It is quarantined: shown, exported, never driven.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    /// The chain is broken.
    #[error("the record does not follow the one before it")]
    Link(#[from] LinkError),
    /// The event cannot follow.
    #[error(transparent)]
    Illegal(#[from] IllegalEvent),
}

/// The state after all these records of one run; `None` if there are none.
pub fn fold<'a>(
    origin: &Origin,
    stream: StreamId,
    envelopes: impl IntoIterator<Item = &'a Envelope>,
) -> Result<Option<RunState>, FoldError> {
    let mut state = None;
    for envelope in envelopes {
        origin.verify_link(stream, state.as_ref(), envelope)?;
        state = Some(evolve(state, envelope)?);
    }
    Ok(state)
}
