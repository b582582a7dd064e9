//! What `run`, `approve`, `answer` and `resume` say about a run.

use std::collections::BTreeMap;
use std::fmt;

use placet_engine::context::Provider;
use placet_ledger::content::Contents;
use placet_ledger::digest::Digest;
use placet_ledger::event::{Outcome, RefusalKind, Settlement, Stop};
use placet_ledger::id::RunId;
use placet_ledger::policy::ApprovalPolicy;
use placet_ledger::process::Process;
use placet_ledger::run::{Call, Close, Phase, RunState, Status, Turn};
use placet_ledger::view::SteeredBy;
use serde::{Serialize, Serializer};

use super::done::{DoneCall, done};
use super::usage::{UsageReport, outcomes};

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
    /// Why the model could not go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// The cap on which the run ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cap: Option<String>,
    /// Where a cap ended it, the calls of which the model was not told any more what came of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unheard: Vec<String>,
    /// Who else drives it now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) driver: Option<DriverOut>,
    /// The calls that wait for people.
    pub(crate) pending: Vec<PendingCall>,
    /// The calls to which a person gave other arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) amended: Vec<AmendedCall>,
    /// The calls that took effect and changed something.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) done: Vec<DoneCall>,
    /// The calls that were refused or turned down.
    pub(crate) declined: Vec<UnsuccessfulCall>,
    /// Of a cancelled run, what became of each call of its last reply that was not declined.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) left: Vec<LeftCall>,
    /// The calls that were executed and did not succeed: failed, stale or interrupted.
    pub(crate) unsuccessful: Vec<UnsuccessfulCall>,
    /// The calls that left files that steer programs otherwise than they were.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) steered: Vec<SteeredBy>,
    /// What the tools did, in all.
    pub(crate) tools: BTreeMap<String, ToolTotals>,
    /// How many calls came to what, by the word for it.
    pub(crate) calls: BTreeMap<&'static str, u64>,
    /// What it used.
    pub(crate) usage: UsageReport,
}

/// The process that drives a run; nothing is said of one that has not said its id yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct DriverOut {
    /// Its pid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pid: Option<i32>,
    /// The user that it runs as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) uid: Option<u32>,
}

impl From<Option<&Process>> for DriverOut {
    fn from(process: Option<&Process>) -> Self {
        Self {
            pid: process.map(Process::pid),
            uid: process.map(Process::uid),
        }
    }
}

impl fmt::Display for DriverOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(f, "process {pid}"),
            None => f.write_str("a process that has not said its id yet"),
        }
    }
}

/// How far a call had come when its run was cancelled.
#[derive(Debug, Serialize)]
pub(crate) struct LeftCall {
    /// The call.
    pub(crate) call: String,
    /// The tool, where the name is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool: Option<String>,
    /// `completed`, `interrupted`, `in_doubt` or `not_started`.
    pub(crate) state: &'static str,
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

/// A call to which a person gave other arguments.
#[derive(Debug, Serialize)]
pub(crate) struct AmendedCall {
    /// The call.
    pub(crate) call: String,
    /// The tool.
    pub(crate) tool: String,
    /// The call that stands in its place.
    pub(crate) superseded_by: String,
}

/// A live policy that was changed.
#[derive(Debug, Serialize)]
pub(crate) struct PolicyChange {
    /// The run.
    pub(crate) run: RunId,
    /// The policy now.
    pub(crate) policy: ApprovalPolicy,
    /// The policy before.
    pub(crate) before: ApprovalPolicy,
    /// The calls that still wait for people.
    pub(crate) pending: Vec<PendingCall>,
}

/// A call that did not do what was wanted.
#[derive(Debug, Serialize)]
pub(crate) struct UnsuccessfulCall {
    /// The call.
    pub(crate) call: String,
    /// The tool, where the name is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool: Option<String>,
    /// The name that the model used, where it is none of the run's tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) named: Option<String>,
    /// Why, in a word.
    pub(crate) why: Why,
    /// The denied call that it repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) of: Option<String>,
    /// The rule that forbids it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rule: Option<String>,
    /// Why, in a sentence: the approver's note, what the tool said, or why the rule is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
}

/// Why a call did not do what was wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// It ran and did not succeed.
    Failed,
    /// Its target was no longer what the preview showed.
    Stale,
    /// It was stopped.
    Interrupted,
    /// It was in doubt, and then settled: it had not taken effect.
    NotDone,
    /// A person said no.
    Denied,
    /// It was not answered or not started in time.
    Expired,
    /// A person took the approval back.
    Revoked,
    /// It was not even asked about.
    Refused(RefusalKind),
}

