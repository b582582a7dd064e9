//! The card of a pending call.

use placet_ledger::containment::Containment;
use placet_ledger::digest::Digest;
use placet_ledger::id::{CallId, Name, RunId};
use placet_ledger::risk::DeclaredRisk;
use placet_ledger::time::Timestamp;
use placet_ledger::view::{Card, CardKind};
use serde::Serialize;
use serde_json::Value;

/// A card.
#[derive(Debug, Serialize)]
pub(crate) struct CardOut {
    run: RunId,
    call: CallId,
    kind: &'static str,
    tool: Name,
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<DeclaredRisk>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<Name>,
    /// Why the rule is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    proposal: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    set: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments_given: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preview: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// Of a call in doubt, what its tool knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requested_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    /// Whether an answer is too late.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    expired: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    quorum: Option<QuorumOut>,
    path: [RunId; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    supersedes: Option<CallId>,
    containment: Containment,
    #[serde(skip_serializing_if = "Option::is_none")]
    depends_on: Option<CallId>,
    /// An earlier call with the same arguments, which a person changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    amended_before: Option<CallId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    denied_before: Vec<DeniedOut>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<String>,
}

#[derive(Debug, Serialize)]
struct QuorumOut {
    need: u32,
    have: u32,
}

#[derive(Debug, Serialize)]
struct DeniedOut {
    call: CallId,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl CardOut {
    /// The shape of a card at a time, with the reason of the rule that asks.
    pub(crate) fn of(card: Card, now: Timestamp, reason: Option<String>) -> Self {
        let denied = card.denied_before.into_iter().map(|denied| DeniedOut {
            call: denied.call,
            note: denied.note,
        });
        Self {
            run: card.run,
            call: card.call,
            kind: match card.kind {
                CardKind::Approval => "approval",
                CardKind::Question => "question",
                CardKind::InDoubt => "in_doubt",
            },
            tool: card.tool,
            tier: card.tier,
            rule: card.rule,
            reason,
            proposal: card.proposal,
            request: card.request,
            set: card.set,
            arguments: card.arguments,
            arguments_given: card.arguments_given,
            preview: card.preview,
            message: card.message,
            detail: card.detail,
            requested_at: card.requested_at,
            expires_at: card.expires_at,
            expired: card.kind != CardKind::InDoubt && card.expires_at.is_some_and(|at| now >= at),
            quorum: card.quorum.map(|quorum| QuorumOut {
                need: quorum.need,
                have: quorum.have,
            }),
            path: [card.run],
            supersedes: card.supersedes,
            containment: card.containment,
            depends_on: card.depends_on,
            amended_before: card.amended_before,
            denied_before: denied.collect(),
            unreadable: card.unreadable,
        }
    }
}

/// What `inbox` says.
#[derive(Debug, Serialize)]
pub(crate) struct Inbox {
    /// Every card, oldest first.
    pub(crate) pending: Vec<CardOut>,
}
