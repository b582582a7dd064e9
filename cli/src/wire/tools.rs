//! What `tools list` and `tools show` say.

use placet_ledger::digest::Digest;
use placet_ledger::id::Name;
use placet_ledger::risk::DeclaredRisk;
use serde::Serialize;
use serde_json::Value;

/// What `tools list` says.
#[derive(Debug, Serialize)]
pub(crate) struct ToolList {
    /// The tools, by name.
    pub(crate) tools: Vec<ToolOut>,
}

/// A tool.
#[derive(Debug, Serialize)]
pub(crate) struct ToolOut {
    /// Its name.
    pub(crate) tool: Name,
    /// What it declares.
    pub(crate) tier: DeclaredRisk,
    /// Whether its calls are proposed before they are executed.
    pub(crate) kind: &'static str,
    /// What it does, for the model.
    pub(crate) description: String,
    /// Digest of its definition.
    pub(crate) definition: Digest,
    /// Its time limit.
    pub(crate) timeout_ms: u64,
    /// The schema of its arguments; `tools show` alone has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) schema: Option<Value>,
}
