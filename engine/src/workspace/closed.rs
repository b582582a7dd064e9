//! What belongs to placet: its home, files, config and state, which no tool of any tier may touch.
//!
//! Compared by device and inode on what was *opened*, so that no hard link, symbolic link or other
//! spelling leads in. Files that appear later are found by listing the closed folders afresh, for
//! every opened file that has more than one name.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use placet_ledger::precondition::NodeId;

use super::error::WorkspaceError;

/// The closed paths and every node beneath them.
#[derive(Debug, Clone, Default)]
pub struct ClosedSet {
    /// Absolute paths, as far as they exist without symbolic links.
    paths: Vec<PathBuf>,
    folders: BTreeSet<PathBuf>,
    nodes: BTreeSet<NodeId>,
}

impl ClosedSet {
    /// Nothing is closed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Closes a folder and everything in it. It need not exist yet. No workspace may contain it or
    /// lie in it.
    pub fn close_folder(&mut self, path: &Path) -> Result<(), WorkspaceError> {
        let path = self.close_path(path)?;
        self.folders.insert(path);
        Ok(())
    }

    /// Closes one file, such as a binary or a socket. It need not exist yet, and a workspace may
    /// contain it.
    pub fn close_file(&mut self, path: &Path) -> Result<(), WorkspaceError> {
        self.close_path(path).map(|_| ())
    }

    fn close_path(&mut self, path: &Path) -> Result<PathBuf, WorkspaceError> {
        let closed = |source| WorkspaceError::Closed {
            path: path.to_owned(),
            source,
        };
        let real = real_path(path).map_err(closed)?;
        collect(&real, &mut self.nodes).map_err(closed)?;
        self.paths.push(real.clone());
        Ok(real)
    }

    /// The folders that no workspace may contain or lie in.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().map(PathBuf::as_path)
    }

    /// Whether this node was closed when the set was made, or is the present node of a closed path.
    pub(super) fn contains(&self, node: NodeId) -> bool {
        self.nodes.contains(&node)
            || self.paths.iter().any(|path| {
                path.symlink_metadata()
                    .is_ok_and(|found| node_of(&found) == node)
            })
    }

    /// Whether this node is closed by now: lists everything beneath the closed paths.
    pub(super) fn contains_now(&self, node: NodeId) -> io::Result<bool> {
        Ok(self.contains(node) || self.nodes_now()?.contains(&node))
    }

    /// Every node that is closed by now, and those that were when the set was made.
    pub(super) fn nodes_now(&self) -> io::Result<BTreeSet<NodeId>> {
        let mut nodes = self.nodes.clone();
        for path in &self.paths {
            collect(path, &mut nodes)?;
        }
        Ok(nodes)
    }
}

/// Device and inode of a file or folder.
pub(super) fn node_of(metadata: &Metadata) -> NodeId {
    NodeId {
        device: metadata.dev(),
        inode: metadata.ino(),
    }
}

/// The path without symbolic links, as far as it exists.
fn real_path(path: &Path) -> io::Result<PathBuf> {
    let mut missing = Vec::new();
    let mut existing = path;
    loop {
        match existing.canonicalize() {
            Ok(real) => {
                return Ok(missing
                    .iter()
                    .rev()
                    .fold(real, |path: PathBuf, name| path.join(name)));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else {
                    return Err(error);
                };
                missing.push(name);
                existing = parent;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Adds the node at `path` and all beneath it, without following symbolic links. What vanishes
/// meanwhile is no error: it is not there to be reached.
fn collect(path: &Path, nodes: &mut BTreeSet<NodeId>) -> io::Result<()> {
    let gone = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    };
    let mut open = vec![path.to_owned()];
    while let Some(path) = open.pop() {
        let metadata = match path.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(error) => {
                gone(error)?;
                continue;
            }
        };
        nodes.insert(node_of(&metadata));
        if !metadata.is_dir() {
            continue;
        }
        match path.read_dir() {
            Ok(entries) => {
                for entry in entries {
                    open.push(entry?.path());
                }
            }
            Err(error) => gone(error)?,
        }
    }
    Ok(())
}
