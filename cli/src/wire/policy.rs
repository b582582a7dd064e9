//! What `policy explain` says.

use std::collections::BTreeSet;

use placet_engine::engine::Explained;
use placet_ledger::approval::By;
use placet_ledger::id::{CallId, GrantId, Name};
use placet_ledger::judge::Verdict;
use placet_ledger::risk::DeclaredRisk;
use serde::Serialize;

use super::run::refusal_word;

/// What would become of a call.
#[derive(Debug, Serialize)]
pub(crate) struct ExplainedOut {
    tool: Name,
    verdict: VerdictOut,
    /// The layers, from the strictest down.
    layers: Vec<LayerOut>,
    /// The first layer that says something.
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_by: Option<&'static str>,
}

/// One layer of the gate.
#[derive(Debug, Serialize)]
struct LayerOut {
    layer: &'static str,
    about: &'static str,
    /// Absent where it leaves the call to the next layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    says: Option<VerdictOut>,
}

/// A verdict of the gate.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum VerdictOut {
    /// Run it.
    Approve {
        /// The row of the policy that allows it.
        #[serde(skip_serializing_if = "Option::is_none")]
        rule: Option<Name>,
        /// The entry of the run's list that allows it.
        #[serde(skip_serializing_if = "Option::is_none")]
        list: Option<Name>,
        /// The entry of the per-command list that allows it.
        #[serde(skip_serializing_if = "Option::is_none")]
        grant: Option<GrantId>,
        tier: DeclaredRisk,
        /// TCP ports that it may have.
        #[serde(skip_serializing_if = "BTreeSet::is_empty")]
        network: BTreeSet<u16>,
    },
    /// Ask people.
    Ask {
        rule: Name,
        quorum: u32,
        tier: DeclaredRisk,
        #[serde(skip_serializing_if = "Option::is_none")]
        expires_ms: Option<u64>,
    },
    /// Put its question to a person.
    Question,
    /// Turn it down.
    Decline {
        why: &'static str,
        /// The denied call that it repeats.
        #[serde(skip_serializing_if = "Option::is_none")]
        of: Option<CallId>,
        /// The rule that forbids it.
        #[serde(skip_serializing_if = "Option::is_none")]
        rule: Option<Name>,
    },
    /// How risky it is decides, and somebody must judge that first.
    Unjudged,
}

impl From<&Verdict> for VerdictOut {
    fn from(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Approve { by, tier, network } => {
                let (rule, list, grant) = match by {
                    By::Policy { rule } | By::Rule { rule } => (Some(rule.clone()), None, None),
                    By::List { tool } => (None, Some(tool.clone()), None),
                    By::Grant { grant } => (None, None, Some(*grant)),
                    By::Person { .. } | By::Tool => (None, None, None),
                };
                Self::Approve {
                    rule,
                    list,
                    grant,
                    tier: *tier,
                    network: network.clone(),
                }
            }
            Verdict::Ask {
                rule,
                quorum,
                tier,
                expires_ms,
            } => Self::Ask {
                rule: rule.clone(),
                quorum: *quorum,
                tier: *tier,
                expires_ms: *expires_ms,
            },
            Verdict::Question => Self::Question,
            Verdict::Unjudged => Self::Unjudged,
            Verdict::Decline { kind, of, rule } => Self::Decline {
                why: refusal_word(*kind),
                of: *of,
                rule: rule.clone(),
            },
        }
    }
}

impl ExplainedOut {
    /// The shape of an explanation.
    pub(crate) fn of(explained: &Explained) -> Self {
        let layers = explained.layers.iter().map(|(layer, says)| LayerOut {
            layer: layer.name,
            about: layer.about,
            says: says.as_ref().map(VerdictOut::from),
        });
        Self {
            tool: explained.tool.clone(),
            verdict: VerdictOut::from(&explained.verdict),
            layers: layers.collect(),
            decided_by: explained.decided_by().map(|layer| layer.name),
        }
    }
}
