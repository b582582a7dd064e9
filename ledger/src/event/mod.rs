//! The event catalogue: past tense, stable names, one schema number each, and a replay class.
//!
//! `docs/EVENTS.md` describes every event for readers; a test holds both lists together.

mod authority;
mod call;
mod journal;
mod model;
mod risk;
mod run;
mod verdict;

pub use authority::{
    Change, GrantAdded, GrantKind, GrantRevoked, LedgerCreated, PublicKey, RulesAdopted,
};
pub use call::{
    CallProposed, CallRefused, DoubtReason, ExecutionEnded, ExecutionInDoubt, ExecutionRefused,
    ExecutionSettled, ExecutionStarted, FailureKind, RefusalKind, Settlement, StartRefusal,
};
pub use journal::{AttemptKind, AttemptRefused, ClockStepped};
pub use model::{
    ContextCompacted, ModelCalled, ModelFailed, ModelFailure, ModelReplied, ModelTask, NamedCall,
    Stop,
};
pub use risk::{Demand, RiskAssessed, RiskSource};
pub use run::{
    LimitsTightened, OpenCall, OpenWhy, Outcome, PolicyChanged, PromptAdded, RunCancelRequested,
    RunFinished, RunParked, RunStarted, SegmentEnd, SegmentEnded, SegmentReason, SegmentStarted,
    ToolAllowed, ToolsNarrowed,
};
pub use verdict::{
    ApprovalDenied, ApprovalExpired, ApprovalGranted, ApprovalRequested, ApprovalRevoked,
    Automatic, ByPerson, QuestionAnswered, QuestionAsked,
};

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::approval::By;
use crate::id::{CallId, Version};

/// What a replay does with an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Fed in at its version.
    Given,
    /// Handed back by the recorded effect handler.
    Observed,
    /// Recomputed and compared, byte for byte.
    Derived,
}

impl Class {
    /// The word that documents use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Observed => "observed",
            Self::Derived => "derived",
        }
    }
}

/// Why the body of a record is not an event of ours.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// No event has this name and schema.
    #[error("unknown event {name} with schema {schema}")]
    Unknown {
        /// The name found.
        name: String,
        /// The schema found.
        schema: u32,
    },
    /// The body does not fit the event.
    #[error("the body does not fit {name}")]
    Body {
        /// The event's name.
        name: &'static str,
        /// What does not fit.
        #[source]
        source: serde_json::Error,
    },
}

/// What of an event stands in the body of its record.
pub(crate) struct Body<'a>(pub(crate) &'a Event);

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize_body(serializer)
    }
}

macro_rules! events {
    ($($variant:ident($payload:ty) = $name:literal,)*) => {
        /// A fact: something that happened, as it stands in the ledger.
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the payloads are documented, and docs/EVENTS.md has the table")]
        pub enum Event {
            $($variant($payload),)*
        }

        impl Event {
            /// The names of all events, in the order of the catalogue.
            pub const NAMES: &'static [&'static str] = &[$($name,)*];

            /// The stable name.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
            }

            /// The body as JSON.
            pub fn body(&self) -> Result<Value, serde_json::Error> {
                serde_json::to_value(Body(self))
            }

            /// Writes the body.
            fn serialize_body<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self { $(Self::$variant(payload) => payload.serialize(serializer),)* }
            }

            /// Reads the body of a record of this name and schema.
            pub fn parse(name: &str, schema: u32, body: &str) -> Result<Self, EventError> {
                match (name, schema) {
                    $(($name, 1) => serde_json::from_str(body)
                        .map(Self::$variant)
                        .map_err(|source| EventError::Body { name: $name, source }),)*
                    _ => Err(EventError::Unknown { name: name.chars().take(80).collect(), schema }),
                }
            }
        }
    };
}

