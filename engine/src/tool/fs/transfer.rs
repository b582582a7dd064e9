//! `mv` and `cp`: a file or a folder with everything in it, from one place to another.

use std::sync::Arc;

use async_trait::async_trait;
use placet_ledger::permit::{Granted, Permit};
use placet_ledger::precondition::{EntryKind, Precondition};
use placet_ledger::risk::DeclaredRisk;
use serde_json::{Value, json};

use super::swap::Transfer;
use super::tree::Tree;
use super::write::writable;
use super::{Current, Files, Words, counted, flag, is_reserved, source, text};
use crate::diff::unified;
use crate::stop::Halt;
use crate::tool::{
    Draft, ExecuteTool, Interrupted, Output, ProposeTool, Reconciled, ToolError, reading, writing,
};
use crate::workspace::{PathError, Target, join};

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    /// `mv`.
    Move,
    /// `cp`.
    Copy,
}

impl Verb {
    fn imperative(self) -> &'static str {
        match self {
            Self::Move => "Move",
            Self::Copy => "Copy",
        }
    }

    /// For messages that continue a sentence.
    fn infinitive(self) -> &'static str {
        match self {
            Self::Move => "move",
            Self::Copy => "copy",
        }
    }

    fn past(self) -> &'static str {
        match self {
            Self::Move => "moved",
            Self::Copy => "copied",
        }
    }

    /// As `git` begins such a diff.
    fn header(self, from: &str, to: &str) -> String {
        let verb = match self {
            Self::Move => "rename",
            Self::Copy => "copy",
        };
        format!("{verb} from {from}\n{verb} to {to}\n")
    }

    pub(super) fn spec(self) -> Words {
        let (name, description) = match self {
            Self::Move => (
                "mv",
                "Move or rename a file of the workspace; with `recursive`, a folder and everything \
                 in it. `to` is the new path itself, not a folder to move into. An existing file is \
                 replaced only with `overwrite`, a folder never.",
            ),
            Self::Copy => (
                "cp",
                "Copy a file of the workspace; with `recursive`, a folder and everything in it. `to` \
                 is the new path itself, not a folder to copy into. An existing file is replaced only \
                 with `overwrite`, a folder never.",
            ),
        };
        Words {
            name,
            description,
            schema: json!({
                "type": "object",
                "properties": {
                    "from": {"type": "string", "minLength": 1},
                    "to": {"type": "string", "minLength": 1},
                    "recursive": {"type": "boolean", "default": false},
                    "overwrite": {"type": "boolean", "default": false},
                },
                "required": ["from", "to"],
                "additionalProperties": false,
            }),
            risk: DeclaredRisk::HighRisk,
        }
    }
}

/// Both halves of either.
#[derive(Debug, Clone)]
pub(super) struct Transferring {
    pub(super) files: Arc<Files>,
    pub(super) verb: Verb,
}

#[async_trait]
impl ProposeTool for Transferring {
    async fn propose(&self, arguments: &Value) -> Result<Draft, ToolError> {
        let files = Arc::clone(&self.files);
        let verb = self.verb;
        let arguments = arguments.clone();
        reading(move || draft(&files, verb, &arguments)).await
    }
}

/// What goes.
enum Source {
    File(Current),
    Tree(Tree),
}

/// What is said of a proposal.
struct Said {
    message: String,
    preview: String,
}

pub(super) fn draft(files: &Files, verb: Verb, arguments: &Value) -> Result<Draft, ToolError> {
    let recursive = flag(arguments, "recursive", false);
    let overwrite = flag(arguments, "overwrite", false);
    let from = source(files, text(arguments, "from")?, recursive)?;
    let there = Source::read(files, verb, &from, recursive)?;
    let to = writable(files, text(arguments, "to")?)?;
    if from.path == to.path {
        return Err(ToolError::failed(format!(
            "{} is the same path twice: nothing would change",
            from.path
        )));
    }
    there.may_go(files, verb, &from, &to)?;
    let replaced = replaced(files, &from, &to, overwrite)?;
    let said = match (&there, &replaced) {
        (Source::Tree(_), Some(_)) => {
            return Err(ToolError::failed(format!(
                "{} is a file, and a folder replaces nothing: choose another path",
                to.path
            )));
        }
        (Source::Tree(tree), None) => tree_said(verb, &from, &to, tree),
        (Source::File(file), None) => file_said(verb, &from, &to, file),
        (Source::File(file), Some(old)) => {
            replacement_said(files, verb, (&from, file), (&to, old))?
        }
    };
    let target = match &replaced {
        Some(old) => old.precondition(&files.workspace, &to),
        None => Precondition::Absent {
            missing: 0,
            parent: to.folder.node,
            path: to.path.clone(),
            root: files.workspace.root(),
        },
    };
    // The flags stand only where they matter: a call cannot look like another one by them.
    let arguments = json!({
        "from": from.path,
        "overwrite": replaced.is_some(),
        "recursive": matches!(there, Source::Tree(_)),
        "to": to.path,
    });
    Ok(Draft {
        execute_arguments: arguments.clone(),
        arguments,
        message: said.message,
        preview: Some(said.preview),
        precondition: Precondition::Transfer {
            source: Box::new(match &there {
                Source::File(file) => file.precondition(&files.workspace, &from),
                Source::Tree(tree) => tree.precondition(&files.workspace, &from),
            }),
            target: Box::new(target),
        },
        known_as: Vec::new(),
        process: None,
    })
}

