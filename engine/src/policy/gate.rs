//! The gate: one total function from what is known of a call to a verdict that names its rule.
//!
//! It is a list of layers, from the strictest down; the first that says something decides. What
//! none of them clears asks a person, or is turned down where nobody can answer and the run does
//! not wait.

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::ops::Deref;
use std::rc::Rc;

use placet_ledger::approval::{By, Demands};
use placet_ledger::containment::Containment;
use placet_ledger::event::{Demand, RefusalKind, RiskSource};
use placet_ledger::id::{CallId, Name};
use placet_ledger::judge::{Forbids, GateInput, Judge, Verdict};
use placet_ledger::policy::{ApprovalPolicy, Attendance, ContainmentRule};
use placet_ledger::risk::{DeclaredRisk, RiskTier};

use super::command::{Certain, certain};
use super::grant::CommandEntry;
use super::mutating::mutating;
use super::ruled::{InForce, Ruled, Unknown, is_destructive, ruled};
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
    says: fn(&Case<'_>) -> Option<Verdict>,
}

impl Layer {
    /// What it says about a call; `None` leaves it to the next one.
    pub fn says(&self, case: &Case<'_>) -> Option<Verdict> {
        (self.says)(case)
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
        name: "deny-rule",
        about: "a rule of the user or the workspace may forbid",
        says: by_deny_rule,
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
        name: "ask-rule",
        about: "a rule of the user or the workspace may want people asked",
        says: by_ask_rule,
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
        name: "allow-rule",
        about: "a rule of the user clears what it names",
        says: by_allow_rule,
    },
    Layer {
        name: "person",
        about: "everything else asks a person",
        says: by_person,
    },
];

/// The verdict on one call.
pub fn gate(input: &GateInput<'_>) -> Verdict {
    Case::of(input).verdict()
}

/// One call before the gate: what is given, and what follows from it, each worked out once and only
/// where a layer looks at it.
pub struct Case<'a> {
    input: &'a GateInput<'a>,
    certain: Lazily<'a, Option<Certain>>,
    ruled: Lazily<'a, Ruled>,
    destructive: Lazily<'a, bool>,
}

type Lazily<'a, T> = LazyCell<T, Box<dyn FnOnce() -> T + 'a>>;

impl<'a> Case<'a> {
    /// The case of a call.
    pub fn of(input: &'a GateInput<'a>) -> Self {
        let read: Lazily<'a, Result<InForce, Unknown>> =
            LazyCell::new(Box::new(|| InForce::of(input)));
        let rules = Rc::new(read);
        let again = Rc::clone(&rules);
        Self {
            input,
            certain: LazyCell::new(Box::new(|| input.command.as_ref().map(certain))),
            ruled: LazyCell::new(Box::new(move || ruled(input, &rules))),
            destructive: LazyCell::new(Box::new(move || is_destructive(input, &again))),
        }
    }

    /// What the layers come to.
    pub fn verdict(&self) -> Verdict {
        let verdict = LAYERS.iter().find_map(|layer| layer.says(self));
        verdict.unwrap_or_else(nobody)
    }
}

impl<'a> Deref for Case<'a> {
    type Target = GateInput<'a>;

    fn deref(&self) -> &GateInput<'a> {
        self.input
    }
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
fn tier(case: &Case<'_>) -> Tier {
    let assessed = case.assessed;
    let by_plugin = assessed.filter(|judged| case.plugin && judged.source == RiskSource::Plugin);
    if let Some(declared) = case.declared.known() {
        let raised = by_plugin.map_or(declared, |judged| judged.tier.max(declared));
        return Tier::Known(raised);
    }
    let certain = case.certain.as_ref();
    let judged = match (certain, assessed) {
        (Some(Certain::HighRisk(_)) | None, _) => Some(RiskTier::HighRisk),
        (Some(_), None) => None,
        (Some(certain), Some(judged)) => Some(match judged.source {
            RiskSource::Plugin if case.plugin => judged.tier,
            RiskSource::Model if !is_mutating(case) => judged.tier,
            RiskSource::Rule if *certain == Certain::ReadOnly => RiskTier::ReadOnly,
            RiskSource::Plugin | RiskSource::Model | RiskSource::Rule | RiskSource::Floor => {
                RiskTier::HighRisk
            }
        }),
    };
    match judged {
        Some(tier) => Tier::Known(tier),
        None if case.judgeable => Tier::Unjudged,
        None => Tier::Known(RiskTier::HighRisk),
    }
}

