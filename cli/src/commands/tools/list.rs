//! `placet tools list`: every tool.

use clap::Args;

use super::{registry, shape};
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::ui::{table, text};
use crate::wire::tools::{ToolList, ToolOut};
use crate::wiring::Wiring;

/// Columns of the description that the list shows.
const DESCRIPTION_COLUMNS: usize = 44;

/// List every tool with its tier
///
/// A pair proposes first and is executed once it is allowed; a plain tool runs at once.
///
/// Example: placet tools list
#[derive(Debug, Args)]
pub(crate) struct ListArgs {}

/// Lists tools.
pub(crate) fn run(_args: &ListArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let registry = registry(wiring)?;
    let tools: Vec<ToolOut> = registry.iter().map(shape).collect();
    if wiring.printer.json() {
        wiring.printer.value(&ToolList { tools })?;
        return Ok(ExitStatus::Done);
    }
    let rows: Vec<_> = tools
        .iter()
        .map(|tool| {
            vec![
                text::marked(tool.tool.as_str()),
                tool.tier.to_string(),
                tool.kind.to_owned(),
                text::excerpt(&tool.description, DESCRIPTION_COLUMNS),
            ]
        })
        .collect();
    let header = ["TOOL", "TIER", "KIND", "DESCRIPTION"];
    wiring.printer.data(&table::table(&header, &rows))?;
    Ok(ExitStatus::Done)
}