impl Source {
    fn read(files: &Files, verb: Verb, from: &Target, recursive: bool) -> Result<Self, ToolError> {
        match files.workspace.open_file(from) {
            Ok(_) => Ok(Self::File(Current::read(&files.workspace, from)?)),
            Err(PathError::Folder(_)) if recursive => Ok(Self::Tree(Tree::named(
                &files.workspace,
                &from.folder,
                &from.name,
            )?)),
            Err(PathError::Folder(path)) => Err(ToolError::failed(format!(
                "{path} is a folder{}: set recursive to {} it and everything in it",
                Tree::size(&files.workspace, from),
                verb.infinitive()
            ))),
            Err(error) => Err(error.into()),
        }
    }

    /// Refuses what no tool hands on, and what has no other place to go.
    fn may_go(
        &self,
        files: &Files,
        verb: Verb,
        from: &Target,
        to: &Target,
    ) -> Result<(), ToolError> {
        let tree = match self {
            Self::File(file) => return file.replaceable(&from.path),
            Self::Tree(tree) => tree,
        };
        if tree.folders.contains(&to.folder.node) {
            return Err(ToolError::failed(format!(
                "{} lies inside {}, and a folder cannot be {} into itself",
                to.path,
                from.path,
                verb.past()
            )));
        }
        if let Some(special) = tree.special(&from.path) {
            return Err(ToolError::refused(format!(
                "{special} has set-id or sticky bits, and no tool hands those on"
            )));
        }
        if verb == Verb::Move {
            return Ok(());
        }
        for item in &tree.items {
            let path = join(&from.path, &item.entry.path);
            let name = item.entry.path.rsplit('/').next().unwrap_or_default();
            if is_reserved(name) {
                return Err(PathError::Reserved(path).into());
            }
            let leads_to = item.leads_to.as_deref().unwrap_or_default();
            let stays = stays_inside(&join(&to.path, &item.entry.path), leads_to);
            if item.entry.kind == EntryKind::Link && !(stays && files.workspace.leads_inside(&path))
            {
                return Err(ToolError::refused(format!(
                    "{path} is a symbolic link to no place inside the workspace, and such links are \
                     not copied"
                )));
            }
        }
        Ok(())
    }
}

/// Whether a link at `path` would lead to a place inside, name by name.
fn stays_inside(path: &str, leads_to: &str) -> bool {
    let mut depth = path.matches('/').count();
    if leads_to.starts_with('/') {
        return false;
    }
    for name in leads_to.split('/') {
        match name {
            "" | "." => {}
            ".." => match depth.checked_sub(1) {
                Some(above) => depth = above,
                None => return false,
            },
            _ => depth = depth.saturating_add(1),
        }
    }
    true
}

/// The file that has the new name already, if it may be replaced.
fn replaced(
    files: &Files,
    from: &Target,
    to: &Target,
    overwrite: bool,
) -> Result<Option<Current>, ToolError> {
    if to.is_absent() {
        return Ok(None);
    }
    let old = match files.workspace.open_file(to) {
        Err(PathError::Folder(path)) => {
            return Err(ToolError::failed(format!(
                "{path} is a folder, and no folder is replaced: name the new path itself, such as {}",
                join(&path, &from.name)
            )));
        }
        Err(error) => return Err(error.into()),
        Ok(_) => Current::read(&files.workspace, to)?,
    };
    if !overwrite {
        return Err(ToolError::failed(format!(
            "there is a file {} already: set overwrite to replace it",
            to.path
        )));
    }
    old.replaceable(&to.path)?;
    Ok(Some(old))
}

