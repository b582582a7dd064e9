//! Whether a run can have what config and command line name: `run` looks before it makes a ledger
//! or records anything, and `doctor` and `agents check` look in the same way.

use std::path::Path;

use placet_engine::engine::Outfit;
use placet_engine::outfit::{LocalOutfit, SCRIPT_PREFIX};
use placet_engine::record::{ConfigRecord, Terms};
use placet_engine::tool::registry::{Registry, Scope};
use placet_ledger::budget::Limits;
use placet_ledger::id::Name;

use crate::commands::judging::judging;
use crate::config::Config;
use crate::error::{CommandError, Kind};
use crate::models::Models;

/// With what is looked.
#[derive(Clone, Copy)]
pub(crate) struct With<'a> {
    /// What equips runs.
    pub(crate) outfit: &'a LocalOutfit,
    /// Who serves models.
    pub(crate) models: &'a Models,
    /// The user's config.
    pub(crate) config: &'a Config,
    /// Its folder.
    pub(crate) beside: &'a Path,
}

/// Whether lists of tools name tools alone: those that a run has, has not, and runs unasked.
pub(crate) fn tools(
    registry: &Registry,
    tools: Option<&[String]>,
    denied: &[String],
    unasked: &[String],
) -> Result<(), CommandError> {
    Scope::new(registry, tools, denied)?;
    Scope::new(registry, Some(unasked), &[])?;
    Ok(())
}

/// The model as records name it, and what is kept to find it again; it can be used now. A path in
/// `spec` is beneath `base`.
pub(crate) fn model(
    with: With<'_>,
    spec: &str,
    base: &Path,
) -> Result<(Name, ConfigRecord), CommandError> {
    let (name, record) = named(with.models, spec, base)?;
    if record.script.is_none() {
        with.models.ready(spec)?;
    }
    let usable = with.outfit.model(&name, &record);
    usable.map_err(CommandError::usage)?;
    Ok((name, record))
}

/// Adds who judges the calls of a run of `model` in `workspace` to what is kept; they can be asked
/// now.
pub(crate) fn judges(
    with: With<'_>,
    workspace: &Path,
    (model, record): (Option<&Name>, ConfigRecord),
) -> Result<ConfigRecord, CommandError> {
    let record = judging(with, workspace, (model, record))?;
    let hosted = record.classifier.as_deref();
    if let Some(spec) = hosted.filter(|spec| !spec.starts_with(SCRIPT_PREFIX)) {
        with.models.ready(spec)?;
    }
    with.outfit.judges(&record).map_err(CommandError::usage)?;
    Ok(record)
}

/// Whether a cap on cost can hold: the prices of all models of the run are known.
pub(crate) fn priced(
    limits: &Limits,
    model: &Name,
    record: &ConfigRecord,
) -> Result<(), CommandError> {
    if limits.cost_usd.is_none() {
        return Ok(());
    }
    let classifier = record.classifier.as_deref().unwrap_or_default();
    let of = |terms: &Option<Terms>| terms.as_ref().is_some_and(|terms| terms.price.is_none());
    let unknown = if of(&record.terms) {
        model.as_str()
    } else if of(&record.classifier_terms) {
        classifier
    } else {
        return Ok(());
    };
    let what = format!("the price of {unknown} is not known, so that no cap on cost can hold");
    Err(CommandError::usage(what).hint(format!(
        "state it in the config: [prices.\"{unknown}\"] with input and output, in US dollars for \
         a million tokens"
    )))
}

fn named(models: &Models, spec: &str, base: &Path) -> Result<(Name, ConfigRecord), CommandError> {
    let Some(file) = spec.strip_prefix(SCRIPT_PREFIX) else {
        let served = models.served(spec)?;
        let config = ConfigRecord {
            terms: Some(served.terms),
            ..ConfigRecord::default()
        };
        return Ok((served.name, config));
    };
    let path = base.join(file);
    let path = path.canonicalize().map_err(|error| {
        let what = format!("cannot read the script {}: {error}", path.display());
        CommandError::new(Kind::NotFound, what)
    })?;
    let base = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let name = format!("{SCRIPT_PREFIX}{base}").parse().map_err(|error| {
        CommandError::usage(error).hint("the name of the script file is kept in the ledger")
    })?;
    let script = path.to_str().map(str::to_owned);
    if script.is_none() {
        return Err(CommandError::usage("the path of the script is not UTF-8"));
    }
    let config = ConfigRecord {
        script,
        ..ConfigRecord::default()
    };
    Ok((name, config))
}
