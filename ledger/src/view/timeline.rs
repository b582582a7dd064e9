//! The timeline of one stream: a row for each record, told by its facts alone.

use serde::Serialize;

use super::Projection;
use crate::approval::{Actor, By, Demands};
use crate::envelope::Recorded;
use crate::event::{
    ApprovalGranted, ApprovalRequested, CallProposed, CallRefused, Event, ExecutionEnded,
    ExecutionStarted, ModelCalled, ModelFailed, ModelReplied, ModelTask, RiskAssessed, RunFinished,
    RunStarted, SegmentEnded, SegmentStarted,
};
use crate::id::{CallId, EventId, Position, StreamId, Version};
use crate::time::Timestamp;

/// One record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Its place in the log.
    pub position: Position,
    /// Its stream.
    pub run: StreamId,
    /// Its place in the stream.
    pub version: Version,
    /// When.
    pub at: Timestamp,
    /// The event's name.
    pub r#type: &'static str,
    /// Who caused it.
    pub actor: Actor,
    /// Its id.
    pub event: EventId,
    /// The event that made it follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<EventId>,
    /// The call it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// All of it on one line: type, call, and the facts that matter.
    pub summary: String,
}

/// The rows of one stream, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    stream: StreamId,
    rows: Vec<Row>,
}

impl Timeline {
    /// The timeline of a stream before any record.
    pub fn new(stream: StreamId) -> Self {
        Self {
            stream,
            rows: Vec::new(),
        }
    }

    /// Its rows.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }
}

impl Projection for Timeline {
    fn apply(&mut self, recorded: &Recorded) {
        if recorded.envelope.stream() == self.stream {
            self.rows.push(row(recorded));
        }
    }
}

/// The row of one record, whatever its stream.
pub fn row(recorded: &Recorded) -> Row {
    let envelope = &recorded.envelope;
    let (header, event) = (envelope.header(), envelope.event());
    let call = event.call();
    let parts = [
        event.name().to_owned(),
        call.map(|call| call.to_string()).unwrap_or_default(),
        run_facts(event),
        call_facts(event),
    ];
    let summary: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Row {
        position: recorded.position,
        run: header.stream,
        version: header.version,
        at: header.at,
        r#type: event.name(),
        actor: header.actor.clone(),
        event: header.id,
        cause: header.cause,
        call,
        summary: summary.join(" "),
    }
}

/// What an event about a run, the ledger or its clock says.
fn run_facts(event: &Event) -> String {
    match event {
        Event::RunStarted(e) => run_started(e),
        Event::SegmentStarted(e) => segment_started(e),
        Event::SegmentEnded(e) => segment_ended(e),
        Event::ModelCalled(e) => model_called(e),
        Event::ModelReplied(e) => model_replied(e),
        Event::ModelFailed(e) => model_failed(e),
        Event::ContextCompacted(e) => {
            let (from, to, used, cost) = (e.from, e.to, e.used.total(), e.cost_usd);
            format!("a summary in place of {from} to {to}, {used} tokens, {cost} USD")
        }
        Event::PromptAdded(e) => format!("by {}", by(&e.by)),
        Event::PolicyChanged(e) => format!("{}, by {}", e.policy, by(&e.by)),
        Event::ToolAllowed(e) => format!("{}, by {}", e.tool, by(&e.by)),
        Event::LimitsTightened(e) => format!("by {}", by(&e.by)),
        Event::ToolsNarrowed(e) => {
            let tools: Vec<_> = e.tools.iter().map(crate::id::Name::as_str).collect();
            format!("by {}, left: {}", by(&e.by), list(&tools))
        }
        Event::RunParked(e) => format!("waits for {}", calls(&e.pending)),
        Event::RunCancelRequested(e) => format!("by {}", by(&e.by)),
        Event::RunFinished(e) => run_finished(e),
        Event::LedgerCreated(e) => format!("format {}, key {}", e.format, short(&e.key)),
        Event::RulesAdopted(e) => word(&e.change),
        Event::GrantAdded(e) => {
            let until = e.expires_at.map(|at| format!(", until {at}"));
            let (kind, until) = (word(&e.kind), until.unwrap_or_default());
            format!("{} ({kind}), by {}{until}", e.grant, by(&e.by))
        }
        Event::GrantRevoked(e) => format!("{}, by {}", e.grant, by(&e.by)),
        Event::ClockStepped(e) => format!("{} ms behind", e.step_ms),
        Event::AttemptRefused(e) => {
            let run = e.run.map(|run| format!(" of {run}")).unwrap_or_default();
            let (kind, channel, count) = (word(&e.kind), word(&e.channel), e.count);
            format!("{kind}{run} by {channel}, {count} times")
        }
        Event::CallProposed(_)
        | Event::RiskAssessed(_)
        | Event::CallRefused(_)
        | Event::ApprovalRequested(_)
        | Event::ApprovalGranted(_)
        | Event::ApprovalDenied(_)
        | Event::ApprovalRevoked(_)
        | Event::ApprovalExpired(_)
        | Event::QuestionAsked(_)
        | Event::QuestionAnswered(_)
        | Event::ExecutionStarted(_)
        | Event::ExecutionRefused(_)
        | Event::ExecutionSucceeded(_)
        | Event::ExecutionFailed(_)
        | Event::ExecutionStale(_)
        | Event::ExecutionInterrupted(_)
        | Event::ExecutionInDoubt(_)
        | Event::ExecutionSettled(_) => String::new(),
    }
}

