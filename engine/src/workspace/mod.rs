//! The workspace of a run: the one folder beneath which file tools work, and what is closed in it.
//!
//! A path is resolved once, when proposing: beneath the root's descriptor, through symbolic links
//! only while they stay inside, into a plain relative path without any. That path is shown,
//! digested and run; executing walks it name by name and follows nothing. Every folder of the walk
//! and every opened file is compared with the closed set by device and inode.

mod closed;
mod error;
mod leads;
mod open;
#[cfg(test)]
mod tests;
mod visible;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use placet_ledger::precondition::NodeId;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use serde::Serialize;

pub use closed::ClosedSet;
pub use error::{PathError, WorkspaceError};
pub(crate) use leads::lexical;
pub(crate) use open::Opened;
pub use visible::is_hidden;
pub(crate) use visible::visible;

use closed::node_of;

/// Bytes of a path: the system's `PATH_MAX` without its end mark.
const PATH_BYTES_MAX: usize = 4_095;

/// The names of temporary files begin so.
pub(crate) const TEMPORARY_PREFIX: &str = ".placet-";

/// Whether a file system can exchange two names in one step, as far as its type tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exchanges {
    /// It can, unless it says otherwise when asked.
    Yes,
    /// That depends on a program behind it.
    Perhaps,
    /// It cannot.
    No,
}

/// The folder in which a run works.
#[derive(Debug)]
pub struct Workspace {
    root: Dir,
    path: String,
    node: NodeId,
    mount: Option<u64>,
    exchanges: Exchanges,
    closed: ClosedSet,
}

/// What the record of a run tells of its workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkspaceContent {
    /// The path without symbolic links.
    pub path: String,
    /// The root folder.
    pub root: NodeId,
}

/// An open folder of the workspace.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Its descriptor.
    pub(crate) dir: Dir,
    /// Device and inode.
    pub(crate) node: NodeId,
    /// Path beneath the root; empty for the root itself.
    pub(crate) path: String,
}

/// A place for a file: an open folder and a name in it.
#[derive(Debug)]
pub(crate) struct Target {
    /// The folder.
    pub(crate) folder: Folder,
    /// The name in it: never empty, `.`, `..` or with a slash.
    pub(crate) name: String,
    /// Path beneath the root, resolved and normalised.
    pub(crate) path: String,
}

impl Workspace {
    /// Opens a folder as workspace.
    pub fn open(path: &Path, closed: ClosedSet) -> Result<Self, WorkspaceError> {
        let failed = |source| WorkspaceError::Open {
            path: path.to_owned(),
            source,
        };
        let real = path.canonicalize().map_err(failed)?;
        // Not as a mere path, as the library would open it: a folder is synced through it.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(&real, flags, Mode::empty())
            .map(|fd| Dir::from_std_file(fd.into()))
            .map_err(|errno| failed(errno.into()))?;
        let node = open::node_of_fd(&root).map_err(|errno| failed(errno.into()))?;
        let text = real
            .to_str()
            .filter(|text| !text.chars().any(char::is_control))
            .ok_or_else(|| WorkspaceError::Path(real.clone()))?
            .to_owned();
        apart(&real, node, &closed)?;
        let mount = open::mount_of(&root).map_err(|errno| failed(errno.into()))?;
        let exchanges = open::exchanges(&root).map_err(|errno| failed(errno.into()))?;
        Ok(Self {
            root,
            path: text,
            node,
            mount,
            exchanges,
            closed,
        })
    }

    /// The path without symbolic links.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The root folder.
    pub fn root(&self) -> NodeId {
        self.node
    }

    /// Whether its file system can exchange two names.
    pub fn exchanges(&self) -> Exchanges {
        self.exchanges
    }

    /// What the record of a run tells of its workspace.
    pub fn content(&self) -> WorkspaceContent {
        WorkspaceContent {
            path: self.path.clone(),
            root: self.node,
        }
    }

    /// Whether this is the folder with which a run began.
    pub fn verify_root(&self, expected: NodeId) -> Result<(), WorkspaceError> {
        if self.node == expected {
            Ok(())
        } else {
            Err(WorkspaceError::Moved {
                path: PathBuf::from(&self.path),
                expected: expected.to_string(),
                found: self.node.to_string(),
            })
        }
    }

