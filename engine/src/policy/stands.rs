//! What an explanation of a call tells beside the layers: how its command is read, how entries and
//! rules stand to it, how it is shut in, and how far the widest policy would let it go.

use std::collections::BTreeSet;

use placet_ledger::approval::Demands;
use placet_ledger::containment::Level;
use placet_ledger::id::{GrantId, Name};
use placet_ledger::judge::{CommandInput, GateInput, Verdict};
use placet_ledger::policy::ApprovalPolicy;

use super::command::{Certain, certain};
use super::gate::gate;
use super::grant::CommandEntry;
use super::near::short;
use super::ruled::{links, read, subject};
use super::rules::{Effect, Rules, Stand};
use crate::shell::explain::{Explanation, explain};
use crate::shell::wide::Command;
use crate::shell::{covers, key};

/// What is told beside the layers.
#[derive(Debug, Clone)]
pub struct Stands {
    /// How its command is read.
    pub command: Option<CommandStands>,
    /// The rules that are about it, or nearly.
    pub rules: Vec<RuleStands>,
    /// How what it runs would be shut in.
    pub level: Level,
    /// TCP ports that it would have: those that what clears it names, or that a person would be
    /// shown.
    pub network: BTreeSet<u16>,
    /// What the gate would say under the widest policy.
    pub at_most: Verdict,
}

/// How a command is read, and how entries stand to it.
#[derive(Debug, Clone)]
pub struct CommandStands {
    /// How the text is read.
    pub reading: Explanation,
    /// What is certain of it, with its program.
    pub certain: Certain,
    /// Of a line that runs several: each command with its key.
    pub members: Vec<Member>,
    /// The entries of the per-command list.
    pub entries: Vec<EntryStands>,
}

/// One command of a line that runs several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its text.
    pub text: String,
    /// The key that it would have alone.
    pub key: Option<String>,
    /// The entries that would cover it alone.
    pub entries: Vec<GrantId>,
    /// The rules that would speak of it alone.
    pub rules: Vec<(Name, Effect)>,
}

/// How an entry stands to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryStands {
    /// The grant.
    pub grant: GrantId,
    /// Its key.
    pub key: String,
    /// Why it does not cover the command.
    pub short: Option<String>,
    /// TCP ports that the command wants and would not have by it.
    pub without: BTreeSet<u16>,
}

/// How a rule stands to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleStands {
    /// The rule.
    pub rule: Name,
    /// What it does.
    pub effect: Effect,
    /// What it demands of approvals.
    pub demands: Demands,
    /// Whether it is one of the workspace.
    pub workspace: bool,
    /// How it stands.
    pub stand: Stand,
    /// Why it is there.
    pub reason: Option<String>,
}

impl Stands {
    /// What is told of a call on which the gate says `verdict`.
    pub fn of(input: &GateInput<'_>, verdict: &Verdict) -> Self {
        let sets = sets(input);
        let wanted = input.command.as_ref().map(|command| &command.network);
        // What clears it names the ports; a person sees those that it asks for.
        let network = match verdict {
            Verdict::Approve { network, .. } => network.clone(),
            Verdict::Ask { .. } => wanted.cloned().unwrap_or_default(),
            Verdict::Question | Verdict::Decline { .. } | Verdict::Unjudged => BTreeSet::new(),
        };
        let mut widest = input.clone();
        widest.policy = ApprovalPolicy::HighRisk;
        Self {
            command: input
                .command
                .as_ref()
                .and_then(|command| command_stands(input, command, &sets)),
            rules: sets.iter().flat_map(|set| set.stand(input)).collect(),
            level: input.level.clone(),
            network,
            at_most: gate(&widest),
        }
    }
}

/// Rules that are in force for a call.
struct Set {
    rules: Rules,
    workspace: bool,
}

impl Set {
    fn stand(&self, input: &GateInput<'_>) -> Vec<RuleStands> {
        let paths = input.reach.clone().unwrap_or_default();
        let stands = self.rules.stands(&subject(input, &paths)).into_iter();
        stands
            .map(|(rule, stand)| RuleStands {
                rule: rule.name().clone(),
                effect: rule.effect(),
                demands: rule.demands().clone(),
                workspace: self.workspace,
                stand,
                reason: rule.reason().map(str::to_owned),
            })
            .collect()
    }
}

/// The rules that can be read. Those of now stand for those of the start where they are the same.
fn sets(input: &GateInput<'_>) -> Vec<Set> {
    let rules = &input.rules;
    let same = rules.recorded.ok() == rules.current.ok();
    let texts = [
        Some((rules.current, false)),
        Some((rules.recorded, false)).filter(|_| !same),
        rules.narrowing.map(|text| (text, true)),
    ];
    let read = |(text, workspace)| read(text).ok().map(|rules| Set { rules, workspace });
    texts.into_iter().flatten().filter_map(read).collect()
}

fn command_stands(
    input: &GateInput<'_>,
    command: &CommandInput,
    sets: &[Set],
) -> Option<CommandStands> {
    let text = command.text.as_deref()?;
    let read = |granted: &placet_ledger::judge::GrantInput<'_>| {
        CommandEntry::read(granted.entry).map(|entry| (granted.grant, entry))
    };
    let entries: Vec<_> = input.grants.iter().filter_map(read).collect();
    let members = Command::read(text).members();
    let members = if members.len() > 1 {
        members
    } else {
        Vec::new()
    };
    Some(CommandStands {
        reading: explain::<&str>(text, &[]),
        certain: certain(command),
        members: members
            .into_iter()
            .map(|text| member(text, &entries, (input, sets)))
            .collect(),
        entries: entries
            .iter()
            .map(|(grant, entry)| EntryStands {
                grant: *grant,
                key: entry.key.clone(),
                without: command
                    .network
                    .difference(&entry.network)
                    .copied()
                    .collect(),
                short: short(entry, command, |text, links| {
                    let mut sets = sets.iter();
                    let keeps_out = sets.find_map(|set| set.rules.destructive_with(text, links));
                    keeps_out.map(|rule| rule.name().clone())
                }),
            })
            .collect(),
    })
}

fn member(
    text: String,
    entries: &[(GrantId, CommandEntry)],
    (input, sets): (&GateInput<'_>, &[Set]),
) -> Member {
    let key = key(&text);
    let covered = |entry: &CommandEntry| key.as_deref().is_some_and(|key| covers(&entry.key, key));
    let alone = super::rules::Subject {
        tool: input.tool.as_str(),
        command: Some(&text),
        links: links(input),
        paths: &[],
    };
    let rules = sets.iter().flat_map(|set| set.rules.stands(&alone));
    let speaks = |stand: &Stand| match stand {
        Stand::Speaks | Stand::Unreadable => true,
        Stand::Short(_) => false,
    };
    Member {
        entries: entries
            .iter()
            .filter(|(_, entry)| covered(entry))
            .map(|(grant, _)| *grant)
            .collect(),
        rules: rules
            .filter(|(_, stand)| speaks(stand))
            .map(|(rule, _)| (rule.name().clone(), rule.effect()))
            .collect(),
        key,
        text,
    }
}
