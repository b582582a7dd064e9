//! The config file: what it may hold, and errors that name file, line and the nearest known key.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use placet_engine::nearest::nearest;
use placet_engine::outfit::read_text;
use placet_engine::policy::rules::{Origin, Rules, RulesError, Written};
use placet_engine::tool::NAMES;
use placet_ledger::policy::{ApprovalPolicy, ContainmentRule, PolicyError};
use serde::Deserialize;
use toml::Spanned;

use crate::error::{CommandError, Kind};
use crate::io::Io;

/// The user's config.
#[derive(Debug, Clone, Default)]
pub(crate) struct Config {
    /// Agents by name.
    pub(crate) agents: BTreeMap<String, Agent>,
    /// What becomes of calls that cannot be shut in by the whole profile.
    pub(crate) containment: ContainmentRule,
    /// The user's rules.
    pub(crate) rules: Rules,
    /// The model that judges commands.
    pub(crate) classifier: Option<Classifier>,
    /// The program that judges every gated call.
    pub(crate) plugin: Option<Plugin>,
}

/// The same as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct UserFile {
    #[serde(default)]
    agents: BTreeMap<String, Agent>,
    #[serde(default)]
    containment: ContainmentRule,
    #[serde(default)]
    rules: Vec<Spanned<Written>>,
    classifier: Option<Classifier>,
    plugin: Option<Plugin>,
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

/// What a file in the workspace says: it may only take away.
#[derive(Debug, Clone, Default)]
pub(crate) struct WorkspaceConfig {
    /// Tools that no run in this workspace has.
    pub(crate) denied_tools: Vec<String>,
    /// What becomes of calls that cannot be shut in by the whole profile.
    pub(crate) containment: ContainmentRule,
    /// Rules that deny and ask.
    pub(crate) rules: Rules,
}

/// The same as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkspaceText {
    #[serde(default)]
    denied_tools: Vec<String>,
    containment: Option<Required>,
    #[serde(default)]
    rules: Vec<Spanned<Written>>,
}

/// The one word that only takes away.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Required {
    Require,
}

/// The stricter of what two files say of containment.
pub(crate) const fn stricter(one: ContainmentRule, other: ContainmentRule) -> ContainmentRule {
    match (one, other) {
        (ContainmentRule::Prefer, ContainmentRule::Prefer) => ContainmentRule::Prefer,
        (ContainmentRule::Require, _) | (_, ContainmentRule::Require) => ContainmentRule::Require,
    }
}

/// The name of the file in a workspace.
pub(crate) const WORKSPACE_FILE: &str = "placet.toml";

/// The folder of the user's config.
pub(crate) fn default_folder(io: &Io) -> Option<PathBuf> {
    let home = || io.var("HOME").map(|home| Path::new(home).join(".config"));
    let folder = io.var("XDG_CONFIG_HOME").map(PathBuf::from).or_else(home);
    folder.map(|folder| io.path(&folder.join("placet")))
}

/// Where the user's config lies, or would.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    path: PathBuf,
    /// Whether a person named it: then it must be there.
    named: bool,
}

impl Place {
    /// The file that was named, or the default one.
    pub(crate) fn locate(named: Option<&Path>, io: &Io) -> Self {
        let default = || default_folder(io).map(|folder| folder.join("config.toml"));
        let path = named.map(|named| io.path(named)).or_else(default);
        Self {
            path: path.unwrap_or_default(),
            named: named.is_some(),
        }
    }

    /// Its path; empty where nobody says whose config it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Its folder: a file that the config names lies beside it.
    pub(crate) fn folder(&self) -> PathBuf {
        self.path.parent().map(Path::to_owned).unwrap_or_default()
    }

    /// Whether a person named it.
    pub(crate) const fn is_named(&self) -> bool {
        self.named
    }

    /// Reads the config.
    pub(crate) fn read(&self) -> Result<Config, CommandError> {
        match read_text(&self.path) {
            Ok(text) => parse_user(&self.path, &text),
            Err(error) if !self.named && error.kind() == std::io::ErrorKind::NotFound => {
                Ok(Config::default())
            }
            Err(error) => {
                let what = format!("cannot read the config {}: {error}", self.path.display());
                Err(CommandError::usage(what))
            }
        }
    }
}

/// Reads what a workspace takes away.
pub(crate) fn workspace(folder: &Path) -> Result<WorkspaceConfig, CommandError> {
    let path = folder.join(WORKSPACE_FILE);
    match read_text(&path) {
        Ok(text) => parse_workspace(&path, &text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Ok(WorkspaceConfig::default())
        }
        Err(error) => {
            let what = format!("cannot read {}: {error}", path.display());
            Err(CommandError::new(Kind::Failed, what))
        }
    }
}

/// Reads the text of a user's config.
pub(crate) fn parse_user(path: &Path, text: &str) -> Result<Config, CommandError> {
    let file: UserFile = parse(path, text)?;
    Ok(Config {
        agents: file.agents,
        classifier: file.classifier,
        plugin: file.plugin,
        containment: file.containment,
        rules: rules(file.rules, Origin::User, (path, text))?,
    })
}

/// Reads the text of a file in a workspace.
pub(crate) fn parse_workspace(path: &Path, text: &str) -> Result<WorkspaceConfig, CommandError> {
    let narrow = |error: CommandError| {
        error.hint(
            "a file in the workspace may hold denied_tools, rules that deny or ask, and \
             containment = 'require': nothing that grants",
        )
    };
    let file: WorkspaceText = parse(path, text).map_err(narrow)?;
    Ok(WorkspaceConfig {
        denied_tools: file.denied_tools,
        containment: match file.containment {
            Some(Required::Require) => ContainmentRule::Require,
            None => ContainmentRule::Prefer,
        },
        rules: rules(file.rules, Origin::Workspace, (path, text)).map_err(narrow)?,
    })
}

/// Checks rules; what is wrong is said with the line on which the rule begins.
fn rules(
    written: Vec<Spanned<Written>>,
    origin: Origin,
    (path, text): (&Path, &str),
) -> Result<Rules, CommandError> {
    let starts: Vec<usize> = written.iter().map(|rule| rule.span().start).collect();
    // A rule for a tool that nobody has would bind nothing, and nobody would see it.
    let unknown = |rule: &&Spanned<Written>| {
        let tool = rule.get_ref().tool.as_deref();
        tool.is_some_and(|tool| !NAMES.contains(&tool))
    };
    if let Some(rule) = written.iter().find(unknown) {
        let tool = rule.get_ref().tool.as_deref().unwrap_or_default();
        let what = format!("no tool has the name `{tool}`");
        let error = CommandError::at(path, text, rule.span().start, &what);
        let near = nearest(tool, NAMES.into_iter());
        return Err(error.meant(near).hint("placet tools list names them all"));
    }
    let written = written.into_iter().map(Spanned::into_inner).collect();
    Rules::from_written(written, origin).map_err(|error| {
        let number = match &error {
            RulesError::Rule { number, .. } => number.saturating_sub(1),
            RulesError::Json(_) | RulesError::Toml(_) => 0,
        };
        let start = starts.get(number).copied().unwrap_or_default();
        CommandError::at(path, text, start, &error.to_string())
    })
}

fn parse<T: for<'de> Deserialize<'de>>(path: &Path, text: &str) -> Result<T, CommandError> {
    toml::from_str(text).map_err(|error| CommandError::in_config(path, text, &error))
}
