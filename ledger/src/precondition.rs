//! The precondition of a proposal: what its preview was computed against, checked at execution.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// A file or folder by device and inode, written `device:inode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NodeId {
    /// The device.
    pub device: u64,
    /// The inode on it.
    pub inode: u64,
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.device, self.inode)
    }
}

/// Why a text is not a node.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected device:inode, found {0:?}")]
pub struct NodeError(String);

impl FromStr for NodeId {
    type Err = NodeError;

    fn from_str(text: &str) -> Result<Self, NodeError> {
        let wrong = || NodeError(text.chars().take(80).collect());
        let (device, inode) = text.split_once(':').ok_or_else(wrong)?;
        let node = Self {
            device: device.parse().map_err(|_| wrong())?,
            inode: inode.parse().map_err(|_| wrong())?,
        };
        if node.to_string() == text {
            Ok(node)
        } else {
            Err(wrong())
        }
    }
}

impl TryFrom<String> for NodeId {
    type Error = NodeError;

    fn try_from(text: String) -> Result<Self, NodeError> {
        text.parse()
    }
}

impl From<NodeId> for String {
    fn from(node: NodeId) -> Self {
        node.to_string()
    }
}

/// Which kind of precondition a proposal has; the fact that its record tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PreconditionKind {
    /// A file with these very bytes.
    File,
    /// A folder with these very entries.
    Tree,
    /// No file of that name.
    Absent,
    /// The files that a command names, with these very bytes.
    Operands,
    /// Nothing that could have changed matters.
    None,
}

/// What an entry of a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
}

/// One entry of a folder, at whatever depth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeEntry {
    /// Of a file, the hash of its bytes; of a link, of the text that it holds; purpose `file`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// What it is.
    pub kind: EntryKind,
    /// Number of hard links of a file; not told where it is the only one.
    #[serde(default = "only", skip_serializing_if = "is_only")]
    pub links: u64,
    /// Permission bits.
    pub mode: u32,
    /// Path beneath the folder.
    pub path: String,
}

const fn only() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_only(links: &u64) -> bool {
    *links == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_none(missing: &u64) -> bool {
    *missing == 0
}

/// A file of the workspace that a command names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operand {
    /// Hash of the file's bytes, purpose `file`.
    pub digest: Digest,
    /// Path beneath the workspace root.
    pub path: String,
}

/// What must still be so when the call is executed; sealed content, since it tells paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Precondition {
    /// The target is this very file with these very bytes.
    File {
        /// Hash of the file's bytes, purpose `file`.
        digest: Digest,
        /// Number of hard links.
        links: u64,
        /// Permission bits.
        mode: u32,
        /// The file.
        node: NodeId,
        /// The folder that holds it.
        parent: NodeId,
        /// Path beneath the workspace root.
        path: String,
        /// The workspace root.
        root: NodeId,
    },
    /// The target is this very folder with exactly these entries.
    Tree {
        /// Every entry at whatever depth, sorted by path.
        entries: Vec<TreeEntry>,
        /// Permission bits.
        mode: u32,
        /// The folder.
        node: NodeId,
        /// The folder that holds it.
        parent: NodeId,
        /// Path beneath the workspace root.
        path: String,
        /// The workspace root.
        root: NodeId,
    },
    /// The target does not exist.
    Absent {
        /// Folders above it that are missing as well and are made with it; not told if it is none.
        #[serde(default, skip_serializing_if = "is_none")]
        missing: u64,
        /// The folder that would hold it, or the first of those.
        parent: NodeId,
        /// Path beneath the workspace root.
        path: String,
        /// The workspace root.
        root: NodeId,
    },
    /// The files that a command names are these.
    Operands {
        /// The files, sorted by path.
        files: Vec<Operand>,
        /// The workspace root.
        root: NodeId,
        /// What several denials are counted by: the command's key, or else its whole text.
        target: String,
    },
    /// Something goes from one place to another: what holds of both.
    Transfer {
        /// What is copied or moved: a file or a tree.
        source: Box<Precondition>,
        /// Where it goes: absent, or a file that it replaces.
        target: Box<Precondition>,
    },
}

