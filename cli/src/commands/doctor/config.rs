//! Whether the user's config and the file of the workspace can be read, and whether a run that is
//! started here could have all that they name.

use std::collections::BTreeSet;
use std::path::Path;

use super::Checkup;
use crate::args::GlobalArgs;
use crate::commands::ready::With;
use crate::commands::{agents, ready, tools};
use crate::config::{self, Config, Place};
use crate::error::CommandError;
use crate::io::Io;
use crate::models::Models;

/// Looks at both files.
pub(super) fn check(found: &mut Checkup, global: &GlobalArgs, io: &Io) {
    user(found, global, io);
    workspace(found, io);
}

fn user(found: &mut Checkup, global: &GlobalArgs, io: &Io) {
    let place = Place::locate(global.config.as_deref(), io);
    let path = place.path();
    let shown = path.display();
    let config = match place.read() {
        Ok(_) if !path.exists() => {
            return found.ok("config", format!("none at {shown}: the defaults hold"));
        }
        Ok(config) => config,
        Err(error) => return found.error("config", &error),
    };
    let wrong = unusable(&config, &place, io);
    for error in &wrong {
        found.error("config", &about(&shown, error));
    }
    if wrong.is_empty() {
        let agents: Vec<&str> = config.agents.keys().map(String::as_str).collect();
        let agents = if agents.is_empty() {
            "no agents".to_owned()
        } else {
            format!("agents: {}", agents.join(", "))
        };
        found.ok("config", format!("{shown}, {agents}"));
    }
    models(found, &config, &place, io);
}

/// All for which a run that is started here with this config would be refused.
fn unusable(config: &Config, place: &Place, io: &Io) -> Vec<CommandError> {
    let models = Models::of(config, place.folder(), io);
    let (outfit, registry) = match tools::bare(&io.temporary(), models.clone()) {
        Ok(bare) => bare,
        Err(error) => return vec![error],
    };
    let with = With {
        outfit: &outfit,
        models: &models,
        config,
        beside: &place.folder(),
    };
    let mut wrong = agents::of_all(with, &io.cwd);
    for (name, agent) in &config.agents {
        let problems = agents::problems(with, &registry, &io.cwd, (name, agent));
        let named = |error| about(&format!("agent {name}"), error);
        wrong.extend(problems.iter().map(named));
    }
    wrong
}

/// Where models are asked, and whether their keys are there: those of the config, and those whom
/// its agents and its classifier name.
fn models(found: &mut Checkup, config: &Config, place: &Place, io: &Io) {
    let models = Models::of(config, place.folder(), io);
    let agents = config
        .agents
        .values()
        .filter_map(|agent| agent.model.as_deref());
    let judge = config.classifier.iter().map(|entry| entry.model.as_str());
    let specs = agents.chain(judge).filter_map(|spec| spec.split_once(':'));
    let mut names: BTreeSet<&str> = specs.map(|(name, _)| name).collect();
    names.extend(config.models.keys().map(String::as_str));
    // Whoever is not known is told of with the agent.
    for name in models.names().intersection(&names) {
        let server = match models.server(name) {
            Ok(server) => server,
            Err(error) => {
                found.error("models", &about(name, &CommandError::usage(error)));
                continue;
            }
        };
        let (key, there) = models.key_state(&server);
        let detail = format!("{name}: asked at {}, {key}", server.address.as_str());
        if there {
            found.ok("models", detail);
        } else {
            found.warn(
                "models",
                detail,
                "no run with these models can be started or resumed",
            );
        }
    }
}

fn workspace(found: &mut Checkup, io: &Io) {
    let path = io.path(Path::new(config::WORKSPACE_FILE));
    let file = path.display();
    let narrowing = match config::workspace(&io.cwd) {
        Ok(_) if !path.exists() => {
            return found.ok("workspace", format!("no {file}: nothing is denied"));
        }
        Ok(narrowing) => narrowing,
        Err(error) => return found.error("workspace", &error),
    };
    let denied = &narrowing.denied_tools;
    let usable = tools::bare(&io.temporary(), Models::default())
        .and_then(|(_, registry)| ready::tools(&registry, None, denied, &[]));
    match usable {
        Ok(()) if denied.is_empty() => {
            found.ok("workspace", format!("{file}, nothing is denied"));
        }
        Ok(()) => found.ok(
            "workspace",
            format!("{file}, denied: {}", denied.join(", ")),
        ),
        Err(error) => found.error("workspace", &about(&file, &error)),
    }
}

/// An error with what it is about before it.
fn about(what: &impl std::fmt::Display, error: &CommandError) -> CommandError {
    CommandError {
        kind: error.kind,
        source: format!("{what}: {}", error.message()).into(),
        hints: error.hints.clone(),
    }
}
