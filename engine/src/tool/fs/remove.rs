//! `rm`: one regular file.

use std::sync::Arc;

use async_trait::async_trait;
use placet_ledger::permit::{Granted, Permit};
use placet_ledger::risk::DeclaredRisk;
use serde_json::{Value, json};

use super::swap::Job;
use super::{Current, Files, Words, text};
use crate::diff::unified;
use crate::tool::{
    Draft, ExecuteTool, Interrupted, Output, ProposeTool, Reconciled, ToolError, reading, writing,
};
use crate::workspace::PathError;

pub(super) fn spec() -> Words {
    Words {
        name: "rm",
        description: "Remove a file of the workspace. Folders cannot be removed.",
        schema: json!({
            "type": "object",
            "properties": {"path": {"type": "string", "minLength": 1}},
            "required": ["path"],
            "additionalProperties": false,
        }),
        risk: DeclaredRisk::HighRisk,
    }
}

/// Both halves.
#[derive(Debug, Clone)]
pub(super) struct Remove(pub(super) Arc<Files>);

#[async_trait]
impl ProposeTool for Remove {
    async fn propose(&self, arguments: &Value) -> Result<Draft, ToolError> {
        let files = Arc::clone(&self.0);
        let arguments = arguments.clone();
        reading(move || draft(&files, &arguments)).await
    }
}

pub(super) fn draft(files: &Files, arguments: &Value) -> Result<Draft, ToolError> {
    let target = files.workspace.target(text(arguments, "path")?)?;
    let current = match files.workspace.open_file(&target) {
        Err(PathError::Folder(path)) => {
            return Err(ToolError::failed(format!(
                "{path} is a folder: rm removes single files, and recursive removal is not available"
            )));
        }
        Err(error) => return Err(error.into()),
        Ok(_) => Current::read(&files.workspace, &target)?,
    };
    let path = &target.path;
    let bytes = match current.bytes.len() {
        1 => "1 byte".to_owned(),
        bytes => format!("{bytes} bytes"),
    };
    let preview = match current.text(path) {
        Ok(old) => unified(path, Some(old), None).text,
        Err(_) => format!("--- a/{path}\n+++ /dev/null\nBinary file, {bytes}.\n"),
    };
    let arguments = json!({"path": path});
    Ok(Draft {
        execute_arguments: arguments.clone(),
        arguments,
        message: format!("Remove {path} ({bytes}).{}", files.notes(&current)),
        preview: Some(preview),
        precondition: current.precondition(&files.workspace, &target),
    })
}

#[async_trait]
impl ExecuteTool for Remove {
    async fn execute(&self, permit: Permit) -> Result<Output, ToolError> {
        let files = Arc::clone(&self.0);
        let granted: Granted = permit.spend();
        let result = writing(move || {
            Job::new(
                &files,
                (granted.run, granted.call),
                &granted.arguments,
                granted.precondition.as_ref(),
            )?
            .remove()
        })
        .await?;
        Ok(Output { result })
    }

    async fn reconcile(&self, interrupted: Interrupted<'_>) -> Result<Reconciled, ToolError> {
        let files = Arc::clone(&self.0);
        let call = (interrupted.run, interrupted.call);
        let arguments = interrupted.arguments.clone();
        let precondition = interrupted.precondition.cloned();
        writing(move || {
            Job::new(&files, call, &arguments, precondition.as_ref())?.reconcile_remove()
        })
        .await
    }
}
