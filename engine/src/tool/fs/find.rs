//! `find`: the paths beneath a folder, by glob and by type.

use std::fmt::Write;
use std::sync::Arc;

use async_trait::async_trait;
use globset::{GlobBuilder, GlobMatcher};
use placet_ledger::content::Text;
use placet_ledger::permit::Permit;
use placet_ledger::risk::DeclaredRisk;
use rustix::fs::FileType;
use serde_json::{Value, json};

use super::walk::{Entry, Patience, Rules, Walk};
use super::{Files, Words};
use crate::stop::Halt;
use crate::tool::{Awaited, ExecuteTool, Interrupted, Output, Reconciled, ToolError, searching};

/// Paths in one answer: more would fill a model's context without being read.
const PATHS_MAX: usize = 1_000;

/// Characters of a glob; a longer one is no question about names.
const GLOB_CHARS_MAX: usize = 1_000;

pub(super) fn spec() -> Words {
    Words {
        name: "find",
        description: "Find files and folders beneath a folder of the workspace, one path a line; a \
                      folder ends in a slash. `glob` is compared with the name, or with the path \
                      beneath the folder if it holds a slash. Symbolic links are not followed; what \
                      .gitignore names and .git are passed over unless `gitignore` is false and \
                      `git` is true.",
        schema: json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1, "default": "."},
                "glob": {"type": "string", "minLength": 1, "maxLength": GLOB_CHARS_MAX},
                "type": {"enum": ["any", "file", "folder", "link"], "default": "any"},
                "gitignore": {"type": "boolean", "default": true},
                "git": {"type": "boolean", "default": false},
            },
            "additionalProperties": false,
        }),
        risk: DeclaredRisk::ReadOnly,
    }
}

/// The tool.
#[derive(Debug, Clone)]
pub(super) struct Find(pub(super) Arc<Files>);

#[async_trait]
impl ExecuteTool for Find {
    async fn execute(&self, permit: Permit, _: &Halt) -> Result<Output, ToolError> {
        let files = Arc::clone(&self.0);
        let arguments = permit.spend().arguments;
        let result = searching(move |awaited| find(&files, &arguments, awaited)).await?;
        Ok(Output::of(result))
    }

    /// Looking has no effect that could be half done.
    async fn reconcile(&self, _: Interrupted<'_>) -> Result<Reconciled, ToolError> {
        Ok(Reconciled::NotDone)
    }
}

/// A glob as `find` and `grep` take it.
#[derive(Debug)]
pub(super) struct Glob {
    matcher: GlobMatcher,
    whole_path: bool,
}

impl Glob {
    /// That of the argument `glob`, if there is one.
    pub(super) fn read(arguments: &Value) -> Result<Option<Self>, ToolError> {
        arguments
            .get("glob")
            .and_then(Value::as_str)
            .map(Self::new)
            .transpose()
    }

    fn new(text: &str) -> Result<Self, ToolError> {
        if text.chars().count() > GLOB_CHARS_MAX {
            return Err(ToolError::failed(format!(
                "the glob has more than {GLOB_CHARS_MAX} characters: send a shorter one"
            )));
        }
        let glob = GlobBuilder::new(text)
            .literal_separator(true)
            .build()
            .map_err(|error| {
                ToolError::failed(format!(
                    "the glob is none: {}: send one such as *.rs or src/**/*.toml",
                    error.kind()
                ))
            })?;
        Ok(Self {
            matcher: glob.compile_matcher(),
            whole_path: text.contains('/'),
        })
    }

    /// Whether an entry has such a name, or lies at such a path.
    pub(super) fn matches(&self, entry: &Entry<'_>) -> bool {
        if self.whole_path {
            self.matcher.is_match(entry.path)
        } else {
            self.matcher.is_match(entry.name)
        }
    }
}

pub(super) fn find(files: &Files, arguments: &Value, awaited: &Awaited) -> Result<Text, ToolError> {
    let path = arguments.get("path").and_then(Value::as_str).unwrap_or(".");
    let glob = Glob::read(arguments)?;
    let kind = match arguments.get("type").and_then(Value::as_str) {
        Some("file") => Some(FileType::RegularFile),
        Some("folder") => Some(FileType::Directory),
        Some("link") => Some(FileType::Symlink),
        Some(_) | None => None,
    };
    let start = files.workspace.folder(path)?;
    let patience = Patience::new(awaited);
    let mut lines = String::new();
    let (mut shown, mut more) = (0_usize, 0_usize);
    let left_out =
        Walk::new(files, Rules::read(arguments), &patience).run(&start, &mut |entry| {
            if kind.is_some_and(|kind| kind != entry.kind())
                || glob.as_ref().is_some_and(|glob| !glob.matches(entry))
            {
                return;
            }
            if shown == PATHS_MAX {
                more = more.saturating_add(1);
                return;
            }
            shown = shown.saturating_add(1);
            lines.push_str(&entry.shown());
            if entry.kind() == FileType::Directory {
                lines.push('/');
            }
            lines.push('\n');
        })?;
    if shown == 0 {
        lines.push_str("(nothing found)\n");
    }
    if more > 0 {
        let _ = writeln!(lines, "... and {more} more, left out");
    }
    lines.push_str(&left_out.lines());
    Ok(Text::plain(lines))
}
