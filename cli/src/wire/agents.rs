//! What `agents` says.

use placet_ledger::policy::ApprovalPolicy;
use serde::Serialize;

use super::runs::LimitsOut;

/// What `agents list` says.
#[derive(Debug, Serialize)]
pub(crate) struct AgentList {
    /// The agents, by name.
    pub(crate) agents: Vec<AgentOut>,
}

/// An agent of the config.
#[derive(Debug, Serialize)]
pub(crate) struct AgentOut {
    /// Its name.
    pub(crate) agent: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    /// Its model, as the config names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// Up to which tier its gated calls run unasked.
    pub(crate) approval_policy: ApprovalPolicy,
    /// The tools it has; all if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tools: Option<Vec<String>>,
    /// The tools it never has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) denied_tools: Vec<String>,
    /// Its caps.
    pub(crate) limits: LimitsOut,
    /// What it is told to be; `agents show` alone says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) system: Option<String>,
}

/// What `agents check` says.
#[derive(Debug, Serialize)]
pub(crate) struct AgentsChecked {
    /// Whether nothing is wrong.
    pub(crate) ok: bool,
    /// The agents, by name.
    pub(crate) agents: Vec<AgentChecked>,
    /// What is wrong with what the config says of all runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) problems: Vec<Problem>,
}

/// An agent, and what is wrong with it.
#[derive(Debug, Serialize)]
pub(crate) struct AgentChecked {
    /// Its name.
    pub(crate) agent: String,
    /// What is wrong; nothing if empty.
    pub(crate) problems: Vec<Problem>,
}

/// Something that is wrong.
#[derive(Debug, Serialize)]
pub(crate) struct Problem {
    /// What.
    pub(crate) message: String,
    /// What can be done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) hints: Vec<String>,
}
