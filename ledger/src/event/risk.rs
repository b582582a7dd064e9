//! The event that says how a call was judged.

use serde::{Deserialize, Serialize};

use crate::budget::{Spend, Tokens, Usd};
use crate::digest::Digest;
use crate::id::{CallId, Name, Version};
use crate::risk::RiskTier;

/// What judged a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RiskSource {
    /// A command that is plainly read-only.
    Rule,
    /// The policy plugin.
    Plugin,
    /// A model.
    Model,
    /// Nothing judged it, or nothing may: high-risk.
    Floor,
}

/// What a plugin wants beside a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Demand {
    /// A person must be asked.
    Ask,
    /// It must not be done.
    Deny,
}

/// How a call was judged, for one proposal alone. Content: reason, endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RiskAssessed {
    /// Version of the authority stream on which it was found that the verdict depends on it.
    pub authority: Version,
    /// The call.
    pub call: CallId,
    /// What asking the model cost, where `used` is known.
    #[serde(default, skip_serializing_if = "Usd::is_zero")]
    pub cost_usd: Usd,
    /// What the plugin wants beside the tier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demand: Option<Demand>,
    /// Digest of all that was given to whatever judged.
    pub inputs: Digest,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Name>,
    /// Version of the classifier's prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<u32>,
    /// Digest of the proposal.
    pub proposal: Digest,
    /// What judged.
    pub source: RiskSource,
    /// The tier.
    pub tier: RiskTier,
    /// What asking the model used; what was set aside for it stays spent where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Tokens>,
}

impl RiskAssessed {
    /// What it took, where that is known.
    pub fn took(&self) -> Option<Spend> {
        let cost_usd = self.cost_usd;
        self.used.map(|tokens| Spend { cost_usd, tokens })
    }
}
