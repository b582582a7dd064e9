//! What `policy explain` and `policy check` say.

use std::collections::BTreeSet;

use placet_engine::engine::Explained;
use placet_engine::policy::OverEntry;
use placet_engine::policy::rules::{Effect, Rule, Stand};
use placet_engine::policy::{Certain, CommandStands, Member, RuleStands};
use placet_ledger::approval::{By, Demands};
use placet_ledger::containment::{Containment, Part};
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
    /// How what it runs would be shut in, whatever the gate says.
    sandbox: SandboxOut,
    /// What the gate would say under the widest policy.
    at_most: VerdictOut,
    /// The rules that are about it, or nearly.
    rules: Vec<RuleStandsOut>,
    /// How its command is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<CommandOut>,
}

/// How what a call runs is shut in.
#[derive(Debug, Serialize)]
struct SandboxOut {
    containment: Containment,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    missing: BTreeSet<Part>,
    /// TCP ports that it would have.
    network: BTreeSet<u16>,
}

/// How a rule stands to a call.
#[derive(Debug, Serialize)]
struct RuleStandsOut {
    rule: Name,
    effect: Effect,
    #[serde(flatten)]
    demands: DemandsOut,
    #[serde(rename = "of")]
    origin: &'static str,
    speaks: bool,
    /// Why it does not cover the call, or why it speaks of one that cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// What a rule demands of approvals, where one by anyone is not enough.
#[derive(Debug, Serialize)]
pub(crate) struct DemandsOut {
    #[serde(skip_serializing_if = "Option::is_none")]
    quorum: Option<u32>,
    /// All of it; as JSON, what is demanded beside the number.
    #[serde(skip_serializing_if = "Demands::is_number")]
    pub(crate) require: Demands,
}

impl From<&Demands> for DemandsOut {
    fn from(demands: &Demands) -> Self {
        Self {
            quorum: Some(demands.quorum).filter(|quorum| *quorum != 1),
            require: demands.clone(),
        }
    }
}

/// How a command is read, and how entries stand to it.
#[derive(Debug, Serialize)]
struct CommandOut {
    syntax_high_risk: bool,
    why: String,
    key: Option<String>,
    /// What is certain: `read-only`, `high-risk`, or nothing.
    certain: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    certain_why: Option<String>,
    members: Vec<MemberOut>,
    entries: Vec<EntryOut>,
}

/// One command of a line that runs several.
#[derive(Debug, Serialize)]
struct MemberOut {
    command: String,
    key: Option<String>,
    entries: Vec<GrantId>,
    rules: Vec<Name>,
}

/// How an entry of the per-command list stands to a command.
#[derive(Debug, Serialize)]
struct EntryOut {
    grant: GrantId,
    key: String,
    covers: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// TCP ports that the command wants and would not have by it.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    without: BTreeSet<u16>,
}

/// What `policy check` says.
#[derive(Debug, Serialize)]
pub(crate) struct CheckedOut {
    /// The rules of the file.
    pub(crate) rules: Vec<RuleOut>,
}

/// A rule.
#[derive(Debug, Serialize)]
pub(crate) struct RuleOut {
    /// Its name in records.
    pub(crate) rule: String,
    /// What it does.
    pub(crate) effect: Effect,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// The tool.
    pub(crate) tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// The command.
    pub(crate) command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// The path.
    pub(crate) path: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    /// The ports that an allowed command may reach.
    pub(crate) network: Vec<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// For how long a call waits.
    pub(crate) expires: Option<String>,
    /// What it demands of approvals.
    #[serde(flatten)]
    pub(crate) demands: DemandsOut,
    /// Why it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// How many examples it was tried on.
    pub(crate) examples: usize,
    /// What is odd about it.
    pub(crate) warnings: Vec<String>,
}

impl RuleOut {
    /// The shape of a rule.
    pub(crate) fn of(rule: &Rule, warnings: Vec<String>) -> Self {
        let written = rule.written().clone();
        Self {
            rule: rule.name().as_str().to_owned(),
            effect: rule.effect(),
            tool: written.tool,
            command: written.command,
            path: written.path,
            network: written.network,
            demands: DemandsOut::from(rule.demands()),
            expires: written.require.and_then(|require| require.expires),
            reason: written.reason,
            examples: written
                .matches
                .len()
                .saturating_add(written.not_match.len()),
            warnings,
        }
    }
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
        /// What is demanded beside their number.
        #[serde(skip_serializing_if = "Demands::is_number")]
        require: Demands,
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
        /// Why the rule is there.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
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
                demands,
                tier,
                expires_ms,
            } => Self::Ask {
                rule: rule.clone(),
                quorum: demands.quorum,
                require: demands.clone(),
                tier: *tier,
                expires_ms: *expires_ms,
            },
            Verdict::Question => Self::Question,
            Verdict::Unjudged => Self::Unjudged,
            Verdict::Decline { kind, of, rule } => Self::Decline {
                why: refusal_word(*kind),
                of: *of,
                rule: rule.as_ref().map(|forbids| forbids.rule.clone()),
                reason: rule.as_ref().and_then(|forbids| forbids.reason.clone()),
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
            sandbox: SandboxOut {
                containment: explained.stands.level.containment(),
                missing: explained.stands.level.missing().clone(),
                network: explained.stands.network.clone(),
            },
            at_most: VerdictOut::from(&explained.stands.at_most),
            rules: explained
                .stands
                .rules
                .iter()
                .map(RuleStandsOut::of)
                .collect(),
            command: explained
                .stands
                .command
                .as_ref()
                .map(|command| CommandOut::of(command, &explained.over)),
        }
    }
}

impl RuleStandsOut {
    fn of(stands: &RuleStands) -> Self {
        let (speaks, why) = match &stands.stand {
            Stand::Speaks => (true, None),
            Stand::Unreadable => {
                let why = "which programs the command runs cannot all be read";
                (true, Some(String::from(why)))
            }
            Stand::Short(why) => (false, Some(why.clone())),
        };
        Self {
            rule: stands.rule.clone(),
            effect: stands.effect,
            demands: DemandsOut::from(&stands.demands),
            origin: if stands.workspace {
                "workspace"
            } else {
                "user"
            },
            speaks,
            why,
            reason: stands.reason.clone(),
        }
    }
}

impl CommandOut {
    fn of(command: &CommandStands, over: &[OverEntry]) -> Self {
        let (certain, certain_why) = match &command.certain {
            Certain::ReadOnly => (Some("read-only"), None),
            Certain::HighRisk(why) => (Some("high-risk"), Some(why.clone())),
            Certain::Nothing(why) => (None, Some(why.clone())),
        };
        let held = command.entries.iter().map(|entry| EntryOut {
            grant: entry.grant,
            key: entry.key.clone(),
            covers: entry.short.is_none(),
            why: entry.short.clone(),
            without: entry.without.clone(),
        });
        let over = over.iter().map(|entry| EntryOut {
            grant: entry.grant,
            key: entry.key.clone(),
            covers: false,
            why: Some(entry.why().to_owned()),
            without: BTreeSet::new(),
        });
        Self {
            syntax_high_risk: command.reading.syntax_high_risk,
            why: command.reading.why.clone(),
            key: command.reading.key.clone(),
            certain,
            certain_why,
            members: command.members.iter().map(MemberOut::of).collect(),
            entries: held.chain(over).collect(),
        }
    }
}

impl MemberOut {
    fn of(member: &Member) -> Self {
        Self {
            command: member.text.clone(),
            key: member.key.clone(),
            entries: member.entries.clone(),
            rules: member.rules.iter().map(|(rule, _)| rule.clone()).collect(),
        }
    }
}
