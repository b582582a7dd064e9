//! Which tools a run has: those of the registry, narrowed by two lists.

use std::collections::BTreeSet;

use placet_ledger::digest::Digest;
use placet_ledger::id::Name;
use serde::Serialize;

use super::Registry;
use crate::nearest::nearest;

/// Why a list of tools cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// A name that no tool has: a typing error in a list of denied tools would leave one allowed.
    #[error("there is no tool {name:?}")]
    Unknown {
        /// The name in the list.
        name: String,
        /// The known name that is most like it.
        nearest: Option<Name>,
    },
}

/// A tool as the record of a run names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ToolRef {
    /// The digest of its definition.
    pub definition: Digest,
    /// Its visible name.
    pub name: Name,
}

/// The tools that a run has and those that were withheld, each ordered by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    available: Vec<ToolRef>,
    withheld: Vec<Name>,
}

impl Scope {
    /// Narrows a registry: to `tools`, where that list is given, and never to a denied one.
    pub fn new(
        registry: &Registry,
        tools: Option<&[String]>,
        denied: &[String],
    ) -> Result<Self, ScopeError> {
        let tools = tools.map(|list| known(registry, list)).transpose()?;
        let denied = known(registry, denied)?;
        let mut scope = Self {
            available: Vec::new(),
            withheld: Vec::new(),
        };
        for tool in registry.iter() {
            let name = &tool.spec().name;
            let listed = tools.as_ref().is_none_or(|tools| tools.contains(name));
            if listed && !denied.contains(name) {
                scope.available.push(ToolRef {
                    definition: tool.definition(),
                    name: name.clone(),
                });
            } else {
                scope.withheld.push(name.clone());
            }
        }
        Ok(scope)
    }

    /// The tools that the model is told of.
    pub fn available(&self) -> &[ToolRef] {
        &self.available
    }

    /// The tools that exist and are withheld.
    pub fn withheld(&self) -> &[Name] {
        &self.withheld
    }

    /// Whether the run has the tool with this name.
    pub fn contains(&self, name: &str) -> bool {
        self.available.iter().any(|tool| tool.name.as_str() == name)
    }
}

fn known(registry: &Registry, list: &[String]) -> Result<BTreeSet<Name>, ScopeError> {
    list.iter()
        .map(|text| match registry.get(text) {
            Some(tool) => Ok(tool.spec().name.clone()),
            None => Err(ScopeError::Unknown {
                name: text.chars().take(160).collect(),
                nearest: nearest(text, registry.names().map(Name::as_str))
                    .and_then(|name| name.parse().ok()),
            }),
        })
        .collect()
}