impl Why {
    /// The identifier.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Stale => "stale",
            Self::Interrupted => "interrupted",
            Self::NotDone => "not_done",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
            Self::Refused(kind) => refusal_word(kind),
        }
    }
}

impl Serialize for Why {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// What one tool did in a run.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ToolTotals {
    /// Calls of it.
    pub(crate) calls: u64,
    /// Those that took effect.
    pub(crate) succeeded: u64,
    /// Those that were executed and did not succeed.
    pub(crate) unsuccessful: u64,
    /// Those that were refused or turned down.
    pub(crate) declined: u64,
    /// How long all its executions took.
    pub(crate) duration_ms: u64,
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

/// The word for a refusal.
pub(crate) const fn refusal_word(kind: RefusalKind) -> &'static str {
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

/// How a call that is over ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Succeeded,
    Unsuccessful(Why),
    Declined(Why),
}

pub(super) const fn end(phase: Phase) -> Option<End> {
    match phase {
        Phase::Closed(close) => Some(match close {
            Close::Succeeded | Close::Answered | Close::Settled(Settlement::Done) => End::Succeeded,
            Close::Failed => End::Unsuccessful(Why::Failed),
            Close::Stale => End::Unsuccessful(Why::Stale),
            Close::Interrupted => End::Unsuccessful(Why::Interrupted),
            Close::Denied => End::Declined(Why::Denied),
            Close::Expired => End::Declined(Why::Expired),
            Close::Revoked => End::Declined(Why::Revoked),
            Close::Settled(Settlement::NotDone) => End::Unsuccessful(Why::NotDone),
            // What stands in its place tells how it went.
            Close::Superseded => return None,
            Close::Refused(kind) => End::Declined(Why::Refused(kind)),
        }),
        Phase::Named
        | Phase::Proposed
        | Phase::Pending
        | Phase::Asked
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
        let failure = state.failure();
        let error = failure
            .and_then(|blob| contents.text(&blob.commitment))
            .or_else(|| ended_by(state));
        let (declined, unsuccessful) = not_done(state, contents);
        Self {
            run: state.run().to_string(),
            state: state_word(status),
            outcome: state.outcome().map(Outcome::as_str),
            text,
            error: error.map(str::to_owned),
            cap: state.cap().map(|cap| cap.to_string()),
            unheard: unheard(state),
            driver: None,
            pending: pending_calls(state),
            amended: amended(state),
            done: done(state, contents),
            declined,
            left: left(state),
            unsuccessful,
            steered: SteeredBy::all(state, contents),
            tools: tools(state),
            calls: outcomes(state),
            usage: state.usage().into(),
        }
    }
}

/// The calls of the last reply, where a cap ended the run before the model was told of them.
fn unheard(state: &RunState) -> Vec<String> {
    let ended = state.cap().is_some();
    let calls = state.batch().filter(|_| ended);
    calls.map(|call| call.id().to_string()).collect()
}

/// Why a reply without calls was the last one of a run that failed.
fn ended_by(state: &RunState) -> Option<&'static str> {
    match state.turn() {
        Turn::Replied { stop, .. } if state.outcome() == Some(Outcome::Failed) => {
            Some(match stop {
                Stop::Length => "its reply ran into the limit of output tokens, and named no call",
                Stop::Refusal => "it refused",
                Stop::ToolCalls => "it said that it calls tools, and named no call",
                Stop::End | Stop::Other => "it stopped for a reason that is not known",
            })
        }
        Turn::Ready | Turn::Called { .. } | Turn::Replied { .. } | Turn::Failed { .. } => None,
    }
}

/// The calls that wait for people.
pub(crate) fn pending_calls(state: &RunState) -> Vec<PendingCall> {
    let calls = state.batch().filter_map(|call| pending(state, call));
    calls.collect()
}

