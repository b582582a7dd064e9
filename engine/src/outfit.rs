//! The outfit of runs on this machine: files and commands in a workspace, and models by name.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use placet_ledger::containment::Level;
use placet_ledger::id::Name;
use placet_ledger::regular;

use crate::classify::{Classifier, Judges, Plugin, Program};
use crate::engine::{Outfit, OutfitError};
use crate::model::{Model, ScriptError, Scripted};
use crate::record::{ConfigRecord, WorkspaceRecord};
use crate::tool::command::{self, Machine};
use crate::tool::fs::register_file_tools;
use crate::tool::registry::Registry;
use crate::tool::retrieve::{self, Results};
use crate::tool::{ask, notes};
use crate::workspace::{ClosedSet, Workspace};

/// Bytes of a config or script: nobody writes more by hand, and a reader must come to an end.
const TEXT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The text of a file that people write: a regular one, of a size that has an end.
pub fn read_text(path: &Path) -> io::Result<String> {
    let bytes = regular::read_named(path, TEXT_BYTES_MAX)?;
    let wrong = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8");
    String::from_utf8(bytes).map_err(wrong)
}

/// The prefix of script models' names.
pub const SCRIPT_PREFIX: &str = "script:";

/// Equips runs from this machine.
pub struct LocalOutfit {
    /// What no tool may touch.
    pub closed: ClosedSet,
    /// Where lock files of file tools lie.
    pub locks: PathBuf,
    /// What commands and plugins are run with.
    pub machine: Arc<Machine>,
}

/// Why a model cannot be used.
#[derive(Debug, thiserror::Error)]
enum ModelChoiceError {
    #[error("expected script:FILE, the one kind of model that this release drives")]
    Kind,
    #[error("the record of the run does not say where the script lies")]
    NoFile,
    #[error("cannot read the script {path}")]
    Read {
        path: String,
        #[source]
        source: io::Error,
    },
}

impl Outfit for LocalOutfit {
    fn tools(
        &self,
        workspace: &Path,
        results: Arc<dyn Results>,
    ) -> Result<(WorkspaceRecord, Registry), OutfitError> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| OutfitError::Workspace {
            path: workspace.display().to_string(),
            source,
        };
        let opened = Workspace::open(workspace, self.closed.clone())
            .map_err(|error| failed(Box::new(error)))?;
        let content = opened.content();
        let record = WorkspaceRecord {
            path: content.path,
            root: content.root,
        };
        let mut registry = Registry::new();
        let opened = Arc::new(opened);
        register_file_tools(&mut registry, Arc::clone(&opened), self.locks.clone())
            .and_then(|()| command::register(&mut registry, opened, Arc::clone(&self.machine)))
            .and_then(|()| notes::register(&mut registry))
            .and_then(|()| ask::register(&mut registry))
            .and_then(|()| retrieve::register(&mut registry, results))
            .map_err(|error| failed(Box::new(error)))?;
        Ok((record, registry))
    }

    fn judges(&self, config: &ConfigRecord) -> Result<Judges, OutfitError> {
        let classifier = config.classifier.as_deref().map(classifier).transpose()?;
        // Without what shuts it in no plugin is asked, and every call that one should judge is
        // high-risk.
        let container = || self.machine.container().cloned();
        let plugin = config
            .plugin
            .as_ref()
            .and_then(|record| Some((record, container()?)));
        let plugin = plugin.map(|(record, container)| -> Arc<dyn Plugin> {
            Arc::new(Program {
                container,
                path: PathBuf::from(&record.path),
                digest: record.digest,
                marks: self.machine.marks().to_owned(),
            })
        });
        Ok(Judges { plugin, classifier })
    }

    fn level(&self, ports: &BTreeSet<u16>) -> Level {
        self.machine.level(ports)
    }

    fn model(&self, name: &Name, config: &ConfigRecord) -> Result<Arc<dyn Model>, OutfitError> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| OutfitError::Model {
            name: name.clone(),
            source,
        };
        if !name.as_str().starts_with(SCRIPT_PREFIX) {
            return Err(failed(Box::new(ModelChoiceError::Kind)));
        }
        let path = config
            .script
            .clone()
            .ok_or_else(|| failed(Box::new(ModelChoiceError::NoFile)))?;
        Ok(Arc::new(
            scripted(path).map_err(|error| failed(Box::new(error)))?,
        ))
    }
}

/// Why a script model cannot be had.
#[derive(Debug, thiserror::Error)]
enum ScriptedError {
    #[error(transparent)]
    Choice(#[from] ModelChoiceError),
    #[error(transparent)]
    Script(#[from] ScriptError),
}

fn scripted(path: String) -> Result<Scripted, ScriptedError> {
    let text =
        read_text(Path::new(&path)).map_err(|source| ModelChoiceError::Read { path, source })?;
    Ok(Scripted::parse(&text)?)
}

/// The model that judges commands. Its name is that of the script's file; where that lies is where
/// it is asked.
fn classifier(spec: &str) -> Result<Classifier, OutfitError> {
    let path = spec.strip_prefix(SCRIPT_PREFIX);
    let file = path.and_then(|path| Path::new(path).file_name()?.to_str());
    let name = format!("{SCRIPT_PREFIX}{}", file.unwrap_or("unknown"));
    let name: Name = name.parse().map_err(|error| OutfitError::Classifier {
        spec: spec.to_owned(),
        source: Box::new(error),
    })?;
    let failed = |source: ScriptedError| OutfitError::Classifier {
        spec: spec.to_owned(),
        source: Box::new(source),
    };
    let path = path.ok_or_else(|| failed(ModelChoiceError::Kind.into()))?;
    Ok(Classifier {
        model: Arc::new(scripted(path.to_owned()).map_err(failed)?),
        name,
        endpoint: spec.to_owned(),
    })
}
