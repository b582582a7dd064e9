//! The gate: one total function from what is known of a call to a verdict that names its rule.
//!
//! It is a list of layers, from the strictest down; the first that says something decides. What
//! none of them clears asks a person, or is turned down where nobody can answer and the run does
//! not wait.

use std::collections::BTreeSet;

use placet_ledger::approval::By;
use placet_ledger::containment::Containment;
use placet_ledger::event::{Demand, RefusalKind, RiskSource};
use placet_ledger::id::{CallId, Name};
use placet_ledger::judge::{GateInput, Judge, Verdict};
use placet_ledger::policy::{ApprovalPolicy, Attendance, ContainmentRule};
use placet_ledger::risk::{DeclaredRisk, RiskTier};

use super::command::{Certain, certain};
use super::grant::CommandEntry;
use crate::steering::{self, UNREADABLE, rule_of};

/// The gate as the ledger calls it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gate;

impl Judge for Gate {
    fn judge(&self, input: &GateInput<'_>) -> Verdict {
        gate(input)
    }
}

/// Up to which tier a policy clears.
const fn cleared(policy: ApprovalPolicy) -> Option<RiskTier> {
    match policy {
        ApprovalPolicy::False => None,
        ApprovalPolicy::ReadOnly => Some(RiskTier::ReadOnly),
        ApprovalPolicy::LowRisk => Some(RiskTier::LowRisk),
        ApprovalPolicy::HighRisk => Some(RiskTier::HighRisk),
    }
}

/// A row of the gate's table by its name. All names are ours, so this cannot fail; if it did, the
/// row would say so and still not approve anything by itself.
fn rule(text: &str) -> Option<Name> {
    text.parse().ok()
}

