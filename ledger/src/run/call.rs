//! One call of a run: what is recorded about it, and how far it has come.

use std::collections::BTreeSet;

use crate::approval::{Answer, By, Demands};
use crate::containment::Level;
use crate::content::Blob;
use crate::digest::Digest;
use crate::event::{Demand, RefusalKind, RiskSource, Settlement};
use crate::id::{AnswerId, CallId, EventId, Name, Principal, Version};
use crate::policy::{ASK_USER, EXECUTE_COMMAND};
use crate::precondition::PreconditionKind;
use crate::program::ProgramClass;
use crate::risk::{DeclaredRisk, RiskTier};
use crate::time::Timestamp;

/// How a call was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Close {
    /// It took effect.
    Succeeded,
    /// It ran and did not succeed.
    Failed,
    /// Its target was no longer what the preview showed; nothing was changed.
    Stale,
    /// It was stopped.
    Interrupted,
    /// A person said no.
    Denied,
    /// It was not even asked about.
    Refused(RefusalKind),
    /// Nobody answered, or it was not started, in time.
    Expired,
    /// A person replied to its question.
    Answered,
    /// A person took the approval back.
    Revoked,
    /// A person gave it other arguments; another call stands in its place.
    Superseded,
    /// A person said what became of it.
    Settled(Settlement),
}

/// How far a call has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Named by the model.
    Named,
    /// Proposed, without a verdict.
    Proposed,
    /// Waiting for an answer.
    Pending,
    /// Waiting for a reply to its question.
    Asked,
    /// Allowed, not started.
    Granted,
    /// Started.
    Executing {
        /// The segment that started it.
        epoch: u32,
    },
    /// Started, and nobody knows whether it took effect.
    InDoubt,
    /// Over.
    Closed(Close),
}

/// What its `call.proposed` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposed {
    /// Where the record stands.
    pub version: Version,
    /// The record's own digest.
    pub record: Digest,
    /// The proposal digest.
    pub digest: Digest,
    /// The tool.
    pub tool: Name,
    /// Digest of its definition.
    pub definition: Digest,
    /// The hidden half, where it is a pair.
    pub execute: Option<Name>,
    /// What the tool declares.
    pub declared: DeclaredRisk,
    /// How it is shut in.
    pub level: Level,
    /// TCP ports that it would have.
    pub network: BTreeSet<u16>,
    /// Whose hands the program is in that it would run.
    pub program: Option<ProgramClass>,
    /// What kind of precondition it has.
    pub kind: PreconditionKind,
    /// The effective arguments.
    pub arguments: Blob,
    /// The arguments of the executing half, where they have a place of their own.
    pub execute_arguments: Option<Blob>,
    /// The precondition.
    pub precondition: Option<Blob>,
    /// What it would do, in words.
    pub message: Option<Blob>,
    /// What it would do, as a diff.
    pub preview: Option<Blob>,
    /// The program that it would run.
    pub runs: Option<Blob>,
}

/// What its newest `risk.assessed` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessed {
    /// The record's own digest.
    pub record: Digest,
    /// What judged.
    pub source: RiskSource,
    /// The model.
    pub model: Option<Name>,
    /// What a plugin wants beside the tier.
    pub demand: Option<Demand>,
    /// The tier.
    pub tier: RiskTier,
    /// Why, in the words of whatever judged.
    pub reason: Option<Blob>,
}

/// What its `approval.requested` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requested {
    /// Where the record stands.
    pub version: Version,
    /// The request digest.
    pub digest: Digest,
    /// When it was asked.
    pub at: Timestamp,
    /// From then on an answer is too late.
    pub expires_at: Timestamp,
    /// The row that asks.
    pub rule: Name,
    /// How it was judged.
    pub tier: DeclaredRisk,
    /// What the approvals must be.
    pub demands: Demands,
    /// How its process is shut in, where that is weaker than the proposal says.
    pub weaker: Option<Level>,
}

/// What its `approval.granted` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Where the record stands.
    pub version: Version,
    /// The record's own digest.
    pub record: Digest,
    /// Who allowed it.
    pub by: By,
    /// Until when it must be started; a person's grant alone ends.
    pub expires_at: Option<Timestamp>,
}

/// What its `question.asked` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    /// The digest that a reply names.
    pub digest: Digest,
    /// When it was asked.
    pub at: Timestamp,
    /// From then on a reply is too late.
    pub expires_at: Timestamp,
    /// The question.
    pub text: Option<Blob>,
}

impl Grant {
    /// Whether a person gave it.
    pub fn by_person(&self) -> bool {
        self.expires_at.is_some()
    }
}

/// What a person's answer to it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The answer set it came in.
    pub set: AnswerId,
    /// Who.
    pub by: By,
    /// The verdict.
    pub answer: Answer,
}

