//! What `runs list` and `runs show` say.

use std::collections::BTreeMap;

use placet_ledger::budget::{Limits, Usd};
use placet_ledger::content::Contents;
use placet_ledger::event::Outcome;
use placet_ledger::id::{CallId, EventId, Name, Position, RunId, Version};
use placet_ledger::policy::{ApprovalPolicy, Attendance};
use placet_ledger::projection::{RunRow, RunStatus};
use placet_ledger::run::{RunState, Status};
use placet_ledger::time::Timestamp;
use placet_ledger::view::{Quarantine, Row, SteeredBy};
use serde::Serialize;

use super::approval::CardOut;
use super::run::{AmendedCall, DriverOut, RunReport, UnsuccessfulCall};
use super::usage::UsageReport;

/// What `runs list` says.
#[derive(Debug, Serialize)]
pub(crate) struct RunList {
    /// The runs, newest first.
    pub(crate) runs: Vec<RunItem>,
    /// Where this part ended, if there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// A run in the list.
#[derive(Debug, Serialize)]
pub(crate) struct RunItem {
    /// Its id.
    pub(crate) run: RunId,
    /// Its state; none where it does not fold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<&'static str>,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<&'static str>,
    #[serde(flatten)]
    pub(crate) facts: Option<RunFacts>,
    /// Why it does not fold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) quarantine: Option<QuarantineOut>,
}

/// What is known of a run that folds.
#[derive(Debug, Serialize)]
pub(crate) struct RunFacts {
    /// Its agent.
    pub(crate) agent: Name,
    /// Its model.
    pub(crate) model: Name,
    /// Its policy.
    pub(crate) policy: ApprovalPolicy,
    /// When it began.
    pub(crate) started_at: Timestamp,
    /// When its newest record came.
    pub(crate) updated_at: Timestamp,
    /// How many calls wait for people.
    pub(crate) pending: u32,
    /// Whether something that is pending was not answered in time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) expired: bool,
    /// Whether its driver vanished: it was taken up, and nobody drives it any more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) undriven: bool,
    /// Who drives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) driver: Option<DriverOut>,
}

/// Why a run does not fold.
#[derive(Debug, Serialize)]
pub(crate) struct QuarantineOut {
    /// Position of the first record that cannot follow.
    pub(crate) position: Position,
    /// Its version.
    pub(crate) version: Version,
    /// Why.
    pub(crate) detail: String,
}

impl From<&Quarantine> for QuarantineOut {
    fn from(quarantine: &Quarantine) -> Self {
        let mut detail = quarantine.reason.to_string();
        let mut cause = std::error::Error::source(&quarantine.reason);
        while let Some(error) = cause {
            detail = format!("{detail}: {error}");
            cause = error.source();
        }
        Self {
            position: quarantine.position,
            version: quarantine.version,
            detail,
        }
    }
}

impl RunItem {
    /// A run in the list at a time.
    pub(crate) fn of(row: &RunRow, now: Timestamp, driving: Driving) -> Self {
        let begun = row.begun.as_ref().filter(|_| row.broken.is_none());
        Self {
            run: row.run,
            state: begun.map(|_| status_word(row.state)),
            outcome: row.outcome.filter(|_| begun.is_some()).map(Outcome::as_str),
            facts: begun.map(|begun| RunFacts {
                agent: begun.agent.clone(),
                model: begun.model.clone(),
                policy: begun.policy,
                started_at: begun.at,
                updated_at: row.updated_at,
                pending: row.pending,
                expired: row.expires_at.is_some_and(|at| now >= at),
                undriven: driving.is_missed(row.state == RunStatus::Running),
                driver: driving.by(),
            }),
            quarantine: row.broken.as_ref().map(|broken| QuarantineOut {
                position: broken.position,
                version: broken.version,
                detail: broken.detail.clone(),
            }),
        }
    }
}

const fn status_word(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "running",
        RunStatus::Waiting => "waiting",
        RunStatus::Parked => "parked",
        RunStatus::InDoubt => "in_doubt",
        RunStatus::Finished => "finished",
        RunStatus::Quarantined => "quarantined",
    }
}

/// Whether something that is pending was not answered in time.
fn is_expired(state: &RunState, now: Timestamp) -> bool {
    let open = state.outcome().is_none();
    open && state.expires_at().is_some_and(|at| now >= at)
}

/// Who drives a run, as far as that can be told.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Driving {
    /// Somebody.
    By(DriverOut),
    /// Nobody.
    Nobody,
    /// What lies here is a copy.
    Unknown,
}

impl Driving {
    /// Whether the run was taken up, and nobody drives it any more.
    fn is_missed(self, running: bool) -> bool {
        running && matches!(self, Self::Nobody)
    }

    fn by(self) -> Option<DriverOut> {
        match self {
            Self::By(driver) => Some(driver),
            Self::Nobody | Self::Unknown => None,
        }
    }
}

/// What `runs show` says.
#[derive(Debug, Serialize)]
pub(crate) struct RunShow {
    /// Its id.
    pub(crate) run: RunId,
    /// Its state; none where it does not fold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<&'static str>,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<&'static str>,
    #[serde(flatten)]
    pub(crate) facts: Option<ShownFacts>,
    /// Why it does not fold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) quarantine: Option<QuarantineOut>,
    /// Its timeline.
    pub(crate) events: Vec<EventRow>,
}

