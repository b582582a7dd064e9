//! `placet agents show`: one agent, with everything that the config says of it.

use std::fmt::Write;

use clap::Args;

use super::shape;
use crate::commands::start;
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::reading;
use crate::ui::card::Look;
use crate::ui::run_page::caps;
use crate::ui::text::{self, Letters};
use crate::wire::agents::AgentOut;
use crate::wiring::Wiring;

/// Show one agent: model, tools, policy, caps, its words
///
/// Example: placet agents show reader
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The agent
    agent: String,
}

/// Shows an agent.
pub(crate) fn run(args: &ShowArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let config = wiring.config()?;
    let known = config.agents.get(&args.agent);
    let Some(agent) = known else {
        return Err(start::unknown(&args.agent, config));
    };
    let mut out = shape(&args.agent, agent);
    out.system = Some(agent.system.clone()).filter(|system| !system.is_empty());
    if wiring.printer.json() {
        wiring.printer.value(&out)?;
    } else {
        let page = page(&out, &reading::look(wiring));
        wiring.printer.data(&page)?;
    }
    Ok(ExitStatus::Done)
}

fn page(agent: &AgentOut, look: &Look) -> String {
    let mut out = look.title(&text::marked(&agent.agent));
    out.push('\n');
    let names = |tools: &[String]| {
        let names: Vec<_> = tools.iter().map(|tool| text::marked(tool)).collect();
        names.join(", ")
    };
    let model = agent.model.as_deref().map(text::marked);
    let tools = agent.tools.as_deref().map(names);
    let denied = Some(names(&agent.denied_tools)).filter(|denied| !denied.is_empty());
    for (name, value) in [
        (
            "model",
            model.unwrap_or_else(|| String::from("none: --model names one")),
        ),
        ("policy", agent.approval_policy.to_string()),
        ("tools", tools.unwrap_or_else(|| String::from("all"))),
        ("never", denied.unwrap_or_else(|| String::from("none"))),
        ("caps", caps(&agent.limits)),
    ] {
        let _ignored = writeln!(out, "  {name:<12} {value}");
    }
    for (name, said) in [
        ("description", &agent.description),
        ("system", &agent.system),
    ] {
        if let Some(said) = said {
            let _ignored = writeln!(out, "  {name}");
            text::block(&mut out, said, look.margin(Letters::Kept));
        }
    }
    out
}
