//! Events of one call: proposed, asked about, allowed, executed.

use placet_ledger::approval::{By, Demands};
use placet_ledger::containment::Containment;
use placet_ledger::digest::{Digest, Purpose, digest};
use placet_ledger::event::{
    ApprovalDenied, ApprovalExpired, ApprovalGranted, ApprovalRequested, ApprovalRevoked,
    Automatic, ByPerson, CallProposed, CallRefused, DoubtReason, Event, ExecutionEnded,
    ExecutionInDoubt, ExecutionRefused, ExecutionSettled, ExecutionStarted, FailureKind,
    QuestionAnswered, QuestionAsked, RefusalKind, Settlement, StartRefusal,
};
use placet_ledger::precondition::PreconditionKind;
use placet_ledger::risk::DeclaredRisk;
use placet_ledger::run::{Call, RunState, Turn};
use std::collections::BTreeSet;

use super::{ANSWER, AUTHORITY, Fact, call, name, rules, somebody};

fn known(state: &RunState, number: u32) -> &Call {
    let found = state.call(call(number));
    found.unwrap_or_else(|| panic!("the story has no call c{number} yet"))
}

fn proposal(state: &RunState, number: u32) -> Digest {
    let proposed = known(state, number).proposed();
    proposed.map_or_else(
        || digest(Purpose::Proposal, b""),
        |proposed| proposed.digest,
    )
}

fn request(state: &RunState, number: u32) -> Digest {
    let found = known(state, number);
    let requested = found.requested().map(|asked| asked.digest);
    let asked = requested.or(found.question().map(|asked| asked.digest));
    asked.unwrap_or_else(|| digest(Purpose::Event, b""))
}

/// `call.proposed`, of the tool that the model named.
pub fn proposed(number: u32) -> Fact {
    proposal_of(number, None)
}

/// `call.proposed` by a person, in place of a pending call.
pub fn amended(number: u32, old: u32) -> Fact {
    proposal_of(number, Some(old))
}

fn proposal_of(number: u32, old: Option<u32>) -> Fact {
    let build = move |state: &RunState| {
        let tool = known(state, old.unwrap_or(number)).tool().cloned();
        let tool = tool.unwrap_or_else(|| name("unknown"));
        let paired = tool.as_str() == "set";
        Event::CallProposed(CallProposed {
            missing: BTreeSet::new(),
            network: BTreeSet::new(),
            program: None,
            call: call(number),
            containment: Containment::InProcess,
            definition: digest(Purpose::Tool, tool.as_str().as_bytes()),
            execute: paired.then(|| name("set_execute")),
            precondition: PreconditionKind::None,
            risk: DeclaredRisk::HighRisk,
            supersedes: old.map(call),
            tool,
        })
    };
    Fact::of(build).with(&["arguments"])
}

/// `approval.revoked`.
pub fn revoked(number: u32) -> Fact {
    Fact::of(move |state| {
        Event::ApprovalRevoked(ApprovalRevoked {
            by: somebody(),
            call: call(number),
            request: request(state, number),
        })
    })
}

/// `question.asked`.
///
/// # Panics
///
/// When it is built before `model.replied`.
pub fn question(number: u32) -> Fact {
    Fact::of(move |state| {
        let Some(expires_at) = state.park_expires_at() else {
            panic!("nothing is asked before the model replied");
        };
        Event::QuestionAsked(QuestionAsked {
            call: call(number),
            expires_at,
        })
    })
}

/// `question.answered`.
pub fn replied_to(number: u32) -> Fact {
    let build = move |state: &RunState| {
        Event::QuestionAnswered(QuestionAnswered {
            by: somebody(),
            call: call(number),
            request: request(state, number),
        })
    };
    Fact::of(build).with(&["text"])
}

/// `call.refused`.
pub fn refused(number: u32, kind: RefusalKind) -> Fact {
    Fact::of(move |_| {
        Event::CallRefused(CallRefused {
            rule: None,
            authority: AUTHORITY,
            call: call(number),
            kind,
            of: None,
        })
    })
}

/// `approval.requested`, by the row of policy `false`.
///
/// # Panics
///
/// When it is built before `model.replied`.
pub fn asked(number: u32) -> Fact {
    asked_for(number, Demands::default())
}

