//! File tools: reading and listing are plain, whatever changes a file is a pair.
//!
//! Proposing resolves the paths and computes the whole change; executing is a compare-and-swap
//! (`swap`), whether of one file, of a folder with everything in it, or from place to place.

mod alias;
mod edit;
mod find;
mod grep;
mod list;
mod make;
mod read;
mod remove;
mod stat;
mod swap;
#[cfg(test)]
mod tests;
mod transfer;
mod tree;
mod walk;
mod write;

use std::path::PathBuf;
use std::sync::Arc;

use placet_ledger::canonical;
use placet_ledger::content::Text;
use placet_ledger::digest::{Digest, Purpose, digest};
use placet_ledger::limits::CONTENT_BYTES_MAX;
use placet_ledger::precondition::Precondition;
use serde::Serialize;
use serde_json::Value;

use self::alias::Named;
use self::transfer::{Transferring, Verb};
use super::registry::{Registry, RegistryError};
use super::spec::Known;
use super::{ProposeTool, ToolError, Words};
use crate::workspace::{Exchanges, Opened, TEMPORARY_PREFIX, Target, Workspace};

/// Bits that make a program run as somebody else, or a folder sticky: no tool hands them on.
const SPECIAL_BITS: u32 = 0o7000;

/// Bits of whom a file lets write to it.
const WRITE_BITS: u32 = 0o222;

static READ: Known = Known::new(|| read::spec().build());
static LIST: Known = Known::new(|| list::spec().build());
static STAT: Known = Known::new(|| stat::spec().build());
static FIND: Known = Known::new(|| find::spec().build());
static GREP: Known = Known::new(|| grep::spec().build());
static WRITE: Known = Known::new(|| write::spec().build());
static EDIT: Known = Known::new(|| edit::spec().build());
static REMOVE: Known = Known::new(|| remove::spec().build());
static MAKE: Known = Known::new(|| make::spec().build());
static MOVE: Known = Known::new(|| Verb::Move.spec().build());
static COPY: Known = Known::new(|| Verb::Copy.spec().build());

/// Registers the tools that read, then the pairs that change, for one workspace. Lock files are
/// made in the folder `locks`, which must exist.
pub fn register_file_tools(
    registry: &mut Registry,
    workspace: Arc<Workspace>,
    locks: PathBuf,
) -> Result<(), RegistryError> {
    let files = Arc::new(Files::new(workspace, locks));
    let shared = || Arc::clone(&files);
    registry.plain(&READ, Arc::new(read::ReadFile(shared())))?;
    registry.plain(&LIST, Arc::new(list::List(shared())))?;
    registry.plain(&STAT, Arc::new(stat::Status(shared())))?;
    registry.plain(&FIND, Arc::new(find::Find(shared())))?;
    registry.plain(&GREP, Arc::new(grep::Grep(shared())))?;
    let named = |proposing: Arc<dyn ProposeTool>| {
        let files = shared();
        Arc::new(Named { files, proposing })
    };
    registry.pair(
        &WRITE,
        named(Arc::new(write::WriteFile(shared()))),
        Arc::new(write::Put(shared())),
    )?;
    registry.pair(
        &EDIT,
        named(Arc::new(edit::EditFile(shared()))),
        Arc::new(write::Put(shared())),
    )?;
    registry.pair(
        &REMOVE,
        named(Arc::new(remove::Remove(shared()))),
        Arc::new(remove::Remove(shared())),
    )?;
    registry.pair(
        &MAKE,
        named(Arc::new(make::MakeFolder(shared()))),
        Arc::new(make::MakeFolder(shared())),
    )?;
    for (known, verb) in [(&MOVE, Verb::Move), (&COPY, Verb::Copy)] {
        let tool = Arc::new(Transferring {
            files: shared(),
            verb,
        });
        registry.pair(known, named(tool.clone()), tool)?;
    }
    Ok(())
}

/// What all file tools share.
#[derive(Debug)]
struct Files {
    workspace: Arc<Workspace>,
    locks: PathBuf,
    exchanges: Exchanges,
}

impl Files {
    fn new(workspace: Arc<Workspace>, locks: PathBuf) -> Self {
        Self {
            exchanges: workspace.exchanges(),
            workspace,
            locks,
        }
    }

    /// What a person should know before a file is replaced or removed.
    fn notes(&self, current: &Current) -> String {
        let links = match current.opened.links {
            0 | 1 => String::new(),
            links => format!(
                " The file has {links} hard links; its other names keep the present content."
            ),
        };
        let exchanges = match self.exchanges {
            Exchanges::Yes => "",
            Exchanges::Perhaps | Exchanges::No => {
                " This file system may not exchange files: what another program writes at the same \
                 moment can be lost."
            }
        };
        // Changing the folder is all it takes, so that the mode stops nothing.
        let read_only = if current.opened.mode & WRITE_BITS == 0 {
            format!(" The file is read-only (mode {:o}).", current.opened.mode)
        } else {
            String::new()
        };
        links + &read_only + exchanges
    }
}

