//! The config file: what it may hold, and errors that name file, line and the nearest known key.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use placet_engine::outfit::read_text;
use placet_ledger::policy::{ApprovalPolicy, PolicyError};
use serde::Deserialize;

use crate::error::{CommandError, Kind};
use crate::io::Io;

/// The user's config.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// Agents by name.
    #[serde(default)]
    pub(crate) agents: BTreeMap<String, Agent>,
    /// The model that judges commands.
    pub(crate) classifier: Option<Classifier>,
    /// The program that judges every gated call.
    pub(crate) plugin: Option<Plugin>,
}

/// A model that judges commands.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Classifier {
    /// The model, as `--model` takes it.
    pub(crate) model: String,
}

/// A program that judges every gated call.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plugin {
    /// Its absolute path.
    pub(crate) command: PathBuf,
    /// The digest of its file, purpose `file`.
    pub(crate) digest: Option<String>,
}

/// An agent.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Agent {
    /// Its model, as `--model` takes it.
    pub(crate) model: Option<String>,
    /// What it is told to be.
    #[serde(default)]
    pub(crate) system: String,
    /// The tools it never has.
    #[serde(default)]
    pub(crate) denied_tools: Vec<String>,
    /// Up to which tier its gated calls run unasked.
    #[serde(default)]
    pub(crate) approval_policy: Option<Policy>,
}

/// A policy as the config writes it: a word, or a boolean.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "toml::Value")]
pub(crate) struct Policy(pub(crate) ApprovalPolicy);

impl TryFrom<toml::Value> for Policy {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        let text = match value {
            toml::Value::Boolean(flag) => flag.to_string(),
            toml::Value::String(text) => text,
            other => other.to_string(),
        };
        let known = || format!("`{}`", ApprovalPolicy::WORDS.join("`, `"));
        text.parse().map(Self).map_err(|_: PolicyError| {
            let shown: String = text.chars().take(80).collect();
            format!("unknown policy `{shown}`, expected one of {}", known())
        })
    }
}

/// What a file in the workspace may hold: it may only take away.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkspaceConfig {
    /// Tools that no run in this workspace has.
    #[serde(default)]
    pub(crate) denied_tools: Vec<String>,
}

/// The name of the file in a workspace.
pub(crate) const WORKSPACE_FILE: &str = "placet.toml";

/// The folder of the user's config.
pub(crate) fn default_folder(io: &Io) -> Option<PathBuf> {
    let home = || io.var("HOME").map(|home| Path::new(home).join(".config"));
    let folder = io.var("XDG_CONFIG_HOME").map(PathBuf::from).or_else(home);
    folder.map(|folder| io.path(&folder.join("placet")))
}

/// Reads the user's config. One that was named must be there.
pub(crate) fn user(named: Option<&Path>, io: &Io) -> Result<(PathBuf, Config), CommandError> {
    let path = match named {
        Some(named) => io.path(named),
        None => match default_folder(io) {
            Some(folder) => folder.join("config.toml"),
            None => return Ok((PathBuf::new(), Config::default())),
        },
    };
    match (read_text(&path), named) {
        (Ok(text), _) => Ok((path.clone(), parse(&path, &text)?)),
        (Err(error), None) if error.kind() == std::io::ErrorKind::NotFound => {
            Ok((path, Config::default()))
        }
        (Err(error), _) => {
            let what = format!("cannot read the config {}: {error}", path.display());
            Err(CommandError::usage(what))
        }
    }
}

/// Reads what a workspace takes away.
pub(crate) fn workspace(folder: &Path) -> Result<WorkspaceConfig, CommandError> {
    let path = folder.join(WORKSPACE_FILE);
    match read_text(&path) {
        Ok(text) => parse(&path, &text).map_err(|error| {
            error.hint("a file in the workspace may hold denied_tools, and nothing that grants")
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Ok(WorkspaceConfig::default())
        }
        Err(error) => {
            let what = format!("cannot read {}: {error}", path.display());
            Err(CommandError::new(Kind::Failed, what))
        }
    }
}

fn parse<T: for<'de> Deserialize<'de>>(path: &Path, text: &str) -> Result<T, CommandError> {
    toml::from_str(text).map_err(|error| CommandError::in_config(path, text, &error))
}
