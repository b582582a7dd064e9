//! The listing of a folder with everything in it: what a precondition keeps and a person is shown.
//!
//! It goes from descriptor to descriptor like everything else here. Whatever a change of the tree
//! could not handle ends it with an error: what is closed, other mounts, special files, names that
//! a listing cannot show. Nothing is left out of it, so a tree of too many entries has none.

use std::collections::BTreeSet;
use std::fmt::Write;

use placet_ledger::digest::{Purpose, digest};
use placet_ledger::precondition::{EntryKind, NodeId, Precondition, TreeEntry};
use rustix::fs::{Access, AtFlags, FileType, accessat, fstat, readlinkat, statat};
use rustix::io::Errno;

use super::SPECIAL_BITS;
use crate::tool::ToolError;
use crate::workspace::{Folder, PathError, Target, Workspace, join, visible};

/// Entries of a tree: more is nothing that a person reads before allowing it.
pub(super) const TREE_ENTRIES_MAX: usize = 1_000;

/// Bytes of a tree's files, which are read at least twice within one time limit.
const TREE_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// Folders in folders: each holds a descriptor, and a process has about a thousand.
const DEPTH_MAX: usize = 128;

/// Why a tree cannot be listed.
#[derive(Debug, thiserror::Error)]
pub(super) enum TreeError {
    /// Something in it cannot be used.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Too many entries.
    #[error(
        "{0} has more than {TREE_ENTRIES_MAX} entries, too many to be decided at once: handle the \
         folders in it one by one"
    )]
    Entries(String),
    /// Too many bytes.
    #[error(
        "the files in {0} have more than {TREE_BYTES_MAX} bytes, too many to be compared: handle \
         the folders in it one by one"
    )]
    Bytes(String),
    /// Too many folders in folders.
    #[error("{0} has folders more than {DEPTH_MAX} deep: handle those first")]
    Depth(String),
    /// A name that no listing can show.
    #[error(
        "the name of {0} has control characters or is not UTF-8, and no tool handles such names"
    )]
    Name(String),
}

impl TreeError {
    /// Whether it is not allowed at all, as opposed to not possible as things are.
    pub(super) fn is_refusal(&self) -> bool {
        match self {
            Self::Path(error) => error.is_refusal(),
            Self::Entries(_) | Self::Bytes(_) | Self::Depth(_) | Self::Name(_) => false,
        }
    }
}

impl From<TreeError> for ToolError {
    fn from(error: TreeError) -> Self {
        match error {
            TreeError::Path(error) => error.into(),
            TreeError::Entries(_)
            | TreeError::Bytes(_)
            | TreeError::Depth(_)
            | TreeError::Name(_) => Self::failed(error.to_string()),
        }
    }
}

/// One entry with what only people are told.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) entry: TreeEntry,
    pub(super) bytes: u64,
    /// The text of a symbolic link.
    pub(super) leads_to: Option<String>,
}

/// A folder with everything in it.
#[derive(Debug)]
pub(super) struct Tree {
    /// Sorted by path.
    pub(super) items: Vec<Item>,
    pub(super) mode: u32,
    pub(super) node: NodeId,
    /// Every folder of it, itself included.
    pub(super) folders: BTreeSet<NodeId>,
    /// A folder whose entries this process may not change.
    pub(super) locked: Option<String>,
    bytes: u64,
}

impl Tree {
    /// Lists an open folder.
    pub(super) fn list(workspace: &Workspace, folder: &Folder) -> Result<Self, TreeError> {
        let mut tree = Self {
            items: Vec::new(),
            mode: mode_of(folder)?,
            node: folder.node,
            folders: BTreeSet::new(),
            locked: None,
            bytes: 0,
        };
        let listing = Listing {
            workspace,
            closed: workspace.closed_now(&folder.path)?,
            top: &folder.path,
        };
        listing.folder(&mut tree, folder, "", 0)?;
        tree.items.sort_by(|a, b| a.entry.path.cmp(&b.entry.path));
        Ok(tree)
    }

    /// Lists the folder of that name.
    pub(super) fn named(
        workspace: &Workspace,
        folder: &Folder,
        name: &str,
    ) -> Result<Self, TreeError> {
        let inner = workspace.enter(folder, name).map_err(|error| match error {
            PathError::MissingFolder(path) => PathError::Missing {
                path,
                nearest: None,
            },
            error => error,
        })?;
        Self::list(workspace, &inner)
    }

