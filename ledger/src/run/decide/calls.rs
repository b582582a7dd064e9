//! Decisions about one call: proposed, gated, started, and what came of it.

use super::{Decision, blobs, call_that, known};
use crate::approval::By;
use crate::containment::Level;
use crate::content::Blobs;
use crate::digest::Digest;
use crate::event::{
    ApprovalExpired, ApprovalGranted, ApprovalRequested, Automatic, CallProposed, CallRefused,
    DoubtReason, Event, ExecutionEnded, ExecutionInDoubt, ExecutionSettled, QuestionAsked,
    RefusalKind, RiskAssessed, RiskSource, Settlement,
};
use crate::id::{CallId, Name};
use crate::judge::Verdict;
use crate::risk::DeclaredRisk;
use crate::run::call::{Call, Phase, Proposed};
use crate::run::command::{Assessment, Ended, Ending, Proposal};
use crate::run::given::{Decided, Given};
use crate::run::rejection::Rejection;
use crate::run::state::RunState;
use crate::run::turn::Turn;
use crate::steered::STEERING;
use crate::time::Timestamp;

const fn named(phase: Phase) -> bool {
    matches!(phase, Phase::Named)
}

const fn proposed(phase: Phase) -> bool {
    matches!(phase, Phase::Proposed)
}

const fn executing(phase: Phase) -> bool {
    matches!(phase, Phase::Executing { .. })
}

pub(super) fn propose(state: &RunState, given: &Given, proposal: Proposal) -> Decision {
    let why = "the call was proposed or refused before";
    let call = call_that(state, proposal.call, named, why)?;
    in_order(state, proposal.call)?;
    if call.tool() != Some(&proposal.tool) {
        return Err(Rejection::OutOfTurn("the model named another tool"));
    }
    if !state.offers(&proposal.tool) {
        // It was taken away while the proposal was being made.
        let kind = RefusalKind::DeniedTool;
        return Ok(vec![refused(
            given,
            proposal.call,
            Refusal::of(kind),
            Blobs::new(),
        )]);
    }
    let blobs = blobs(given, &["arguments"], &PROPOSAL_TEXTS)?;
    let event = proposed_event(proposal.call, None, proposal);
    Ok(vec![Decided { event, blobs }])
}

/// The texts that a proposal may bring beside its arguments.
pub(super) const PROPOSAL_TEXTS: [&str; 5] = [
    "execute_arguments",
    "message",
    "precondition",
    "preview",
    "program",
];

/// The record of a proposal.
pub(super) fn proposed_event(
    call: CallId,
    supersedes: Option<CallId>,
    proposal: Proposal,
) -> Event {
    Event::CallProposed(CallProposed {
        call,
        containment: proposal.level.containment(),
        definition: proposal.definition,
        execute: proposal.execute,
        missing: proposal.level.missing().clone(),
        network: proposal.network,
        precondition: proposal.precondition,
        program: proposal.program,
        risk: proposal.risk,
        supersedes,
        tool: proposal.tool,
    })
}

/// Calls of one reply come to their verdicts in the model's order.
fn in_order(state: &RunState, call: CallId) -> Result<(), Rejection> {
    let open = |earlier: &Call| matches!(earlier.phase(), Phase::Named | Phase::Proposed);
    let mut earlier = state.batch().take_while(|earlier| earlier.id() != call);
    if earlier.any(open) {
        return Err(Rejection::OutOfTurn(
            "an earlier call of the reply has no verdict yet",
        ));
    }
    Ok(())
}

pub(super) fn refuse(state: &RunState, given: &Given, call: CallId, kind: RefusalKind) -> Decision {
    call_that(
        state,
        call,
        named,
        "the call was proposed or refused before",
    )?;
    if let RefusalKind::RepeatOf | RefusalKind::Rule | RefusalKind::Nobody = kind {
        return Err(Rejection::OutOfTurn("that is for the gate to say"));
    }
    in_order(state, call)?;
    let blobs = blobs(given, &[], &["detail"])?;
    Ok(vec![refused(given, call, Refusal::of(kind), blobs)])
}

