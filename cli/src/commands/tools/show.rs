//! `placet tools show`: one tool, as models are told of it.

use std::fmt::Write;

use clap::Args;
use placet_engine::tool::registry::Registered;
use placet_ledger::id::Name;

use super::{registry, shape};
use crate::error::{CommandError, Kind};
use crate::exit::ExitStatus;
use crate::reading;
use crate::ui::text::{self, Letters};
use crate::wire::tools::ToolOut;
use crate::wiring::Wiring;

/// Show one tool: tier, description, schema, digest of its definition
///
/// Example: placet tools show rm
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The tool
    tool: String,
}

/// Shows a tool.
pub(crate) fn run(args: &ShowArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let registry = registry(wiring)?;
    let known = |tool: &&Registered| tool.spec().name.as_str() == args.tool;
    let Some(tool) = registry.iter().find(known) else {
        let names = registry.names().map(Name::as_str);
        let error = CommandError::unknown(Kind::NotFound, "tool", &args.tool, names);
        return Err(error.hint("placet tools list names every tool"));
    };
    let mut out = shape(tool);
    out.schema = Some(tool.spec().schema.clone());
    if wiring.printer.json() {
        wiring.printer.value(&out)?;
    } else {
        let look = reading::look(wiring);
        let page = page(&out, tool, look.margin(Letters::Kept));
        wiring.printer.data(&page)?;
    }
    Ok(ExitStatus::Done)
}

fn page(tool: &ToolOut, registered: &Registered, margin: text::Margin) -> String {
    let halves = match registered.execute_name() {
        Some(_) => "pair: proposes, and is executed once it is allowed",
        None if registered.is_question() => "question: goes to a person, and does nothing else",
        None => "plain: runs at once",
    };
    let mut out = String::new();
    let _ignored = write!(
        out,
        "{}\n  tier         {}\n  kind         {halves}\n  time limit   {} s\n  \
         definition   {}\n  description\n",
        text::marked(tool.tool.as_str()),
        tool.tier,
        tool.timeout_ms / 1000,
        tool.definition,
    );
    text::block(&mut out, &tool.description, margin);
    out.push_str("  schema of its arguments\n");
    let schema = tool.schema.as_ref().map(serde_json::to_string_pretty);
    let schema = schema.and_then(Result::ok).unwrap_or_default();
    text::block(&mut out, &schema, margin);
    out
}