    /// How large a folder is, where that can be told, for an error about something else.
    pub(super) fn size(workspace: &Workspace, target: &Target) -> String {
        Self::named(workspace, &target.folder, &target.name)
            .map_or_else(|_| String::new(), |tree| format!(" ({})", tree.summary()))
    }

    /// What must still be so when the call is executed.
    pub(super) fn precondition(&self, workspace: &Workspace, target: &Target) -> Precondition {
        Precondition::Tree {
            entries: self.items.iter().map(|item| item.entry.clone()).collect(),
            mode: self.mode,
            node: self.node,
            parent: target.folder.node,
            path: target.path.clone(),
            root: workspace.root(),
        }
    }

    /// How it differs from these entries, if it does: told of the first that is not the same.
    pub(super) fn difference(&self, expected: &[TreeEntry]) -> Option<String> {
        let mut expected = expected.iter().peekable();
        for Item { entry, .. } in &self.items {
            match expected.peek() {
                Some(&there) if there == entry => {
                    expected.next();
                }
                Some(&there) if there.path == entry.path => {
                    return Some(unlike(entry, there));
                }
                Some(&there) if there.path < entry.path => {
                    return Some(format!("{} in it is gone", there.path));
                }
                Some(_) | None => return Some(format!("{} in it is new", entry.path)),
            }
        }
        expected
            .next()
            .map(|gone| format!("{} in it is gone", gone.path))
    }

    /// Whether it is like these entries but for hard links: a copy of them, or what is left once
    /// other names in the same tree were removed.
    pub(super) fn is_like(&self, expected: &[TreeEntry]) -> bool {
        let plain = |entry: &TreeEntry| TreeEntry {
            links: 1,
            ..entry.clone()
        };
        let found = self.items.iter().map(|item| plain(&item.entry));
        found.eq(expected.iter().map(plain))
    }

    /// Whether something has the path of each of these entries.
    pub(super) fn holds(&self, entries: &[TreeEntry]) -> bool {
        entries.iter().all(|entry| {
            let path = |item: &Item| item.entry.path.as_str().cmp(entry.path.as_str());
            self.items.binary_search_by(path).is_ok()
        })
    }

    /// The first entry with set-id or sticky bits, or the tree itself.
    pub(super) fn special<'a>(&'a self, path: &'a str) -> Option<String> {
        let of = |mode: u32| mode & SPECIAL_BITS != 0;
        if of(self.mode) {
            return Some(path.to_owned());
        }
        self.items
            .iter()
            .find(|item| of(item.entry.mode) && item.entry.kind != EntryKind::Link)
            .map(|item| join(path, &item.entry.path))
    }

    /// Such as `2 entries, 5 bytes`.
    pub(super) fn summary(&self) -> String {
        let entries = match self.items.len() {
            0 => return String::from("empty"),
            1 => String::from("1 entry"),
            count => format!("{count} entries"),
        };
        match self.bytes {
            1 => format!("{entries}, 1 byte"),
            bytes => format!("{entries}, {bytes} bytes"),
        }
    }

    /// Every entry on a line of its own: type, mode, size, path, and where a link leads.
    pub(super) fn lines(&self, mark: char) -> String {
        let mut lines = String::new();
        for item in &self.items {
            let TreeEntry {
                kind, mode, path, ..
            } = &item.entry;
            let (kind, end) = match kind {
                EntryKind::File => ("file  ", String::new()),
                EntryKind::Folder => ("folder", String::from("/")),
                EntryKind::Link => (
                    "link  ",
                    format!(
                        " -> {}",
                        visible(item.leads_to.as_deref().unwrap_or_default())
                    ),
                ),
            };
            // The first arrow of a line ends the path.
            let path = visible(path).replace(" -> ", r" -\x3e ");
            // Writing to a string does not fail.
            let _ = writeln!(
                lines,
                "{mark}{kind} {mode:>4o} {:>10} {path}{end}",
                item.bytes
            );
        }
        lines
    }

    /// What a person should know before its entries are removed.
    pub(super) fn notes(&self) -> String {
        let mut notes = String::new();
        let linked = self
            .items
            .iter()
            .filter(|item| item.entry.links > 1)
            .count();
        if linked > 0 {
            let _ = write!(
                notes,
                " Files in it with other hard links, which keep their content: {linked}."
            );
        }
        notes
    }
}

