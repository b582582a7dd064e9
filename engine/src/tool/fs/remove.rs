//! `rm`: one regular file, or a folder with everything in it.

use std::sync::Arc;

use async_trait::async_trait;
use placet_ledger::permit::{Granted, Permit};
use placet_ledger::precondition::Precondition;
use placet_ledger::risk::DeclaredRisk;
use serde_json::{Value, json};

use super::swap::Job;
use super::tree::Tree;
use super::{Current, Files, Words, counted, flag, source, text};
use crate::diff::unified;
use crate::stop::Halt;
use crate::tool::{
    Draft, ExecuteTool, Interrupted, Output, ProposeTool, Reconciled, ToolError, reading, writing,
};
use crate::workspace::{PathError, Target};

pub(super) fn spec() -> Words {
    Words {
        name: "rm",
        description: "Remove a file of the workspace; with `recursive`, a folder and everything in it.",
        schema: json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1},
                "recursive": {"type": "boolean", "default": false},
            },
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
    let recursive = flag(arguments, "recursive", false);
    let target = source(files, text(arguments, "path")?, recursive)?;
    let current = match files.workspace.open_file(&target) {
        Err(PathError::Folder(_)) => return draft_tree(files, &target, recursive),
        Err(error) => return Err(error.into()),
        Ok(_) => Current::read(&files.workspace, &target)?,
    };
    let path = &target.path;
    let bytes = counted(current.bytes.len());
    let preview = match current.text(path) {
        Ok(old) => unified(path, Some(old), None).text,
        Err(_) => format!("--- a/{path}\n+++ /dev/null\nBinary file, {bytes}.\n"),
    };
    // A flag stands only where it matters: a call cannot look like another one by it.
    let arguments = json!({"path": path, "recursive": false});
    Ok(Draft {
        execute_arguments: arguments.clone(),
        arguments,
        message: format!("Remove {path} ({bytes}).{}", files.notes(&current)),
        preview: Some(preview),
        precondition: current.precondition(&files.workspace, &target),
        known_as: Vec::new(),
        process: None,
    })
}

fn draft_tree(files: &Files, target: &Target, recursive: bool) -> Result<Draft, ToolError> {
    let path = &target.path;
    if !recursive {
        return Err(ToolError::failed(format!(
            "{path} is a folder{}: set recursive to remove it and everything in it",
            Tree::size(&files.workspace, target)
        )));
    }
    let tree = Tree::named(&files.workspace, &target.folder, &target.name)?;
    if let Some(locked) = &tree.locked {
        return Err(ToolError::failed(format!(
            "{locked} cannot be written, so what is in it cannot be removed"
        )));
    }
    let arguments = json!({"path": path, "recursive": true});
    Ok(Draft {
        execute_arguments: arguments.clone(),
        arguments,
        message: format!(
            "Remove the folder {path} and everything in it ({}).{}",
            tree.summary(),
            tree.notes()
        ),
        preview: Some(format!("--- a/{path}/\n+++ /dev/null\n{}", tree.lines('-'))),
        precondition: tree.precondition(&files.workspace, target),
        known_as: Vec::new(),
        process: None,
    })
}

#[async_trait]
impl ExecuteTool for Remove {
    async fn execute(&self, permit: Permit, _: &Halt) -> Result<Output, ToolError> {
        let files = Arc::clone(&self.0);
        let granted: Granted = permit.spend();
        let result = writing(move || {
            let job = Job::new(
                &files,
                (granted.run, granted.call),
                &granted.arguments,
                granted.precondition.as_ref(),
            )?;
            let is_tree = matches!(granted.precondition, Some(Precondition::Tree { .. }));
            if is_tree && !flag(&granted.arguments, "recursive", false) {
                return Err(ToolError::failed(
                    "the call has no leave to remove a folder",
                ));
            }
            job.remove()
        })
        .await?;
        Ok(Output::of(result))
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
