//! What belongs to placet: its home, files, config and state, which no tool of any tier may touch.
//!
//! Compared by device and inode on what was *opened*, so that no hard link, symbolic link or other
//! spelling leads in. A symbolic link among it is closed, and so is what it leads to, wherever that
//! lies. So are the links on the way that leads to it: whoever moves one away can put another home
//! in its place. What appears later beneath it is found by listing
//! everything afresh where a file has several names: a file with one name is where that name is.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::Metadata;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use placet_ledger::precondition::NodeId;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::error::WorkspaceError;

/// Symbolic links that one path may lead through, as the system has it.
const LINKS_MAX: usize = 40;

/// Entries beneath what is closed, which are listed at every opening: a link to a whole disk is
/// better told than followed.
const ENTRIES_MAX: usize = 1_000_000;

/// Nodes that are held open: more than a home has files that come and go.
const HELD_MAX: usize = 256;

/// The closed paths and every node beneath them.
#[derive(Debug, Clone, Default)]
pub struct ClosedSet {
    /// The paths as they were named.
    named: Vec<PathBuf>,
    /// Where they led when the set was made, and the symbolic links on the way.
    places: Vec<PathBuf>,
    /// What no workspace may contain or lie in.
    apart: BTreeSet<PathBuf>,
    /// The symbolic links that were among it: what they lead to at any time is closed.
    links: Vec<PathBuf>,
    nodes: BTreeSet<NodeId>,
    /// Open ways to nodes: as long as they are held, no new file of a workspace is given the number
    /// of one that was removed.
    held: Vec<Arc<OwnedFd>>,
}

impl ClosedSet {
    /// Nothing is closed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Closes a folder and everything in it. It need not exist yet. No workspace may contain it or
    /// lie in it.
    pub fn close_folder(&mut self, path: &Path) -> Result<(), WorkspaceError> {
        self.close_apart(path)
    }

    /// Closes one file, such as a binary or a socket. It need not exist yet, and a workspace may
    /// contain it.
    pub fn close_file(&mut self, path: &Path) -> Result<(), WorkspaceError> {
        self.close_path(path).map(|_| ())
    }

    /// Closes a folder or a file that no workspace may contain, since what it says is obeyed.
    pub fn close_apart(&mut self, path: &Path) -> Result<(), WorkspaceError> {
        let path = self.close_path(path)?;
        self.apart.insert(path);
        Ok(())
    }

    fn close_path(&mut self, path: &Path) -> Result<PathBuf, WorkspaceError> {
        let closed = |source| WorkspaceError::Closed {
            path: path.to_owned(),
            source,
        };
        let mut found = Found::default();
        let way = found.named(path).map_err(closed)?;
        let room = HELD_MAX.saturating_sub(self.held.len());
        self.held.extend(found.held().take(room));
        self.nodes.append(&mut found.nodes);
        self.links.append(&mut found.links);
        self.named.push(path.to_owned());
        self.places.extend(way.links);
        self.places.push(way.end.clone());
        Ok(way.end)
    }

    /// The places that no workspace may contain or lie in.
    pub(super) fn apart(&self) -> impl Iterator<Item = &Path> {
        self.apart.iter().map(PathBuf::as_path)
    }

    /// Whether this node was closed when the set was made, or is the present node of a closed path
    /// or of what a closed link leads to.
    pub(super) fn contains(&self, node: NodeId) -> bool {
        let is = |found: io::Result<Metadata>| found.is_ok_and(|found| node_of(&found) == node);
        self.nodes.contains(&node)
            || self.places.iter().any(|path| is(path.symlink_metadata()))
            || self.links.iter().any(|link| is(link.metadata()))
    }

    /// The same, or what a link leads to that was laid into a closed folder since.
    pub(super) fn contains_led(&self, node: NodeId) -> bool {
        self.contains(node) || self.named.iter().any(|folder| leads_from(folder, node))
    }

    /// Whether this node is closed by now: lists everything beneath the closed paths.
    pub(super) fn contains_now(&self, node: NodeId) -> io::Result<bool> {
        Ok(self.contains(node) || self.nodes_now()?.contains(&node))
    }

    /// Whether what has this path, which leads through no symbolic link, is closed or lies in what
    /// is.
    pub(super) fn covers(&self, real: &Path) -> io::Result<bool> {
        if self.places.iter().any(|place| real.starts_with(place)) {
            return Ok(true);
        }
        let Some(found) = unless_gone(real.symlink_metadata())? else {
            return Ok(false);
        };
        let node = node_of(&found);
        if found.is_file() && found.nlink() > 1 {
            return self.contains_now(node);
        }
        Ok(self.contains_led(node))
    }

    /// The closed places, as far as they lead anywhere.
    pub(super) fn places(&self) -> impl Iterator<Item = &Path> {
        self.places.iter().map(PathBuf::as_path)
    }

    /// Every node that is closed by now, and those that were when the set was made.
    pub(super) fn nodes_now(&self) -> io::Result<BTreeSet<NodeId>> {
        let mut found = Found::default();
        for path in &self.named {
            found.named(path)?;
        }
        for path in &self.places {
            found.node_at(path)?;
        }
        found.nodes.extend(&self.nodes);
        Ok(found.nodes)
    }
}