/// How one entry differs from what it was.
fn unlike(found: &TreeEntry, expected: &TreeEntry) -> String {
    let (path, links) = (&found.path, found.links);
    let same = TreeEntry {
        links,
        ..expected.clone()
    };
    if *found == same {
        format!(
            "{path} in it has {links} hard links, not {}",
            expected.links
        )
    } else {
        format!("{path} in it is different")
    }
}

/// A listing under way.
struct Listing<'a> {
    workspace: &'a Workspace,
    /// What is closed by now.
    closed: BTreeSet<NodeId>,
    top: &'a str,
}

impl Listing<'_> {
    fn folder(
        &self,
        tree: &mut Tree,
        folder: &Folder,
        above: &str,
        depth: usize,
    ) -> Result<(), TreeError> {
        if depth > DEPTH_MAX {
            return Err(TreeError::Depth(self.top.to_owned()));
        }
        tree.folders.insert(folder.node);
        let needed = Access::WRITE_OK | Access::EXEC_OK;
        if tree.locked.is_none() && accessat(&folder.dir, ".", needed, AtFlags::EACCESS).is_err() {
            tree.locked = Some(folder.path.clone());
        }
        let wrong = |error| PathError::io("list", &folder.path, error);
        let mut names = BTreeSet::new();
        for entry in folder.dir.entries().map_err(wrong)? {
            names.insert(entry.map_err(wrong)?.file_name());
            if tree.items.len().saturating_add(names.len()) > TREE_ENTRIES_MAX {
                return Err(TreeError::Entries(self.top.to_owned()));
            }
        }
        for name in names {
            let plain = name
                .to_str()
                .filter(|name| !name.chars().any(char::is_control))
                .ok_or_else(|| TreeError::Name(join(&folder.path, &visible(&name))))?;
            self.entry(tree, folder, &join(above, plain), depth)?;
        }
        Ok(())
    }

    fn entry(
        &self,
        tree: &mut Tree,
        folder: &Folder,
        path: &str,
        depth: usize,
    ) -> Result<(), TreeError> {
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        let here = join(&folder.path, name);
        let wrong = |errno: Errno| match errno {
            Errno::NOENT => PathError::Missing {
                path: here.clone(),
                nearest: None,
            },
            errno => PathError::io("look at", &here, errno),
        };
        let found = statat(&folder.dir, name, AtFlags::SYMLINK_NOFOLLOW).map_err(wrong)?;
        let node = NodeId {
            device: found.st_dev,
            inode: found.st_ino,
        };
        if self.workspace.is_closed(node) || self.closed.contains(&node) {
            return Err(PathError::Closed(here).into());
        }
        let mut item = Item {
            entry: TreeEntry {
                digest: None,
                kind: EntryKind::File,
                links: 1,
                mode: found.st_mode & 0o7777,
                path: path.to_owned(),
            },
            bytes: 0,
            leads_to: None,
        };
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => {
                let inner = self.workspace.enter(folder, name)?;
                item.entry.kind = EntryKind::Folder;
                item.entry.mode = mode_of(&inner)?;
                tree.items.push(item);
                return self.folder(tree, &inner, path, depth.saturating_add(1));
            }
            FileType::Symlink => {
                let text = readlinkat(&folder.dir, name, Vec::new()).map_err(wrong)?;
                let text = text
                    .to_str()
                    .ok()
                    .filter(|text| !text.chars().any(char::is_control))
                    .ok_or_else(|| TreeError::Name(format!("what {here} leads to")))?;
                item.entry.kind = EntryKind::Link;
                item.entry.digest = Some(digest(Purpose::File, text.as_bytes()));
                item.bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
                item.leads_to = Some(text.to_owned());
            }
            // Whatever else is no regular file is refused for what it is.
            _ => {
                let mut opened = self.workspace.open_named(folder, name)?;
                item.entry.digest = Some(opened.digest(&here)?);
                item.entry.mode = opened.mode;
                item.bytes = opened.bytes;
                item.entry.links = opened.links;
            }
        }
        tree.bytes = tree.bytes.saturating_add(item.bytes);
        if tree.bytes > TREE_BYTES_MAX {
            return Err(TreeError::Bytes(self.top.to_owned()));
        }
        tree.items.push(item);
        Ok(())
    }
}

fn mode_of(folder: &Folder) -> Result<u32, PathError> {
    fstat(&folder.dir)
        .map(|found| found.st_mode & 0o7777)
        .map_err(|errno| PathError::io("look at", &folder.path, errno))
}
