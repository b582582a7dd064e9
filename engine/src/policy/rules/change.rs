//! What comes of rules that take the place of others: whether they only tighten.

use placet_ledger::event::Change;

use super::{Effect, Rule, Rules};

impl Rules {
    /// What these rules change where they take the place of `before`. What is not certain to
    /// tighten counts as a widening.
    pub fn change_from(&self, before: &Self) -> Change {
        let keeps = |rule: &Rule| self.rules.iter().any(|other| acts_as(rule, other));
        let had = |rule: &Rule| before.rules.iter().any(|other| acts_as(rule, other));
        let (mut lost, mut allow_gone) = (false, false);
        for rule in before.rules.iter().filter(|rule| !keeps(rule)) {
            match rule.effect {
                Effect::Allow => allow_gone = true,
                Effect::NoEntry | Effect::Ask | Effect::Deny => lost = true,
            }
        }
        let mut allows = self
            .rules
            .iter()
            .filter(|rule| rule.effect == Effect::Allow);
        let new_allow = allows.clone().any(|rule| !had(rule));
        // Of several that allow, the longest speaks: without it, another may give its ports.
        let gives_ports = allow_gone && allows.any(|rule| !rule.network.is_empty());
        if lost || new_allow || gives_ports {
            Change::Widens
        } else {
            Change::Tightens
        }
    }
}

/// Whether two rules do the same, whatever they say of why.
fn acts_as(rule: &Rule, other: &Rule) -> bool {
    let (a, b) = (&rule.written, &other.written);
    (&a.tool, &a.command, &a.path, &a.url) == (&b.tool, &b.command, &b.path, &b.url)
        && (rule.effect, &rule.demands, rule.expires_ms)
            == (other.effect, &other.demands, other.expires_ms)
        && rule.network == other.network
}