    /// Whether its path still leads to its folder, and not to another or to nothing.
    pub(crate) fn is_in_place(&self) -> bool {
        let found = Path::new(&self.path).symlink_metadata();
        found.is_ok_and(|found| node_of(&found) == self.node)
    }

    /// The place of a file that may exist, from a path that a model sent. The folder must exist;
    /// symbolic links on the way to it are resolved, the last name is not.
    pub(crate) fn target(&self, text: &str) -> Result<Target, PathError> {
        let parts = self.parts(text)?;
        let Some((&name, above)) = parts.split_last() else {
            return Err(PathError::Folder(".".into()));
        };
        if name == ".." || text.ends_with('/') || text.ends_with("/.") {
            return Err(PathError::NamesFolder(text.to_owned()));
        }
        let above = above.join("/");
        let real = self.resolve(&above).map_err(|error| match error {
            PathError::Missing { path, .. } => PathError::MissingFolder(path),
            error => error,
        })?;
        self.target_exact(&join(&real, name))
    }

    /// The place of a file, from a path that was resolved before: nothing is normalised and no
    /// symbolic link is followed.
    pub(crate) fn target_exact(&self, path: &str) -> Result<Target, PathError> {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        if matches!(name, "" | "." | "..") {
            return Err(PathError::NamesFolder(path.to_owned()));
        }
        Ok(Target {
            folder: self.walk(above)?,
            name: name.to_owned(),
            path: path.to_owned(),
        })
    }

    /// An existing file from a path that a model sent; symbolic links that stay inside are
    /// resolved.
    pub(crate) fn existing(&self, text: &str) -> Result<Target, PathError> {
        let parts = self.parts(text)?;
        if parts.is_empty() {
            return Err(PathError::Folder(".".into()));
        }
        if text.ends_with('/') {
            return Err(PathError::NamesFolder(text.to_owned()));
        }
        let real = self.resolve(&parts.join("/"))?;
        if real.is_empty() {
            return Err(PathError::Folder(text.to_owned()));
        }
        self.target_exact(&real)
    }

    /// Whether the symbolic link at a plain path leads to something inside that is not closed.
    pub(crate) fn leads_inside(&self, path: &str) -> bool {
        let Ok(real) = self.resolve(path) else {
            return false;
        };
        // The workspace itself is inside.
        real.is_empty()
            || self
                .target_exact(&real)
                .is_ok_and(|end| self.look(&end).is_ok())
    }

    /// A folder from a path that a model sent.
    pub(crate) fn folder(&self, text: &str) -> Result<Folder, PathError> {
        let real = self.resolve(&self.parts(text)?.join("/"))?;
        self.walk(&real)
    }

    /// Whether a node is closed; used for entries of a listing.
    pub(crate) fn is_closed(&self, node: NodeId) -> bool {
        self.closed.contains(node)
    }

