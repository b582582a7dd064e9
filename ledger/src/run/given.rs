//! What only the owner knows when deciding, and what a decision comes to.

use crate::approval::{Actor, Assurance, By, Channel};
use crate::content::{Blobs, Commitment};
use crate::event::{ApprovalGranted, Event, RefusalKind};
use crate::id::{Principal, Version};
use crate::judge::Verdict;
use crate::time::Timestamp;

/// Who sends a command, as established by the owner and never by the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// Whoever drives the run.
    Driver,
    /// A person.
    Person {
        /// Who.
        principal: Principal,
        /// The way the command came in.
        channel: Channel,
        /// How sure that is.
        assurance: Assurance,
    },
}

impl Caller {
    /// The person, as records name one.
    pub fn person(&self) -> Option<By> {
        match self {
            Self::Driver => None,
            Self::Person {
                principal,
                channel,
                assurance,
            } => Some(By::Person {
                assurance: *assurance,
                channel: *channel,
                principal: principal.clone(),
            }),
        }
    }
}

/// What only the owner knows when deciding.
#[derive(Debug, Clone)]
pub struct Given {
    /// The time of the first record that will come of it.
    pub at: Timestamp,
    /// Who sent the command.
    pub caller: Caller,
    /// Version of the authority stream.
    pub authority: Version,
    /// The rules in force.
    pub rules: Commitment,
    /// Commitments to the command's texts.
    pub blobs: Blobs,
    /// The gate's verdict, for the commands that need one.
    pub verdict: Option<Verdict>,
}

/// An event that was decided, with the contents it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// The event.
    pub event: Event,
    /// Its contents.
    pub blobs: Blobs,
}

impl Decided {
    /// An event without contents.
    pub fn fact(event: Event) -> Self {
        Self {
            event,
            blobs: Blobs::new(),
        }
    }

    /// Who caused it, as its header will say.
    pub fn actor(&self, caller: &Caller) -> Actor {
        match &self.event {
            Event::ApprovalRequested(_) | Event::QuestionAsked(_) => Actor::Policy,
            Event::ApprovalGranted(ApprovalGranted::Automatic(grant)) => match grant.by {
                By::List { .. } | By::Grant { .. } => Actor::Allowlist,
                By::Policy { .. } | By::Rule { .. } | By::Person { .. } | By::Tool => Actor::Policy,
            },
            Event::CallRefused(refused) => match refused.kind {
                RefusalKind::Nobody | RefusalKind::Rule | RefusalKind::RepeatOf => Actor::Policy,
                RefusalKind::UnknownTool
                | RefusalKind::HiddenHalf
                | RefusalKind::BadArguments
                | RefusalKind::DeniedTool
                | RefusalKind::OverLimit => Actor::Engine,
            },
            Event::ApprovalExpired(_) => Actor::Clock,
            Event::CallProposed(proposed) if proposed.supersedes.is_none() => Actor::Engine,
            Event::ExecutionSettled(settled) if !settled.by.is_person() => Actor::Engine,
            Event::RunStarted(_)
            | Event::CallProposed(_)
            | Event::ExecutionSettled(_)
            | Event::PromptAdded(_)
            | Event::ApprovalRevoked(_)
            | Event::QuestionAnswered(_)
            | Event::PolicyChanged(_)
            | Event::ToolAllowed(_)
            | Event::ApprovalGranted(ApprovalGranted::ByPerson(_))
            | Event::ApprovalDenied(_)
            | Event::LimitsTightened(_)
            | Event::ToolsNarrowed(_)
            | Event::RunCancelRequested(_)
            | Event::LedgerCreated(_)
            | Event::RulesAdopted(_)
            | Event::GrantAdded(_)
            | Event::GrantRevoked(_) => match caller {
                Caller::Person { principal, .. } => Actor::Person {
                    name: principal.clone(),
                },
                Caller::Driver => Actor::Engine,
            },
            Event::SegmentStarted(_)
            | Event::SegmentEnded(_)
            | Event::ModelCalled(_)
            | Event::ModelReplied(_)
            | Event::ModelFailed(_)
            | Event::ContextCompacted(_)
            | Event::RiskAssessed(_)
            | Event::ExecutionStarted(_)
            | Event::ExecutionRefused(_)
            | Event::ExecutionSucceeded(_)
            | Event::ExecutionFailed(_)
            | Event::ExecutionStale(_)
            | Event::ExecutionInterrupted(_)
            | Event::ExecutionInDoubt(_)
            | Event::RunParked(_)
            | Event::RunFinished(_)
            | Event::ClockStepped(_)
            | Event::AttemptRefused(_) => Actor::Engine,
        }
    }
}
