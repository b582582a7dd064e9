//! The compare-and-swap of every change to a file: write beside, sync, exchange, look at what came
//! out, exchange back if that is not what the preview was computed against.
//!
//! Checking first and renaming then would overwrite what another program wrote in between; an
//! exchange hands its version out, so that nobody's bytes are lost. The lock binds only placet.
//!
//! Creation never overwrites, and what is removed or moved is moved aside before it is looked at.
//! Where the file system cannot exchange, the target is compared under the lock and then renamed
//! over: there another program's version may be lost between the two. A program that holds the old
//! file open and writes to it after it came out and was compared, writes to a file without a name;
//! no check can see that.

mod aside;
mod beside;
mod chain;
mod clear;
mod copy;
mod lock;
mod reconcile;
#[cfg(test)]
mod tests;
mod transfer;

use placet_ledger::content::Text;
use placet_ledger::digest::{Digest, Purpose, digest};
use placet_ledger::id::{CallId, RunId};
use placet_ledger::precondition::{NodeId, Precondition};
use rustix::fs::{AtFlags, RenameFlags, fsync, renameat, renameat_with, statat, unlinkat};
use rustix::io::Errno;
use serde_json::Value;

use super::tree::Tree;
use super::{Files, result, text};
use crate::tool::ToolError;
use crate::workspace::{Exchanges, Folder, Opened, PathError, TEMPORARY_PREFIX, Target};
use beside::{Beside, Likeness};
use lock::Lock;
pub(super) use transfer::Transfer;

/// Exchanges in a row that another program may defeat before placet stops disturbing it.
const EXCHANGES_MAX: usize = 16;

/// One change of one file, for one call.
#[derive(Debug)]
pub(super) struct Job<'a> {
    files: &'a Files,
    path: &'a str,
    precondition: &'a Precondition,
    call: (RunId, CallId),
    /// Names beside the target: of a file on its way in or out, and of a version that is kept.
    temporary: String,
    kept: String,
    /// Of one entry of a tree on its way out.
    entry: String,
}

impl<'a> Job<'a> {
    /// The change that a call makes. The arguments and the precondition must name one path.
    pub(super) fn new(
        files: &'a Files,
        (run, call): (RunId, CallId),
        arguments: &'a Value,
        precondition: Option<&'a Precondition>,
    ) -> Result<Self, ToolError> {
        Self::at(
            files,
            (run, call),
            text(arguments, "path")?,
            precondition,
            "",
        )
    }

    /// The change of one place, where a call changes several. `part` tells their names apart.
    pub(super) fn at(
        files: &'a Files,
        (run, call): (RunId, CallId),
        path: &'a str,
        precondition: Option<&'a Precondition>,
        part: &str,
    ) -> Result<Self, ToolError> {
        let precondition = precondition
            .filter(|precondition| precondition.path() == path)
            .ok_or_else(|| ToolError::failed(format!("the call has no precondition for {path}")))?;
        let short: String = run.to_string().chars().take(8).collect();
        let name = |end: &str| format!("{TEMPORARY_PREFIX}{short}-{call}{part}{end}");
        Ok(Self {
            files,
            path,
            precondition,
            call: (run, call),
            temporary: name(".tmp"),
            kept: name(".kept"),
            entry: name(".entry.tmp"),
        })
    }

    /// Puts `content` in place of what the preview was computed against.
    pub(super) fn put(&self, content: &str) -> Result<Text, ToolError> {
        let lock = self.lock()?;
        let target = self.target()?;
        self.place(&lock, &target, content.as_bytes(), Likeness::New)
    }

    /// The same for any bytes, under locks that are held. A new file is like `new`.
    fn place(
        &self,
        lock: &Lock,
        target: &Target,
        content: &[u8],
        new: Likeness<'_>,
    ) -> Result<Text, ToolError> {
        match self.precondition {
            Precondition::File { .. } => self.replace(target, content),
            Precondition::Absent { .. } => self.create(lock, target, content, new),
            Precondition::Tree { .. }
            | Precondition::Operands { .. }
            | Precondition::Transfer { .. } => {
                Err(ToolError::failed("the call has no file to write"))
            }
        }
    }

