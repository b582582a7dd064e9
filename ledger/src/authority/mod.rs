//! The authority stream folded: which ledger this is, and by which rules it decides now.

use crate::content::Commitment;
use crate::digest::Digest;
use crate::envelope::{Envelope, LinkError, ledger_genesis};
use crate::event::{Event, LedgerCreated};
use crate::id::{EventId, LedgerId, StreamId, Version};
use crate::time::Timestamp;

/// Why a record cannot follow in the authority stream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthorityError {
    /// The chain is broken.
    #[error("the record does not follow the one before it")]
    Link(#[from] LinkError),
    /// No such event belongs there.
    #[error("{0} cannot stand here in the authority stream")]
    Illegal(&'static str),
    /// The stream is empty.
    #[error("the authority stream is empty")]
    Empty,
}

/// What the authority stream says so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorityState {
    ledger: LedgerId,
    created: LedgerCreated,
    created_digest: Digest,
    rules: Option<Commitment>,
    version: Version,
    digest: Digest,
    last: (EventId, Timestamp),
}

impl AuthorityState {
    /// The ledger.
    pub fn ledger(&self) -> LedgerId {
        self.ledger
    }

    /// Digest of `ledger.created`, which every other stream's genesis covers.
    pub fn created(&self) -> &Digest {
        &self.created_digest
    }

    /// The journal's stream.
    pub fn journal(&self) -> StreamId {
        self.created.journal
    }

    /// Commitment to the rules in force; none were adopted before the second record.
    pub fn rules(&self) -> Option<Commitment> {
        self.rules
    }

    /// Version of the newest record.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Digest of the newest record.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Id and time of the newest record.
    pub fn last(&self) -> (EventId, Timestamp) {
        self.last
    }
}

/// The state after one more record.
pub fn evolve_authority(
    state: Option<AuthorityState>,
    envelope: &Envelope,
) -> Result<AuthorityState, AuthorityError> {
    let header = envelope.header();
    let last = (header.id, header.at);
    let Some(mut state) = state else {
        let ledger = header.ledger;
        envelope.verify_link(
            ledger,
            ledger.authority(),
            Version::ZERO,
            ledger_genesis(ledger),
        )?;
        let Event::LedgerCreated(created) = envelope.event() else {
            return Err(AuthorityError::Illegal(envelope.event().name()));
        };
        return Ok(AuthorityState {
            ledger,
            created: created.clone(),
            created_digest: envelope.digest(),
            rules: None,
            version: Version::ZERO,
            digest: envelope.digest(),
            last,
        });
    };
    let illegal = AuthorityError::Illegal(envelope.event().name());
    let next = state
        .version
        .next()
        .ok_or(AuthorityError::Illegal("a record past the end"))?;
    envelope.verify_link(state.ledger, state.ledger.authority(), next, state.digest)?;
    let text = envelope.blobs().get("text").map(|blob| blob.commitment);
    match (envelope.event(), text, state.rules) {
        (Event::RulesAdopted(_), Some(text), None) => state.rules = Some(text),
        _ => return Err(illegal),
    }
    state.version = next;
    state.digest = envelope.digest();
    state.last = last;
    Ok(state)
}

/// The state after all records of the stream.
pub fn fold_authority<'a>(
    envelopes: impl IntoIterator<Item = &'a Envelope>,
) -> Result<AuthorityState, AuthorityError> {
    let mut state = None;
    for envelope in envelopes {
        state = Some(evolve_authority(state, envelope)?);
    }
    state.ok_or(AuthorityError::Empty)
}
