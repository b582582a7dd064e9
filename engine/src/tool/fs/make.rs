//! `mkdir`: one folder, with those above it if that is asked for.

use std::fmt::Write;
use std::sync::Arc;

use async_trait::async_trait;
use placet_ledger::permit::{Granted, Permit};
use placet_ledger::precondition::Precondition;
use placet_ledger::risk::DeclaredRisk;
use serde_json::{Value, json};

use super::swap::Job;
use super::{Files, Words, flag, is_reserved, text};
use crate::stop::Halt;
use crate::tool::{
    Draft, ExecuteTool, Interrupted, Output, ProposeTool, Reconciled, ToolError, reading, writing,
};
use crate::workspace::{Folder, PathError, join};

pub(super) fn spec() -> Words {
    Words {
        name: "mkdir",
        description: "Make a folder in the workspace; with `parents`, also those above it that are \
                      missing.",
        schema: json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1},
                "parents": {"type": "boolean", "default": false},
            },
            "required": ["path"],
            "additionalProperties": false,
        }),
        risk: DeclaredRisk::HighRisk,
    }
}

/// Both halves.
#[derive(Debug, Clone)]
pub(super) struct MakeFolder(pub(super) Arc<Files>);

#[async_trait]
impl ProposeTool for MakeFolder {
    async fn propose(&self, arguments: &Value) -> Result<Draft, ToolError> {
        let files = Arc::clone(&self.0);
        let arguments = arguments.clone();
        reading(move || draft(&files, &arguments)).await
    }
}

pub(super) fn draft(files: &Files, arguments: &Value) -> Result<Draft, ToolError> {
    let path = bare(text(arguments, "path")?);
    let parents = flag(arguments, "parents", false);
    let (above, names) = site(files, path, parents)?;
    for name in &names {
        if is_reserved(name) {
            return Err(PathError::Reserved(join(&above.path, &names.join("/"))).into());
        }
    }
    let path = join(&above.path, &names.join("/"));
    let mut preview = String::from("--- /dev/null\n");
    let mut here = above.path.clone();
    for name in &names {
        here = join(&here, name);
        // Writing to a string does not fail.
        let _ = writeln!(preview, "+folder {here}/");
    }
    let with = match names.len() {
        0 | 1 => String::new(),
        2 => String::from(", with the folder above it"),
        count => format!(", with {} folders above it", count.saturating_sub(1)),
    };
    let missing = u64::try_from(names.len().saturating_sub(1)).unwrap_or(u64::MAX);
    // The flag stands only where it matters: a call cannot look like another one by it.
    let arguments = json!({"parents": names.len() > 1, "path": path});
    Ok(Draft {
        execute_arguments: arguments.clone(),
        arguments,
        message: format!("Make the folder {path}{with}."),
        preview: Some(preview),
        precondition: Precondition::Absent {
            missing,
            parent: above.node,
            path,
            root: files.workspace.root(),
        },
        known_as: Vec::new(),
        process: None,
    })
}

/// A folder's path without slashes and dots at its end.
fn bare(path: &str) -> &str {
    let mut bare = path;
    loop {
        let shorter = bare.strip_suffix('/').or_else(|| bare.strip_suffix("/."));
        match shorter {
            Some(shorter) if !shorter.is_empty() => bare = shorter,
            Some(_) | None => return bare,
        }
    }
}

/// The innermost folder that is there, and the names that are missing beneath it.
fn site(files: &Files, path: &str, parents: bool) -> Result<(Folder, Vec<String>), ToolError> {
    let mut missing = Vec::new();
    let mut rest = path;
    loop {
        let target = match files.workspace.target(rest) {
            Ok(target) => target,
            Err(PathError::MissingFolder(_)) if parents => {
                let (above, name) = rest.rsplit_once('/').unwrap_or(("", rest));
                match name {
                    ".." => return Err(PathError::NamesFolder(path.to_owned()).into()),
                    name => missing.push(name.to_owned()),
                }
                rest = bare(above);
                continue;
            }
            Err(PathError::Folder(_) | PathError::NamesFolder(_)) if missing.is_empty() => {
                return Err(ToolError::failed(format!(
                    "{path} names a folder that is there: nothing would change"
                )));
            }
            Err(error) => return Err(error.into()),
        };
        if !target.is_absent() {
            files.workspace.look(&target)?;
            return Err(ToolError::failed(format!(
                "there is something named {} already",
                target.path
            )));
        }
        missing.push(target.name);
        missing.reverse();
        return Ok((target.folder, missing));
    }
}

#[async_trait]
impl ExecuteTool for MakeFolder {
    async fn execute(&self, permit: Permit, _: &Halt) -> Result<Output, ToolError> {
        let files = Arc::clone(&self.0);
        let granted: Granted = permit.spend();
        let result = writing(move || {
            let call = (granted.run, granted.call);
            let precondition = granted.precondition.as_ref();
            Job::new(&files, call, &granted.arguments, precondition)?.make_folder()
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
            Job::new(&files, call, &arguments, precondition.as_ref())?.reconcile_folder()
        })
        .await
    }
}
