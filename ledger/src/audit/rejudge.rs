//! Automatic decisions judged again, from what was recorded before each of them.

use std::collections::BTreeSet;

use crate::approval::By;
use crate::containment::Level;
use crate::content::{Commitment, Contents};
use crate::event::{ApprovalGranted, CallRefused, Event, RefusalKind};
use crate::gate_input::{Bench, gate_input, gate_needs, gate_needs_of_authority};
use crate::id::{CallId, Version};
use crate::judge::{Forbids, Judge, Verdict};
use crate::run::{RunState, Turn};
use crate::time::Timestamp;

/// The verdict that an event records, if the gate gave it.
pub(super) fn recorded_verdict(
    event: &Event,
    before: Option<&RunState>,
) -> Option<(CallId, Verdict)> {
    match event {
        Event::ApprovalRequested(asked) => Some((
            asked.call,
            Verdict::Ask {
                rule: asked.rule.clone(),
                demands: asked.demands(),
                tier: asked.tier,
                expires_ms: expires_ms(before, asked.expires_at),
            },
        )),
        Event::QuestionAsked(asked) => Some((asked.call, Verdict::Question)),
        Event::ApprovalGranted(ApprovalGranted::Automatic(grant)) => Some((
            grant.call,
            Verdict::Approve {
                by: grant.by.clone(),
                tier: grant.tier,
                network: BTreeSet::new(),
            },
        )),
        Event::CallRefused(refused) => declined(refused),
        Event::ApprovalGranted(ApprovalGranted::ByPerson(_))
        | Event::RunStarted(_)
        | Event::SegmentStarted(_)
        | Event::SegmentEnded(_)
        | Event::ModelCalled(_)
        | Event::ModelReplied(_)
        | Event::ModelFailed(_)
        | Event::ContextCompacted(_)
        | Event::PromptAdded(_)
        | Event::ApprovalRevoked(_)
        | Event::QuestionAnswered(_)
        | Event::RiskAssessed(_)
        | Event::PolicyChanged(_)
        | Event::ToolAllowed(_)
        | Event::CallProposed(_)
        | Event::ApprovalDenied(_)
        | Event::ApprovalExpired(_)
        | Event::ExecutionStarted(_)
        | Event::ExecutionRefused(_)
        | Event::ExecutionSucceeded(_)
        | Event::ExecutionFailed(_)
        | Event::ExecutionStale(_)
        | Event::ExecutionInterrupted(_)
        | Event::ExecutionInDoubt(_)
        | Event::ExecutionSettled(_)
        | Event::LimitsTightened(_)
        | Event::ToolsNarrowed(_)
        | Event::RunParked(_)
        | Event::RunCancelRequested(_)
        | Event::RunFinished(_)
        | Event::LedgerCreated(_)
        | Event::RulesAdopted(_)
        | Event::GrantAdded(_)
        | Event::GrantRevoked(_)
        | Event::ClockStepped(_)
        | Event::AttemptRefused(_) => None,
    }
}

/// The gate's own refusals; the others come from the registry or from a spent budget.
fn declined(refused: &CallRefused) -> Option<(CallId, Verdict)> {
    match refused.kind {
        RefusalKind::Rule | RefusalKind::Nobody | RefusalKind::RepeatOf => Some((
            refused.call,
            Verdict::Decline {
                kind: refused.kind,
                of: refused.of,
                rule: refused
                    .rule
                    .clone()
                    .map(|rule| Forbids { rule, reason: None }),
            },
        )),
        RefusalKind::UnknownTool
        | RefusalKind::HiddenHalf
        | RefusalKind::BadArguments
        | RefusalKind::DeniedTool
        | RefusalKind::OverLimit => None,
    }
}

/// How far the process could be shut in, where a request says that it is less than was proposed.
pub(super) fn shown_weaker(event: &Event) -> Option<Level> {
    match event {
        Event::ApprovalRequested(asked) => Level::recorded(asked.containment?, &asked.missing),
        _ => None,
    }
}

/// What came of judging a decision again.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// The same verdict.
    Same,
    /// Another one; the text says which.
    Differs(String),
    /// What it rests on cannot be read.
    Unknown,
}

