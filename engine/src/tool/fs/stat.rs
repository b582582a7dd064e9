//! `stat`: what one file, folder or link is.

use std::fmt::Write;
use std::sync::Arc;

use async_trait::async_trait;
use placet_ledger::content::Text;
use placet_ledger::permit::Permit;
use placet_ledger::risk::DeclaredRisk;
use placet_ledger::time::Timestamp;
use rustix::fs::{FileType, Stat, fstat};
use serde_json::{Value, json};

use super::{Files, Words, text};
use crate::stop::Halt;
use crate::tool::{ExecuteTool, Interrupted, Output, Reconciled, ToolError, reading};
use crate::workspace::{PathError, visible};

pub(super) fn spec() -> Words {
    Words {
        name: "stat",
        description: "Tell what a file, folder or symbolic link of the workspace is: its type, size \
                      in bytes, mode, number of hard links, time of the last change, and where a link \
                      leads. A link itself is looked at, not what it leads to.",
        schema: json!({
            "type": "object",
            "properties": {"path": {"type": "string", "minLength": 1}},
            "required": ["path"],
            "additionalProperties": false,
        }),
        risk: DeclaredRisk::ReadOnly,
    }
}

/// The tool.
#[derive(Debug, Clone)]
pub(super) struct Status(pub(super) Arc<Files>);

#[async_trait]
impl ExecuteTool for Status {
    async fn execute(&self, permit: Permit, _: &Halt) -> Result<Output, ToolError> {
        let files = Arc::clone(&self.0);
        let arguments = permit.spend().arguments;
        let result = reading(move || stat(&files, &arguments)).await?;
        Ok(Output::of(result))
    }

    /// Looking has no effect that could be half done.
    async fn reconcile(&self, _: Interrupted<'_>) -> Result<Reconciled, ToolError> {
        Ok(Reconciled::NotDone)
    }
}

pub(super) fn stat(files: &Files, arguments: &Value) -> Result<Text, ToolError> {
    let path = text(arguments, "path")?;
    let target = match files.workspace.target(path) {
        Ok(target) => target,
        // The workspace itself, or a folder that was named as one.
        Err(PathError::Folder(_) | PathError::NamesFolder(_)) => return folder(files, path),
        Err(error) => return Err(error.into()),
    };
    let found = files.workspace.look(&target)?;
    let mut lines = told(&target.path, &found);
    if FileType::from_raw_mode(found.st_mode) == FileType::Symlink {
        let _ = writeln!(lines, "leads to: {}", end_of(files, &target.path));
    }
    Ok(Text::plain(lines))
}

fn folder(files: &Files, path: &str) -> Result<Text, ToolError> {
    let folder = files.workspace.folder(path)?;
    let shown = if folder.path.is_empty() {
        "."
    } else {
        &folder.path
    };
    let found = fstat(&folder.dir).map_err(|errno| PathError::io("look at", shown, errno))?;
    Ok(Text::plain(told(shown, &found)))
}

fn told(path: &str, found: &Stat) -> String {
    let kind = match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => "file",
        FileType::Directory => "folder",
        FileType::Symlink => "symbolic link",
        FileType::Fifo => "pipe",
        FileType::Socket => "socket",
        FileType::CharacterDevice | FileType::BlockDevice => "device",
        FileType::Unknown => "unknown",
    };
    let micros = i64::try_from(found.st_mtime_nsec).unwrap_or(0) / 1_000;
    let changed = Timestamp::from_micros(
        found
            .st_mtime
            .saturating_mul(1_000_000)
            .saturating_add(micros),
    );
    let changed = changed.map_or_else(|| String::from("unknown"), |time| time.to_string());
    format!(
        "path: {}\ntype: {kind}\nsize: {}\nmode: {:o}\nlinks: {}\nchanged: {changed}\n",
        visible(path),
        found.st_size,
        found.st_mode & 0o7777,
        found.st_nlink,
    )
}

/// Where a link leads, if that is inside and not closed; nothing is told of any other place.
fn end_of(files: &Files, path: &str) -> String {
    let end = match files.workspace.existing(path) {
        Ok(end) => files.workspace.look(&end).map(|_| end.path),
        Err(error) => Err(error),
    };
    match end {
        Ok(path) => visible(path),
        Err(PathError::Folder(_)) => String::from("."),
        Err(PathError::Missing { .. } | PathError::MissingFolder(_) | PathError::NotFolder(_)) => {
            String::from("nothing")
        }
        Err(error) if error.is_refusal() => String::from("no place that a tool may use"),
        Err(_) => String::from("nothing that can be resolved"),
    }
}
