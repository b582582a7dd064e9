//! What the rules in force say of a call: those recorded when its run was started, those of now,
//! and those of its workspace. The strictest holds.

use std::collections::{BTreeMap, BTreeSet};

use placet_ledger::approval::Demands;
use placet_ledger::id::Name;
use placet_ledger::judge::{GateInput, Unreadable};

use super::rules::{Judgement, Rules, Subject, strictest};

/// Why a text of rules does not count: it is not there, or not rules of this release.
pub(super) struct Unknown;

/// What the rules in force say of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ruled {
    /// Turn it down, by this rule, which is there for this reason.
    Deny(Name, Option<String>),
    /// Ask people.
    Ask {
        /// The rule that asks.
        rule: Name,
        /// What their approvals must be.
        demands: Demands,
        /// For how long it may wait.
        expires_ms: Option<u64>,
    },
    /// Ask: rules are in force that cannot be read.
    Unknown,
    /// Run it, with these ports.
    Allow(Name, BTreeSet<u16>),
    /// Nothing.
    Silent,
}

/// The rules in force, each text read once.
pub(super) struct InForce {
    recorded: Rules,
    /// Those of now, where they are others.
    current: Option<Rules>,
    narrowing: Option<Rules>,
}

impl InForce {
    /// The rules that a call is judged by.
    pub(super) fn of(input: &GateInput<'_>) -> Result<Self, Unknown> {
        let rules = &input.rules;
        let recorded = read(rules.recorded)?;
        let same = rules.recorded.ok() == rules.current.ok();
        Ok(Self {
            recorded,
            current: (!same).then(|| read(rules.current)).transpose()?,
            narrowing: rules.narrowing.map(read).transpose()?,
        })
    }

    /// Those of the user: as they were recorded, and as they are now.
    fn users(&self) -> impl Iterator<Item = &Rules> {
        [Some(&self.recorded), self.current.as_ref()]
            .into_iter()
            .flatten()
    }

    /// What they say of a call.
    fn judge(&self, subject: &Subject<'_>) -> Judgement {
        let recorded = self.recorded.judge(subject);
        match &self.current {
            Some(current) => strictest(recorded, current.judge(subject)),
            None => recorded,
        }
    }
}

/// What the rules in force say of a call.
pub(super) fn ruled(input: &GateInput<'_>, rules: &Result<InForce, Unknown>) -> Ruled {
    match rules {
        Ok(rules) => judged(input, rules),
        Err(Unknown) => Ruled::Unknown,
    }
}

fn judged(input: &GateInput<'_>, rules: &InForce) -> Ruled {
    let paths = input.reach.clone().unwrap_or_default();
    let subject = subject(input, &paths);
    let said = rules.judge(&subject);
    let narrowing = &rules.narrowing;
    let said = match narrowing {
        Some(narrowing) => said.narrowed_by(narrowing.judge(&subject)),
        None => said,
    };
    match said {
        Judgement::Deny { rule } => {
            let says = Judgement::Deny { rule: rule.clone() };
            let mut sets = rules.users().chain(narrowing);
            let denies = sets.find(|set| set.judge(&subject) == says);
            let reason = denies.and_then(|set| set.get(&rule)?.reason());
            let reason = reason.map(str::to_owned);
            Ruled::Deny(rule, reason)
        }
        Judgement::Ask {
            rule,
            demands,
            expires_ms,
        }
        | Judgement::Unreadable {
            rule,
            demands,
            expires_ms,
        } => Ruled::Ask {
            rule,
            demands,
            expires_ms,
        },
        Judgement::Allow { rule, network } => Ruled::Allow(rule, network),
        Judgement::Silent => Ruled::Silent,
    }
}

/// The call as rules look at it.
pub(super) fn subject<'a>(input: &'a GateInput<'_>, paths: &'a [String]) -> Subject<'a> {
    let command = input.command.as_ref();
    Subject {
        tool: input.tool.as_str(),
        command: command.map(|command| command.text.as_deref().unwrap_or_default()),
        links: links(input),
        paths,
    }
}

/// Words of its command that lead to programs of another name, as its proposal found them.
pub(super) fn links<'a>(input: &'a GateInput<'_>) -> Option<&'a BTreeMap<String, String>> {
    let program = input.command.as_ref()?.program.as_ref()?;
    Some(&program.links)
}

/// Rules from their recorded text.
pub(super) fn read(text: Result<&[u8], Unreadable>) -> Result<Rules, Unknown> {
    let text = text.map_err(|_| Unknown)?;
    let text = std::str::from_utf8(text).map_err(|_| Unknown)?;
    Rules::parse_json(text).map_err(|_| Unknown)
}

/// Whether a command destroys what no entry and no rule may let it destroy unasked.
pub(super) fn is_destructive(input: &GateInput<'_>, rules: &Result<InForce, Unknown>) -> bool {
    let command = input.command.as_ref();
    let Some(text) = command.and_then(|command| command.text.as_deref()) else {
        return false;
    };
    // What cannot be read may keep it out.
    let Ok(rules) = rules else {
        return true;
    };
    rules.users().any(|rules| match links(input) {
        Some(links) => rules.destructive_with(text, links).is_some(),
        None => rules.destructive(text).is_some(),
    })
}
