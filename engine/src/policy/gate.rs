//! The gate: one total function from what is known of a call to a verdict that names its rule.
//!
//! From the strictest down:
//!
//! 1. a tool that is no longer offered, and a call that a person denied before, are turned down;
//! 2. a plain tool that only reads runs under every policy;
//! 3. the policy clears what it covers, the per-tool list what it names;
//! 4. everything else asks, or is turned down where nobody can answer and the run does not wait.

use placet_ledger::approval::By;
use placet_ledger::event::RefusalKind;
use placet_ledger::id::Name;
use placet_ledger::judge::{GateInput, Judge, Verdict};
use placet_ledger::policy::{ApprovalPolicy, Attendance};
use placet_ledger::risk::{DeclaredRisk, RiskTier};

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

/// The verdict on one call.
pub fn gate(input: &GateInput<'_>) -> Verdict {
    if !input.offered {
        return Verdict::Decline {
            kind: RefusalKind::DeniedTool,
            of: None,
        };
    }
    if let Some(of) = input.repeats {
        return Verdict::Decline {
            kind: RefusalKind::RepeatOf,
            of: Some(of),
        };
    }
    let tier = input.declared;
    if let Some(by) = automatic(input) {
        return Verdict::Approve { by, tier };
    }
    match (input.attendance, rule(&format!("policy:{}", input.policy))) {
        (Attendance::Person | Attendance::Park, Some(rule)) => Verdict::Ask {
            rule,
            quorum: 1,
            tier,
        },
        (Attendance::Nobody, _) | (_, None) => Verdict::Decline {
            kind: RefusalKind::Nobody,
            of: None,
        },
    }
}

/// What allows a call without a person.
fn automatic(input: &GateInput<'_>) -> Option<By> {
    if input.declared == DeclaredRisk::ReadOnly && !input.paired {
        return rule("plain-read-only").map(|rule| By::Policy { rule });
    }
    let covers = match (cleared(input.policy), input.declared.known()) {
        // The highest policy clears what nobody judged, too.
        (Some(RiskTier::HighRisk), _) => true,
        (Some(up_to), Some(tier)) => tier <= up_to,
        (Some(_), None) | (None, _) => false,
    };
    if covers {
        return rule(&format!("policy:{}", input.policy)).map(|rule| By::Policy { rule });
    }
    input.allowlist.contains(input.tool).then(|| By::List {
        tool: input.tool.clone(),
    })
}
