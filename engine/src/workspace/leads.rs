//! Where links of a workspace lead: which other names a place has through them.

use std::io;
use std::path::{Path, PathBuf};

use super::{Workspace, closed, join};

impl Workspace {
    /// Where `path` leads, if a link is on the way to it; a link that leads to nothing yet counts.
    pub(crate) fn leads_to(&self, path: &str) -> Option<String> {
        if let Ok(real) = self.root.canonicalize(path) {
            let real = real.to_str()?.to_owned();
            return (real != path).then_some(real);
        }
        let link = self.root.read_link(path).ok()?;
        let (above, _) = path.rsplit_once('/').unwrap_or(("", path));
        lexical(&join(above, link.to_str()?))
    }

    /// Where a path leads that a process will follow, in the workspace or out of it: without
    /// symbolic links as far as it exists.
    pub(crate) fn leads(&self, path: &Path) -> io::Result<PathBuf> {
        closed::leads(&Path::new(&self.path).join(path))
    }

    /// Whether such a path is closed, or lies in what is; what cannot be looked at counts as
    /// closed.
    pub(crate) fn is_closed_place(&self, real: &Path) -> bool {
        self.closed.covers(real).unwrap_or(true)
    }

    /// What is closed, as paths for whoever hides it.
    pub(crate) fn closed_places(&self) -> Vec<PathBuf> {
        self.closed.places().map(Path::to_owned).collect()
    }

    /// Whether something has this path.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.root.symlink_metadata(path).is_ok()
    }
}

/// A relative path without `.` and `..`; `None` where it leaves the folder that it is relative to.
pub(crate) fn lexical(path: &str) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()?),
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}
