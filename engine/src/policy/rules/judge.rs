//! What rules say of one call: the strictest of all that match.

use std::collections::{BTreeMap, BTreeSet};

use placet_ledger::approval::Demands;
use placet_ledger::id::Name;

use crate::shell;
use crate::shell::wide::{Command, Match};
use crate::steering::{folded, without_case};

use super::{Effect, Rule, Rules, Target};

/// What is known of a call, as far as rules look at it.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The tool.
    pub tool: &'a str,
    /// The command that it would run.
    pub command: Option<&'a str>,
    /// Words of it that lead to programs of another name, and the paths of these.
    pub links: Option<&'a BTreeMap<String, String>>,
    /// The paths that it may write, remove or read, beneath the workspace.
    pub paths: &'a [String],
}

/// What rules say of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// Turn it down.
    Deny {
        /// The rule.
        rule: Name,
    },
    /// Ask people.
    Ask {
        /// The rule that asks for most.
        rule: Name,
        /// What their approvals must be.
        demands: Demands,
        /// For how long the call may wait.
        expires_ms: Option<u64>,
    },
    /// Ask, since it cannot be read whether a rule is about it.
    Unreadable {
        /// The rule's name behind `unreadable:`.
        rule: Name,
        /// What the rule would demand: a respelling must not do with less.
        demands: Demands,
        /// For how long the call may wait.
        expires_ms: Option<u64>,
    },
    /// Run it.
    Allow {
        /// The rule.
        rule: Name,
        /// The ports that it may reach.
        network: BTreeSet<u16>,
    },
    /// No rule is about it.
    Silent,
}

impl Subject<'_> {
    /// Its command, read once.
    pub(super) fn read(&self) -> Option<Command> {
        let links = self.links;
        self.command.map(|command| match links {
            Some(links) => Command::read_with(command, links),
            None => Command::read(command),
        })
    }
}

impl Rules {
    /// What these rules say of a call.
    pub fn judge(&self, subject: &Subject<'_>) -> Judgement {
        let command = subject.read();
        let key = subject.command.and_then(shell::key);
        let call = Call {
            subject,
            command: command.as_ref(),
            key: key.as_deref(),
        };
        let said = self.rules.iter().map(|rule| (rule, rule.says(&call)));
        let mut strictest = Judgement::Silent;
        let mut narrowest = 0;
        for (rule, judgement) in said {
            let allows = matches!(judgement, Judgement::Allow { .. });
            // Of several that allow, the one that says most speaks, with its ports alone.
            if allows && matches!(strictest, Judgement::Allow { .. }) {
                if rule.length() > narrowest {
                    narrowest = rule.length();
                    strictest = judgement;
                }
                continue;
            }
            if allows {
                narrowest = rule.length();
            }
            strictest = stricter(strictest, judgement);
        }
        strictest
    }

    /// The rule that keeps a command out of every entry and allow, since it destroys what no undo
    /// brings back.
    pub fn destructive(&self, command: &str) -> Option<&Rule> {
        self.keeps_out(&Command::read(command))
    }

    /// The same of a command of which some words are links.
    pub fn destructive_with(
        &self,
        command: &str,
        links: &BTreeMap<String, String>,
    ) -> Option<&Rule> {
        self.keeps_out(&Command::read_with(command, links))
    }

    fn keeps_out(&self, command: &Command) -> Option<&Rule> {
        let keeps_out = |rule: &&Rule| match &rule.target {
            Target::Command { pattern, .. } if rule.effect == Effect::NoEntry => {
                pattern.stands_to(command) == Match::Matches || pattern.may_become(command)
            }
            Target::Command { .. } | Target::Tool | Target::Path { .. } => false,
        };
        self.rules.iter().find(keeps_out)
    }
}

/// A call, its command read once.
pub(super) struct Call<'a> {
    pub(super) subject: &'a Subject<'a>,
    pub(super) command: Option<&'a Command>,
    pub(super) key: Option<&'a str>,
}

impl Rule {
    fn says(&self, call: &Call<'_>) -> Judgement {
        if !self.is_of(call) {
            return Judgement::Silent;
        }
        let rule = self.name.clone();
        let (demands, expires_ms) = (self.demands.clone(), self.expires_ms);
        match (self.effect, self.stands_to(call)) {
            (Effect::NoEntry, _) | (_, Match::Apart) | (Effect::Allow, Match::Unreadable) => {
                Judgement::Silent
            }
            (Effect::Allow, Match::Matches) => Judgement::Allow {
                rule,
                network: self.network.clone(),
            },
            (Effect::Deny, Match::Matches) => Judgement::Deny { rule },
            (Effect::Ask, Match::Matches) => Judgement::Ask {
                rule,
                demands,
                expires_ms,
            },
            (Effect::Ask | Effect::Deny, Match::Unreadable) => Judgement::Unreadable {
                // Names have room for the word before: a rule's is short.
                rule: format!("unreadable:{rule}").parse().unwrap_or(rule),
                demands,
                expires_ms,
            },
        }
    }

    /// Whether the call is one of its tool.
    pub(super) fn is_of(&self, call: &Call<'_>) -> bool {
        let of_tool = |tool: &Name| tool.as_str() == call.subject.tool;
        self.tool.as_ref().is_none_or(of_tool)
    }

