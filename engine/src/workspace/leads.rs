//! Where links of a workspace lead: which other names a place has through them.

use super::{Workspace, join};

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
