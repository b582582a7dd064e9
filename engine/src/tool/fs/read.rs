//! `read_file`: a text file, or some of its lines.

use std::sync::Arc;

use async_trait::async_trait;
use placet_ledger::content::Text;
use placet_ledger::permit::Permit;
use placet_ledger::risk::DeclaredRisk;
use serde_json::{Value, json};

use super::{Current, Files, Words, text};
use crate::stop::Halt;
use crate::tool::{ExecuteTool, Interrupted, Output, Reconciled, ToolError, reading};

pub(super) fn spec() -> Words {
    Words {
        name: "read_file",
        description: "Read a UTF-8 text file of the workspace. `offset` is the first line, counted \
                      from 1; `limit` is the number of lines.",
        schema: json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1},
                "offset": {"type": "integer", "minimum": 1},
                "limit": {"type": "integer", "minimum": 1},
            },
            "required": ["path"],
            "additionalProperties": false,
        }),
        risk: DeclaredRisk::ReadOnly,
    }
}

/// The tool.
#[derive(Debug, Clone)]
pub(super) struct ReadFile(pub(super) Arc<Files>);

#[async_trait]
impl ExecuteTool for ReadFile {
    async fn execute(&self, permit: Permit, _: &Halt) -> Result<Output, ToolError> {
        let files = Arc::clone(&self.0);
        let arguments = permit.spend().arguments;
        let result = reading(move || read(&files, &arguments)).await?;
        Ok(Output::of(result))
    }

    /// Reading has no effect that could be half done.
    async fn reconcile(&self, _: Interrupted<'_>) -> Result<Reconciled, ToolError> {
        Ok(Reconciled::NotDone)
    }
}

pub(super) fn read(files: &Files, arguments: &Value) -> Result<Text, ToolError> {
    let target = files.workspace.existing(text(arguments, "path")?)?;
    let current = Current::read(&files.workspace, &target)?;
    let content = current.text(&target.path)?;
    let number = |name| arguments.get(name).and_then(Value::as_u64);
    if number("offset").is_none() && number("limit").is_none() {
        return Ok(Text::plain(content));
    }
    let offset = usize::try_from(number("offset").unwrap_or(1)).unwrap_or(usize::MAX);
    let limit = usize::try_from(number("limit").unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let lines = content.split_inclusive('\n').count();
    if offset > lines {
        return Err(ToolError::failed(format!(
            "{} has {lines} lines, so none from line {offset} on: send a smaller offset",
            target.path
        )));
    }
    let some: String = content
        .split_inclusive('\n')
        .skip(offset.saturating_sub(1))
        .take(limit)
        .collect();
    Ok(Text::plain(some))
}
