//! The gate: one total function from what is known of a call to a verdict that names its rule.
//!
//! It is a list of layers, from the strictest down; the first that says something decides. What
//! none of them clears asks a person, or is turned down where nobody can answer and the run does
//! not wait.

use placet_ledger::approval::By;
use placet_ledger::event::RefusalKind;
use placet_ledger::id::{CallId, Name};
use placet_ledger::judge::{GateInput, Judge, Verdict};
use placet_ledger::policy::{ApprovalPolicy, Attendance};
use placet_ledger::risk::{DeclaredRisk, RiskTier};

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
        name: "always-asks",
        about: "files that run or steer programs later ask, whatever policy and list say",
        says: always_asks,
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
    Verdict::Decline { kind, of }
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
    let covers = match (cleared(input.policy), input.declared.known()) {
        // The highest policy clears what nobody judged, too.
        (Some(RiskTier::HighRisk), _) => true,
        (Some(up_to), Some(tier)) => tier <= up_to,
        (Some(_), None) | (None, _) => false,
    };
    if covers {
        approve(input, &format!("policy:{}", input.policy))
    } else {
        None
    }
}

fn by_list(input: &GateInput<'_>) -> Option<Verdict> {
    let tool = input.allowlist.get(input.tool)?.clone();
    Some(Verdict::Approve {
        by: By::List { tool },
        tier: input.declared,
    })
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
    let tier = input.declared;
    Some(Verdict::Approve { by, tier })
}

/// Asks a person, where one can answer, now or later.
fn ask(input: &GateInput<'_>, rule: &str) -> Verdict {
    match (input.attendance, self::rule(rule)) {
        (Attendance::Person | Attendance::Park, Some(rule)) => Verdict::Ask {
            rule,
            quorum: 1,
            tier: input.declared,
            expires_ms: None,
        },
        (Attendance::Nobody, _) | (_, None) => nobody(),
    }
}