    fn lock(&self) -> Result<Lock, ToolError> {
        let real = format!("{}/{}", self.files.workspace.path(), self.path);
        Lock::take(&self.files.locks, &real)
    }

    /// The place of the target, in the very folders of the preview.
    fn target(&self) -> Result<Target, ToolError> {
        let (parent, root) = self.above()?;
        self.in_workspace(root)?;
        let target = self
            .files
            .workspace
            .target_exact(self.path)
            .map_err(|error| self.moved(error))?;
        if target.folder.node == parent {
            Ok(target)
        } else {
            Err(self.stale("its folder is another one"))
        }
    }

    /// The folder that holds the target, and the workspace, as they were.
    fn above(&self) -> Result<(NodeId, NodeId), ToolError> {
        match self.precondition {
            Precondition::File { parent, root, .. }
            | Precondition::Tree { parent, root, .. }
            | Precondition::Absent { parent, root, .. } => Ok((*parent, *root)),
            Precondition::Operands { .. } | Precondition::Transfer { .. } => {
                Err(ToolError::failed("the call has no single target"))
            }
        }
    }

    fn in_workspace(&self, root: NodeId) -> Result<(), ToolError> {
        if self.files.workspace.root() != root {
            return Err(self.stale("the workspace is another folder"));
        }
        // A person allowed a change at this path, not wherever the folder has gone since.
        if !self.files.workspace.is_in_place() {
            return Err(self.stale("the workspace was moved"));
        }
        Ok(())
    }

    /// What is closed stays refused; any other trouble on the way is a change since the preview.
    fn moved(&self, error: PathError) -> ToolError {
        if error.is_refusal() {
            error.into()
        } else {
            self.stale(&error.to_string())
        }
    }

    /// Whether the target is as it was previewed; the bytes of a file.
    fn verify(&self, target: &Target) -> Result<u64, ToolError> {
        match self.precondition {
            Precondition::File { .. } => self.unchanged(target).map(|opened| opened.bytes),
            Precondition::Absent { .. } if target.is_absent() => Ok(0),
            Precondition::Absent { .. } => {
                Err(self.stale("there is something of that name by now"))
            }
            Precondition::Tree { .. } => {
                let tree = Tree::named(&self.files.workspace, &target.folder, &target.name);
                let tree = tree.map_err(|error| {
                    if error.is_refusal() {
                        error.into()
                    } else {
                        self.stale(&error.to_string())
                    }
                })?;
                match self.compared_tree(&tree) {
                    Some(difference) => Err(self.stale(&difference)),
                    None => Ok(0),
                }
            }
            Precondition::Operands { .. } | Precondition::Transfer { .. } => {
                Err(ToolError::failed("the call has no single target"))
            }
        }
    }

    fn unchanged(&self, target: &Target) -> Result<Opened, ToolError> {
        let opened = self
            .files
            .workspace
            .open_named(&target.folder, &target.name);
        self.compared(opened.map_err(|error| self.moved(error))?)
            .map_err(|difference| self.stale(&difference))
    }

    /// The file, if it is the previewed one; else what differs.
    fn compared(&self, mut opened: Opened) -> Result<Opened, String> {
        let Precondition::File {
            digest,
            links,
            mode,
            node,
            ..
        } = self.precondition
        else {
            return Err("there is a file where none was".into());
        };
        if opened.node != *node {
            return Err("it is another file".into());
        }
        if opened
            .digest(self.path)
            .map_err(|error| error.to_string())?
            != *digest
        {
            return Err("its content is different".into());
        }
        if opened.mode != *mode {
            return Err(format!("its mode is {:o}, not {mode:o}", opened.mode));
        }
        if opened.links != *links {
            return Err(format!("it has {} hard links, not {links}", opened.links));
        }
        Ok(opened)
    }

