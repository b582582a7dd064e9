//! `placet agents check`: whether every agent of the config could be run now, without asking a
//! model anything.

use std::fmt::Write;
use std::path::Path;

use clap::Args;
use placet_engine::record::ConfigRecord;
use placet_engine::tool::registry::Registry;
use placet_ledger::id::Name;

use super::how_to_add;
use crate::commands::ready::{self, With};
use crate::commands::tools;
use crate::config::Agent;
use crate::error::CommandError;
use crate::exit::ExitStatus;
use crate::in_force;
use crate::ui::text;
use crate::wire::agents::{AgentChecked, AgentsChecked, Problem};
use crate::wiring::Wiring;

/// Check whether every agent of the config could be run now
///
/// Whether its model can be found and its key is there, whether its tools are known, and whether a
/// price is known where it has a cap on cost. All that is wrong is listed, with exit 1.
///
/// Example: placet agents check
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {}

/// Checks agents.
pub(crate) fn run(_args: &CheckArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let (models, beside) = (wiring.models(), wiring.config_folder());
    let (outfit, registry) = tools::bare(&wiring.temporary(), models.clone())?;
    let workspace = wiring.printer.io().cwd.clone();
    let config = wiring.config()?;
    let with = With {
        outfit: &outfit,
        models: &models,
        config,
        beside: &beside,
    };
    let checked = config.agents.iter().map(|(name, agent)| AgentChecked {
        agent: name.clone(),
        problems: said(&problems(with, &registry, &workspace, (name, agent))),
    });
    let agents: Vec<_> = checked.collect();
    let problems = said(&of_all(with, &workspace));
    let none = agents.is_empty();
    let ok = problems.is_empty() && agents.iter().all(|agent| agent.problems.is_empty());
    let checked = AgentsChecked {
        ok,
        agents,
        problems,
    };
    if none {
        how_to_add(wiring);
    }
    if wiring.printer.json() {
        wiring.printer.value(&checked)?;
    } else {
        wiring.printer.data(&page(&checked))?;
    }
    Ok(if ok {
        ExitStatus::Done
    } else {
        ExitStatus::Failed
    })
}

/// What is wrong for every run that is started here: who judges, and the rules.
pub(crate) fn of_all(with: With<'_>, workspace: &Path) -> Vec<CommandError> {
    let judges = ready::judges(with, workspace, (None, ConfigRecord::default()));
    let rules = in_force::rules(with.config);
    judges.err().into_iter().chain(rules.err()).collect()
}

/// All for which a run of an agent that is started here would be refused, but for what is wrong for
/// every run.
pub(crate) fn problems(
    with: With<'_>,
    registry: &Registry,
    workspace: &Path,
    (name, agent): (&str, &Agent),
) -> Vec<CommandError> {
    let mut wrong = Vec::new();
    if let Err(error) = name.parse::<Name>() {
        wrong.push(CommandError::usage(error));
    }
    let (has, denied) = (agent.tools.as_deref(), &agent.denied_tools);
    for list in [has, Some(&denied[..])].into_iter().flatten() {
        for tool in list {
            let one = std::slice::from_ref(tool);
            wrong.extend(ready::tools(registry, Some(one), &[], &[]).err());
        }
    }
    let Some(spec) = &agent.model else {
        return wrong;
    };
    let (model, record) = match ready::model(with, spec, with.beside) {
        Ok(chosen) => chosen,
        Err(error) => {
            wrong.push(error);
            return wrong;
        }
    };
    // Where nobody can judge, that is told of every run.
    let judged = ready::judges(with, workspace, (Some(&model), record.clone()));
    let record = judged.unwrap_or(record);
    wrong.extend(ready::priced(&agent.limits(), &model, &record).err());
    wrong
}

fn said(errors: &[CommandError]) -> Vec<Problem> {
    let problem = |error: &CommandError| Problem {
        message: error.message(),
        hints: error.hints.clone(),
    };
    errors.iter().map(problem).collect()
}

fn page(checked: &AgentsChecked) -> String {
    let mut out = String::new();
    let mut problems = |who: &str, problems: &[Problem]| {
        for problem in problems {
            let _ignored = writeln!(out, "fail  {who}: {}", text::inline(&problem.message));
            for hint in &problem.hints {
                let _ignored = writeln!(out, "      hint: {}", text::inline(hint));
            }
        }
        if problems.is_empty() {
            let _ignored = writeln!(out, "ok    {who}");
        }
    };
    for agent in &checked.agents {
        problems(&text::marked(&agent.agent), &agent.problems);
    }
    if !checked.problems.is_empty() {
        problems("every run", &checked.problems);
    }
    out
}
