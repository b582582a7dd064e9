//! What a record says about a decision: who, how it came out, on what it rests.

use clap::ValueEnum;
use placet_ledger::approval::By;
use placet_ledger::digest::Digest;
use placet_ledger::event::{ApprovalGranted, Event};
use placet_ledger::projection;
use placet_ledger::risk::DeclaredRisk;

/// How a decision came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Verdict {
    /// It was allowed.
    Granted,
    /// A person said no.
    Denied,
    /// A person took the approval back.
    Revoked,
    /// Nobody answered in time.
    Expired,
    /// It was not even asked about.
    Refused,
    /// What became of an execution in doubt was said.
    Settled,
}

impl From<Verdict> for projection::Verdict {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Granted => Self::Granted,
            Verdict::Denied => Self::Denied,
            Verdict::Revoked => Self::Revoked,
            Verdict::Expired => Self::Expired,
            Verdict::Refused => Self::Refused,
            Verdict::Settled => Self::Settled,
        }
    }
}

/// What a record says about a decision.
#[derive(Debug, Default)]
pub(super) struct About<'a> {
    /// Who decided.
    pub(super) by: Option<&'a By>,
    /// The tier of its call, declared or judged.
    pub(super) tier: Option<DeclaredRisk>,
    /// The proposal on which it rests.
    pub(super) proposal: Option<Digest>,
    /// The request on which it rests.
    pub(super) request: Option<Digest>,
}

impl<'a> About<'a> {
    /// What an event says.
    #[expect(clippy::too_many_lines, reason = "one match, an arm an event")]
    pub(super) fn of(event: &'a Event) -> Self {
        let mut about = Self::default();
        match event {
            Event::CallProposed(proposed) => about.tier = Some(proposed.risk),
            Event::RiskAssessed(assessed) => {
                about.tier = Some(assessed.tier.into());
                about.proposal = Some(assessed.proposal);
            }
            Event::GrantAdded(added) => about.by = Some(&added.by),
            Event::GrantRevoked(revoked) => about.by = Some(&revoked.by),
            Event::ApprovalRequested(asked) => {
                about.tier = Some(asked.tier);
                about.proposal = Some(asked.proposal);
            }
            Event::ApprovalGranted(granted) => {
                about.by = Some(granted.by());
                match granted {
                    ApprovalGranted::Automatic(grant) => {
                        about.tier = Some(grant.tier);
                        about.proposal = Some(grant.proposal);
                    }
                    ApprovalGranted::ByPerson(grant) => about.request = Some(grant.request),
                }
            }
            Event::ApprovalDenied(denied) => {
                about.by = Some(&denied.by);
                about.request = Some(denied.request);
            }
            Event::ApprovalRevoked(revoked) => {
                about.by = Some(&revoked.by);
                about.request = Some(revoked.request);
            }
            Event::QuestionAnswered(answered) => {
                about.by = Some(&answered.by);
                about.request = Some(answered.request);
            }
            Event::PromptAdded(added) => about.by = Some(&added.by),
            Event::PolicyChanged(changed) => about.by = Some(&changed.by),
            Event::ToolAllowed(allowed) => about.by = Some(&allowed.by),
            Event::ApprovalExpired(expired) => {
                about.request = Some(expired.request);
            }
            Event::ExecutionStarted(started) => about.proposal = Some(started.proposal),
            Event::ExecutionRefused(refused) => about.proposal = Some(refused.proposal),
            Event::ExecutionSettled(settled) => {
                about.by = Some(&settled.by);
                about.request = settled.request;
            }
            Event::LimitsTightened(tightened) => about.by = Some(&tightened.by),
            Event::ToolsNarrowed(narrowed) => about.by = Some(&narrowed.by),
            Event::RunCancelRequested(cancelled) => about.by = Some(&cancelled.by),
            Event::RunStarted(_)
            | Event::SegmentStarted(_)
            | Event::SegmentEnded(_)
            | Event::ModelCalled(_)
            | Event::ModelReplied(_)
            | Event::ModelFailed(_)
            | Event::ContextCompacted(_)
            | Event::CallRefused(_)
            | Event::QuestionAsked(_)
            | Event::ExecutionSucceeded(_)
            | Event::ExecutionFailed(_)
            | Event::ExecutionStale(_)
            | Event::ExecutionInterrupted(_)
            | Event::ExecutionInDoubt(_)
            | Event::RunParked(_)
            | Event::RunFinished(_)
            | Event::LedgerCreated(_)
            | Event::RulesAdopted(_)
            | Event::ClockStepped(_)
            | Event::AttemptRefused(_) => {}
        }
        about
    }
}
