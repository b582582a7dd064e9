//! Rules that people write: what they allow, ask for and deny, as pure values.
//!
//! An allow matches narrowly: a command by its key, a path exactly or by a pattern. An ask and a
//! deny match widely: commands behind paths, wrappers and interpreters, paths in any case. The
//! strictest of all that match decides; of several that ask, what all of them demand holds. A rule
//! over paths speaks of the tools that name their paths; what a command touches is for its
//! containment.

mod change;
mod error;
mod judge;
mod lint;
mod parse;
mod shipped;
mod stand;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use globset::GlobMatcher;
use placet_ledger::approval::Demands;
use placet_ledger::id::Name;
use serde::{Deserialize, Serialize};

use crate::shell::wide::Pattern;

pub use error::{RulesError, Why};
pub use judge::{Judgement, Subject, strictest};
pub use lint::Warning;
pub use parse::{Origin, Require, Written};
pub use shipped::{SHIPPED, shipped};
pub use stand::Stand;

/// What a rule does to the calls that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// They run unasked.
    Allow,
    /// No entry and no allow covers them; only shipped rules do so.
    NoEntry,
    /// A person is asked.
    Ask,
    /// They are turned down.
    Deny,
}

impl Effect {
    /// The word that people write.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::NoEntry => "no-entry",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    /// Whether it only ever tightens.
    pub const fn tightens(self) -> bool {
        match self {
            Self::Allow | Self::NoEntry => false,
            Self::Ask | Self::Deny => true,
        }
    }
}

/// One rule.
#[derive(Debug, Clone)]
pub struct Rule {
    name: Name,
    tool: Option<Name>,
    target: Target,
    effect: Effect,
    demands: Demands,
    expires_ms: Option<u64>,
    network: BTreeSet<u16>,
    written: Written,
}

/// What a rule is about, beside the tool.
#[derive(Debug, Clone)]
enum Target {
    /// Every call of the tool.
    Tool,
    Command {
        entry: String,
        pattern: Pattern,
    },
    Path {
        exact: GlobMatcher,
        /// Without case, and with the folder whose content is meant.
        wide: Vec<GlobMatcher>,
    },
}

impl Rule {
    /// Its name in records: the same for the same set.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// What it does.
    pub const fn effect(&self) -> Effect {
        self.effect
    }

    /// What it demands of the approvals that it asks for.
    pub const fn demands(&self) -> &Demands {
        &self.demands
    }

    /// Why it is there, in the words of who wrote it.
    pub fn reason(&self) -> Option<&str> {
        self.written.reason.as_deref()
    }

    /// The rule as it was written.
    pub const fn written(&self) -> &Written {
        &self.written
    }
}

/// Rules in the order in which they were written.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    rules: Vec<Rule>,
}

impl Rules {
    /// All of them.
    pub fn as_slice(&self) -> &[Rule] {
        &self.rules
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rule of a name.
    pub fn get(&self, name: &Name) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.name == *name)
    }
}