events! {
    RunStarted(RunStarted) = "run.started",
    SegmentStarted(SegmentStarted) = "segment.started",
    SegmentEnded(SegmentEnded) = "segment.ended",
    PromptAdded(PromptAdded) = "prompt.added",
    ModelCalled(ModelCalled) = "model.called",
    ModelReplied(ModelReplied) = "model.replied",
    ModelFailed(ModelFailed) = "model.failed",
    ContextCompacted(ContextCompacted) = "context.compacted",
    CallProposed(CallProposed) = "call.proposed",
    RiskAssessed(RiskAssessed) = "risk.assessed",
    CallRefused(CallRefused) = "call.refused",
    ApprovalRequested(ApprovalRequested) = "approval.requested",
    ApprovalGranted(ApprovalGranted) = "approval.granted",
    ApprovalDenied(ApprovalDenied) = "approval.denied",
    ApprovalRevoked(ApprovalRevoked) = "approval.revoked",
    ApprovalExpired(ApprovalExpired) = "approval.expired",
    QuestionAsked(QuestionAsked) = "question.asked",
    QuestionAnswered(QuestionAnswered) = "question.answered",
    ExecutionStarted(ExecutionStarted) = "execution.started",
    ExecutionRefused(ExecutionRefused) = "execution.refused",
    ExecutionSucceeded(ExecutionEnded) = "execution.succeeded",
    ExecutionFailed(ExecutionEnded) = "execution.failed",
    ExecutionStale(ExecutionEnded) = "execution.stale",
    ExecutionInterrupted(ExecutionEnded) = "execution.interrupted",
    ExecutionInDoubt(ExecutionInDoubt) = "execution.in_doubt",
    ExecutionSettled(ExecutionSettled) = "execution.settled",
    PolicyChanged(PolicyChanged) = "policy.changed",
    ToolAllowed(ToolAllowed) = "tool.allowed",
    LimitsTightened(LimitsTightened) = "limits.tightened",
    ToolsNarrowed(ToolsNarrowed) = "tools.narrowed",
    RunParked(RunParked) = "run.parked",
    RunCancelRequested(RunCancelRequested) = "run.cancel_requested",
    RunFinished(RunFinished) = "run.finished",
    LedgerCreated(LedgerCreated) = "ledger.created",
    RulesAdopted(RulesAdopted) = "rules.adopted",
    GrantAdded(GrantAdded) = "grant.added",
    GrantRevoked(GrantRevoked) = "grant.revoked",
    ClockStepped(ClockStepped) = "clock.stepped",
    AttemptRefused(AttemptRefused) = "attempt.refused",
}

impl Event {
    /// The schema number of what is written today.
    pub const fn schema(&self) -> u32 {
        1
    }

    /// What a replay does with it.
    pub const fn class(&self) -> Class {
        match self {
            Self::RunStarted(_)
            | Self::SegmentStarted(_)
            | Self::SegmentEnded(_)
            | Self::PromptAdded(_)
            | Self::ApprovalDenied(_)
            | Self::ApprovalRevoked(_)
            | Self::ApprovalExpired(_)
            | Self::QuestionAnswered(_)
            | Self::PolicyChanged(_)
            | Self::ToolAllowed(_)
            | Self::LimitsTightened(_)
            | Self::ToolsNarrowed(_)
            | Self::RunCancelRequested(_)
            | Self::LedgerCreated(_)
            | Self::RulesAdopted(_)
            | Self::GrantAdded(_)
            | Self::GrantRevoked(_)
            | Self::ClockStepped(_)
            | Self::AttemptRefused(_)
            | Self::ApprovalGranted(ApprovalGranted::ByPerson(_)) => Class::Given,
            Self::ModelReplied(_)
            | Self::ModelFailed(_)
            | Self::ContextCompacted(_)
            | Self::ExecutionSucceeded(_)
            | Self::ExecutionFailed(_)
            | Self::ExecutionStale(_)
            | Self::ExecutionInterrupted(_)
            | Self::ExecutionInDoubt(_) => Class::Observed,
            Self::ExecutionSettled(settled) => match settled.by {
                By::Person { .. } => Class::Given,
                By::Policy { .. }
                | By::List { .. }
                | By::Grant { .. }
                | By::Rule { .. }
                | By::Tool => Class::Observed,
            },
            Self::RiskAssessed(assessed) => match assessed.source {
                RiskSource::Plugin | RiskSource::Model => Class::Observed,
                RiskSource::Rule | RiskSource::Floor => Class::Derived,
            },
            // What a person gave other arguments was brought in by that person.
            Self::CallProposed(proposed) => match proposed.supersedes {
                Some(_) => Class::Given,
                None => Class::Derived,
            },
            Self::ModelCalled(_)
            | Self::CallRefused(_)
            | Self::ApprovalRequested(_)
            | Self::QuestionAsked(_)
            | Self::ApprovalGranted(ApprovalGranted::Automatic(_))
            | Self::ExecutionStarted(_)
            | Self::ExecutionRefused(_)
            | Self::RunParked(_)
            | Self::RunFinished(_) => Class::Derived,
        }
    }

