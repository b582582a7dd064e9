//! `placet agents list`: every agent of the config.

use clap::Args;

use super::{how_to_add, shape};
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::ui::{table, text};
use crate::wire::agents::{AgentList, AgentOut};
use crate::wiring::Wiring;

/// Columns of the description that the list shows.
const DESCRIPTION_COLUMNS: usize = 44;

/// List the agents of the config
///
/// An agent is a model with words for it, and with what it may use and spend. The one that is named
/// default serves where none is named.
///
/// Example: placet agents list
#[derive(Debug, Args)]
pub(crate) struct ListArgs {}

/// Lists agents.
pub(crate) fn run(_args: &ListArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let agents = wiring.config()?.agents.iter();
    let agents: Vec<AgentOut> = agents.map(|(name, agent)| shape(name, agent)).collect();
    if agents.is_empty() {
        how_to_add(wiring);
    }
    if wiring.printer.json() {
        wiring.printer.value(&AgentList { agents })?;
        return Ok(ExitStatus::Done);
    }
    if agents.is_empty() {
        return Ok(ExitStatus::Done);
    }
    let rows: Vec<_> = agents
        .iter()
        .map(|agent| {
            let description = agent.description.as_deref().unwrap_or_default();
            vec![
                text::marked(&agent.agent),
                agent
                    .model
                    .as_deref()
                    .map_or_else(|| String::from("-"), text::marked),
                agent.approval_policy.to_string(),
                text::excerpt(description, DESCRIPTION_COLUMNS),
            ]
        })
        .collect();
    let header = ["AGENT", "MODEL", "POLICY", "DESCRIPTION"];
    wiring.printer.data(&table::table(&header, &rows))?;
    Ok(ExitStatus::Done)
}
