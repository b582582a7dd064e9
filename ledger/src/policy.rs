//! Policy as recorded values: data alone, judged in the engine.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The tool that runs commands.
pub const EXECUTE_COMMAND: &str = "execute_command";

/// The tool whose calls put a question to a person and do nothing else.
pub const ASK_USER: &str = "ask_user";

/// Why a text is not a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected false, read-only, low-risk, high-risk or true, found {0:?}")]
pub struct PolicyError(String);

/// Up to which tier gated calls run without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalPolicy {
    /// No gated call clears.
    False,
    /// Reads, lists, searches.
    ReadOnly,
    /// And placet's own notes and reminders, and commands judged so.
    LowRisk,
    /// Everything.
    HighRisk,
}

impl ApprovalPolicy {
    /// The words that people may write.
    pub const WORDS: [&str; 5] = ["false", "read-only", "low-risk", "high-risk", "true"];

    /// The word that records and cards use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::False => "false",
            Self::ReadOnly => "read-only",
            Self::LowRisk => "low-risk",
            Self::HighRisk => "high-risk",
        }
    }
}

impl fmt::Display for ApprovalPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ApprovalPolicy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        match text {
            "false" => Ok(Self::False),
            "read-only" => Ok(Self::ReadOnly),
            "low-risk" => Ok(Self::LowRisk),
            "high-risk" | "true" => Ok(Self::HighRisk),
            _ => Err(PolicyError(text.chars().take(80).collect())),
        }
    }
}

/// Whether somebody can answer while a segment runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attendance {
    /// A person at the terminal.
    Person,
    /// Nobody now; the run waits until somebody answers.
    Park,
    /// Nobody, and it does not wait: what asks is refused.
    Nobody,
}

/// What becomes of calls whose process cannot be shut in by the whole profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContainmentRule {
    /// They are judged like others, and what is missing is said.
    #[default]
    Prefer,
    /// Each of them asks.
    Require,
}

impl ContainmentRule {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    pub(crate) const fn is_prefer(&self) -> bool {
        matches!(self, Self::Prefer)
    }
}

/// What decides web requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HttpApproval {
    /// All of them run.
    Allow,
}