/// The tier that a record names: unknown where it was not looked at.
fn shown_tier(case: &Case<'_>) -> DeclaredRisk {
    let looked_at = case.plugin
        || case.command.is_some()
            && match case.policy {
                ApprovalPolicy::ReadOnly | ApprovalPolicy::LowRisk => true,
                ApprovalPolicy::False | ApprovalPolicy::HighRisk => false,
            };
    match tier(case) {
        Tier::Known(tier) if looked_at || case.declared.known().is_some() => tier.into(),
        Tier::Known(_) | Tier::Unjudged => case.declared,
    }
}

/// Whether a command clearly changes something, whatever a model says of it.
fn is_mutating(input: &GateInput<'_>) -> bool {
    let command = input.command.as_ref();
    let text = command.and_then(|command| command.text.as_deref());
    text.is_some_and(|text| mutating(text).is_some())
}

/// Whether the syntax of a command makes it high-risk, whatever it does.
fn is_hazard(case: &Case<'_>) -> bool {
    let certain = case.certain.as_ref();
    matches!(certain, Some(Certain::HighRisk(_)))
}

fn nobody() -> Verdict {
    decline(RefusalKind::Nobody, None)
}

fn offered(case: &Case<'_>) -> Option<Verdict> {
    (!case.offered).then(|| decline(RefusalKind::DeniedTool, None))
}

fn denied_before(case: &Case<'_>) -> Option<Verdict> {
    let of = case.repeats?;
    Some(decline(RefusalKind::RepeatOf, Some(of)))
}

fn question(case: &Case<'_>) -> Option<Verdict> {
    case.question.then(|| match case.attendance {
        Attendance::Person | Attendance::Park => Verdict::Question,
        Attendance::Nobody => nobody(),
    })
}

/// A plugin is asked about every call that could change something.
fn by_plugin(case: &Case<'_>) -> Option<Verdict> {
    let only_reads = case.declared == DeclaredRisk::ReadOnly && !case.paired;
    if !case.plugin || only_reads {
        return None;
    }
    let Some(judged) = case.assessed else {
        return Some(if case.judgeable {
            Verdict::Unjudged
        } else {
            ask(case, "plugin")
        });
    };
    match judged.demand {
        Some(Demand::Deny) => Some(forbid(rule("plugin"), None)),
        Some(Demand::Ask) => Some(ask(case, "plugin")),
        None => None,
    }
}

/// Turns a call down by a rule, which is there for a reason.
fn forbid(rule: Option<Name>, reason: Option<String>) -> Verdict {
    Verdict::Decline {
        kind: RefusalKind::Rule,
        of: None,
        rule: rule.map(|rule| Forbids { rule, reason }),
    }
}

fn by_deny_rule(case: &Case<'_>) -> Option<Verdict> {
    match &*case.ruled {
        Ruled::Deny(rule, reason) => Some(forbid(Some(rule.clone()), reason.clone())),
        Ruled::Ask { .. } | Ruled::Unknown | Ruled::Allow(..) | Ruled::Silent => None,
    }
}

fn by_ask_rule(case: &Case<'_>) -> Option<Verdict> {
    match &*case.ruled {
        Ruled::Ask { rule, .. } => Some(ask(case, rule.as_str())),
        Ruled::Unknown => Some(ask(case, "rules-unreadable")),
        Ruled::Deny(..) | Ruled::Allow(..) | Ruled::Silent => None,
    }
}

