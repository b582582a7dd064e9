//! The outfit of runs on this machine: files and commands in a workspace, and models by name.

use std::collections::BTreeSet;
use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use placet_ledger::containment::Level;
use placet_ledger::id::Name;
use placet_ledger::regular;

use crate::classify::{Classifier, Judges, Plugin, Program};
use crate::engine::{Outfit, OutfitError};
use crate::model::{Endpoint, EndpointError, Hosted, Model, ScriptError, Scripted};
use crate::record::{ConfigRecord, Terms, WorkspaceRecord};
use crate::tool::command::{self, Machine};
use crate::tool::fs::register_file_tools;
use crate::tool::registry::Registry;
use crate::tool::retrieve::{self, Results};
use crate::tool::{ask, memory, notes, scratchpad};
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

/// Where models are asked that are no scripts, by whoever serves them. Built from config and
/// environment, neither of which is read here.
pub trait Providers: Send + Sync {
    /// Where somebody's models are asked, and with which key.
    fn endpoint(&self, provider: &str) -> Result<Endpoint, Box<dyn Error + Send + Sync>>;
}

/// Equips runs from this machine.
pub struct LocalOutfit {
    /// What no tool may touch.
    pub closed: ClosedSet,
    /// Where lock files of file tools lie.
    pub locks: PathBuf,
    /// What commands and plugins are run with.
    pub machine: Arc<Machine>,
    /// Who serves models.
    pub providers: Arc<dyn Providers>,
}

/// Why a model cannot be used.
#[derive(Debug, thiserror::Error)]
enum ModelChoiceError {
    #[error("expected NAME:ID or script:FILE")]
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
        let failed = |source: Box<dyn Error + Send + Sync>| OutfitError::Workspace {
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
            .and_then(|()| scratchpad::register(&mut registry, Arc::clone(&results)))
            .and_then(|()| memory::register(&mut registry, Arc::clone(&results)))
            .and_then(|()| retrieve::register(&mut registry, results))
            .map_err(|error| failed(Box::new(error)))?;
        Ok((record, registry))
    }

    fn judges(&self, config: &ConfigRecord) -> Result<Judges, OutfitError> {
        let classifier = config.classifier.as_deref();
        let classifier = classifier.map(|spec| self.classifier(spec, config.classifier_terms));
        let classifier = classifier.transpose()?;
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
        let failed = |source: Box<dyn Error + Send + Sync>| OutfitError::Model {
            name: name.clone(),
            source,
        };
        if !name.as_str().starts_with(SCRIPT_PREFIX) {
            let (model, _) = self.hosted(name.as_str()).map_err(failed)?;
            return Ok(Arc::new(model));
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

impl LocalOutfit {
    /// A model that is no script, and where it is asked, without credentials.
    fn hosted(&self, spec: &str) -> Result<(Hosted, String), Box<dyn Error + Send + Sync>> {
        let (provider, id) = spec.split_once(':').ok_or(ModelChoiceError::Kind)?;
        let endpoint = self.providers.endpoint(provider)?;
        let shown = endpoint.shown();
        let hosted: Result<Hosted, EndpointError> = Hosted::new(endpoint, id.to_owned());
        Ok((hosted?, shown))
    }

    /// The model that judges commands. The name of a script is that of its file; where that lies is
    /// where it is asked.
    fn classifier(&self, spec: &str, terms: Option<Terms>) -> Result<Classifier, OutfitError> {
        let failed = |source: Box<dyn Error + Send + Sync>| OutfitError::Classifier {
            spec: spec.to_owned(),
            source,
        };
        let named = |name: &str| {
            name.parse::<Name>()
                .map_err(|error| failed(Box::new(error)))
        };
        let Some(path) = spec.strip_prefix(SCRIPT_PREFIX) else {
            let (model, endpoint) = self.hosted(spec).map_err(failed)?;
            return Ok(Classifier {
                model: Arc::new(model),
                name: named(spec)?,
                endpoint,
                terms,
            });
        };
        let file = Path::new(path).file_name().and_then(|file| file.to_str());
        let name = named(&format!("{SCRIPT_PREFIX}{}", file.unwrap_or("unknown")))?;
        let model = scripted(path.to_owned()).map_err(|error| failed(Box::new(error)))?;
        Ok(Classifier {
            model: Arc::new(model),
            name,
            endpoint: spec.to_owned(),
            terms,
        })
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
