//! `placet agents`: the agents of the config.

mod check;
mod list;
mod show;

use clap::Subcommand;
use placet_ledger::policy::ApprovalPolicy;

use crate::config::Agent;
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::wire::agents::AgentOut;
use crate::wiring::Wiring;

pub(crate) use check::{of_all, problems};

/// What to do with agents.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentsVerb {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Check(check::CheckArgs),
}

/// Does it.
pub(crate) fn dispatch(
    verb: AgentsVerb,
    wiring: &mut Wiring<'_>,
) -> Result<ExitStatus, CommandError> {
    match verb {
        AgentsVerb::List(args) => list::run(&args, wiring),
        AgentsVerb::Show(args) => show::run(&args, wiring),
        AgentsVerb::Check(args) => check::run(&args, wiring),
    }
}

/// How an agent is added, where there is none.
fn how_to_add(wiring: &mut Wiring<'_>) {
    let path = wiring.config_path();
    let path = path.display();
    wiring.printer.note(&format!("no agents in {path}"));
    wiring.printer.note(
        "  hint: [agents.reader] with model = \"ollama:qwen3\" adds one, and placet run --agent \
         reader uses it",
    );
}

fn shape(name: &str, agent: &Agent) -> AgentOut {
    let policy = agent.approval_policy.map(|policy| policy.0);
    AgentOut {
        agent: name.to_owned(),
        description: agent.description.clone(),
        model: agent.model.clone(),
        approval_policy: policy.unwrap_or(ApprovalPolicy::False),
        tools: agent.tools.clone(),
        denied_tools: agent.denied_tools.clone(),
        limits: agent.limits().into(),
        system: None,
    }
}
