//! What `run`, `approve`, `answer` and `resume` say about a run.

use placet_ledger::content::Contents;
use placet_ledger::event::{Outcome, RefusalKind};
use placet_ledger::run::{Call, Close, Phase, RunState, Status};
use serde::Serialize;

/// A run as these verbs leave it.
#[derive(Debug, Serialize)]
pub(crate) struct RunReport {
    /// Its id.
    pub(crate) run: String,
    /// Its state.
    pub(crate) state: &'static str,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<&'static str>,
    /// What the model said last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// The calls that wait for people.
    pub(crate) pending: Vec<PendingCall>,
    /// The calls that were refused or turned down.
    pub(crate) declined: Vec<DeclinedCall>,
    /// What it used.
    pub(crate) usage: UsageReport,
}

/// A call that waits for people.
#[derive(Debug, Serialize)]
pub(crate) struct PendingCall {
    /// The call.
    pub(crate) call: String,
    /// What is asked.
    pub(crate) kind: &'static str,
    /// The tool.
    pub(crate) tool: String,
    /// The request digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request: Option<String>,
}

/// A call that did not run because somebody or something said no.
#[derive(Debug, Serialize)]
pub(crate) struct DeclinedCall {
    /// The call.
    pub(crate) call: String,
    /// The tool, where the name is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool: Option<String>,
    /// Why.
    pub(crate) why: &'static str,
}

/// What a run used.
#[derive(Debug, Serialize)]
pub(crate) struct UsageReport {
    /// Active time of its segments.
    pub(crate) active_ms: u64,
    /// Cost of its model calls.
    pub(crate) cost_usd: String,
    /// Calls of the model.
    pub(crate) iterations: u64,
    /// Tokens.
    pub(crate) tokens: u64,
}

/// The word for a state.
pub(crate) const fn state_word(status: Status) -> &'static str {
    match status {
        Status::Running => "running",
        Status::Waiting => "waiting",
        Status::Parked => "parked",
        Status::InDoubt => "in_doubt",
        Status::Finished(_) => "finished",
    }
}

const fn refusal_word(kind: RefusalKind) -> &'static str {
    match kind {
        RefusalKind::UnknownTool => "unknown_tool",
        RefusalKind::HiddenHalf => "hidden_half",
        RefusalKind::BadArguments => "bad_arguments",
        RefusalKind::DeniedTool => "denied_tool",
        RefusalKind::RepeatOf => "repeat_of",
        RefusalKind::OverLimit => "over_limit",
        RefusalKind::Rule => "rule",
        RefusalKind::Nobody => "nobody",
    }
}

/// Why a call was declined, if it was.
const fn declined_word(phase: Phase) -> Option<&'static str> {
    match phase {
        Phase::Closed(Close::Denied) => Some("denied"),
        Phase::Closed(Close::Expired) => Some("expired"),
        Phase::Closed(Close::Refused(kind)) => Some(refusal_word(kind)),
        Phase::Closed(Close::Succeeded | Close::Failed | Close::Stale | Close::Interrupted)
        | Phase::Named
        | Phase::Proposed
        | Phase::Pending
        | Phase::Granted
        | Phase::Executing { .. }
        | Phase::InDoubt => None,
    }
}

impl RunReport {
    /// What there is to say about a run.
    pub(crate) fn of(state: &RunState, contents: &Contents) -> Self {
        let status = state.status();
        let last = state.replies().last().and_then(|reply| reply.text.as_ref());
        let text = last
            .and_then(|blob| contents.text(&blob.commitment))
            .map(str::to_owned);
        let usage = state.usage();
        Self {
            run: state.run().to_string(),
            state: state_word(status),
            outcome: state.outcome().map(Outcome::as_str),
            text,
            pending: state.batch().filter_map(pending).collect(),
            declined: state.calls().filter_map(declined).collect(),
            usage: UsageReport {
                active_ms: usage.active_ms,
                cost_usd: usage.cost_usd.to_string(),
                iterations: usage.iterations,
                tokens: usage.tokens,
            },
        }
    }
}

fn pending(call: &Call) -> Option<PendingCall> {
    let kind = match call.phase() {
        Phase::Pending => "approval",
        Phase::InDoubt => "in_doubt",
        Phase::Named
        | Phase::Proposed
        | Phase::Granted
        | Phase::Executing { .. }
        | Phase::Closed(_) => return None,
    };
    Some(PendingCall {
        call: call.id().to_string(),
        kind,
        tool: call.tool().map(ToString::to_string).unwrap_or_default(),
        request: call.requested().map(|asked| asked.digest.to_string()),
    })
}

fn declined(call: &Call) -> Option<DeclinedCall> {
    let why = declined_word(call.phase())?;
    let tool = call.tool().map(ToString::to_string);
    Some(DeclinedCall {
        call: call.id().to_string(),
        tool,
        why,
    })
}
