//! `placet tools`: what tools there are.

mod list;
mod show;

use std::sync::Arc;

use clap::Subcommand;
use placet_engine::tool::fs::register_file_tools;
use placet_engine::tool::registry::{Registered, Registry};
use placet_engine::workspace::{ClosedSet, Workspace};

use crate::error::{CommandError, Kind};
use crate::exit::ExitStatus;
use crate::home::Scratch;
use crate::wire::tools::ToolOut;
use crate::wiring::Wiring;

/// What to do with tools.
#[derive(Debug, Subcommand)]
pub(crate) enum ToolsVerb {
    List(list::ListArgs),
    Show(show::ShowArgs),
}

/// Does it.
pub(crate) fn dispatch(
    verb: ToolsVerb,
    wiring: &mut Wiring<'_>,
) -> Result<ExitStatus, CommandError> {
    match verb {
        ToolsVerb::List(args) => list::run(&args, wiring),
        ToolsVerb::Show(args) => show::run(&args, wiring),
    }
}

/// Every tool of this release. What it is does not depend on where it works, so that an empty
/// folder does.
fn registry(wiring: &mut Wiring<'_>) -> Result<Registry, CommandError> {
    let temporary = wiring.temporary();
    let scratch = Scratch::make_in(&temporary)?;
    let failed =
        |error: Box<dyn std::error::Error + Send + Sync>| CommandError::new(Kind::Failed, error);
    let workspace = Workspace::open(scratch.dir(), ClosedSet::new())
        .map_err(|error| failed(Box::new(error)))?;
    let mut registry = Registry::new();
    let locks = scratch.dir().to_path_buf();
    register_file_tools(&mut registry, Arc::new(workspace), locks)
        .map_err(|error| failed(Box::new(error)))?;
    Ok(registry)
}

fn kind(tool: &Registered) -> &'static str {
    match tool.execute_name() {
        Some(_) => "pair",
        None => "plain",
    }
}

fn shape(tool: &Registered) -> ToolOut {
    let spec = tool.spec();
    ToolOut {
        tool: spec.name.clone(),
        tier: spec.risk,
        kind: kind(tool),
        description: spec.description.clone(),
        definition: tool.definition(),
        timeout_ms: spec.timeout_ms(),
        schema: None,
    }
}
