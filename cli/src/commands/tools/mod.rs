//! `placet tools`: what tools there are.

mod list;
mod show;

use std::path::Path;
use std::sync::Arc;

use clap::Subcommand;
use placet_engine::engine::Outfit;
use placet_engine::outfit::LocalOutfit;
use placet_engine::tool::command::Machine;
use placet_engine::tool::registry::{Registered, Registry};
use placet_engine::tool::retrieve::NoResults;
use placet_engine::workspace::ClosedSet;

use crate::copied::Scratch;
use crate::error::{CommandError, Kind};
use crate::exit::ExitStatus;
use crate::models::Models;
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

/// Every tool that a run can have.
fn registry(wiring: &mut Wiring<'_>) -> Result<Registry, CommandError> {
    let (_, registry) = bare(&wiring.temporary(), Models::default())?;
    Ok(registry)
}

/// What equips runs, and every tool that one can have. What these are does not depend on where it
/// works, so that an empty folder does.
pub(crate) fn bare(
    temporary: &Path,
    models: Models,
) -> Result<(LocalOutfit, Registry), CommandError> {
    let scratch = Scratch::make_in(temporary)?;
    let outfit = LocalOutfit {
        closed: ClosedSet::new(),
        locks: scratch.dir().to_path_buf(),
        machine: Arc::new(Machine::new(None, None, "", scratch.dir().to_path_buf())),
        providers: Arc::new(models),
    };
    let equipped = outfit.tools(scratch.dir(), Arc::new(NoResults));
    let (_, registry) = equipped.map_err(|error| CommandError::new(Kind::Failed, error))?;
    Ok((outfit, registry))
}

fn kind(tool: &Registered) -> &'static str {
    match tool.execute_name() {
        Some(_) => "pair",
        None if tool.is_question() => "question",
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