fn file_said(verb: Verb, from: &Target, to: &Target, file: &Current) -> Said {
    let bytes = counted(file.bytes.len());
    let (from, to) = (&from.path, &to.path);
    let content = match (verb, file.text(from)) {
        // Nothing is in another file than before.
        (Verb::Move, _) => String::new(),
        (Verb::Copy, Ok(content)) => unified(to, None, Some(content)).text,
        (Verb::Copy, Err(_)) => format!("--- /dev/null\n+++ b/{to}\nBinary file, {bytes}.\n"),
    };
    let links = match (verb, file.opened.links) {
        (Verb::Copy, _) | (Verb::Move, 0 | 1) => String::new(),
        (Verb::Move, links) => format!(" It has {links} hard links; its other names stay."),
    };
    Said {
        message: format!(
            "{} {from} to {to} ({bytes}, mode {:o}).{links}",
            verb.imperative(),
            file.opened.mode
        ),
        preview: verb.header(from, to) + &content,
    }
}

fn replacement_said(
    files: &Files,
    verb: Verb,
    (from, file): (&Target, &Current),
    (to, old): (&Target, &Current),
) -> Result<Said, ToolError> {
    if file.opened.node == old.opened.node {
        return Err(ToolError::failed(format!(
            "{} and {} are two names of one file: nothing would change",
            from.path, to.path
        )));
    }
    if verb == Verb::Copy && file.bytes == old.bytes {
        return Err(ToolError::failed(format!(
            "{} has exactly the content of {} already: nothing would change",
            to.path, from.path
        )));
    }
    let texts = old.text(&to.path).ok().zip(file.text(&from.path).ok());
    let (change, content) = if let Some((before, after)) = texts {
        let diff = unified(&to.path, Some(before), Some(after));
        (diff.summary(), diff.text)
    } else {
        let (before, after) = (counted(old.bytes.len()), counted(file.bytes.len()));
        let change = format!("binary, {before} before and {after} after");
        let content = format!(
            "--- a/{path}\n+++ b/{path}\nBinary files: {before} before, {after} after.\n",
            path = to.path
        );
        (change, content)
    };
    let mode = match verb {
        Verb::Copy => String::new(),
        Verb::Move if old.opened.mode == file.opened.mode => String::new(),
        Verb::Move => format!(
            " Its mode becomes {:o}, from {:o}.",
            file.opened.mode, old.opened.mode
        ),
    };
    Ok(Said {
        message: format!(
            "{} {} over the existing file {}: {change}.{mode}{}",
            verb.imperative(),
            from.path,
            to.path,
            files.notes(old)
        ),
        preview: verb.header(&from.path, &to.path) + &content,
    })
}

fn tree_said(verb: Verb, from: &Target, to: &Target, tree: &Tree) -> Said {
    let mark = match verb {
        Verb::Move => ' ',
        Verb::Copy => '+',
    };
    Said {
        message: format!(
            "{} the folder {} with everything in it to {} ({}).",
            verb.imperative(),
            from.path,
            to.path,
            tree.summary()
        ),
        preview: verb.header(&format!("{}/", from.path), &format!("{}/", to.path))
            + &tree.lines(mark),
    }
}

/// Whether what was granted is what was allowed by its arguments.
fn has_leave(granted: &Granted) -> Result<(), ToolError> {
    let Some(Precondition::Transfer { source, target }) = &granted.precondition else {
        return Ok(());
    };
    let is_tree = matches!(**source, Precondition::Tree { .. });
    let replaces = !matches!(**target, Precondition::Absent { .. });
    if (is_tree && !flag(&granted.arguments, "recursive", false))
        || (replaces && !flag(&granted.arguments, "overwrite", false))
    {
        return Err(ToolError::failed(
            "the call has no leave for a folder, or to replace a file",
        ));
    }
    Ok(())
}

#[async_trait]
impl ExecuteTool for Transferring {
    async fn execute(&self, permit: Permit, _: &Halt) -> Result<Output, ToolError> {
        let files = Arc::clone(&self.files);
        let verb = self.verb;
        let granted: Granted = permit.spend();
        let result = writing(move || {
            has_leave(&granted)?;
            let call = (granted.run, granted.call);
            let precondition = granted.precondition.as_ref();
            let transfer = Transfer::new(&files, call, &granted.arguments, precondition)?;
            match verb {
                Verb::Move => transfer.relocate(),
                Verb::Copy => transfer.copy(),
            }
        })
        .await?;
        Ok(Output::of(result))
    }

    async fn reconcile(&self, interrupted: Interrupted<'_>) -> Result<Reconciled, ToolError> {
        let files = Arc::clone(&self.files);
        let verb = self.verb;
        let call = (interrupted.run, interrupted.call);
        let arguments = interrupted.arguments.clone();
        let precondition = interrupted.precondition.cloned();
        writing(move || {
            let transfer = Transfer::new(&files, call, &arguments, precondition.as_ref())?;
            match verb {
                Verb::Move => transfer.reconcile_relocate(),
                Verb::Copy => transfer.reconcile_copy(),
            }
        })
        .await
    }
}