/// One layer of the gate.
#[derive(Debug)]
pub struct Layer {
    /// Its name.
    pub name: &'static str,
    /// What it looks at, in a sentence.
    pub about: &'static str,
    says: fn(&GateInput<'_>) -> Option<Verdict>,
}

impl Layer {
    /// What it says about a call; `None` leaves it to the next one.
    pub fn says(&self, input: &GateInput<'_>) -> Option<Verdict> {
        (self.says)(input)
    }
}

/// The layers, from the strictest down. The last one says something about every call.
pub const LAYERS: &[Layer] = &[
    Layer {
        name: "offered",
        about: "a tool that the run does not have, or no longer has, is turned down",
        says: offered,
    },
    Layer {
        name: "denied-before",
        about: "what a person denied is not asked again",
        says: denied_before,
    },
    Layer {
        name: "question",
        about: "a question of the agent goes to a person",
        says: question,
    },
    Layer {
        name: "plugin",
        about: "a plugin may forbid, or want a person asked",
        says: by_plugin,
    },
    Layer {
        name: "always-asks",
        about: "files that run or steer programs later ask, whatever policy and list say",
        says: always_asks,
    },
    Layer {
        name: "containment",
        about: "a process that is shut in less than was shown, or than the config requires, asks",
        says: contained,
    },
    Layer {
        name: "plain-read-only",
        about: "a tool that only reads runs under every policy",
        says: plain_read_only,
    },
    Layer {
        name: "policy",
        about: "the policy clears tools up to its tier",
        says: by_policy,
    },
    Layer {
        name: "list",
        about: "the list of the run clears the tools that it names",
        says: by_list,
    },
    Layer {
        name: "grant",
        about: "an entry of the per-command list clears the commands of its key",
        says: by_grant,
    },
    Layer {
        name: "person",
        about: "everything else asks a person",
        says: by_person,
    },
];

/// The verdict on one call.
pub fn gate(input: &GateInput<'_>) -> Verdict {
    let verdict = LAYERS.iter().find_map(|layer| layer.says(input));
    verdict.unwrap_or_else(nobody)
}

fn decline(kind: RefusalKind, of: Option<CallId>) -> Verdict {
    let rule = None;
    Verdict::Decline { kind, of, rule }
}

/// How risky a call is, as far as that is known.
enum Tier {
    /// So.
    Known(RiskTier),
    /// Somebody must judge it first.
    Unjudged,
}

/// How risky a call is. Hazards and what is plainly read-only are derived here, whatever is
/// recorded of a judgement.
fn tier(input: &GateInput<'_>) -> Tier {
    let assessed = input.assessed;
    let by_plugin = assessed.filter(|judged| input.plugin && judged.source == RiskSource::Plugin);
    if let Some(declared) = input.declared.known() {
        let raised = by_plugin.map_or(declared, |judged| judged.tier.max(declared));
        return Tier::Known(raised);
    }
    let certain = input.command.as_ref().map(certain);
    let judged = match (certain, assessed) {
        (Some(Certain::HighRisk(_)) | None, _) => Some(RiskTier::HighRisk),
        (Some(_), None) => None,
        (Some(certain), Some(judged)) => Some(match judged.source {
            RiskSource::Plugin | RiskSource::Model => judged.tier,
            RiskSource::Rule if certain == Certain::ReadOnly => RiskTier::ReadOnly,
            RiskSource::Rule | RiskSource::Floor => RiskTier::HighRisk,
        }),
    };
    match judged {
        Some(tier) => Tier::Known(tier),
        None if input.judgeable => Tier::Unjudged,
        None => Tier::Known(RiskTier::HighRisk),
    }
}

/// The tier that a record names: unknown where it was not looked at.
fn shown_tier(input: &GateInput<'_>) -> DeclaredRisk {
    let looked_at = input.plugin
        || input.command.is_some()
            && match input.policy {
                ApprovalPolicy::ReadOnly | ApprovalPolicy::LowRisk => true,
                ApprovalPolicy::False | ApprovalPolicy::HighRisk => false,
            };
    match tier(input) {
        Tier::Known(tier) if looked_at || input.declared.known().is_some() => tier.into(),
        Tier::Known(_) | Tier::Unjudged => input.declared,
    }
}

/// Whether the syntax of a command makes it high-risk, whatever it does.
fn is_hazard(input: &GateInput<'_>) -> bool {
    let certain = input.command.as_ref().map(certain);
    matches!(certain, Some(Certain::HighRisk(_)))
}

fn nobody() -> Verdict {
    decline(RefusalKind::Nobody, None)
}

fn offered(input: &GateInput<'_>) -> Option<Verdict> {
    (!input.offered).then(|| decline(RefusalKind::DeniedTool, None))
}

fn denied_before(input: &GateInput<'_>) -> Option<Verdict> {
    let of = input.repeats?;
    Some(decline(RefusalKind::RepeatOf, Some(of)))
}

fn question(input: &GateInput<'_>) -> Option<Verdict> {
    input.question.then(|| match input.attendance {
        Attendance::Person | Attendance::Park => Verdict::Question,
        Attendance::Nobody => nobody(),
    })
}

/// A plugin is asked about every call that could change something.
fn by_plugin(input: &GateInput<'_>) -> Option<Verdict> {
    let only_reads = input.declared == DeclaredRisk::ReadOnly && !input.paired;
    if !input.plugin || only_reads {
        return None;
    }
    let Some(judged) = input.assessed else {
        return Some(if input.judgeable {
            Verdict::Unjudged
        } else {
            ask(input, "plugin")
        });
    };
    match judged.demand {
        Some(Demand::Deny) => Some(forbid("plugin")),
        Some(Demand::Ask) => Some(ask(input, "plugin")),
        None => None,
    }
}

/// Turns a call down by a rule.
fn forbid(rule: &str) -> Verdict {
    Verdict::Decline {
        kind: RefusalKind::Rule,
        of: None,
        rule: self::rule(rule),
    }
}

fn contained(input: &GateInput<'_>) -> Option<Verdict> {
    let level = input.level.containment();
    let short = match level {
        Containment::InProcess | Containment::Full => false,
        Containment::Partial | Containment::None => true,
    };
    let required = short && input.containment == ContainmentRule::Require;
    (required || input.weaker).then(|| ask(input, &format!("containment:{}", level.as_str())))
}

fn always_asks(input: &GateInput<'_>) -> Option<Verdict> {
    let steering = match &input.reach {
        Some(paths) => steering::steer(paths),
        None => Some(UNREADABLE),
    };
    Some(ask(input, &rule_of(steering?)))
}

fn plain_read_only(input: &GateInput<'_>) -> Option<Verdict> {
    if input.declared != DeclaredRisk::ReadOnly || input.paired {
        return None;
    }
    approve(input, "plain-read-only")
}

fn by_policy(input: &GateInput<'_>) -> Option<Verdict> {
    let up_to = cleared(input.policy)?;
    let covers = match (up_to, tier(input)) {
        // The highest policy clears what nobody judged, too.
        (RiskTier::HighRisk, _) => true,
        (_, Tier::Known(tier)) => tier <= up_to,
        // It is judged only where that decides.
        (_, Tier::Unjudged) => {
            let cleared = by_list(input).or_else(|| by_grant(input));
            return cleared.is_none().then_some(Verdict::Unjudged);
        }
    };
    if covers {
        approve(input, &format!("policy:{}", input.policy))
    } else {
        None
    }
}

fn by_list(input: &GateInput<'_>) -> Option<Verdict> {
    let tool = input.allowlist.get(input.tool)?.clone();
    if is_hazard(input) {
        return None;
    }
    Some(clear(input, By::List { tool }, BTreeSet::new()))
}

fn by_grant(input: &GateInput<'_>) -> Option<Verdict> {
    let command = input.command.as_ref()?;
    let covering = input.grants.iter().find_map(|granted| {
        let entry = CommandEntry::read(granted.entry)?;
        entry.covers(command).then_some((granted.grant, entry))
    });
    let (grant, entry) = covering?;
    Some(clear(input, By::Grant { grant }, entry.network))
}

fn clear(input: &GateInput<'_>, by: By, network: BTreeSet<u16>) -> Verdict {
    let tier = shown_tier(input);
    Verdict::Approve { by, tier, network }
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "the last layer says something about every call"
)]
fn by_person(input: &GateInput<'_>) -> Option<Verdict> {
    Some(ask(input, &format!("policy:{}", input.policy)))
}

fn approve(input: &GateInput<'_>, rule: &str) -> Option<Verdict> {
    let by = By::Policy {
        rule: self::rule(rule)?,
    };
    Some(clear(input, by, BTreeSet::new()))
}

/// Asks a person, where one can answer, now or later.
fn ask(input: &GateInput<'_>, rule: &str) -> Verdict {
    match (input.attendance, self::rule(rule)) {
        (Attendance::Person | Attendance::Park, Some(rule)) => Verdict::Ask {
            rule,
            quorum: 1,
            tier: shown_tier(input),
            expires_ms: None,
        },
        (Attendance::Nobody, _) | (_, None) => nobody(),
    }
}
