//! The config file: what it may hold, and errors that name file, line and the nearest known key.

mod address;
mod agent;
mod model;
mod place;
mod price;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use placet_engine::nearest::nearest;
use placet_engine::outfit::read_text;
use placet_engine::policy::rules::{Origin, Rules, RulesError, Written};
use placet_engine::price::Price;
use placet_engine::tool::NAMES;
use placet_ledger::policy::ContainmentRule;
use serde::Deserialize;
use toml::Spanned;

pub(crate) use address::{Address, AddressError};
pub(crate) use agent::Agent;
pub(crate) use model::{ApiWord, BUILT_IN, KeyPlace, ModelEntry, exposed};
pub(crate) use place::{Place, default_folder};

use crate::error::{CommandError, Kind};
use model::ModelText;
use price::PriceText;

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
    /// Those who serve models, by the names that stand before the colon.
    pub(crate) models: BTreeMap<String, ModelEntry>,
    /// What models cost.
    pub(crate) prices: BTreeMap<String, Price>,
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
    #[serde(default)]
    models: BTreeMap<Spanned<String>, Spanned<ModelText>>,
    #[serde(default)]
    prices: BTreeMap<Spanned<String>, PriceText>,
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
    let wrong = |wrong: model::Wrong| wrong.in_file(path, text);
    let models = model::models(file.models).map_err(wrong)?;
    Ok(Config {
        prices: price::prices(file.prices, &models).map_err(wrong)?,
        models,
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
