//! `ls`: the entries of one folder, sorted, with type and size.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write;
use std::sync::Arc;

use async_trait::async_trait;
use placet_ledger::content::Text;
use placet_ledger::permit::Permit;
use placet_ledger::precondition::NodeId;
use placet_ledger::risk::DeclaredRisk;
use rustix::fs::{AtFlags, FileType, Stat, statat};
use serde_json::{Value, json};

use super::{Files, Words};
use crate::stop::Halt;
use crate::tool::{ExecuteTool, Interrupted, Output, Reconciled, ToolError, reading};
use crate::workspace::{Folder, PathError, Workspace, visible};

/// Entries in one listing: more would fill a model's context without being read.
const ENTRIES_MAX: usize = 1_000;

pub(super) fn spec() -> Words {
    Words {
        name: "ls",
        description: "List a folder of the workspace: one entry a line, with its type (d folder, - \
                      file, l symbolic link, ? other), its size in bytes and its name.",
        schema: json!({
            "type": "object",
            "properties": {"path": {"type": "string", "minLength": 1, "default": "."}},
            "additionalProperties": false,
        }),
        risk: DeclaredRisk::ReadOnly,
    }
}

/// The tool.
#[derive(Debug, Clone)]
pub(super) struct List(pub(super) Arc<Files>);

#[async_trait]
impl ExecuteTool for List {
    async fn execute(&self, permit: Permit, _: &Halt) -> Result<Output, ToolError> {
        let files = Arc::clone(&self.0);
        let arguments = permit.spend().arguments;
        let result = reading(move || list(&files, &arguments)).await?;
        Ok(Output::of(result))
    }

    /// Listing has no effect that could be half done.
    async fn reconcile(&self, _: Interrupted<'_>) -> Result<Reconciled, ToolError> {
        Ok(Reconciled::NotDone)
    }
}

pub(super) fn list(files: &Files, arguments: &Value) -> Result<Text, ToolError> {
    let path = arguments.get("path").and_then(Value::as_str).unwrap_or(".");
    let folder = files.workspace.folder(path)?;
    let wrong = |error| PathError::io("list", path, error);
    let mut names = BTreeSet::new();
    let mut left_out = 0_usize;
    let mut closed = Closed::default();
    for entry in folder.dir.entries().map_err(wrong)? {
        let name = entry.map_err(wrong)?.file_name();
        // Gone by now, or not to be known of.
        let Some(found) = look(&folder, &name) else {
            continue;
        };
        if closed.hides(&files.workspace, &folder.path, &found)? {
            continue;
        }
        names.insert(name);
        // Kept small here: a folder may hold millions of entries.
        if names.len() > ENTRIES_MAX && names.pop_last().is_some() {
            left_out = left_out.saturating_add(1);
        }
    }
    let mut lines: String = names
        .iter()
        .filter_map(|name| Some(line(name, &look(&folder, name)?)))
        .collect();
    if left_out > 0 {
        // Writing to a string does not fail.
        let _ = writeln!(lines, "... and {left_out} more entries, left out");
    }
    if lines.is_empty() {
        lines.push_str("(empty)\n");
    }
    Ok(Text::plain(lines))
}

/// The closed nodes, listed once.
#[derive(Debug, Default)]
pub(super) struct Closed(Option<BTreeSet<NodeId>>);

impl Closed {
    /// Whether an entry of the folder at `path` is closed.
    pub(super) fn hides(
        &mut self,
        workspace: &Workspace,
        path: &str,
        found: &Stat,
    ) -> Result<bool, ToolError> {
        let node = NodeId {
            device: found.st_dev,
            inode: found.st_ino,
        };
        if workspace.is_closed(node) {
            return Ok(true);
        }
        if self.0.is_none() {
            self.0 = Some(workspace.closed_now(path)?);
        }
        Ok(self.0.as_ref().is_some_and(|closed| closed.contains(&node)))
    }
}

/// What an entry is; `None` if it is gone by now.
pub(super) fn look(folder: &Folder, name: &OsStr) -> Option<Stat> {
    statat(&folder.dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()
}

fn line(name: &OsStr, found: &Stat) -> String {
    let mark = match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory => 'd',
        FileType::RegularFile => '-',
        FileType::Symlink => 'l',
        _ => '?',
    };
    format!("{mark} {:>10} {}\n", found.st_size, visible(name))
}
