//! Writes a file beside its target, complete and durable before anybody can see it there.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use placet_ledger::digest::{Digest, Purpose, digest};
use placet_ledger::precondition::NodeId;
use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, Uid, XattrFlags, fchmod, fchown, fgetxattr, fgetxattr_query,
    flistxattr, flistxattr_query, fremovexattr, fsetxattr, openat, unlinkat,
};
use rustix::io::Errno;

use super::Job;
use crate::tool::ToolError;
use crate::workspace::{Folder, Opened, PathError};

/// Who may use a file beyond its mode.
const ACCESS_LIST: &str = "system.posix_acl_access";

/// Who may use what is made in a folder.
const DEFAULT_LIST: &str = "system.posix_acl_default";

/// What a program may do beyond its user.
const CAPABILITIES: &str = "security.capability";

/// Whose owner and mode a written file has.
#[derive(Debug, Clone, Copy)]
pub(super) enum Likeness<'a> {
    /// Those of the file that it replaces.
    After(&'a Opened),
    /// This very mode, as its original has it.
    Copy(Mode),
    /// Nobody's: what the process's mask leaves.
    New,
}

/// A file that was written for this call.
#[derive(Debug)]
pub(super) struct Beside {
    file: File,
    /// The file.
    pub(super) node: NodeId,
    /// The hash of what was written.
    pub(super) digest: Digest,
}

impl Beside {
    /// Its bytes, through the descriptor that wrote them.
    pub(super) fn read(&mut self, path: &str) -> Result<Vec<u8>, PathError> {
        let mut bytes = Vec::new();
        self.file
            .rewind()
            .and_then(|()| self.file.read_to_end(&mut bytes))
            .map_err(|error| PathError::io("read back", path, error))?;
        Ok(bytes)
    }

    /// Another handle of the same file.
    pub(super) fn again(&self) -> Result<Self, ToolError> {
        let file = self.file.try_clone().map_err(|error| {
            ToolError::in_doubt(format!("written, but cannot read it: {error}"))
        })?;
        Ok(Self {
            file,
            node: self.node,
            digest: self.digest,
        })
    }
}

impl Job<'_> {
    /// Writes and syncs `content` under the temporary name, with owner, mode and access list of
    /// the file that it will replace.
    pub(super) fn beside(
        &self,
        folder: &Folder,
        content: &[u8],
        like: Likeness<'_>,
    ) -> Result<Beside, ToolError> {
        let mode = match like {
            // Nobody else reads it before it has the mode of the file it is like.
            Likeness::After(_) | Likeness::Copy(_) => Mode::RUSR | Mode::WUSR,
            Likeness::New => Mode::from_raw_mode(0o666),
        };
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(&folder.dir, &self.temporary, flags, mode);
        let file = match opened {
            Ok(fd) => File::from(fd),
            Err(Errno::EXIST) => return Err(self.leftover()),
            Err(errno) => return Err(self.failed("write beside", errno)),
        };
        self.fill(file, content, like).map_err(|error| {
            match unlinkat(&folder.dir, &self.temporary, AtFlags::empty()) {
                Ok(()) => error,
                Err(_) => ToolError::failed(format!(
                    "{error}; the temporary file {} could not be removed",
                    self.temporary
                )),
            }
        })
    }

    fn fill(
        &self,
        mut file: File,
        content: &[u8],
        like: Likeness<'_>,
    ) -> Result<Beside, ToolError> {
        let failed = |error| ToolError::from(PathError::io("write beside", self.path, error));
        file.write_all(content).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let kept = match like {
            Likeness::After(before) => take_after(&file, (metadata.uid(), metadata.gid()), before),
            Likeness::Copy(mode) => lists_off(&file)
                .and_then(|()| fchmod(&file, mode))
                .map_err(|errno| ("the mode", errno)),
            Likeness::New => Ok(()),
        };
        kept.map_err(|(what, errno)| {
            ToolError::failed(format!("cannot keep {what} of {}: {errno}", self.path))
        })?;
        file.sync_all().map_err(failed)?;
        Ok(Beside {
            node: NodeId {
                device: metadata.dev(),
                inode: metadata.ino(),
            },
            digest: digest(Purpose::File, content),
            file,
        })
    }
}

/// Takes off what a file or folder has of the default list of the folder that holds it: it would
/// let more people in than the mode says that was shown.
pub(super) fn lists_off(file: impl AsFd) -> Result<(), Errno> {
    for list in [ACCESS_LIST, DEFAULT_LIST] {
        match fremovexattr(&file, list) {
            // No file has a default list.
            Ok(()) | Err(Errno::NODATA | Errno::NOTSUP | Errno::ACCESS) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Gives `file` the owner, access list, mode and user attributes of the file that it replaces.
fn take_after(
    file: &File,
    owner: (u32, u32),
    before: &Opened,
) -> Result<(), (&'static str, Errno)> {
    if owner != before.owner {
        let (uid, gid) = before.owner;
        fchown(file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))
            .map_err(|errno| ("the owner", errno))?;
    }
    let names = attributes(before.file()).map_err(|errno| ("the attributes", errno))?;
    if names.iter().any(|name| name == CAPABILITIES) {
        return Err(("the capabilities", Errno::PERM));
    }
    if !names.iter().any(|name| name == ACCESS_LIST) {
        lists_off(file).map_err(|errno| ("the access list", errno))?;
    }
    fchmod(file, Mode::from_raw_mode(before.mode & 0o777)).map_err(|errno| ("the mode", errno))?;
    for name in names {
        if name == ACCESS_LIST || name.starts_with("user.") {
            let value =
                attribute(before.file(), &name).map_err(|errno| ("the attributes", errno))?;
            fsetxattr(file, &name, &value, XattrFlags::empty())
                .map_err(|errno| ("the attributes", errno))?;
        }
    }
    Ok(())
}

/// The names of a file's extended attributes; none where the file system has no such thing.
fn attributes(file: &File) -> Result<Vec<String>, Errno> {
    let mut list = match flistxattr_query(file) {
        Ok(length) => vec![0_u8; length],
        Err(Errno::NOTSUP) => return Ok(Vec::new()),
        Err(errno) => return Err(errno),
    };
    if list.is_empty() {
        return Ok(Vec::new());
    }
    let length = flistxattr(file, list.as_mut_slice())?;
    list.truncate(length);
    Ok(list
        .split(|&byte| byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect())
}

fn attribute(file: &File, name: &str) -> Result<Vec<u8>, Errno> {
    let mut value = vec![0_u8; fgetxattr_query(file, name)?];
    if value.is_empty() {
        return Ok(value);
    }
    let length = fgetxattr(file, name, value.as_mut_slice())?;
    value.truncate(length);
    Ok(value)
}
