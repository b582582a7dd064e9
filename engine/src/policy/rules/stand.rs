//! How each rule stands to one call, for people to see: those that are about it, and those that
//! are about its program and do not cover it.

use crate::shell;
use crate::shell::wide::Match;

use super::judge::Call;
use super::{Effect, Rule, Rules, Subject, Target};

/// How a rule stands to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stand {
    /// It is about it.
    Speaks,
    /// It cannot be read whether it is.
    Unreadable,
    /// It allows the program, and not this call of it.
    Short(String),
}

impl Rules {
    /// The rules that are about a call, or nearly, and how they stand to it.
    pub fn stands(&self, subject: &Subject<'_>) -> Vec<(&Rule, Stand)> {
        let command = subject.read();
        let key = subject.command.and_then(shell::key);
        let call = Call {
            subject,
            command: command.as_ref(),
            key: key.as_deref(),
        };
        let rules = self.rules.iter();
        rules
            .filter(|rule| rule.is_of(&call))
            .filter_map(|rule| rule.stand(&call).map(|stand| (rule, stand)))
            .collect()
    }
}

impl Rule {
    fn stand(&self, call: &Call<'_>) -> Option<Stand> {
        match (self.stands_to(call), self.effect, &self.target) {
            // Without a key there is nothing to keep it out of.
            (_, Effect::NoEntry, _) if call.key.is_none() => None,
            (Match::Matches, ..) => Some(Stand::Speaks),
            (Match::Unreadable, Effect::Ask | Effect::Deny, _) => Some(Stand::Unreadable),
            (Match::Apart, Effect::Allow, Target::Command { entry, pattern }) => {
                let is_near = pattern.stands_to(call.command?) == Match::Matches;
                is_near.then(|| Stand::Short(short(entry, call.key)))
            }
            (
                Match::Unreadable | Match::Apart,
                Effect::NoEntry,
                Target::Command { pattern, .. },
            ) => {
                let fills = pattern.may_become(call.command?);
                fills.then_some(Stand::Speaks)
            }
            (Match::Unreadable | Match::Apart, ..) => None,
        }
    }
}

fn short(entry: &str, key: Option<&str>) -> String {
    match key {
        None => String::from("the command has no key, so nothing that allows covers it"),
        Some(key) => format!("the key of the command is {key}, which {entry} does not cover"),
    }
}
