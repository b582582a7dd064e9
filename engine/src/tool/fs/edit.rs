//! `edit_file`: one text of a file replaced by another.
//!
//! The executing half is that of `write_file`: what it gets is the whole new content.

use std::sync::Arc;

use async_trait::async_trait;
use placet_ledger::risk::DeclaredRisk;
use serde_json::{Value, json};

use super::write::{replacement, writable};
use super::{Current, Files, Words, fits, text};
use crate::tool::{Draft, ProposeTool, ToolError, reading};

/// Line numbers in an error: enough to find what tells the places apart.
const PLACES_SHOWN: usize = 10;

pub(super) fn spec() -> Words {
    Words {
        name: "edit_file",
        description: "Replace a text in a file of the workspace. `old_text` must occur exactly once, \
                      character by character, unless `replace_all` is true.",
        schema: json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1},
                "old_text": {"type": "string"},
                "new_text": {"type": "string"},
                "replace_all": {"type": "boolean", "default": false},
            },
            "required": ["new_text", "old_text", "path"],
            "additionalProperties": false,
        }),
        risk: DeclaredRisk::HighRisk,
    }
}

/// The visible half.
#[derive(Debug, Clone)]
pub(super) struct EditFile(pub(super) Arc<Files>);

#[async_trait]
impl ProposeTool for EditFile {
    async fn propose(&self, arguments: &Value) -> Result<Draft, ToolError> {
        let files = Arc::clone(&self.0);
        let arguments = arguments.clone();
        reading(move || draft(&files, &arguments)).await
    }
}

pub(super) fn draft(files: &Files, arguments: &Value) -> Result<Draft, ToolError> {
    let old_text = text(arguments, "old_text")?;
    let new_text = text(arguments, "new_text")?;
    let replace_all = arguments
        .get("replace_all")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    if old_text.is_empty() {
        return Err(ToolError::failed(
            "old_text is empty: send the text to replace, or use write_file for the whole content",
        ));
    }
    if old_text == new_text {
        return Err(ToolError::failed(
            "old_text and new_text are the same: nothing would change",
        ));
    }
    let target = writable(files, text(arguments, "path")?)?;
    let current = Current::read(&files.workspace, &target)?;
    let content = current.text(&target.path)?;
    let count = content.matches(old_text).count();
    match count {
        0 => return Err(not_found(&target.path, content, old_text)),
        1 if overlaps(content, old_text) => {
            return Err(not_unique(&target.path, content, old_text, 2));
        }
        1 => {}
        _ if replace_all => {}
        _ => return Err(not_unique(&target.path, content, old_text, count)),
    }
    // Checked before it is built, since few bytes may stand for many places.
    let grown = new_text.len().saturating_mul(count);
    let kept = content
        .len()
        .saturating_sub(old_text.len().saturating_mul(count));
    fits(&target.path, grown.saturating_add(kept))?;
    let edited = content.replace(old_text, new_text);
    let diff = replacement(&current, &target, &edited)?;
    let at = match count {
        1 => String::new(),
        _ => format!(" in {count} places"),
    };
    Ok(Draft {
        arguments: json!({
            "new_text": new_text,
            "old_text": old_text,
            "path": target.path,
            // Stands only where it matters: a call cannot look like another one by it.
            "replace_all": count > 1,
        }),
        execute_arguments: json!({"content": edited, "path": target.path}),
        message: format!(
            "Edit {}{at}: {}.{}",
            target.path,
            diff.summary(),
            files.notes(&current)
        ),
        preview: Some(diff.text),
        precondition: current.precondition(&files.workspace, &target),
        known_as: Vec::new(),
        process: None,
    })
}

/// Whether a text that occurs once also occurs across itself, as `aa` does in `aaa`: an edit of
/// one of the two places would be a guess.
fn overlaps(content: &str, text: &str) -> bool {
    let step = text.chars().next().map_or(1, char::len_utf8);
    content
        .find(text)
        .and_then(|at| content.get(at.saturating_add(step)..))
        .is_some_and(|rest| rest.contains(text))
}

fn not_unique(path: &str, content: &str, text: &str, count: usize) -> ToolError {
    let mut lines = Vec::new();
    let (mut line, mut from) = (1_usize, 0_usize);
    for (at, _) in content.match_indices(text).take(PLACES_SHOWN) {
        let between = content.get(from..at).unwrap_or_default();
        line = line.saturating_add(between.matches('\n').count());
        from = at;
        lines.push(line.to_string());
    }
    let more = if count > PLACES_SHOWN { ", ..." } else { "" };
    ToolError::failed(format!(
        "old_text occurs {count} times in {path} (lines {}{more}): send more of the text around it, \
         or replace_all",
        lines.join(", ")
    ))
}

fn not_found(path: &str, content: &str, old_text: &str) -> ToolError {
    let unix = |text: &str| text.replace("\r\n", "\n");
    let dense = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted = dense(old_text);
    let hint = if unix(content).contains(&unix(old_text)) {
        let ends = if content.contains("\r\n") {
            "CRLF"
        } else {
            "LF"
        };
        format!("it differs in line endings, which are {ends} in the file")
    } else if !wanted.is_empty() && dense(content).contains(&wanted) {
        "a text that differs only in white space does occur: copy it exactly".to_owned()
    } else {
        "read the file again and copy the text exactly".to_owned()
    };
    ToolError::failed(format!("old_text does not occur in {path}: {hint}"))
}