/// Why a call is turned down.
pub(super) struct Refusal {
    kind: RefusalKind,
    of: Option<CallId>,
    rule: Option<Name>,
}

impl Refusal {
    pub(super) const fn of(kind: RefusalKind) -> Self {
        let (of, rule) = (None, None);
        Self { kind, of, rule }
    }
}

pub(super) fn refused(given: &Given, call: CallId, why: Refusal, blobs: Blobs) -> Decided {
    let event = Event::CallRefused(CallRefused {
        authority: given.authority,
        call,
        kind: why.kind,
        of: why.of,
        rule: why.rule,
    });
    Decided { event, blobs }
}

pub(super) fn proposal_of(call: &Call) -> Result<&Proposed, Rejection> {
    call.proposed()
        .ok_or(Rejection::OutOfTurn("the call has no proposal"))
}

pub(super) fn gate(state: &RunState, given: &Given, call: CallId) -> Decision {
    let why = "the call does not wait for a verdict";
    let call = match known(state, call)? {
        // Whoever amends a call drives no run.
        amended if amended.supersedes().is_some() => amended,
        other => call_that(state, other.id(), proposed, why)?,
    };
    if !proposed(call.phase()) {
        return Err(Rejection::OutOfTurn(why));
    }
    if state.is_asking_about(call.id()) {
        return Err(Rejection::OutOfTurn("a model is being asked about it"));
    }
    verdict(state, given, call, None).map(|decided| vec![decided])
}

/// Records how a proposal was judged. What judged is believed where nothing can tell better: the
/// gate derives hazards and what is plainly read-only by itself.
pub(super) fn assess(state: &RunState, given: &Given, assessment: Assessment) -> Decision {
    let why = "the call does not wait for a verdict";
    let call = call_that(state, assessment.call, proposed, why)?;
    if proposal_of(call)?.digest != assessment.proposal {
        return Err(Rejection::OutOfTurn("another proposal was judged"));
    }
    let asked = state.is_asking_about(assessment.call);
    if (assessment.source == RiskSource::Model) != asked || (assessment.used.is_some() && !asked) {
        return Err(Rejection::OutOfTurn("a verdict of somebody else is due"));
    }
    let blobs = blobs(given, &[], &["endpoint", "reason"])?;
    let event = Event::RiskAssessed(RiskAssessed {
        authority: given.authority,
        call: assessment.call,
        cost_usd: assessment.used.unwrap_or_default().cost_usd,
        demand: assessment.demand,
        inputs: assessment.inputs,
        model: assessment.model,
        prompt: assessment.prompt,
        proposal: assessment.proposal,
        source: assessment.source,
        tier: assessment.tier,
        used: assessment.used.map(|used| used.tokens),
    });
    Ok(vec![Decided { event, blobs }])
}

/// The record of the gate's verdict on a call.
pub(super) fn verdict(
    state: &RunState,
    given: &Given,
    call: &Call,
    weaker: Option<&Level>,
) -> Result<Decided, Rejection> {
    let proposal = proposal_of(call)?;
    let message = proposal.message;
    let proposal = proposal.digest;
    let verdict = given
        .verdict
        .clone()
        .ok_or(Rejection::OutOfTurn("the gate was not asked"))?;
    let (authority, id) = (given.authority, call.id());
    Ok(match verdict {
        Verdict::Approve { by, tier, .. } => {
            let grant = Automatic {
                authority,
                by,
                call: id,
                proposal,
                tier,
            };
            Decided::fact(Event::ApprovalGranted(ApprovalGranted::Automatic(grant)))
        }
        Verdict::Question => {
            let expires_at = expires_at(state, None)?;
            let event = QuestionAsked {
                call: id,
                expires_at,
            };
            Decided {
                event: Event::QuestionAsked(event),
                blobs: message
                    .map(|text| (String::from("text"), text))
                    .into_iter()
                    .collect(),
            }
        }
        Verdict::Ask {
            rule,
            demands,
            tier,
            expires_ms,
        } => {
            let expires_at = expires_at(state, expires_ms)?;
            let rules = given.rules;
            Decided::fact(Event::ApprovalRequested(ApprovalRequested {
                assessed: judgement(call, tier),
                assurance: demands.assurance,
                authority,
                call: id,
                containment: weaker.map(Level::containment),
                expires_at,
                from: demands.from,
                missing: weaker
                    .map(|level| level.missing().clone())
                    .unwrap_or_default(),
                not_amender: demands.not_amender,
                not_starter: demands.not_starter,
                proposal,
                quorum: demands.quorum,
                rule,
                rules,
                tier,
            }))
        }
        Verdict::Decline { kind, of, rule } => {
            let rule = rule.map(|forbids| forbids.rule);
            refused(given, id, Refusal { kind, of, rule }, reason(given))
        }
        Verdict::Unjudged => {
            let why = "the call must be judged before its verdict";
            return Err(Rejection::OutOfTurn(why));
        }
    })
}

