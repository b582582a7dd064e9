//! Whether a run can have what config and command line name: `run` looks before it makes a ledger
//! or records anything, and `doctor` looks in the same way.

use std::path::Path;

use placet_engine::engine::Outfit;
use placet_engine::outfit::{LocalOutfit, SCRIPT_PREFIX};
use placet_engine::record::ConfigRecord;
use placet_engine::tool::registry::{Registry, Scope};
use placet_ledger::id::Name;

use crate::commands::judging::judging;
use crate::config::Config;
use crate::error::{CommandError, Kind};

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
    outfit: &LocalOutfit,
    spec: &str,
    base: &Path,
) -> Result<(Name, ConfigRecord), CommandError> {
    let (name, record) = named(spec, base)?;
    let usable = outfit.model(&name, &record);
    usable.map_err(CommandError::usage)?;
    Ok((name, record))
}

/// Adds who judges to what is kept; they can be asked now.
pub(crate) fn judges(
    outfit: &LocalOutfit,
    config: &Config,
    (beside, workspace): (&Path, &Path),
    record: ConfigRecord,
) -> Result<ConfigRecord, CommandError> {
    let record = judging(config, beside, workspace, record)?;
    outfit.judges(&record).map_err(CommandError::usage)?;
    Ok(record)
}

fn named(spec: &str, base: &Path) -> Result<(Name, ConfigRecord), CommandError> {
    let Some(file) = spec.strip_prefix(SCRIPT_PREFIX) else {
        let what = format!("cannot use the model {spec:?}: expected script:FILE");
        return Err(CommandError::usage(what));
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