/// The same, where approvals must be such.
///
/// # Panics
///
/// When it is built before `model.replied`.
pub fn asked_for(number: u32, demands: Demands) -> Fact {
    Fact::of(move |state| {
        let Turn::Replied { at, .. } = state.turn() else {
            panic!("nothing is asked before the model replied");
        };
        Event::ApprovalRequested(ApprovalRequested {
            assessed: None,
            assurance: demands.assurance,
            containment: None,
            missing: BTreeSet::new(),
            authority: AUTHORITY,
            call: call(number),
            expires_at: at.plus_ms(state.started().park_expiry_ms),
            from: demands.from.clone(),
            not_amender: demands.not_amender,
            not_starter: demands.not_starter,
            proposal: proposal(state, number),
            quorum: demands.quorum,
            rule: name("policy:false"),
            rules: rules(),
            tier: DeclaredRisk::HighRisk,
        })
    })
}

/// `approval.granted` by the row of policy `high-risk`.
pub fn cleared(number: u32) -> Fact {
    Fact::of(move |state| {
        Event::ApprovalGranted(ApprovalGranted::Automatic(Automatic {
            authority: AUTHORITY,
            by: By::Policy {
                rule: name("policy:high-risk"),
            },
            call: call(number),
            proposal: proposal(state, number),
            tier: DeclaredRisk::HighRisk,
        }))
    })
}

/// `approval.granted` by a person.
pub fn approved(number: u32) -> Fact {
    Fact::of(move |state| {
        Event::ApprovalGranted(ApprovalGranted::ByPerson(ByPerson {
            answer: ANSWER,
            authority: AUTHORITY,
            by: somebody(),
            call: call(number),
            request: request(state, number),
        }))
    })
}

/// `approval.denied`.
pub fn denied(number: u32) -> Fact {
    Fact::of(move |state| {
        Event::ApprovalDenied(ApprovalDenied {
            answer: ANSWER,
            authority: AUTHORITY,
            by: somebody(),
            call: call(number),
            request: request(state, number),
        })
    })
}

/// `approval.expired`.
pub fn expired(number: u32) -> Fact {
    Fact::of(move |state| {
        Event::ApprovalExpired(ApprovalExpired {
            call: call(number),
            request: request(state, number),
        })
    })
}

/// `execution.started`, the next attempt.
pub fn began(number: u32) -> Fact {
    Fact::of(move |state| {
        Event::ExecutionStarted(ExecutionStarted {
            missing: BTreeSet::new(),
            network: BTreeSet::new(),
            attempt: known(state, number).attempts().saturating_add(1),
            authority: AUTHORITY,
            call: call(number),
            containment: Containment::InProcess,
            epoch: state.epoch(),
            proposal: proposal(state, number),
        })
    })
}

/// `execution.refused`, of the next attempt.
pub fn not_begun(number: u32, reason: StartRefusal) -> Fact {
    Fact::of(move |state| {
        Event::ExecutionRefused(ExecutionRefused {
            attempt: known(state, number).attempts().saturating_add(1),
            authority: AUTHORITY,
            call: call(number),
            proposal: proposal(state, number),
            reason,
        })
    })
}

fn ended(number: u32, kind: Option<FailureKind>, event: fn(ExecutionEnded) -> Event) -> Fact {
    Fact::of(move |state| {
        event(ExecutionEnded {
            exit: None,
            attempt: known(state, number).attempts(),
            call: call(number),
            duration_ms: 0,
            kind,
        })
    })
}

/// `execution.succeeded`.
pub fn succeeded(number: u32) -> Fact {
    ended(number, None, Event::ExecutionSucceeded)
}

/// `execution.failed`.
pub fn failed(number: u32) -> Fact {
    ended(number, Some(FailureKind::Tool), Event::ExecutionFailed)
}

/// `execution.stale`.
pub fn stale(number: u32) -> Fact {
    ended(number, None, Event::ExecutionStale)
}

/// `execution.interrupted`.
pub fn interrupted(number: u32) -> Fact {
    ended(number, None, Event::ExecutionInterrupted)
}

/// `execution.in_doubt`.
pub fn in_doubt(number: u32) -> Fact {
    Fact::of(move |state| {
        Event::ExecutionInDoubt(ExecutionInDoubt {
            attempt: known(state, number).attempts(),
            call: call(number),
            reason: DoubtReason::Unknown,
        })
    })
}

/// `execution.settled` by the tool.
pub fn settled(number: u32, verdict: Settlement) -> Fact {
    Fact::of(move |state| {
        Event::ExecutionSettled(ExecutionSettled {
            attempt: known(state, number).attempts(),
            by: By::Tool,
            call: call(number),
            request: None,
            verdict,
        })
    })
}

/// `execution.settled` by a person.
pub fn settled_by_person(number: u32, verdict: Settlement) -> Fact {
    Fact::of(move |state| {
        Event::ExecutionSettled(ExecutionSettled {
            attempt: known(state, number).attempts(),
            by: somebody(),
            call: call(number),
            request: known(state, number).doubt(),
            verdict,
        })
    })
}