/// What an event about a call says.
fn call_facts(event: &Event) -> String {
    match event {
        Event::CallProposed(e) => call_proposed(e),
        Event::RiskAssessed(e) => risk_assessed(e),
        Event::CallRefused(e) => call_refused(e),
        Event::ApprovalRequested(e) => approval_requested(e),
        Event::ApprovalGranted(e) => approval_granted(e),
        Event::ApprovalDenied(e) => format!("by {}", by(&e.by)),
        Event::ApprovalRevoked(e) => format!("by {}", by(&e.by)),
        Event::ApprovalExpired(e) => format!("request {}", short(&e.request)),
        Event::QuestionAsked(e) => format!("expires {}", e.expires_at),
        Event::QuestionAnswered(e) => format!("by {}", by(&e.by)),
        Event::ExecutionStarted(e) => execution_started(e),
        Event::ExecutionRefused(e) => format!("attempt {}, {}", e.attempt, word(&e.reason)),
        Event::ExecutionSucceeded(e)
        | Event::ExecutionFailed(e)
        | Event::ExecutionStale(e)
        | Event::ExecutionInterrupted(e) => execution_ended(e),
        Event::ExecutionInDoubt(e) => format!("attempt {}, {}", e.attempt, word(&e.reason)),
        Event::ExecutionSettled(e) => {
            let (attempt, verdict, by) = (e.attempt, word(&e.verdict), by(&e.by));
            format!("attempt {attempt}, {verdict}, by {by}")
        }
        Event::RunStarted(_)
        | Event::SegmentStarted(_)
        | Event::SegmentEnded(_)
        | Event::ModelCalled(_)
        | Event::ModelReplied(_)
        | Event::ModelFailed(_)
        | Event::ContextCompacted(_)
        | Event::PromptAdded(_)
        | Event::PolicyChanged(_)
        | Event::ToolAllowed(_)
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
        | Event::AttemptRefused(_) => String::new(),
    }
}

fn run_started(e: &RunStarted) -> String {
    let (agent, model, policy, tools) = (&e.agent, &e.model, e.policy, e.tools);
    let attendance = word(&e.attendance);
    format!("agent {agent}, {model}, policy {policy}, attendance {attendance}, {tools} tools")
}

fn segment_started(e: &SegmentStarted) -> String {
    let (epoch, reason, attendance) = (e.epoch, word(&e.reason), word(&e.attendance));
    format!("segment {epoch}, {reason}, attendance {attendance}")
}

fn segment_ended(e: &SegmentEnded) -> String {
    let (epoch, reason, active_ms) = (e.epoch, word(&e.reason), e.active_ms);
    format!("segment {epoch}, {reason}, {active_ms} ms active")
}

fn model_replied(e: &ModelReplied) -> String {
    let named: Vec<_> = e
        .calls
        .iter()
        .map(|named| match &named.tool {
            Some(tool) => format!("{} {tool}", named.call),
            None => format!("{} (no such tool)", named.call),
        })
        .collect();
    let (stop, used, cost) = (word(&e.stop), e.used.total(), e.cost_usd);
    let named = list(&named);
    format!("{stop}, calls: {named}, {used} tokens, {cost} USD")
}

