//! Whether the user's config and the file of the workspace can be read, and whether a run that is
//! started here could have all that they name.

use std::path::Path;

use placet_engine::record::ConfigRecord;

use super::Checkup;
use crate::args::GlobalArgs;
use crate::commands::start::agent;
use crate::commands::{ready, tools};
use crate::config::{self, Config, Place};
use crate::error::CommandError;
use crate::in_force;
use crate::io::Io;

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
}

/// All for which a run that is started here with this config would be refused.
fn unusable(config: &Config, place: &Place, io: &Io) -> Vec<CommandError> {
    let (outfit, registry) = match tools::bare(&io.temporary()) {
        Ok(bare) => bare,
        Err(error) => return vec![error],
    };
    let folder = place.folder();
    let places = (&*folder, &*io.cwd);
    let judges = ready::judges(&outfit, config, places, ConfigRecord::default());
    let rules = in_force::rules(config);
    let mut wrong: Vec<CommandError> = judges.err().into_iter().chain(rules.err()).collect();
    for name in config.agents.keys() {
        let usable = agent(Some(name), config).and_then(|(_, agent)| {
            ready::tools(&registry, None, &agent.denied_tools, &[])?;
            let model = agent.model.as_deref();
            let model = model.map(|model| ready::model(&outfit, model, &folder));
            model.transpose()
        });
        wrong.extend(
            usable
                .err()
                .map(|error| about(&format!("agent {name}"), &error)),
        );
    }
    wrong
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
    let usable = tools::bare(&io.temporary())
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
