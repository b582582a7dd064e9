//! The card of a pending call.

use std::collections::BTreeSet;

use placet_engine::policy::allowlist;
use placet_engine::shell;
use placet_ledger::approval::Demands;
use placet_ledger::containment::{Containment, Part};
use placet_ledger::digest::Digest;
use placet_ledger::event::RiskSource;
use placet_ledger::id::{CallId, Name, RunId};
use placet_ledger::program::ProgramClass;
use placet_ledger::risk::DeclaredRisk;
use placet_ledger::time::Timestamp;
use placet_ledger::view::{Card, CardJudged, CardKind, CardProgram, Nearly, SteeredBy};
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
    /// What is demanded of approvals beside their number.
    #[serde(skip_serializing_if = "Demands::is_number")]
    require: Demands,
    path: [RunId; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    supersedes: Option<CallId>,
    containment: Containment,
    /// What is missing of the containment profile.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    missing: BTreeSet<Part>,
    /// TCP ports that a command would have; empty where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<BTreeSet<u16>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<ProgramOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    judged: Option<JudgedOut>,
    /// The allowlist key of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// Why it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_key: Option<String>,
    /// The entry of the per-command list that came nearest to covering it.
    #[serde(skip_serializing_if = "Option::is_none")]
    nearly: Option<Nearly>,
    #[serde(skip_serializing_if = "Option::is_none")]
    depends_on: Option<CallId>,
    /// An earlier call with the same arguments, which a person changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    amended_before: Option<CallId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    denied_before: Vec<DeniedOut>,
    /// Earlier calls that left files that steer programs otherwise than they were.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steered: Vec<SteeredBy>,
    /// How many more there are, older than those.
    #[serde(skip_serializing_if = "Option::is_none")]
    steered_more: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<String>,
}

/// The program of a command.
#[derive(Debug, Serialize)]
struct ProgramOut {
    argv: Vec<String>,
    class: ProgramClass,
    digest: Digest,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    outside: Vec<String>,
    path: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    repository: Vec<String>,
    shell: bool,
}

impl From<CardProgram> for ProgramOut {
    fn from(program: CardProgram) -> Self {
        Self {
            argv: program.argv,
            class: program.class,
            digest: program.digest,
            outside: program.outside,
            path: program.path,
            repository: program.repository,
            shell: program.shell,
        }
    }
}

/// What judged a call.
#[derive(Debug, Serialize)]
struct JudgedOut {
    source: RiskSource,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl From<CardJudged> for JudgedOut {
    fn from(judged: CardJudged) -> Self {
        Self {
            source: judged.source,
            model: judged.model,
            reason: judged.reason,
        }
    }
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
        let command = card.command();
        let key = command.and_then(shell::key);
        let no_key = command.filter(|_| key.is_none()).map(allowlist::no_key);
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
            require: card.demands,
            path: [card.run],
            supersedes: card.supersedes,
            containment: card.containment,
            missing: card.missing,
            network: card.program.is_some().then_some(card.network),
            program: card.program.map(ProgramOut::from),
            judged: card.judged.map(JudgedOut::from),
            key,
            no_key,
            nearly: card.nearly,
            depends_on: card.depends_on,
            amended_before: card.amended_before,
            denied_before: denied.collect(),
            steered: card.steered,
            steered_more: Some(card.steered_more).filter(|more| *more > 0),
            unreadable: card.unreadable,
        }
    }
}

/// What `inbox` says.
#[derive(Debug, Serialize)]
pub(crate) struct Inbox {
    /// Every card, oldest first.
    pub(crate) pending: Vec<CardOut>,
    /// Where this part ended, if there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}
