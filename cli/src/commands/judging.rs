//! Who judges the calls of a new run: classifier and plugin of the config, as records keep them.

use std::path::Path;

use placet_engine::outfit::SCRIPT_PREFIX;
use placet_engine::record::{ConfigRecord, PluginRecord};
use placet_ledger::digest::{Digest, Purpose, digest};
use placet_ledger::id::Name;
use placet_ledger::regular;

use crate::commands::ready::With;
use crate::config::{Address, Plugin};
use crate::error::{CommandError, Kind};
use crate::models::Models;

/// Bytes of a plugin: what a person wrote or built, and a reader must come to an end.
const PLUGIN_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Adds who judges the calls of a run of `model`. A file that the config names lies beside it. A
/// model never judges its own calls: where it would, nobody does, and commands are high-risk.
pub(crate) fn judging(
    with: With<'_>,
    workspace: &Path,
    (model, record): (Option<&Name>, ConfigRecord),
) -> Result<ConfigRecord, CommandError> {
    let plugin = with.config.plugin.as_ref();
    let plugin = plugin.map(|entry| plugin_record(entry, workspace));
    let record = ConfigRecord {
        plugin: plugin.transpose()?,
        ..record
    };
    let Some(entry) = &with.config.classifier else {
        return Ok(record);
    };
    if entry.model.starts_with(SCRIPT_PREFIX) {
        let spec = script(&entry.model, with.beside)?;
        let own = record.script.as_deref() == spec.strip_prefix(SCRIPT_PREFIX);
        return Ok(ConfigRecord {
            classifier: Some(spec).filter(|_| !own),
            ..record
        });
    }
    let judge = with.models.served(&entry.model).map_err(|error| {
        let what = format!("cannot use the classifier {:?}: {error}", entry.model);
        CommandError {
            source: what.into(),
            ..error
        }
    })?;
    if model.is_some_and(|model| is_served_by(with.models, model, &judge.place)) {
        return Ok(record);
    }
    Ok(ConfigRecord {
        classifier: Some(judge.name.to_string()),
        classifier_terms: Some(judge.terms),
        ..record
    })
}

/// Whether a model is the one that is asked there under that name.
fn is_served_by(models: &Models, model: &Name, place: &(Address, String)) -> bool {
    let served = models.served(model.as_str());
    served.is_ok_and(|served| served.place == *place)
}

/// A script with the whole path of its file, so that it is found again from anywhere.
fn script(model: &str, base: &Path) -> Result<String, CommandError> {
    let file = model.strip_prefix(SCRIPT_PREFIX).unwrap_or(model);
    let path = base.join(file);
    let path = path.canonicalize().map_err(|error| {
        let what = format!("cannot read the script {}: {error}", path.display());
        CommandError::new(Kind::NotFound, what)
    })?;
    let path = path
        .to_str()
        .ok_or_else(|| CommandError::usage("the path of the classifier's script is not UTF-8"))?;
    Ok(format!("{SCRIPT_PREFIX}{path}"))
}

fn plugin_record(plugin: &Plugin, workspace: &Path) -> Result<PluginRecord, CommandError> {
    let named = plugin.command.display();
    if !plugin.command.is_absolute() {
        let what = format!("the plugin {named} must be named by its absolute path");
        return Err(CommandError::usage(what));
    }
    let unreadable = |error: &dyn std::fmt::Display| {
        let what = format!("cannot read the plugin {named}: {error}");
        CommandError::new(Kind::NotFound, what)
    };
    let path = plugin.command.canonicalize();
    let path = path.map_err(|error| unreadable(&error))?;
    let inside = workspace
        .canonicalize()
        .unwrap_or_else(|_| workspace.to_owned());
    if path.starts_with(&inside) {
        let what =
            format!("the plugin {named} lies in the workspace, where an agent can change it");
        return Err(CommandError::usage(what).hint("keep it in a folder that no run works in"));
    }
    let program = regular::read_named(&path, PLUGIN_BYTES_MAX);
    let program = program.map_err(|error| unreadable(&error))?;
    let found = digest(Purpose::File, &program);
    pinned(plugin.digest.as_deref(), found).map_err(|what| {
        let what = format!("the plugin {named} {what}");
        CommandError::usage(what).hint(format!("to trust it as it is now: digest = \"{found}\""))
    })?;
    let path = path.to_str().map(str::to_owned);
    let path = path.ok_or_else(|| CommandError::usage("the path of the plugin is not UTF-8"))?;
    Ok(PluginRecord {
        digest: found,
        path,
    })
}