    /// How a call stands to it, narrowly for an allow.
    pub(super) fn stands_to(&self, call: &Call<'_>) -> Match {
        match (&self.target, self.effect) {
            (Target::Tool, _) => Match::Matches,
            (Target::Command { entry, .. }, Effect::Allow) => {
                let covered = |key: &str| shell::covers(entry, key);
                matches_if(call.key.is_some_and(covered))
            }
            (Target::Command { pattern, .. }, Effect::NoEntry | Effect::Ask | Effect::Deny) => call
                .command
                .map_or(Match::Apart, |command| pattern.stands_to(command)),
            (Target::Path { exact, .. }, Effect::Allow) => {
                let paths = call.subject.paths;
                let all = paths.iter().all(|path| exact.is_match(path));
                matches_if(!paths.is_empty() && all)
            }
            (Target::Path { .. }, Effect::NoEntry | Effect::Ask | Effect::Deny) => {
                matches_if(call.subject.paths.iter().any(|path| self.reaches(path)))
            }
        }
    }

    /// Whether a path is one that it is about, as the most lenient file system compares them.
    pub(super) fn reaches(&self, path: &str) -> bool {
        let Target::Path { wide, .. } = &self.target else {
            return false;
        };
        let names = || path.split('/').filter(|name| !matches!(*name, "" | "."));
        let joined = |fold: fn(&str) -> String| names().map(fold).collect::<Vec<_>>().join("/");
        let paths = [joined(without_case), joined(folded)];
        wide.iter()
            .any(|glob| paths.iter().any(|path| glob.is_match(path)))
    }

    /// How a call stands to it that is given by one of its examples.
    pub(super) fn on_example(&self, example: &str) -> Match {
        let paths = [example.to_owned()];
        let is_command = matches!(self.target, Target::Command { .. });
        let subject = Subject {
            tool: self.tool.as_ref().map_or("", Name::as_str),
            command: is_command.then_some(example),
            links: None,
            paths: if is_command { &[] } else { &paths },
        };
        let command = subject.read();
        let key = subject.command.and_then(shell::key);
        self.stands_to(&Call {
            subject: &subject,
            command: command.as_ref(),
            key: key.as_deref(),
        })
    }

    /// How much it says: of two that allow, the longer one is meant.
    fn length(&self) -> usize {
        let target = self.written.command.as_ref().or(self.written.path.as_ref());
        target.map_or(0, String::len)
    }
}

const fn matches_if(matches: bool) -> Match {
    if matches {
        Match::Matches
    } else {
        Match::Apart
    }
}

/// What holds of what rules said when they were recorded and say now: whatever either tightens,
/// and an allow only where both grant it, with the ports of both.
pub fn strictest(recorded: Judgement, current: Judgement) -> Judgement {
    match (recorded, current) {
        (
            Judgement::Allow { rule, network },
            Judgement::Allow {
                network: current, ..
            },
        ) => Judgement::Allow {
            rule,
            network: network.intersection(&current).copied().collect(),
        },
        (Judgement::Allow { .. }, Judgement::Silent)
        | (Judgement::Silent, Judgement::Allow { .. }) => Judgement::Silent,
        (one, other) => stricter(one, other),
    }
}

impl Judgement {
    /// What is left of it beside what a workspace says, which never allows.
    #[must_use]
    pub fn narrowed_by(self, workspace: Self) -> Self {
        match workspace {
            Self::Allow { .. } | Self::Silent => self,
            Self::Deny { .. } | Self::Ask { .. } | Self::Unreadable { .. } => {
                stricter(self, workspace)
            }
        }
    }

    fn asks(&self) -> Option<(&Name, &Demands, Option<u64>)> {
        match self {
            Self::Ask {
                rule,
                demands,
                expires_ms,
            }
            | Self::Unreadable {
                rule,
                demands,
                expires_ms,
            } => Some((rule, demands, *expires_ms)),
            Self::Deny { .. } | Self::Allow { .. } | Self::Silent => None,
        }
    }

    const fn rank(&self) -> u8 {
        match self {
            Self::Silent => 0,
            Self::Allow { .. } => 1,
            Self::Unreadable { .. } => 2,
            Self::Ask { .. } => 3,
            Self::Deny { .. } => 4,
        }
    }
}

/// The stricter of two; two that ask become one that demands what both do, in the shorter time.
fn stricter(one: Judgement, other: Judgement) -> Judgement {
    let merged = one.asks().zip(other.asks());
    let Some(((first, demands, expires), (second, more, sooner))) = merged else {
        return if other.rank() > one.rank() {
            other
        } else {
            one
        };
    };
    let by_second = (more.weight(), other.rank()) > (demands.weight(), one.rank());
    let rule = if by_second { second } else { first }.clone();
    let demands = demands.clone().and(more);
    let expires_ms = expires.into_iter().chain(sooner).min();
    let speaks = if by_second { &other } else { &one };
    match speaks {
        Judgement::Unreadable { .. } => Judgement::Unreadable {
            rule,
            demands,
            expires_ms,
        },
        Judgement::Deny { .. }
        | Judgement::Ask { .. }
        | Judgement::Allow { .. }
        | Judgement::Silent => Judgement::Ask {
            rule,
            demands,
            expires_ms,
        },
    }
}