/// The text of a required argument. The schema has checked it for whoever calls through it.
fn text<'a>(arguments: &'a Value, name: &str) -> Result<&'a str, ToolError> {
    arguments
        .get(name)
        .and_then(Value::as_str)
        .ok_or_else(|| ToolError::failed(format!("the argument {name} must be a text")))
}

/// A switch among the arguments.
fn flag(arguments: &Value, name: &str, default: bool) -> bool {
    arguments
        .get(name)
        .and_then(Value::as_bool)
        .unwrap_or(default)
}

/// The place of what is removed, copied or moved. A folder may be named with a slash at the end.
fn source(files: &Files, path: &str, recursive: bool) -> Result<Target, ToolError> {
    let bare = path.trim_end_matches('/');
    if !recursive || bare.is_empty() || bare == path {
        return Ok(files.workspace.target(path)?);
    }
    let target = files.workspace.target(bare)?;
    files.workspace.enter(&target.folder, &target.name)?;
    Ok(target)
}

/// Such as `1 byte`.
fn counted(bytes: usize) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        bytes => format!("{bytes} bytes"),
    }
}

/// A file that is there, as text.
struct Current {
    opened: Opened,
    digest: Digest,
    bytes: Vec<u8>,
}

impl Current {
    fn read(workspace: &Workspace, target: &Target) -> Result<Self, ToolError> {
        let mut opened = workspace.open_file(target)?;
        let bytes = opened.read(&target.path)?;
        Ok(Self {
            digest: digest(Purpose::File, &bytes),
            opened,
            bytes,
        })
    }

    /// Its text; a clear error for anything else.
    fn text(&self, path: &str) -> Result<&str, ToolError> {
        if let Some(at) = self.bytes.iter().position(|&byte| byte == 0) {
            return Err(ToolError::failed(format!(
                "{path} is binary (a NUL byte at offset {at}): only UTF-8 text can be handled"
            )));
        }
        std::str::from_utf8(&self.bytes).map_err(|error| {
            ToolError::failed(format!(
                "{path} is not UTF-8 text (first wrong byte at offset {}): only UTF-8 text can be \
                 handled",
                error.valid_up_to()
            ))
        })
    }

    fn precondition(&self, workspace: &Workspace, target: &Target) -> Precondition {
        Precondition::File {
            digest: self.digest,
            links: self.opened.links,
            mode: self.opened.mode,
            node: self.opened.node,
            parent: target.folder.node,
            path: target.path.clone(),
            root: workspace.root(),
        }
    }

    /// Refuses files whose special bits a replacement would have to hand on.
    fn replaceable(&self, path: &str) -> Result<(), ToolError> {
        if self.opened.mode & SPECIAL_BITS == 0 {
            Ok(())
        } else {
            Err(ToolError::refused(format!(
                "{path} has set-id or sticky bits (mode {:o}), and no tool writes such files",
                self.opened.mode
            )))
        }
    }
}

/// Refuses a new file content that no content can hold.
fn fits(path: &str, bytes: usize) -> Result<(), ToolError> {
    if bytes <= CONTENT_BYTES_MAX {
        Ok(())
    } else {
        Err(ToolError::failed(format!(
            "{path} would have {bytes} bytes, of at most {CONTENT_BYTES_MAX} that a tool can write"
        )))
    }
}

/// Whether a name is one of placet's own temporary or kept files.
fn is_reserved(name: &str) -> bool {
    name.strip_prefix(TEMPORARY_PREFIX)
        .and_then(|rest| rest.rsplit_once('.'))
        .is_some_and(|(_, end)| matches!(end, "tmp" | "kept"))
}

/// What the result of a change tells: of a file what is on disk now, or was before it was removed.
#[derive(Debug, Default, Serialize)]
struct Told<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<Digest>,
    /// Of a tree, how many entries it has or had.
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a str>,
    /// Where that is which was not to be removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<&'a str>,
    path: &'a str,
}

impl Told<'_> {
    fn text(&self) -> Result<Text, ToolError> {
        canonical::to_vec(self).map(Text::json).map_err(|error| {
            ToolError::in_doubt(format!("done, but cannot write the result: {error}"))
        })
    }
}

/// The result of a change of one file.
fn result(path: &str, digest: Digest, bytes: Option<u64>) -> Result<Text, ToolError> {
    let told = Told {
        bytes,
        digest: Some(digest),
        path,
        ..Told::default()
    };
    told.text()
}