/// The record of the judgement that a tier comes from; behind what nobody judged stands none.
fn judgement(call: &Call, tier: DeclaredRisk) -> Option<Digest> {
    let judged = call.assessed().filter(|_| tier != DeclaredRisk::Unknown);
    judged.map(|assessed| assessed.record)
}

/// Why the rule is there that forbids a call: kept with the refusal, since the model is told of it.
fn reason(given: &Given) -> Blobs {
    let detail = given.blobs.get("detail").copied();
    let detail = detail.map(|blob| (String::from("detail"), blob));
    detail.into_iter().collect()
}

/// When an unanswered request is too late: a rule may say so before the park does. Both count from
/// the reply that named the call.
fn expires_at(state: &RunState, rule_ms: Option<u64>) -> Result<Timestamp, Rejection> {
    let Turn::Replied { at, .. } = state.turn() else {
        return Err(Rejection::OutOfTurn("the call belongs to no reply"));
    };
    let park_ms = state.started().park_expiry_ms;
    Ok(at.plus_ms(rule_ms.map_or(park_ms, |ms| ms.min(park_ms))))
}

pub(super) fn expired(call: CallId, request: Digest) -> Decided {
    Decided::fact(Event::ApprovalExpired(ApprovalExpired { call, request }))
}

pub(super) fn record_outcome(state: &RunState, given: &Given, ended: Ended) -> Decision {
    let call = call_that(
        state,
        ended.call,
        executing,
        "the call is not being executed",
    )?;
    let blobs = blobs(given, &[], &["result", STEERING])?;
    let kind = match ended.ending {
        Ending::Failed(kind) => Some(kind),
        Ending::Succeeded | Ending::Stale | Ending::Interrupted => None,
    };
    let body = ExecutionEnded {
        attempt: call.attempts(),
        call: ended.call,
        duration_ms: ended.duration_ms,
        exit: ended.exit,
        kind,
    };
    let event = match ended.ending {
        Ending::Succeeded => Event::ExecutionSucceeded(body),
        Ending::Failed(_) => Event::ExecutionFailed(body),
        Ending::Stale => Event::ExecutionStale(body),
        Ending::Interrupted => Event::ExecutionInterrupted(body),
    };
    Ok(vec![Decided { event, blobs }])
}

pub(super) fn record_doubt(state: &RunState, given: &Given, call: CallId) -> Decision {
    let found = call_that(state, call, executing, "the call is not being executed")?;
    let blobs = blobs(given, &[], &["detail", STEERING])?;
    let event = Event::ExecutionInDoubt(ExecutionInDoubt {
        attempt: found.attempts(),
        call,
        reason: DoubtReason::Unknown,
    });
    Ok(vec![Decided { event, blobs }])
}

pub(super) fn settle(
    state: &RunState,
    given: &Given,
    call: CallId,
    verdict: Settlement,
) -> Decision {
    let found = call_that(state, call, executing, "the call is not being executed")?;
    let blobs = blobs(given, &[], &["result"])?;
    let event = ExecutionSettled {
        attempt: found.attempts(),
        by: By::Tool,
        call,
        request: None,
        verdict,
    };
    Ok(vec![Decided {
        event: Event::ExecutionSettled(event),
        blobs,
    }])
}