/// Judges again what `recorded` says about `call`, from the state before that record.
pub(super) fn judge_again(
    judge: &dyn Judge,
    before: &RunState,
    contents: &Contents,
    bench: Bench<'_>,
    (call, recorded): &(CallId, Verdict),
) -> Again {
    let needs = gate_needs(before, *call);
    let trusted = gate_needs_of_authority(before, bench);
    let known = bench.standing.contents;
    if needs.iter().any(|needed| contents.get(needed).is_none())
        || trusted.iter().any(|needed| known.get(needed).is_none())
    {
        return Again::Unknown;
    }
    let Some(input) = gate_input(before, contents, bench, *call) else {
        return Again::Differs(format!("a verdict on {call}, which was not proposed"));
    };
    let mut verdict = judge.judge(&input);
    match &mut verdict {
        // Which ports it has is recorded where it starts.
        Verdict::Approve { network, .. } => network.clear(),
        // Why the rule is there is a content, which is compared as such.
        Verdict::Decline {
            rule: Some(forbids),
            ..
        } => forbids.reason = None,
        Verdict::Decline { .. } | Verdict::Ask { .. } | Verdict::Question | Verdict::Unjudged => {}
    }
    if verdict == *recorded {
        Again::Same
    } else {
        let (recorded, verdict) = (said(recorded), said(&verdict));
        Again::Differs(format!("recorded is: {recorded}; judged again: {verdict}"))
    }
}

fn said(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Approve { by, tier, .. } => {
            let by = match by {
                By::Person { principal, .. } => format!("person {principal}"),
                By::Policy { rule } => format!("policy {rule}"),
                By::List { tool } => format!("list entry {tool}"),
                By::Grant { grant } => format!("grant {grant}"),
                By::Rule { rule } => format!("rule {rule}"),
                By::Tool => String::from("the tool"),
            };
            format!("approve as {tier} by {by}")
        }
        Verdict::Ask {
            rule,
            demands,
            tier,
            expires_ms,
        } => {
            let expires = expires_ms.map(|ms| format!(", for {ms} ms"));
            let expires = expires.unwrap_or_default();
            format!("ask for {demands} as {tier} by {rule}{expires}")
        }
        Verdict::Question => String::from("put the question to a person"),
        Verdict::Unjudged => String::from("judge it first"),
        Verdict::Decline { kind, of, rule } => {
            let of = of.map(|of| format!(" {of}")).unwrap_or_default();
            let rule = rule.as_ref().map(|forbids| format!(" {}", forbids.rule));
            format!("decline ({kind:?}{of}{})", rule.unwrap_or_default())
        }
    }
}

/// For how long a request may stay unanswered by its own rule, where that is not as long as its run
/// may be parked.
fn expires_ms(before: Option<&RunState>, expires_at: Timestamp) -> Option<u64> {
    let before = before?;
    let Turn::Replied { at, .. } = before.turn() else {
        return None;
    };
    (before.park_expires_at() != Some(expires_at)).then(|| expires_at.ms_since(*at))
}

/// Whether a question, or a request that its rule lets wait as long as the run, expires when its
/// run says; or a request later than that.
pub(super) fn expiry_differs(before: &RunState, event: &Event) -> bool {
    let park = before.park_expires_at();
    match event {
        Event::ApprovalRequested(asked) => park.is_none_or(|park| asked.expires_at > park),
        Event::QuestionAsked(asked) => park != Some(asked.expires_at),
        _ => false,
    }
}

/// The version of the authority stream that an event was judged on.
pub(super) struct JudgedOn {
    pub(super) authority: Version,
    /// The rules it names.
    pub(super) rules: Option<Commitment>,
}

/// What a decision says it was judged on.
pub(super) fn judged_on(event: &Event) -> Option<JudgedOn> {
    let rules = match event {
        Event::RunStarted(e) => Some(e.rules),
        Event::ApprovalRequested(e) => Some(e.rules),
        _ => None,
    };
    let authority = event.authority()?;
    Some(JudgedOn { authority, rules })
}