/// Whether a link that lies in a folder itself, and not deeper, leads to this node: few entries lie
/// there, however many runs there were.
fn leads_from(folder: &Path, node: NodeId) -> bool {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let mut links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    links.any(|link| {
        link.path()
            .metadata()
            .is_ok_and(|found| node_of(&found) == node)
    })
}

/// Where an absolute path leads, without symbolic links as far as it exists.
pub(super) fn leads(path: &Path) -> io::Result<PathBuf> {
    Way::of(path).map(|way| way.end)
}

/// Device and inode of a file or folder.
pub(super) fn node_of(metadata: &Metadata) -> NodeId {
    NodeId {
        device: metadata.dev(),
        inode: metadata.ino(),
    }
}

/// Where a path leads.
#[derive(Debug)]
struct Way {
    /// The symbolic links on it, each by a path without any.
    links: Vec<PathBuf>,
    /// Its end, as far as it exists without symbolic links.
    end: PathBuf,
}

impl Way {
    /// Follows a path name by name, as the system does.
    fn of(path: &Path) -> io::Result<Self> {
        let mut ahead = names(&std::path::absolute(path)?);
        let (mut links, mut end) = (Vec::new(), PathBuf::new());
        while let Some(name) = ahead.pop() {
            if name == "." {
                continue;
            }
            if name == ".." {
                end.pop();
                continue;
            }
            // A root takes the place of what was before.
            let next = end.join(name);
            match next.read_link() {
                Ok(text) => {
                    links.push(next);
                    if links.len() > LINKS_MAX {
                        return Err(Errno::LOOP.into());
                    }
                    ahead.extend(names(&text));
                }
                // It is no link, or not there yet.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::InvalidInput | io::ErrorKind::NotFound
                    ) =>
                {
                    end = next;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Self { links, end })
    }
}

/// The names of a path, the last one first.
fn names(path: &Path) -> Vec<OsString> {
    let names = path.components().rev();
    names.map(|name| name.as_os_str().to_owned()).collect()
}

/// The nodes that are found beneath closed paths.
#[derive(Debug, Default)]
struct Found {
    nodes: BTreeSet<NodeId>,
    /// Those of which everything beneath was found too.
    listed: BTreeSet<NodeId>,
    /// The symbolic links among them.
    links: Vec<PathBuf>,
    /// Every path among them.
    paths: Vec<PathBuf>,
}

impl Found {
    /// Open ways to what was found, as far as it is still there. What cannot be opened so is no
    /// file of ours.
    fn held(&self) -> impl Iterator<Item = Arc<OwnedFd>> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = move |path: &PathBuf| rustix::fs::open(path, flags, Mode::empty()).ok();
        self.paths.iter().filter_map(open).map(Arc::new)
    }

    /// Adds what a path leads to with all beneath it, and the links on the way.
    fn named(&mut self, path: &Path) -> io::Result<Way> {
        let way = Way::of(path)?;
        for link in &way.links {
            self.node_at(link)?;
        }
        self.beneath(&way.end)?;
        Ok(way)
    }

    fn node_at(&mut self, path: &Path) -> io::Result<()> {
        if let Some(metadata) = unless_gone(path.symlink_metadata())? {
            self.nodes.insert(node_of(&metadata));
        }
        Ok(())
    }

    /// Adds the node at `path`, all beneath it, and all that links among it lead to. What vanishes
    /// meanwhile is no error: it is not there to be reached.
    fn beneath(&mut self, path: &Path) -> io::Result<()> {
        let mut open = vec![path.to_owned()];
        while let Some(path) = open.pop() {
            let Some(metadata) = unless_gone(path.symlink_metadata())? else {
                continue;
            };
            let node = node_of(&metadata);
            self.nodes.insert(node);
            self.paths.push(path.clone());
            if !self.listed.insert(node) {
                continue;
            }
            if self.listed.len() > ENTRIES_MAX {
                return Err(io::Error::other(format!(
                    "more than {ENTRIES_MAX} entries lie beneath it or what links in it lead to"
                )));
            }
            if metadata.is_symlink() {
                self.links.push(path.clone());
                if let Some(way) = unless_gone(Way::of(&path))? {
                    for link in &way.links {
                        self.node_at(link)?;
                    }
                    open.push(way.end);
                }
            } else if metadata.is_dir()
                && let Some(entries) = unless_gone(path.read_dir())?
            {
                for entry in entries {
                    open.push(entry?.path());
                }
            }
        }
        Ok(())
    }
}

/// What was found, unless nothing is there or a link leads nowhere.
fn unless_gone<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn no_new_file_has_the_number_of_a_closed_one_that_was_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (home, work) = (folder.path().join("home"), folder.path().join("work"));
        fs::create_dir(&home).unwrap();
        fs::create_dir(&work).unwrap();
        fs::write(home.join("lock"), "").unwrap();
        fs::create_dir(home.join("folder")).unwrap();
        let mut closed = ClosedSet::new();
        closed.close_folder(&home).unwrap();
        fs::remove_file(home.join("lock")).unwrap();
        fs::remove_dir(home.join("folder")).unwrap();
        for number in 0..300 {
            let path = work.join(number.to_string());
            if number % 2 == 0 {
                fs::create_dir(&path).unwrap();
            } else {
                fs::write(&path, "").unwrap();
            }
            let node = node_of(&fs::metadata(&path).unwrap());
            assert!(!closed.contains(node), "{}", path.display());
        }
    }
}
