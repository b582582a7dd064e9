//! The authority stream folded: which ledger this is, and by which rules it decides now.

mod decide;

use std::collections::BTreeMap;

use crate::approval::By;
use crate::content::{Commitment, Contents};
use crate::digest::Digest;
use crate::envelope::{Envelope, LinkError, ledger_genesis};
use crate::event::{Change, Event, GrantKind, LedgerCreated};
use crate::id::{EventId, GrantId, LedgerId, StreamId, Version};
use crate::time::Timestamp;

pub use decide::{AuthorityCommand, decide_authority};

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

/// Something that runs unasked in every run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// What it says.
    pub entry: Commitment,
    /// What it allows.
    pub kind: GrantKind,
    /// Who granted it.
    pub by: By,
    /// When.
    pub at: Timestamp,
    /// From then on it allows nothing.
    pub expires_at: Option<Timestamp>,
    /// Who took it back, and when.
    pub revoked: Option<(By, Timestamp)>,
}

impl Grant {
    /// Whether it allows anything at this time.
    pub fn holds(&self, at: Timestamp) -> bool {
        self.revoked.is_none() && self.expires_at.is_none_or(|end| at < end)
    }
}

/// What the authority stream says so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorityState {
    ledger: LedgerId,
    created: LedgerCreated,
    created_digest: Digest,
    rules: Option<Commitment>,
    grants: BTreeMap<GrantId, Grant>,
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

    /// Everything that was ever granted to all runs, by id.
    pub fn grants(&self) -> &BTreeMap<GrantId, Grant> {
        &self.grants
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

/// What stands at a moment: the authority stream folded, with its contents.
#[derive(Debug, Clone, Copy)]
pub struct Standing<'a> {
    /// The state.
    pub state: &'a AuthorityState,
    /// The contents of the stream.
    pub contents: &'a Contents,
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
            grants: BTreeMap::new(),
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
    let blob = |name: &str| envelope.blobs().get(name).map(|blob| blob.commitment);
    match envelope.event() {
        Event::RulesAdopted(adopted)
            if (adopted.change == Change::First) == state.rules.is_none() =>
        {
            state.rules = Some(blob("text").ok_or(illegal)?);
        }
        Event::GrantAdded(added) if added.grant == GrantId::added_at(next) => {
            let grant = Grant {
                entry: blob("entry").ok_or(illegal)?,
                kind: added.kind,
                by: added.by.clone(),
                at: header.at,
                expires_at: added.expires_at,
                revoked: None,
            };
            state.grants.insert(added.grant, grant);
        }
        Event::GrantRevoked(revoked) => {
            let grant = state
                .grants
                .get_mut(&revoked.grant)
                .ok_or(illegal.clone())?;
            if grant.revoked.is_some() {
                return Err(illegal);
            }
            grant.revoked = Some((revoked.by.clone(), header.at));
        }
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