fn model_called(e: &ModelCalled) -> String {
    let (attempt, model, reserved) = (e.attempt, &e.model, e.reserved.total());
    let task = match e.task {
        ModelTask::Turn => String::new(),
        ModelTask::Classify(call) => format!(", to judge {call}"),
        ModelTask::Compact => String::from(", for a summary"),
    };
    format!("{model}{task}, attempt {attempt}, {reserved} tokens reserved")
}

fn model_failed(e: &ModelFailed) -> String {
    let again = e.retry_ms.map(|ms| format!(", again after {ms} ms"));
    let (attempt, kind, again) = (e.attempt, word(&e.kind), again.unwrap_or_default());
    format!("attempt {attempt}, {kind}{again}")
}

fn run_finished(e: &RunFinished) -> String {
    let open: Vec<_> = e
        .open
        .iter()
        .map(|open| format!("{} {}", open.call, word(&open.why)))
        .collect();
    let outcome = match e.cap {
        Some(cap) => format!("{}, {cap} reached", e.outcome.as_str()),
        None => e.outcome.as_str().to_owned(),
    };
    if open.is_empty() {
        outcome
    } else {
        format!("{outcome}, left: {}", open.join(", "))
    }
}

fn call_proposed(e: &CallProposed) -> String {
    let (tool, risk, containment) = (&e.tool, e.risk, word(&e.containment));
    let instead = e.supersedes.map(|old| format!(", in place of {old}"));
    let instead = instead.unwrap_or_default();
    format!("{tool}, declared {risk}, {containment}{instead}")
}

fn risk_assessed(e: &RiskAssessed) -> String {
    let model = e.model.as_ref().map(|model| format!(" {model}"));
    let demand = e.demand.map(|demand| format!(", {}", word(&demand)));
    let (source, model) = (word(&e.source), model.unwrap_or_default());
    format!(
        "{} by {source}{model}{}",
        e.tier,
        demand.unwrap_or_default()
    )
}

fn call_refused(e: &CallRefused) -> String {
    let of = e.of.map(|of| format!(" {of}")).unwrap_or_default();
    let rule = e.rule.as_ref().map(|rule| format!(" {rule}"));
    format!("{}{of}{}", word(&e.kind), rule.unwrap_or_default())
}

fn approval_requested(e: &ApprovalRequested) -> String {
    let (tier, rule, expires_at) = (e.tier, &e.rule, e.expires_at);
    let demands = e.demands();
    let needs = if demands == Demands::default() {
        String::new()
    } else {
        format!(", needs {demands}")
    };
    format!("{tier} by {rule}{needs}, expires {expires_at}")
}

fn approval_granted(e: &ApprovalGranted) -> String {
    match e {
        ApprovalGranted::Automatic(grant) => format!("{} by {}", grant.tier, by(&grant.by)),
        ApprovalGranted::ByPerson(grant) => format!("by {}", by(&grant.by)),
    }
}

fn execution_started(e: &ExecutionStarted) -> String {
    let (attempt, epoch, containment) = (e.attempt, e.epoch, word(&e.containment));
    format!("attempt {attempt}, segment {epoch}, {containment}")
}

fn execution_ended(e: &ExecutionEnded) -> String {
    let kind = e
        .kind
        .map(|kind| format!("{}, ", word(&kind)))
        .unwrap_or_default();
    format!("attempt {}, {kind}{} ms", e.attempt, e.duration_ms)
}

fn by(by: &By) -> String {
    match by {
        By::Person {
            assurance,
            channel,
            principal,
        } => {
            let (channel, assurance) = (word(channel), word(assurance));
            format!("{principal} ({channel}, {assurance})")
        }
        By::Policy { rule } | By::Rule { rule } => rule.to_string(),
        By::List { tool } => format!("list entry {tool}"),
        By::Grant { grant } => format!("grant {grant}"),
        By::Tool => String::from("the tool"),
    }
}

fn calls(calls: &[CallId]) -> String {
    let calls: Vec<_> = calls.iter().map(CallId::to_string).collect();
    list(&calls)
}

fn list(items: &[impl AsRef<str>]) -> String {
    if items.is_empty() {
        return String::from("none");
    }
    let items: Vec<_> = items.iter().map(AsRef::as_ref).collect();
    items.join(", ")
}

/// The first ten digits of a digest or key.
fn short(digest: &impl ToString) -> String {
    digest.to_string().chars().take(10).collect()
}

/// The word that records use for a value of a closed list.
fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(_) | Err(_) => String::from("?"),
    }
}