/// What is known of a run that folds.
#[derive(Debug, Serialize)]
pub(crate) struct ShownFacts {
    /// Its agent.
    pub(crate) agent: Name,
    /// Its model.
    pub(crate) model: Name,
    /// Its policy now.
    pub(crate) policy: ApprovalPolicy,
    /// The policy that it was started with, where that was another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) policy_at_start: Option<ApprovalPolicy>,
    /// The tools that run unasked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) allowed_tools: Vec<Name>,
    /// Those of them that were added since the start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) allowed_later: Vec<Name>,
    /// Who is there.
    pub(crate) attendance: Attendance,
    /// When it began.
    pub(crate) started_at: Timestamp,
    /// When its newest record came.
    pub(crate) updated_at: Timestamp,
    /// Where it works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) workspace: Option<String>,
    /// What it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prompt: Option<String>,
    /// What the model said last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// Why the model could not go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// The cap on which it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cap: Option<String>,
    /// The code over all that is pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) set: Option<String>,
    /// Whether something that is pending was not answered in time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) expired: bool,
    /// Whether its driver vanished: it was taken up, and nobody drives it any more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) undriven: bool,
    /// Who drives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) driver: Option<DriverOut>,
    /// The cards.
    pub(crate) pending: Vec<CardOut>,
    /// The calls to which a person gave other arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) amended: Vec<AmendedCall>,
    /// What was refused or turned down.
    pub(crate) declined: Vec<UnsuccessfulCall>,
    /// What was executed and did not succeed.
    pub(crate) unsuccessful: Vec<UnsuccessfulCall>,
    /// The calls that left files that steer programs otherwise than they were.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) steered: Vec<SteeredBy>,
    /// How many calls came to what, by the word for it.
    pub(crate) calls: BTreeMap<&'static str, u64>,
    /// What it used.
    pub(crate) usage: UsageReport,
    /// Its caps.
    pub(crate) limits: LimitsOut,
    /// What is left of them.
    pub(crate) left: LimitsOut,
}

/// Caps, or what is left of them; an absent one does not bind.
#[derive(Debug, Serialize)]
pub(crate) struct LimitsOut {
    /// Cost of model calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cost_usd: Option<Usd>,
    /// Active time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<u64>,
    /// Calls of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) iterations: Option<u64>,
    /// Tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tokens: Option<u64>,
}

impl From<Limits> for LimitsOut {
    fn from(limits: Limits) -> Self {
        Self {
            cost_usd: limits.cost_usd,
            duration_ms: limits.duration_ms,
            iterations: limits.iterations,
            tokens: limits.tokens,
        }
    }
}

/// A record in the timeline.
#[derive(Debug, Serialize)]
pub(crate) struct EventRow {
    position: Position,
    version: Version,
    at: Timestamp,
    r#type: &'static str,
    actor: String,
    event: EventId,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<EventId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<CallId>,
    summary: String,
    /// What was said with it, by a person or in a question to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) said: Option<String>,
}

impl EventRow {
    /// The shape of a row; `actor` is the word for who caused it.
    pub(crate) fn of(row: &Row, actor: String, said: Option<String>) -> Self {
        Self {
            position: row.position,
            version: row.version,
            at: row.at,
            r#type: row.r#type,
            actor,
            event: row.event,
            cause: row.cause,
            call: row.call,
            summary: row.summary.clone(),
            said,
        }
    }
}

impl ShownFacts {
    /// What is known of a run at a time; `pending` are its cards.
    pub(crate) fn of(
        state: &RunState,
        contents: &Contents,
        pending: Vec<CardOut>,
        (now, driving): (Timestamp, Driving),
    ) -> Self {
        let report = RunReport::of(state, contents);
        let read = |role: &str| {
            let blob = state.texts().get(role)?;
            contents.text(&blob.commitment).map(str::to_owned)
        };
        let workspace = read("workspace").and_then(|json| {
            let value: serde_json::Value = serde_json::from_str(&json).ok()?;
            value.get("path")?.as_str().map(str::to_owned)
        });
        let (start, allowed) = (state.started(), state.allowlist());
        let later = |tool: &&Name| !start.tool_allowlist.contains(tool);
        Self {
            agent: start.agent.clone(),
            model: start.model.clone(),
            policy: state.policy(),
            policy_at_start: Some(start.policy).filter(|policy| *policy != state.policy()),
            allowed_tools: allowed.iter().cloned().collect(),
            allowed_later: allowed.iter().filter(later).cloned().collect(),
            attendance: state.attendance(),
            started_at: state.started_at(),
            updated_at: state.head().at,
            workspace,
            prompt: read("prompt"),
            text: report.text,
            error: report.error,
            cap: report.cap,
            set: state.set_code(),
            expired: is_expired(state, now),
            undriven: driving.is_missed(state.status() == Status::Running),
            driver: driving.by(),
            pending,
            amended: report.amended,
            declined: report.declined,
            unsuccessful: report.unsuccessful,
            steered: report.steered,
            calls: report.calls,
            usage: report.usage,
            limits: (*state.limits()).into(),
            left: state.usage().remaining(state.limits()).into(),
        }
    }
}
