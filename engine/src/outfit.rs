//! The outfit of runs on this machine: file tools in a workspace, and models by name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use placet_ledger::id::Name;

use crate::engine::{Outfit, OutfitError};
use crate::model::{Model, Scripted};
use crate::record::{ConfigRecord, WorkspaceRecord};
use crate::tool::fs::register_file_tools;
use crate::tool::registry::Registry;
use crate::workspace::{ClosedSet, Workspace};

/// The prefix of script models' names.
pub const SCRIPT_PREFIX: &str = "script:";

/// Equips runs from this machine.
pub struct LocalOutfit {
    /// What no tool may touch.
    pub closed: ClosedSet,
    /// Where lock files of file tools lie.
    pub locks: PathBuf,
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
        source: std::io::Error,
    },
}

impl Outfit for LocalOutfit {
    fn tools(&self, workspace: &Path) -> Result<(WorkspaceRecord, Registry), OutfitError> {
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
        register_file_tools(&mut registry, Arc::new(opened), self.locks.clone())
            .map_err(|error| failed(Box::new(error)))?;
        Ok((record, registry))
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
        let text = std::fs::read_to_string(&path)
            .map_err(|source| failed(Box::new(ModelChoiceError::Read { path, source })))?;
        let script = Scripted::parse(&text).map_err(|error| failed(Box::new(error)))?;
        Ok(Arc::new(script))
    }
}
