//! What can be asked of projections, and what is answered.

use serde::{Deserialize, Serialize};

use super::cursor::Cursor;
use super::rows::{Approver, Decision, PendingRow, RunRow, RunStatus, Verdict};
use crate::id::{Name, Principal, RunId};
use crate::risk::DeclaredRisk;
use crate::time::Timestamp;
use crate::view::LookupError;

/// Rows in one answer at most.
pub const ANSWER_ROWS_MAX: usize = 256;

/// Which part of a list is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Where the part before it ended; the beginning if there is none.
    pub after: Option<Cursor>,
    /// Rows at most; one answer has at most [`ANSWER_ROWS_MAX`].
    pub limit: usize,
}

/// Which runs are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFilter {
    /// In this state.
    pub state: Option<RunStatus>,
    /// Those that are finished, too, where no state is named.
    pub finished: bool,
    /// Of this agent.
    pub agent: Option<String>,
    /// Begun at this time or later.
    pub since: Option<Timestamp>,
}

/// Which decisions are wanted; all of it must be met.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionFilter {
    /// Of this run.
    pub run: Option<RunId>,
    /// About calls of this tool.
    pub tool: Option<Name>,
    /// By this person, rule, row of the policy, list entry or grant.
    pub approver: Option<Name>,
    /// That came out so.
    pub verdict: Option<Verdict>,
    /// About calls that declared this tier, or were judged so.
    pub risk: Option<DeclaredRisk>,
    /// From this time on.
    pub since: Option<Timestamp>,
    /// Before this time.
    pub until: Option<Timestamp>,
}

impl DecisionFilter {
    /// Whether a decision meets all of it.
    pub fn meets(&self, decision: &Decision) -> bool {
        self.run.is_none_or(|run| decision.run == run)
            && self
                .tool
                .as_ref()
                .is_none_or(|tool| decision.tool.as_ref() == Some(tool))
            && self
                .approver
                .as_ref()
                .is_none_or(|name| decision.by.name.as_ref() == Some(name))
            && self
                .verdict
                .is_none_or(|verdict| decision.verdict == verdict)
            && self.risk.is_none_or(|tier| decision.tiers.contains(&tier))
            && self.since.is_none_or(|since| decision.at >= since)
            && self.until.is_none_or(|until| decision.at < until)
    }
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// Runs, the newest first.
    Runs {
        /// Which.
        filter: RunFilter,
        /// Which part.
        page: Page,
    },
    /// Calls that wait for people, the oldest first.
    Pending {
        /// Which part.
        page: Page,
    },
    /// Decisions, the oldest first.
    Decisions {
        /// Which.
        filter: DecisionFilter,
        /// Which part.
        page: Page,
    },
    /// Decisions that allowed calls of one tool in runs of one agent that one person started, the
    /// newest first. Where nobody is named, in those that no person started.
    Allowed {
        /// The tool.
        tool: Name,
        /// The agent.
        agent: Name,
        /// Who started the runs.
        by: Option<Principal>,
        /// Which part.
        page: Page,
    },
    /// How often who decided, and how long people were waited for.
    Who {
        /// Decisions about calls of this tool.
        tool: Option<Name>,
        /// Decisions from this time on.
        since: Option<Timestamp>,
    },
    /// The run whose id begins so.
    Find {
        /// Its first digits.
        prefix: String,
    },
    /// The shortest beginnings by which these runs are known.
    Prefixes {
        /// The runs.
        runs: Vec<RunId>,
    },
    /// Throws the rows away and builds them anew.
    Rebuild {},
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Answer {
    /// Runs.
    Runs {
        /// The runs of this part.
        runs: Vec<RunRow>,
        /// Where it ended, if there may be more.
        next: Option<Cursor>,
        /// Finished runs of the whole ledger.
        finished: u64,
    },
    /// Calls that wait for people.
    Pending {
        /// The calls of this part.
        pending: Vec<PendingRow>,
        /// Where it ended, if there may be more.
        next: Option<Cursor>,
    },
    /// Decisions.
    Decisions {
        /// The decisions of this part.
        decisions: Vec<Decision>,
        /// Where it ended, if there may be more.
        next: Option<Cursor>,
    },
    /// Who decided.
    Who {
        /// By approver, in their order.
        who: Vec<Decided>,
    },
    /// What begins so.
    Find(Result<RunId, LookupError>),
    /// The beginnings, in the order in which they were asked for.
    Prefixes {
        /// One of each run.
        prefixes: Vec<String>,
    },
    /// The rows were built anew.
    Rebuilt(Rebuilt),
}

/// What came of building the rows anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rebuilt {
    /// Whether they differed from what was there.
    pub differed: bool,
    /// Rows that are there now.
    pub rows: u64,
    /// Records of the log that they were built from.
    pub records: u64,
}

/// What one approver decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decided {
    /// Who.
    pub by: Approver,
    /// Allowed.
    pub granted: u64,
    /// Denied.
    pub denied: u64,
    /// Taken back.
    pub revoked: u64,
    /// Not answered in time.
    pub expired: u64,
    /// Not even asked about.
    pub refused: u64,
    /// Said what became of it.
    pub settled: u64,
    /// How long the middle one of them waited for an answer.
    pub waited_p50_ms: Option<u64>,
    /// How long the longest waited.
    pub waited_max_ms: Option<u64>,
}

impl Decided {
    /// All of them.
    pub fn count(&self) -> u64 {
        [
            self.granted,
            self.denied,
            self.revoked,
            self.expired,
            self.refused,
            self.settled,
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }
}