fn pinned(digest: Option<&str>, found: Digest) -> Result<(), &'static str> {
    let Some(digest) = digest else {
        return Err("is not pinned by a digest");
    };
    match digest.parse::<Digest>() {
        Ok(digest) if digest == found => Ok(()),
        Ok(_) => Err("is another file than the one that was pinned"),
        Err(_) => Err("is pinned by no digest of 64 hex digits"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn config(text: &str) -> crate::config::Config {
        crate::config::parse_user(Path::new("c"), text).unwrap()
    }

    fn said(result: Result<ConfigRecord, CommandError>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn a_plugin_is_absolute_pinned_and_outside_of_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let (outside, workspace) = (folder.path().join("judge"), folder.path().join("work"));
        fs::create_dir(&workspace).unwrap();
        let inside = workspace.join("judge");
        fs::write(&outside, "#!/bin/sh\necho pass\n").unwrap();
        fs::write(&inside, "#!/bin/sh\necho pass\n").unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&inside, &link).unwrap();
        let right = digest(Purpose::File, b"#!/bin/sh\necho pass\n");
        let other = digest(Purpose::File, b"other");
        let judged = |text: &str| {
            let config = config(text);
            let (outfit, _) =
                crate::commands::tools::bare(folder.path(), Models::default()).unwrap();
            let with = With {
                outfit: &outfit,
                models: &Models::default(),
                config: &config,
                beside: folder.path(),
            };
            judging(with, &workspace, (None, ConfigRecord::default()))
        };
        let plugin = |path: &Path, digest: &str| {
            let path = path.display();
            format!("[plugin]\ncommand = \"{path}\"\ndigest = \"{digest}\"\n")
        };
        for (text, says) in [
            (plugin(Path::new("judge"), &right.to_string()), "absolute"),
            (plugin(&inside, &right.to_string()), "in the workspace"),
            (plugin(&link, &right.to_string()), "in the workspace"),
            (plugin(&outside, &other.to_string()), "another file"),
            (plugin(&outside, "12"), "no digest"),
            (plugin(folder.path(), "12"), "a folder and no file"),
            (plugin(&folder.path().join("none"), "12"), "cannot read"),
            (
                format!("[plugin]\ncommand = \"{}\"\n", outside.display()),
                "not pinned",
            ),
            (
                "[classifier]\nmodel = \"gpt\"\n".to_owned(),
                "cannot use the classifier \"gpt\": there is no such model",
            ),
            (
                "[classifier]\nmodel = \"script:none\"\n".to_owned(),
                "cannot read the script",
            ),
        ] {
            let error = said(judged(&text));
            assert!(error.contains(says), "{text}: {error}");
        }
        let recorded = judged(&plugin(&outside, &right.to_string())).unwrap();
        assert_eq!(recorded.plugin.unwrap().digest, right);
        let model = format!("script:{}", outside.canonicalize().unwrap().display());
        let recorded = judged("[classifier]\nmodel = \"script:judge\"\n").unwrap();
        assert_eq!(recorded.classifier, Some(model));
    }

    #[test]
    fn other_keys_are_errors() {
        for text in [
            "[classifier]\nmodels = 'a'",
            "[classifier]",
            "[plugin]\ncommand = '/a'\nargs = []",
            "[plugin]\ndigest = 'a'",
            "[plugins]",
        ] {
            assert!(
                crate::config::parse_user(Path::new("c"), text).is_err(),
                "{text}"
            );
        }
    }
}
