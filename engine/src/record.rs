//! What `run.started` keeps as content: where the run works, with which tools, from which config.

use placet_ledger::digest::Digest;
use placet_ledger::id::Name;
use placet_ledger::precondition::NodeId;
use serde::{Deserialize, Serialize};

use crate::price::Price;

/// A tool of the run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScopeTool {
    /// Digest of its definition.
    pub definition: Digest,
    /// Its visible name.
    pub name: Name,
}

/// The tools of the run and those withheld from it, each sorted by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScopeRecord {
    /// URL grants.
    pub http: Vec<String>,
    /// The tools.
    pub tools: Vec<ScopeTool>,
    /// Tools that exist and that it does not have.
    pub withheld: Vec<Name>,
}

/// The folder in which the run works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceRecord {
    /// Its path without symbolic links.
    pub path: String,
    /// The folder itself.
    pub root: NodeId,
}

/// A policy plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PluginRecord {
    /// Hash of its file, purpose `file`.
    pub digest: Digest,
    /// Its absolute path.
    pub path: String,
}

/// How calls of a model are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// Tokens of its whole context; where absent, nothing is known of it and nothing is compacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// The most tokens that a reply may have, and that are set aside for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// What its tokens cost; where absent, nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

/// The config in force, without secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigRecord {
    /// The model that judges commands, as `--model` takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classifier: Option<String>,
    /// How its calls are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classifier_terms: Option<Terms>,
    /// The program that judges every gated call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<PluginRecord>,
    /// Of a script model, its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// How calls of the run's model are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<Terms>,
}