fn amended(state: &RunState) -> Vec<AmendedCall> {
    let amended = |call: &Call| {
        Some(AmendedCall {
            call: call.id().to_string(),
            tool: call.tool().map(ToString::to_string).unwrap_or_default(),
            superseded_by: call.superseded_by()?.to_string(),
        })
    };
    state.calls().filter_map(amended).collect()
}

/// What became of each call of a cancelled run's last reply, but for those that are declined or
/// amended: what is said of them stands there.
fn left(state: &RunState) -> Vec<LeftCall> {
    if state.outcome() != Some(Outcome::Cancelled) {
        return Vec::new();
    }
    let came = |phase| match phase {
        Phase::Closed(
            Close::Denied | Close::Refused(_) | Close::Expired | Close::Revoked | Close::Superseded,
        ) => None,
        // Looked at before its execution changed anything, or said to have changed nothing.
        Phase::Closed(Close::Interrupted | Close::Stale | Close::Settled(Settlement::NotDone)) => {
            Some("interrupted")
        }
        Phase::Named | Phase::Proposed | Phase::Pending | Phase::Asked | Phase::Granted => {
            Some("not_started")
        }
        Phase::Closed(
            Close::Succeeded | Close::Failed | Close::Answered | Close::Settled(Settlement::Done),
        ) => Some("completed"),
        Phase::Executing { .. } | Phase::InDoubt => Some("in_doubt"),
    };
    let calls = state.batch().filter_map(|call| {
        Some(LeftCall {
            call: call.id().to_string(),
            tool: call.tool().map(ToString::to_string),
            state: came(call.phase())?,
        })
    });
    calls.collect()
}

fn pending(state: &RunState, call: &Call) -> Option<PendingCall> {
    let kind = match call.phase() {
        _ if state.outcome().is_some() => return None,
        Phase::Pending => "approval",
        Phase::Asked => "question",
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
        request: asked(call).map(|digest| digest.to_string()),
    })
}

/// The digest that a person's word on an open call names.
fn asked(call: &Call) -> Option<Digest> {
    match call.phase() {
        Phase::InDoubt => call.doubt(),
        Phase::Asked => call.question().map(|asked| asked.digest),
        _ => call.requested().map(|asked| asked.digest),
    }
}

fn named(state: &RunState, contents: &Contents, call: &Call, why: Why) -> UnsuccessfulCall {
    let tool = call.tool().map(ToString::to_string);
    let reply = state
        .replies()
        .iter()
        .find(|reply| reply.calls.contains(&call.id()));
    let provider = reply.and_then(|reply| reply.provider.as_ref());
    let named = tool
        .is_none()
        .then(|| Provider::read(contents, provider).name(call.id()));
    let said = call.note().or(call.result());
    UnsuccessfulCall {
        call: call.id().to_string(),
        tool,
        named: named.filter(|name| !name.is_empty()),
        why,
        of: call.repeats().map(|of| of.to_string()),
        rule: call.refused_by().map(ToString::to_string),
        detail: said
            .and_then(|blob| contents.text(&blob.commitment))
            .map(str::to_owned),
    }
}

/// The calls that were refused or turned down, then those that ran and did not succeed.
fn not_done(
    state: &RunState,
    contents: &Contents,
) -> (Vec<UnsuccessfulCall>, Vec<UnsuccessfulCall>) {
    let (mut declined, mut unsuccessful) = (Vec::new(), Vec::new());
    for call in state.calls() {
        match end(call.phase()) {
            Some(End::Declined(why)) => declined.push(named(state, contents, call, why)),
            Some(End::Unsuccessful(why)) => unsuccessful.push(named(state, contents, call, why)),
            Some(End::Succeeded) | None => {}
        }
    }
    (declined, unsuccessful)
}

fn tools(state: &RunState) -> BTreeMap<String, ToolTotals> {
    let mut tools: BTreeMap<String, ToolTotals> = BTreeMap::new();
    for call in state.calls() {
        let Some(tool) = call.tool() else { continue };
        let totals = tools.entry(tool.to_string()).or_default();
        totals.calls += 1;
        totals.duration_ms = totals.duration_ms.saturating_add(call.duration_ms());
        match end(call.phase()) {
            Some(End::Succeeded) => totals.succeeded += 1,
            Some(End::Unsuccessful(_)) => totals.unsuccessful += 1,
            Some(End::Declined(_)) => totals.declined += 1,
            None => {}
        }
    }
    tools
}