fn by_allow_rule(case: &Case<'_>) -> Option<Verdict> {
    match &*case.ruled {
        Ruled::Allow(rule, network) if !*case.destructive => {
            let by = By::Rule { rule: rule.clone() };
            Some(clear(case, by, network.clone()))
        }
        Ruled::Allow(..) | Ruled::Deny(..) | Ruled::Ask { .. } | Ruled::Unknown | Ruled::Silent => {
            None
        }
    }
}

fn contained(case: &Case<'_>) -> Option<Verdict> {
    let level = case.level.containment();
    let short = match level {
        Containment::InProcess | Containment::Full => false,
        Containment::Partial | Containment::None => true,
    };
    let required = short && case.containment == ContainmentRule::Require;
    (required || case.weaker).then(|| ask(case, &format!("containment:{}", level.as_str())))
}

fn always_asks(case: &Case<'_>) -> Option<Verdict> {
    let steering = match &case.reach {
        Some(paths) => steering::steer(paths),
        None => Some(UNREADABLE),
    };
    Some(ask(case, &rule_of(steering?)))
}

fn plain_read_only(case: &Case<'_>) -> Option<Verdict> {
    if case.declared != DeclaredRisk::ReadOnly || case.paired {
        return None;
    }
    approve(case, "plain-read-only")
}

fn by_policy(case: &Case<'_>) -> Option<Verdict> {
    let up_to = cleared(case.policy)?;
    let covers = match (up_to, tier(case)) {
        // The highest policy clears what nobody judged, too.
        (RiskTier::HighRisk, _) => true,
        (_, Tier::Known(tier)) => tier <= up_to,
        // It is judged only where that decides.
        (_, Tier::Unjudged) => {
            let cleared = by_list(case).or_else(|| by_grant(case));
            let cleared = cleared.or_else(|| by_allow_rule(case));
            return cleared.is_none().then_some(Verdict::Unjudged);
        }
    };
    if covers {
        approve(case, &format!("policy:{}", case.policy))
    } else {
        None
    }
}

fn by_list(case: &Case<'_>) -> Option<Verdict> {
    let tool = case.allowlist.get(case.tool)?.clone();
    if is_hazard(case) {
        return None;
    }
    Some(clear(case, By::List { tool }, BTreeSet::new()))
}

fn by_grant(case: &Case<'_>) -> Option<Verdict> {
    let command = case.command.as_ref()?;
    let covering = case.grants.iter().find_map(|granted| {
        let entry = CommandEntry::read(granted.entry)?;
        entry.covers(command).then_some((granted.grant, entry))
    });
    let (grant, entry) = covering.filter(|_| !*case.destructive)?;
    Some(clear(case, By::Grant { grant }, entry.network))
}

fn clear(case: &Case<'_>, by: By, network: BTreeSet<u16>) -> Verdict {
    let tier = shown_tier(case);
    Verdict::Approve { by, tier, network }
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "the last layer says something about every call"
)]
fn by_person(case: &Case<'_>) -> Option<Verdict> {
    Some(ask(case, &format!("policy:{}", case.policy)))
}

fn approve(case: &Case<'_>, rule: &str) -> Option<Verdict> {
    let by = By::Policy {
        rule: self::rule(rule)?,
    };
    Some(clear(case, by, BTreeSet::new()))
}

/// Asks people, where one can answer, now or later. Whichever row asks, what rules demand of the
/// approvals and the time that they give hold.
fn ask(case: &Case<'_>, rule: &str) -> Verdict {
    let (demands, expires_ms) = match &*case.ruled {
        Ruled::Ask {
            demands,
            expires_ms,
            ..
        } => (demands.clone(), *expires_ms),
        Ruled::Deny(..) | Ruled::Unknown | Ruled::Allow(..) | Ruled::Silent => {
            (Demands::default(), None)
        }
    };
    match (case.attendance, self::rule(rule)) {
        (Attendance::Person | Attendance::Park, Some(rule)) => Verdict::Ask {
            rule,
            demands,
            tier: shown_tier(case),
            expires_ms,
        },
        (Attendance::Nobody, _) | (_, None) => nobody(),
    }
}