    /// The call that it is about.
    pub const fn call(&self) -> Option<CallId> {
        match self {
            Self::CallProposed(e) => Some(e.call),
            Self::RiskAssessed(e) => Some(e.call),
            Self::CallRefused(e) => Some(e.call),
            Self::ApprovalRequested(e) => Some(e.call),
            Self::ApprovalGranted(e) => Some(e.call()),
            Self::ApprovalDenied(e) => Some(e.call),
            Self::ApprovalRevoked(e) => Some(e.call),
            Self::ApprovalExpired(e) => Some(e.call),
            Self::QuestionAsked(e) => Some(e.call),
            Self::QuestionAnswered(e) => Some(e.call),
            Self::ExecutionStarted(e) => Some(e.call),
            Self::ExecutionRefused(e) => Some(e.call),
            Self::ExecutionSucceeded(e)
            | Self::ExecutionFailed(e)
            | Self::ExecutionStale(e)
            | Self::ExecutionInterrupted(e) => Some(e.call),
            Self::ExecutionInDoubt(e) => Some(e.call),
            Self::ExecutionSettled(e) => Some(e.call),
            Self::AttemptRefused(e) => e.call,
            Self::RunStarted(_)
            | Self::SegmentStarted(_)
            | Self::SegmentEnded(_)
            | Self::ModelCalled(_)
            | Self::ModelReplied(_)
            | Self::ModelFailed(_)
            | Self::ContextCompacted(_)
            | Self::PromptAdded(_)
            | Self::PolicyChanged(_)
            | Self::ToolAllowed(_)
            | Self::LimitsTightened(_)
            | Self::ToolsNarrowed(_)
            | Self::RunParked(_)
            | Self::RunCancelRequested(_)
            | Self::RunFinished(_)
            | Self::LedgerCreated(_)
            | Self::RulesAdopted(_)
            | Self::GrantAdded(_)
            | Self::GrantRevoked(_)
            | Self::ClockStepped(_) => None,
        }
    }

    /// The version of the authority stream that it was decided on.
    pub const fn authority(&self) -> Option<Version> {
        match self {
            Self::RunStarted(e) => Some(e.authority),
            Self::RiskAssessed(e) => Some(e.authority),
            Self::ApprovalRequested(e) => Some(e.authority),
            Self::ApprovalGranted(ApprovalGranted::Automatic(e)) => Some(e.authority),
            Self::ApprovalGranted(ApprovalGranted::ByPerson(e)) => Some(e.authority),
            Self::ApprovalDenied(e) => Some(e.authority),
            Self::CallRefused(e) => Some(e.authority),
            Self::ExecutionStarted(e) => Some(e.authority),
            Self::ExecutionRefused(e) => Some(e.authority),
            Self::SegmentStarted(_)
            | Self::SegmentEnded(_)
            | Self::ModelCalled(_)
            | Self::ModelReplied(_)
            | Self::ModelFailed(_)
            | Self::ContextCompacted(_)
            | Self::QuestionAsked(_)
            | Self::PromptAdded(_)
            | Self::ApprovalRevoked(_)
            | Self::QuestionAnswered(_)
            | Self::PolicyChanged(_)
            | Self::ToolAllowed(_)
            | Self::CallProposed(_)
            | Self::ApprovalExpired(_)
            | Self::ExecutionSucceeded(_)
            | Self::ExecutionFailed(_)
            | Self::ExecutionStale(_)
            | Self::ExecutionInterrupted(_)
            | Self::ExecutionInDoubt(_)
            | Self::ExecutionSettled(_)
            | Self::LimitsTightened(_)
            | Self::ToolsNarrowed(_)
            | Self::RunParked(_)
            | Self::RunCancelRequested(_)
            | Self::RunFinished(_)
            | Self::LedgerCreated(_)
            | Self::RulesAdopted(_)
            | Self::GrantAdded(_)
            | Self::GrantRevoked(_)
            | Self::ClockStepped(_)
            | Self::AttemptRefused(_) => None,
        }
    }

    /// Whether it changes what a run may do: an append that
    /// grants, starts or spends must have seen the newest of these.
    pub const fn is_authority(&self) -> bool {
        matches!(
            self,
            Self::ApprovalRevoked(_)
                | Self::PolicyChanged(_)
                | Self::ToolAllowed(_)
                | Self::LimitsTightened(_)
                | Self::ToolsNarrowed(_)
                | Self::RunCancelRequested(_)
                | Self::LedgerCreated(_)
                | Self::RulesAdopted(_)
                | Self::GrantAdded(_)
                | Self::GrantRevoked(_)
        )
    }

    /// Whether something outside rests on it once it is acknowledged: a permit or a person's
    /// word, what takes authority away among them. The head file is written before such an append
    /// is answered.
    pub const fn is_anchored(&self) -> bool {
        match self {
            Self::ExecutionSettled(settled) => settled.by.is_person(),
            Self::ExecutionStarted(_)
            | Self::ApprovalDenied(_)
            | Self::QuestionAnswered(_)
            | Self::ApprovalGranted(ApprovalGranted::ByPerson(_)) => true,
            // Nobody has said anything yet that could be taken away.
            Self::LedgerCreated(_) => false,
            _ => self.is_authority(),
        }
    }
}