impl Precondition {
    /// The kind that the record tells; of a transfer, that of its source.
    pub const fn kind(&self) -> PreconditionKind {
        match self {
            Self::File { .. } => PreconditionKind::File,
            Self::Tree { .. } => PreconditionKind::Tree,
            Self::Absent { .. } => PreconditionKind::Absent,
            Self::Operands { .. } => PreconditionKind::Operands,
            Self::Transfer { source, .. } => source.kind(),
        }
    }

    /// Path of the target beneath the workspace root; of a command, what stands for it.
    pub fn path(&self) -> &str {
        match self {
            Self::Operands { target, .. } => target,
            Self::File { path, .. } | Self::Tree { path, .. } | Self::Absent { path, .. } => path,
            Self::Transfer { target, .. } => target.path(),
        }
    }

    /// The paths that the call is about: its target and, of a transfer, its source.
    pub fn places(&self) -> Vec<&str> {
        match self {
            Self::File { .. } | Self::Tree { .. } | Self::Absent { .. } => vec![self.path()],
            Self::Operands { files, .. } => files.iter().map(|file| file.path.as_str()).collect(),
            Self::Transfer { source, target } => vec![source.path(), target.path()],
        }
    }

    /// Every path that the call may write or remove: its places, and what lies in or comes to lie
    /// beneath them.
    pub fn reach(&self) -> Vec<String> {
        let beneath = |above: &str, entries: &[TreeEntry]| -> Vec<String> {
            entries
                .iter()
                .map(|entry| format!("{above}/{}", entry.path))
                .collect()
        };
        match self {
            Self::File { path, .. } | Self::Absent { path, .. } => vec![path.clone()],
            // Which files a command changes cannot be told from its words.
            Self::Operands { .. } => Vec::new(),
            Self::Tree { entries, path, .. } => {
                let mut all = vec![path.clone()];
                all.extend(beneath(path, entries));
                all
            }
            Self::Transfer { source, target } => {
                let mut all = source.reach();
                all.push(target.path().to_owned());
                if let Self::Tree { entries, .. } = &**source {
                    all.extend(beneath(target.path(), entries));
                }
                all
            }
        }
    }
}

/// What a call aims at: the precondition, and the other names of what it changes that steer
/// programs. Without such names it is written as the precondition alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Aim {
    /// It goes by other names as well: through links, by the path of the workspace itself.
    Named(Named),
    /// It has no other name that matters.
    Plain(Precondition),
}

/// A precondition with the other names of what it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// The other names, sorted.
    pub names: Vec<String>,
    /// What has to hold.
    pub precondition: Precondition,
}

impl Aim {
    /// A precondition with the other names of what it is about.
    pub fn new(precondition: Precondition, names: Vec<String>) -> Self {
        if names.is_empty() {
            Self::Plain(precondition)
        } else {
            Self::Named(Named {
                names,
                precondition,
            })
        }
    }

    /// What has to hold: all that an executing half looks at.
    pub fn precondition(&self) -> &Precondition {
        match self {
            Self::Named(named) => &named.precondition,
            Self::Plain(precondition) => precondition,
        }
    }

    /// The same, by itself.
    pub fn into_precondition(self) -> Precondition {
        match self {
            Self::Named(named) => named.precondition,
            Self::Plain(precondition) => precondition,
        }
    }

    /// Every path that the call may write or remove, by every name.
    pub fn reach(&self) -> Vec<String> {
        let mut all = self.precondition().reach();
        if let Self::Named(named) = self {
            all.extend(named.names.iter().cloned());
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hard_links_of_an_entry_are_written_where_there_are_several() {
        for (links, text) in [
            (1, r#"{"kind":"file","mode":420,"path":"a"}"#),
            (2, r#"{"kind":"file","links":2,"mode":420,"path":"a"}"#),
        ] {
            let entry = TreeEntry {
                digest: None,
                kind: EntryKind::File,
                links,
                mode: 0o644,
                path: String::from("a"),
            };
            let bytes = crate::canonical::to_vec(&entry).unwrap();
            assert_eq!(String::from_utf8(bytes).unwrap(), text);
            assert_eq!(serde_json::from_str::<TreeEntry>(text).unwrap(), entry);
        }
    }
}