/// One call of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub(super) id: CallId,
    pub(super) named: CallId,
    pub(super) supersedes: Option<CallId>,
    pub(super) superseded_by: Option<CallId>,
    pub(super) amender: Option<Principal>,
    pub(super) repeats: Option<CallId>,
    pub(super) refused_by: Option<Name>,
    pub(super) tool: Option<Name>,
    pub(super) received: Option<Blob>,
    pub(super) phase: Phase,
    pub(super) last: EventId,
    pub(super) proposed: Option<Proposed>,
    pub(super) assessed: Option<Assessed>,
    pub(super) requested: Option<Requested>,
    pub(super) question: Option<Question>,
    pub(super) doubt: Option<Digest>,
    pub(super) answered: Option<Answered>,
    pub(super) grant: Option<Grant>,
    pub(super) attempts: u32,
    pub(super) duration_ms: u64,
    pub(super) note: Option<Blob>,
    pub(super) result: Option<Blob>,
    pub(super) steered: Option<Blob>,
}

impl Call {
    /// A call that was just named.
    pub(super) fn new(
        id: CallId,
        tool: Option<Name>,
        received: Option<Blob>,
        last: EventId,
    ) -> Self {
        Self {
            id,
            named: id,
            supersedes: None,
            superseded_by: None,
            amender: None,
            repeats: None,
            refused_by: None,
            tool,
            received,
            phase: Phase::Named,
            last,
            proposed: None,
            assessed: None,
            requested: None,
            question: None,
            doubt: None,
            answered: None,
            grant: None,
            attempts: 0,
            duration_ms: 0,
            note: None,
            result: None,
            steered: None,
        }
    }

    /// Its id.
    pub fn id(&self) -> CallId {
        self.id
    }

    /// The id of the call that the model named, in whose place this one stands; else its own.
    pub fn named(&self) -> CallId {
        self.named
    }

    /// The call whose place it took when a person gave that other arguments.
    pub fn supersedes(&self) -> Option<CallId> {
        self.supersedes
    }

    /// The call that took its place.
    pub fn superseded_by(&self) -> Option<CallId> {
        self.superseded_by
    }

    /// The person who gave it its arguments, in place of the model's.
    pub fn amender(&self) -> Option<&Principal> {
        self.amender.as_ref()
    }

    /// The denied call that it was refused for repeating.
    pub fn repeats(&self) -> Option<CallId> {
        self.repeats
    }

    /// The rule that it was refused by.
    pub fn refused_by(&self) -> Option<&Name> {
        self.refused_by.as_ref()
    }

    /// The tool, where the name is one of this run's.
    pub fn tool(&self) -> Option<&Name> {
        self.tool.as_ref()
    }

    /// The arguments as received.
    pub fn received(&self) -> Option<&Blob> {
        self.received.as_ref()
    }

    /// How far it has come.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Id of the newest record about it.
    pub fn last(&self) -> EventId {
        self.last
    }

    /// What was proposed.
    pub fn proposed(&self) -> Option<&Proposed> {
        self.proposed.as_ref()
    }

    /// How it was judged.
    pub fn assessed(&self) -> Option<&Assessed> {
        self.assessed.as_ref()
    }

    /// How far its process is shut in, as a person was shown: at its request, or in the proposal.
    pub fn shown_level(&self) -> Option<&Level> {
        let weaker = self
            .requested
            .as_ref()
            .and_then(|asked| asked.weaker.as_ref());
        weaker.or(self.proposed.as_ref().map(|proposed| &proposed.level))
    }

    /// What was asked.
    pub fn requested(&self) -> Option<&Requested> {
        self.requested.as_ref()
    }

    /// What it asks a person.
    pub fn question(&self) -> Option<&Question> {
        self.question.as_ref()
    }

    /// The digest that settling its doubt names.
    pub fn doubt(&self) -> Option<Digest> {
        self.doubt
    }

    /// From then on an answer, or a reply, is too late.
    pub fn expires_at(&self) -> Option<Timestamp> {
        let asked = self.requested.as_ref().map(|asked| asked.expires_at);
        asked.or(self.question.map(|asked| asked.expires_at))
    }

    /// Whether it waits for a person's word before anything is done: an approval, or a reply.
    pub fn is_awaited(&self) -> bool {
        matches!(self.phase, Phase::Pending | Phase::Asked)
    }

    /// What a person answered.
    pub fn answered(&self) -> Option<&Answered> {
        self.answered.as_ref()
    }

    /// What was granted.
    pub fn grant(&self) -> Option<&Grant> {
        self.grant.as_ref()
    }

    /// How many times it was started.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// How long its executions took, in all.
    pub fn duration_ms(&self) -> u64 {
        self.duration_ms
    }

    /// The approver's note.
    pub fn note(&self) -> Option<&Blob> {
        self.note.as_ref()
    }

    /// Its result, or the detail of its refusal.
    pub fn result(&self) -> Option<&Blob> {
        self.result.as_ref()
    }

    /// What it left otherwise of files that steer programs.
    pub fn steered(&self) -> Option<&Blob> {
        self.steered.as_ref()
    }

    /// Whether it is over.
    pub fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed(_))
    }
}

impl Proposed {
    /// Whether the call asks a person something, and does nothing else.
    pub fn is_question(&self) -> bool {
        self.tool.as_str() == ASK_USER
    }

    /// Whether the call runs a command.
    pub fn is_command(&self) -> bool {
        self.tool.as_str() == EXECUTE_COMMAND
    }
}
