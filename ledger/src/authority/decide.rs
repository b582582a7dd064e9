//! Deciding about authority: what a person who grants, revokes or adopts rules comes to.

use serde::{Deserialize, Serialize};

use super::{Grant, Standing};
use crate::content::Texts;
use crate::event::{Change, Event, GrantAdded, GrantKind, GrantRevoked, RulesAdopted};
use crate::id::GrantId;
use crate::run::{Caller, Rejection};
use crate::time::Timestamp;

/// An intention about authority; a person's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AuthorityCommand {
    /// Let something run unasked in every run. Texts: entry.
    Grant {
        /// What it allows.
        kind: GrantKind,
        /// From then on it allows nothing.
        expires_at: Option<Timestamp>,
    },
    /// Take a grant back. Texts: reason.
    Revoke(GrantId),
    /// Bring rules into force. Texts: text.
    Adopt(Change),
}

/// What event a command comes to, at this time.
pub fn decide_authority(
    standing: Standing<'_>,
    caller: &Caller,
    at: Timestamp,
    (command, texts): (AuthorityCommand, &Texts),
) -> Result<Event, Rejection> {
    let state = standing.state;
    let by = caller.person().ok_or(Rejection::NotAPerson)?;
    match command {
        AuthorityCommand::Grant { kind, expires_at } => {
            if expires_at.is_some_and(|end| end <= at) {
                return Err(Rejection::OutOfTurn("the grant would be over at once"));
            }
            let entry = texts.get("entry").map(|text| &text.bytes[..]);
            let same = |grant: &Grant| {
                let terms = grant.kind == kind && grant.expires_at == expires_at;
                terms && grant.holds(at) && standing.contents.bytes(&grant.entry) == entry
            };
            let mut held = state.grants().iter();
            if let Some((there, _)) = held.find(|(_, grant)| entry.is_some() && same(grant)) {
                return Err(Rejection::AlreadyGranted(*there));
            }
            let version = state.version().next();
            let grant = GrantId::added_at(version.ok_or(Rejection::Exhausted("records"))?);
            Ok(Event::GrantAdded(GrantAdded {
                by,
                expires_at,
                grant,
                kind,
            }))
        }
        AuthorityCommand::Revoke(grant) => match state.grants().get(&grant) {
            Some(found) if found.revoked.is_none() => {
                Ok(Event::GrantRevoked(GrantRevoked { by, grant }))
            }
            Some(_) => Err(Rejection::OutOfTurn("the grant was revoked before")),
            None => Err(Rejection::UnknownGrant(grant)),
        },
        AuthorityCommand::Adopt(change) => Ok(Event::RulesAdopted(RulesAdopted { change })),
    }
}