    /// The names of a path: no empty ones, no `.`, nothing above an absolute path's root.
    fn parts<'a>(&self, text: &'a str) -> Result<Vec<&'a str>, PathError> {
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        if text.len() > PATH_BYTES_MAX {
            return Err(PathError::Long(text.len()));
        }
        if text.chars().any(char::is_control) {
            return Err(PathError::Control(text.to_owned()));
        }
        let plain = |path: &'a str| path.split('/').filter(|part| !matches!(*part, "" | "."));
        if !text.starts_with('/') {
            return Ok(plain(text).collect());
        }
        let mut parts = plain(text);
        for expected in self.path.split('/').filter(|part| !part.is_empty()) {
            if parts.next() != Some(expected) {
                return Err(PathError::Outside(text.to_owned()));
            }
        }
        Ok(parts.collect())
    }

    /// The path of something that exists, without symbolic links and `..`.
    fn resolve(&self, path: &str) -> Result<String, PathError> {
        if path.is_empty() {
            return Ok(String::new());
        }
        let real = self
            .root
            .canonicalize(path)
            .map_err(|error| self.unresolved(path, error))?;
        let Some(real) = real.to_str() else {
            return Err(PathError::Control(real.to_string_lossy().into_owned()));
        };
        if real.chars().any(char::is_control) {
            return Err(PathError::Control(real.to_owned()));
        }
        Ok(if real == "." { "" } else { real }.to_owned())
    }

    fn unresolved(&self, path: &str, error: io::Error) -> PathError {
        let path = path.to_owned();
        match error.kind() {
            // The resolver's own refusals carry no number of the system.
            io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
                PathError::Outside(path)
            }
            io::ErrorKind::NotFound => PathError::Missing {
                nearest: self.nearest(&path),
                path,
            },
            io::ErrorKind::NotADirectory => PathError::NotFolder(
                path.rsplit_once('/')
                    .map_or_else(|| path.clone(), |(above, _)| above.to_owned()),
            ),
            _ => PathError::io("resolve", &path, error),
        }
    }

    /// Opens a folder name by name: no symbolic links, no other mount, nothing closed.
    fn walk(&self, path: &str) -> Result<Folder, PathError> {
        let root = self
            .root
            .try_clone()
            .map_err(|error| PathError::io("open", ".", error))?;
        self.descend(&self.entered(root, String::new())?, path)
    }

    /// Opens a folder beneath an open one in the same way.
    pub(crate) fn descend(&self, above: &Folder, path: &str) -> Result<Folder, PathError> {
        let dir = above
            .dir
            .try_clone()
            .map_err(|error| PathError::io("open", &above.path, error))?;
        let mut folder = Folder {
            dir,
            node: above.node,
            path: above.path.clone(),
        };
        for name in path.split('/').filter(|name| !name.is_empty()) {
            if matches!(name, "." | "..") {
                return Err(PathError::Outside(join(&folder.path, name)));
            }
            folder = self.enter(&folder, name)?;
        }
        Ok(folder)
    }

    /// Opens a folder in a folder: no symbolic link, no other mount, nothing closed.
    pub(crate) fn enter(
        &self,
        folder: &Folder,
        name: impl AsRef<OsStr>,
    ) -> Result<Folder, PathError> {
        let name = name.as_ref();
        let here = join(&folder.path, &plain(name));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened: OwnedFd =
            openat(&folder.dir, name, flags, Mode::empty()).map_err(|errno| match errno {
                Errno::NOENT => PathError::MissingFolder(here.clone()),
                Errno::LOOP | Errno::NOTDIR => PathError::NotFolder(here.clone()),
                errno => PathError::io("open", &here, errno),
            })?;
        self.entered(Dir::from_std_file(opened.into()), here)
    }

    fn entered(&self, dir: Dir, path: String) -> Result<Folder, PathError> {
        let shown = if path.is_empty() { "." } else { &path };
        let node =
            open::node_of_fd(&dir).map_err(|errno| PathError::io("look at", shown, errno))?;
        if self.closed.contains(node) {
            return Err(PathError::Closed(shown.to_owned()));
        }
        self.on_own_mount(&dir, node, shown)?;
        Ok(Folder { dir, node, path })
    }
}

/// A path and a name beneath it.
pub(crate) fn join(above: &str, name: &str) -> String {
    if above.is_empty() {
        name.to_owned()
    } else {
        format!("{above}/{name}")
    }
}

/// A name as a part of a path: as it is where a path can hold it, and never over two lines.
fn plain(name: &OsStr) -> Cow<'_, str> {
    match name.to_str() {
        Some(name) if !name.chars().any(char::is_control) => Cow::Borrowed(name),
        Some(_) | None => Cow::Owned(visible(name)),
    }
}

/// Refuses a workspace that contains what is to lie apart or lies in it, by name and by node.
fn apart(path: &Path, node: NodeId, closed: &ClosedSet) -> Result<(), WorkspaceError> {
    let node_at = |path: &Path| path.metadata().ok().map(|metadata| node_of(&metadata));
    for place in closed.apart() {
        let contains = place
            .ancestors()
            .any(|above| above == path || node_at(above) == Some(node));
        if contains {
            return Err(WorkspaceError::Contains {
                path: path.to_owned(),
                closed: place.to_owned(),
            });
        }
    }
    for above in path.ancestors() {
        let inside = node_at(above).is_some_and(|node| closed.contains(node))
            || closed.apart().any(|place| place == above);
        if inside {
            return Err(WorkspaceError::Inside {
                path: path.to_owned(),
                closed: above.to_owned(),
            });
        }
    }
    Ok(())
}
