//! Equipping a run: its workspace, tools and model, if they still are what they were at its start.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use placet_ledger::content::Contents;
use placet_ledger::id::{Name, RunId};
use placet_ledger::run::RunState;
use serde::de::DeserializeOwned;

use super::results::FromLedger;
use super::{Engine, EngineError};
use crate::effects::{EffectHandler, Judging, Levels, LiveHandler};
use crate::record::{ConfigRecord, ScopeRecord, ScopeTool, WorkspaceRecord};
use crate::tool::registry::Registry;
use crate::tool::retrieve::Results;

impl Engine {
    /// How far this machine can shut in a process: found out where one is to be started.
    pub(super) fn level(&self) -> Levels {
        let outfit = self.outfit.clone();
        Arc::new(move |ports: &BTreeSet<u16>| outfit.level(ports))
    }

    pub(super) fn results(&self) -> Arc<dyn Results> {
        Arc::new(FromLedger(self.ledger.clone()))
    }

    /// The live handler of a run, once its workspace, tools and model are what they were.
    pub(super) async fn handler(&self, run: RunId) -> Result<Arc<dyn EffectHandler>, EngineError> {
        let (registry, model, config) = self.equip(run).await?;
        let model = self.outfit.model(&model, &config)?;
        let clock = self.clock.clone();
        let heard = self.heard.clone();
        let judging = Judging {
            judges: self.outfit.judges(&config)?,
            level: self.level(),
        };
        let handler = LiveHandler::new(Arc::new(registry), model, clock, heard, judging);
        Ok(Arc::new(handler))
    }

    /// The tools of a run, if its workspace and they are what they were; its model and config.
    pub(super) async fn equip(
        &self,
        run: RunId,
    ) -> Result<(Registry, Name, ConfigRecord), EngineError> {
        let (recorded, scope, config, model) = self
            .ledger
            .look(run, |state, contents| {
                let workspace: Option<WorkspaceRecord> = read(state, contents, "workspace");
                let scope: Option<ScopeRecord> = read(state, contents, "scope");
                let config: Option<ConfigRecord> = read(state, contents, "config");
                (workspace, scope, config, state.started().model.clone())
            })
            .await?;
        let recorded = recorded.ok_or(EngineError::Content("workspace"))?;
        let scope = scope.ok_or(EngineError::Content("scope"))?;
        let (found, registry) = self
            .outfit
            .tools(Path::new(&recorded.path), self.results())?;
        if found.root != recorded.root {
            let path = recorded.path;
            return Err(EngineError::WorkspaceReplaced { path });
        }
        let same = |tool: &ScopeTool| {
            registry.iter().any(|known| {
                known.spec().name == tool.name && known.definition() == tool.definition
            })
        };
        if let Some(changed) = scope.tools.into_iter().find(|tool| !same(tool)) {
            return Err(EngineError::ToolChanged(changed.name));
        }
        Ok((registry, model, config.unwrap_or_default()))
    }
}

/// A content of `run.started`.
pub(super) fn read<T: DeserializeOwned>(
    state: &RunState,
    contents: &Contents,
    name: &str,
) -> Option<T> {
    let bytes = contents.bytes(&state.texts().get(name)?.commitment)?;
    serde_json::from_slice(bytes).ok()
}
