//! Events of talking to a model: intent, reply, failure, and a conversation made shorter.

use serde::{Deserialize, Serialize};

use crate::budget::{Spend, Tokens, Usd};
use crate::digest::Digest;
use crate::id::{CallId, Name, Version};

/// What a model is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelTask {
    /// The next turn of the conversation.
    #[default]
    Turn,
    /// How risky the command of a call is.
    Classify(CallId),
    /// What the conversation came to so far, in fewer words.
    Compact,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over references"
)]
impl ModelTask {
    const fn is_turn(&self) -> bool {
        matches!(self, Self::Turn)
    }
}

/// The intent, before each attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelCalled {
    /// Which attempt at this task, from 1.
    pub attempt: u32,
    /// Digest of what is sent: of a judgement purpose `inputs`, else `context`.
    pub context: Digest,
    /// The model.
    pub model: Name,
    /// Tokens set aside until the reply tells what was used; the driver's estimate.
    pub reserved: Tokens,
    /// What they would cost.
    #[serde(default, skip_serializing_if = "Usd::is_zero")]
    pub reserved_usd: Usd,
    /// What it is asked for.
    #[serde(default, skip_serializing_if = "ModelTask::is_turn")]
    pub task: ModelTask,
}

/// A call that the model named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedCall {
    /// Our own id for it.
    pub call: CallId,
    /// The tool, where it is one of this run's; any other name is content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Name>,
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It wants tools called.
    ToolCalls,
    /// It is done.
    End,
    /// It ran into its own limit.
    Length,
    /// It refused.
    Refusal,
    /// Anything else.
    Other,
}

/// The reply. Content: reply, `arguments.cN` as received, provider (its ids and foreign names).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelReplied {
    /// The attempt that was answered.
    pub attempt: u32,
    /// The calls, in the model's order.
    pub calls: Vec<NamedCall>,
    /// What it cost.
    pub cost_usd: Usd,
    /// Why it stopped.
    pub stop: Stop,
    /// What it used.
    pub used: Tokens,
}

/// What went wrong with a model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelFailure {
    /// No reply in time.
    Timeout,
    /// No connection.
    Network,
    /// The reply broke off.
    Cut,
    /// The provider said no.
    Provider,
}

/// No reply; the reservation stays spent unless `used` is known. Content: detail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFailed {
    /// The attempt that failed.
    pub attempt: u32,
    /// What that cost, where `used` is known.
    #[serde(default, skip_serializing_if = "Usd::is_zero")]
    pub cost_usd: Usd,
    /// What went wrong.
    pub kind: ModelFailure,
    /// The same is asked again after so long; else there is no further attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_ms: Option<u64>,
    /// What it used all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<Tokens>,
}

/// From here on the model sees a summary in place of what was said between two records, which stay
/// as they are. Content: summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextCompacted {
    /// What making the summary cost.
    pub cost_usd: Usd,
    /// The first reply that it stands for.
    pub from: Version,
    /// The model that made it.
    pub model: Name,
    /// The last reply that it stands for, with what came of its calls.
    pub to: Version,
    /// What making it used.
    pub used: Tokens,
}

impl ModelReplied {
    /// What it took.
    pub const fn took(&self) -> Spend {
        Spend {
            cost_usd: self.cost_usd,
            tokens: self.used,
        }
    }
}

impl ModelFailed {
    /// What it took, where that is known.
    pub fn took(&self) -> Option<Spend> {
        let cost_usd = self.cost_usd;
        self.used.map(|tokens| Spend { cost_usd, tokens })
    }
}

impl ContextCompacted {
    /// What it took.
    pub const fn took(&self) -> Spend {
        Spend {
            cost_usd: self.cost_usd,
            tokens: self.used,
        }
    }
}
