//! What a run is started with, as far as its gate looks at it: options, agent, workspace.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use placet_engine::tool::NAMES;
use placet_ledger::id::Name;
use placet_ledger::policy::{ApprovalPolicy, ContainmentRule};

use crate::config::{self, Agent, Config};
use crate::error::{CommandError, Kind};
use crate::in_force;
use crate::wiring::Wiring;

/// What the gate of a new run looks at.
#[derive(Debug, Clone, Args)]
pub(crate) struct GateArgs {
    /// An agent from the config
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    /// The folder to work in [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,

    /// Up to which tier gated calls run unasked
    #[arg(long, value_name = "TIER", value_parser = policy())]
    pub(crate) approval_policy: Option<ApprovalPolicy>,

    /// Tools that run unasked in this run
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) auto_approve_tools: Vec<String>,

    /// The tools that the run has [default: all]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) tools: Option<Vec<String>>,

    /// Tools that the run does not have; wins over --tools
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) deny_tools: Vec<String>,
}

/// The same, with what the config says.
pub(crate) struct Gated {
    /// The agent's name.
    pub(crate) name: Name,
    /// The agent.
    pub(crate) agent: Agent,
    /// The folder to work in.
    pub(crate) workspace: PathBuf,
    /// The tools that the run has, by both lists; all if absent.
    pub(crate) tools: Option<Vec<String>>,
    /// The tools that the run does not have, by whatever list.
    pub(crate) denied: Vec<String>,
    /// The policy.
    pub(crate) policy: ApprovalPolicy,
    /// What becomes of calls that cannot be shut in by the whole profile.
    pub(crate) containment: ContainmentRule,
    /// The rules of the workspace, as a run records them.
    pub(crate) narrowing: Option<Vec<u8>>,
}

impl GateArgs {
    /// Looks up what was named.
    pub(crate) fn resolve(&self, wiring: &mut Wiring<'_>) -> Result<Gated, CommandError> {
        let (name, agent) = agent(self.agent.as_deref(), wiring.config()?)?;
        let folder = self.workspace.clone().unwrap_or_default();
        let workspace = wiring.printer.io().path(&folder);
        if !workspace.is_dir() {
            let what = format!("there is no folder {} to work in", workspace.display());
            let error = CommandError::new(Kind::NotFound, what);
            return Err(error.hint("--workspace DIR names another"));
        }
        let mut denied = self.deny_tools.clone();
        denied.extend(agent.denied_tools.iter().cloned());
        let narrowing = config::workspace(&workspace)?;
        denied.extend(narrowing.denied_tools);
        let configured = agent.approval_policy.map(|policy| policy.0);
        let policy = self.approval_policy.or(configured);
        Ok(Gated {
            name,
            tools: both(self.tools.as_deref(), agent.tools.as_deref()),
            agent,
            workspace,
            denied,
            policy: policy.unwrap_or(ApprovalPolicy::False),
            containment: config::stricter(wiring.config()?.containment, narrowing.containment),
            narrowing: if narrowing.rules.is_empty() {
                None
            } else {
                Some(in_force::text(&narrowing.rules)?)
            },
        })
    }
}

/// The tools of both lists; a name that no tool has stays, so that it is told.
fn both(given: Option<&[String]>, agent: Option<&[String]>) -> Option<Vec<String>> {
    let (given, agent) = match (given, agent) {
        (Some(given), Some(agent)) => (given, agent),
        (one, other) => return one.or(other).map(<[String]>::to_vec),
    };
    let unknown = |tool: &&String| !NAMES.contains(&tool.as_str());
    let kept = given
        .iter()
        .filter(|tool| agent.contains(tool) || unknown(tool));
    Some(kept.chain(agent.iter().filter(unknown)).cloned().collect())
}

/// A policy by its word.
pub(crate) fn policy() -> impl TypedValueParser<Value = ApprovalPolicy> {
    let words = ApprovalPolicy::WORDS.map(|word| match word {
        "false" => PossibleValue::new(word).help("No gated call runs unasked"),
        "true" => PossibleValue::new(word).help("The same as high-risk"),
        word => PossibleValue::new(word),
    });
    PossibleValuesParser::new(words).try_map(|word| word.parse::<ApprovalPolicy>())
}

/// The agent that is named, or the one that serves where none is.
pub(crate) fn agent(named: Option<&str>, config: &Config) -> Result<(Name, Agent), CommandError> {
    let text = named.unwrap_or("default");
    let name: Name = text.parse().map_err(CommandError::usage)?;
    let agents = &config.agents;
    match (agents.get(text), named) {
        (Some(agent), _) => Ok((name, agent.clone())),
        (None, None) => Ok((name, Agent::default())),
        (None, Some(_)) => Err(unknown(text, config)),
    }
}

/// What is said of an agent that the config does not name.
pub(crate) fn unknown(name: &str, config: &Config) -> CommandError {
    let agents = &config.agents;
    let known: Vec<_> = agents.keys().map(String::as_str).collect();
    let known = if known.is_empty() {
        "none".to_owned()
    } else {
        known.join(", ")
    };
    let names = agents.keys().map(String::as_str);
    let error = CommandError::unknown(Kind::NotFound, "agent", name, names);
    error.hint(format!("agents of the config: {known}"))
}
