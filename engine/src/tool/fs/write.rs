//! `write_file`: a new file, or new content for one.

use std::sync::Arc;

use async_trait::async_trait;
use placet_ledger::permit::{Granted, Permit};
use placet_ledger::precondition::Precondition;
use placet_ledger::risk::DeclaredRisk;
use serde_json::{Value, json};

use super::swap::Job;
use super::{Current, Files, Words, fits, is_reserved, text};
use crate::diff::{Diff, unified};
use crate::stop::Halt;
use crate::tool::{
    Draft, ExecuteTool, Interrupted, Output, ProposeTool, Reconciled, ToolError, reading, writing,
};
use crate::workspace::{PathError, Target};

pub(super) fn spec() -> Words {
    Words {
        name: "write_file",
        description: "Write a text file of the workspace: creates it, or replaces its whole content.",
        schema: json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1},
                "content": {"type": "string"},
            },
            "required": ["content", "path"],
            "additionalProperties": false,
        }),
        risk: DeclaredRisk::HighRisk,
    }
}

/// The visible half.
#[derive(Debug, Clone)]
pub(super) struct WriteFile(pub(super) Arc<Files>);

#[async_trait]
impl ProposeTool for WriteFile {
    async fn propose(&self, arguments: &Value) -> Result<Draft, ToolError> {
        let files = Arc::clone(&self.0);
        let arguments = arguments.clone();
        reading(move || draft(&files, &arguments)).await
    }
}

pub(super) fn draft(files: &Files, arguments: &Value) -> Result<Draft, ToolError> {
    let content = text(arguments, "content")?;
    let target = writable(files, text(arguments, "path")?)?;
    fits(&target.path, content.len())?;
    // Asked first: what is not there would be looked for among the names of the whole folder.
    let (message, diff, precondition) = if target.is_absent() {
        creation(files, &target, content)
    } else {
        let current = Current::read(&files.workspace, &target)?;
        let diff = replacement(&current, &target, content)?;
        let message = format!(
            "Write {}: {}.{}",
            target.path,
            diff.summary(),
            files.notes(&current)
        );
        let precondition = current.precondition(&files.workspace, &target);
        (message, diff, precondition)
    };
    let arguments = json!({"content": content, "path": target.path});
    Ok(Draft {
        execute_arguments: arguments.clone(),
        arguments,
        message,
        preview: Some(diff.text),
        precondition,
        known_as: Vec::new(),
        process: None,
    })
}

/// The place of a file that may be written.
pub(super) fn writable(files: &Files, path: &str) -> Result<Target, ToolError> {
    let target = files.workspace.target(path)?;
    if is_reserved(&target.name) {
        return Err(PathError::Reserved(target.path).into());
    }
    Ok(target)
}

/// The diff of a replacement, which must change something.
pub(super) fn replacement(
    current: &Current,
    target: &Target,
    content: &str,
) -> Result<Diff, ToolError> {
    current.replaceable(&target.path)?;
    let old = current.text(&target.path)?;
    if old == content {
        return Err(ToolError::failed(format!(
            "{} has exactly this content already: nothing would change",
            target.path
        )));
    }
    Ok(unified(&target.path, Some(old), Some(content)))
}

fn creation(files: &Files, target: &Target, content: &str) -> (String, Diff, Precondition) {
    let diff = unified(&target.path, None, Some(content));
    let message = match diff.added {
        0 => format!("Create {}: an empty file.", target.path),
        1 => format!("Create {}: 1 line.", target.path),
        lines => format!("Create {}: {lines} lines.", target.path),
    };
    let precondition = Precondition::Absent {
        missing: 0,
        parent: target.folder.node,
        path: target.path.clone(),
        root: files.workspace.root(),
    };
    (message, diff, precondition)
}

/// The hidden half of writing and editing: puts a whole content in place.
#[derive(Debug, Clone)]
pub(super) struct Put(pub(super) Arc<Files>);

#[async_trait]
impl ExecuteTool for Put {
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
            job.put(text(&granted.arguments, "content")?)
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
            let job = Job::new(&files, call, &arguments, precondition.as_ref())?;
            job.reconcile_put(text(&arguments, "content")?)
        })
        .await
    }
}