    /// How the tree differs from the previewed one, if it does.
    fn compared_tree(&self, tree: &Tree) -> Option<String> {
        let Precondition::Tree {
            entries,
            mode,
            node,
            ..
        } = self.precondition
        else {
            return Some("there is a folder where none was".into());
        };
        if tree.node != *node {
            return Some("it is another folder".into());
        }
        if tree.mode != *mode {
            return Some(format!("its mode is {:o}, not {mode:o}", tree.mode));
        }
        tree.difference(entries)
    }

    /// How what has that name differs from what was previewed, if it does.
    fn difference(&self, folder: &Folder, name: &str) -> Option<String> {
        if let Precondition::Tree { .. } = self.precondition {
            return match Tree::named(&self.files.workspace, folder, name) {
                Ok(tree) => self.compared_tree(&tree),
                Err(error) => Some(error.to_string()),
            };
        }
        match self.files.workspace.open_named(folder, name) {
            Ok(opened) => self.compared(opened).err(),
            Err(error) => Some(error.to_string()),
        }
    }

    fn replace(&self, target: &Target, content: &[u8]) -> Result<Text, ToolError> {
        let before = self.unchanged(target)?;
        let own = self.beside(&target.folder, content, Likeness::After(&before))?;
        match self.exchange(target) {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOSYS) => return self.replace_by_rename(target, &own),
            Err(Errno::NOENT) => return Err(self.give_up(target, self.stale("it is gone"))),
            Err(errno) => return Err(self.give_up(target, self.failed("exchange", errno))),
        }
        if let Some(difference) = self.difference(&target.folder, &self.temporary) {
            return Err(self.take_back(target, (own.node, own.digest), &difference));
        }
        self.unlink(&target.folder)?;
        self.written(target, own)
    }

    /// For file systems that cannot exchange: compares again, as late as possible, then renames.
    fn replace_by_rename(&self, target: &Target, own: &Beside) -> Result<Text, ToolError> {
        if let Err(error) = self.unchanged(target) {
            return Err(self.give_up(target, error));
        }
        let folder = &target.folder.dir;
        if let Err(errno) = renameat(folder, &self.temporary, folder, &target.name) {
            return Err(self.give_up(target, self.failed("rename", errno)));
        }
        self.sync(&target.folder)?;
        self.written(target, own.again()?)
    }

    fn create(
        &self,
        lock: &Lock,
        target: &Target,
        content: &[u8],
        new: Likeness<'_>,
    ) -> Result<Text, ToolError> {
        if !target.is_absent() {
            return Err(self.stale("there is something of that name by now"));
        }
        let own = self.beside(&target.folder, content, new)?;
        if let Err(error) = lock.mark(self.call) {
            return Err(self.give_up(target, error));
        }
        match self.move_to(&target.folder, &self.temporary, &target.name) {
            Ok(()) => {}
            Err(Errno::EXIST) => {
                let stale = self.stale("there is something of that name by now");
                return Err(self.give_up(target, stale));
            }
            Err(errno) => return Err(self.give_up(target, self.failed("create", errno))),
        }
        self.sync(&target.folder)?;
        self.written(target, own)
    }

    /// The result, from what is on disk: the file at the target while that is ours.
    fn written(&self, target: &Target, mut own: Beside) -> Result<Text, ToolError> {
        let doubt = |error: PathError| ToolError::in_doubt(format!("written, but {error}"));
        let at_target = self
            .files
            .workspace
            .open_named(&target.folder, &target.name);
        let bytes = match at_target {
            Ok(mut opened) if opened.node == own.node => opened.read(self.path),
            // Replaced by another program since: the change was made all the same.
            _ => own.read(self.path),
        }
        .map_err(doubt)?;
        let found = digest(Purpose::File, &bytes);
        if found == own.digest {
            result(self.path, found, u64::try_from(bytes.len()).ok())
        } else {
            Err(ToolError::in_doubt(format!(
                "{} was written, but reading it back gives other bytes",
                self.path
            )))
        }
    }

    /// Exchanges back until what comes out is what was last put in: then nobody interfered.
    fn take_back(&self, target: &Target, own: (NodeId, Digest), difference: &str) -> ToolError {
        let folder = &target.folder;
        let lost = |errno: Errno| {
            ToolError::in_doubt(format!(
                "{} changed while it was written ({difference}), and exchanging back failed: {errno}; \
                 look for {} beside it",
                self.path, self.temporary
            ))
        };
        let mut placed = own.0;
        for _ in 0..EXCHANGES_MAX {
            let step = node_at(folder, &self.temporary).and_then(|aside| {
                self.exchange(target)?;
                Ok((aside, node_at(folder, &self.temporary)?))
            });
            match step {
                Err(errno) => return lost(errno),
                Ok((_, out)) if out == placed => {
                    return self.end_take_back(target, own, difference);
                }
                // Newer than what was just put in place: it goes back as well.
                Ok((aside, _)) => placed = aside,
            }
        }
        let kept = self.keep(folder);
        self.stale(&format!(
            "{difference}, and it keeps being replaced; one version is kept as {kept}"
        ))
    }

    fn end_take_back(&self, target: &Target, own: (NodeId, Digest), difference: &str) -> ToolError {
        let folder = &target.folder;
        if self.is_ours(folder, own) {
            return match self.unlink(folder) {
                Ok(()) => self.stale(difference),
                Err(error) => error,
            };
        }
        let kept = self.keep(folder);
        self.stale(&format!(
            "{difference}; the newest version is in place, an older one is kept as {kept}"
        ))
    }

    /// Whether the file beside is the one that was written for this call, with its very bytes.
    fn is_ours(&self, folder: &Folder, (node, intended): (NodeId, Digest)) -> bool {
        self.files
            .workspace
            .open_named(folder, &self.temporary)
            .is_ok_and(|mut found| {
                found.node == node && found.digest(self.path).is_ok_and(|found| found == intended)
            })
    }

    fn exchange(&self, target: &Target) -> Result<(), Errno> {
        if self.files.exchanges == Exchanges::No {
            return Err(Errno::INVAL);
        }
        let folder = &target.folder.dir;
        renameat_with(
            folder,
            &self.temporary,
            folder,
            &target.name,
            RenameFlags::EXCHANGE,
        )
    }

    /// Removes the temporary file and makes the folder durable.
    fn unlink(&self, folder: &Folder) -> Result<(), ToolError> {
        unlinkat(&folder.dir, &self.temporary, AtFlags::empty())
            .map_err(|errno| self.unsettled("remove the temporary file of", errno))?;
        self.sync(folder)
    }

    fn sync(&self, folder: &Folder) -> Result<(), ToolError> {
        fsync(&folder.dir).map_err(|errno| self.unsettled("sync the folder of", errno))
    }

    /// Removes our own file after a step that changed nothing.
    fn give_up(&self, target: &Target, error: ToolError) -> ToolError {
        match unlinkat(&target.folder.dir, &self.temporary, AtFlags::empty()) {
            Ok(()) => error,
            Err(_) => ToolError::failed(format!(
                "{error}; the temporary file {} could not be removed",
                self.temporary
            )),
        }
    }

    fn stale(&self, what: &str) -> ToolError {
        ToolError::stale(format!(
            "{} is not as it was previewed: {what}; read it again and propose anew",
            self.path
        ))
    }

    fn failed(&self, action: &str, errno: Errno) -> ToolError {
        ToolError::failed(format!("cannot {action} {}: {errno}", self.path))
    }

    fn unsettled(&self, action: &str, errno: Errno) -> ToolError {
        ToolError::in_doubt(format!("cannot {action} {}: {errno}", self.path))
    }

    fn leftover(&self) -> ToolError {
        ToolError::failed(format!(
            "the temporary file {} beside {} exists already",
            self.temporary, self.path
        ))
    }
}

/// Device and inode of what has a name.
fn node_at(folder: &Folder, name: &str) -> Result<NodeId, Errno> {
    let found = statat(&folder.dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(NodeId {
        device: found.st_dev,
        inode: found.st_ino,
    })
}
