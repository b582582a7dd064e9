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
    /// No file of that name.
    Absent,
    /// Nothing that could have changed matters.
    None,
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
    /// The target does not exist.
    Absent {
        /// The folder that would hold it.
        parent: NodeId,
        /// Path beneath the workspace root.
        path: String,
        /// The workspace root.
        root: NodeId,
    },
}

impl Precondition {
    /// The kind that the record tells.
    pub const fn kind(&self) -> PreconditionKind {
        match self {
            Self::File { .. } => PreconditionKind::File,
            Self::Absent { .. } => PreconditionKind::Absent,
        }
    }

    /// Path of the target beneath the workspace root.
    pub fn path(&self) -> &str {
        match self {
            Self::File { path, .. } | Self::Absent { path, .. } => path,
        }
    }
}
