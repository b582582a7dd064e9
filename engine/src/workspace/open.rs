//! Opens the files of a workspace: regular ones, on its own mount, and none that is closed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use placet_ledger::digest::{Digest, Purpose, digest};
use placet_ledger::limits::CONTENT_BYTES_MAX;
use placet_ledger::precondition::NodeId;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Stat, StatxFlags, fstat, fstatfs, openat, statat, statx,
};
use rustix::io::Errno;

use super::closed::node_of;
use super::{Exchanges, Folder, PathError, Target, Workspace, join, plain};
use crate::nearest::nearest;

/// Entries of a folder that are compared to find a name somebody meant.
const NAMES_MAX: usize = 1_000;

/// A regular file that was opened and checked.
#[derive(Debug)]
pub(crate) struct Opened {
    file: File,
    /// The file.
    pub(crate) node: NodeId,
    /// Number of hard links.
    pub(crate) links: u64,
    /// Permission bits, with set-id and sticky ones.
    pub(crate) mode: u32,
    /// Owner and group.
    pub(crate) owner: (u32, u32),
    /// Its length when it was opened.
    pub(crate) bytes: u64,
}

impl Opened {
    /// Its bytes from the beginning, at most [`CONTENT_BYTES_MAX`].
    pub(crate) fn read(&mut self, path: &str) -> Result<Vec<u8>, PathError> {
        let wrong = |error| PathError::io("read", path, error);
        self.file.rewind().map_err(wrong)?;
        let mut bytes = Vec::new();
        // One more than allowed tells that the file grew.
        let limit = u64::try_from(CONTENT_BYTES_MAX).unwrap_or(u64::MAX);
        let mut limited = (&mut self.file).take(limit.saturating_add(1));
        limited.read_to_end(&mut bytes).map_err(wrong)?;
        if bytes.len() > CONTENT_BYTES_MAX {
            return Err(PathError::Large {
                path: path.to_owned(),
                bytes: self.bytes.max(limit.saturating_add(1)),
            });
        }
        Ok(bytes)
    }

    /// The hash of its bytes.
    pub(crate) fn digest(&mut self, path: &str) -> Result<Digest, PathError> {
        Ok(digest(Purpose::File, &self.read(path)?))
    }

    /// The descriptor.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }
}

impl Target {
    /// Whether nothing has the name of a place, not even a symbolic link that leads nowhere.
    pub(crate) fn is_absent(&self) -> bool {
        let found = statat(&self.folder.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        matches!(found, Err(Errno::NOENT))
    }
}

impl Workspace {
    /// Opens the file at a place without following a symbolic link; an error says what is there
    /// instead.
    pub(crate) fn open_file(&self, target: &Target) -> Result<Opened, PathError> {
        match self.open_named(&target.folder, &target.name) {
            Err(PathError::Missing { path, .. }) => Err(PathError::Missing {
                nearest: self.nearest_in(&target.folder, &target.name),
                path,
            }),
            other => other,
        }
    }

    /// The same for any name in a folder, and without a hint.
    pub(crate) fn open_named(
        &self,
        folder: &Folder,
        name: impl AsRef<OsStr>,
    ) -> Result<Opened, PathError> {
        let name = name.as_ref();
        let path = join(&folder.path, &plain(name));
        let wrong = |errno: Errno| match errno {
            Errno::NOENT => PathError::Missing {
                path: path.clone(),
                nearest: None,
            },
            Errno::LOOP => PathError::Symlink(path.clone()),
            errno => PathError::io("open", &path, errno),
        };
        // Looked at first, since opening alone does something to some devices.
        let found = statat(&folder.dir, name, AtFlags::SYMLINK_NOFOLLOW).map_err(wrong)?;
        let node = NodeId {
            device: found.st_dev,
            inode: found.st_ino,
        };
        if self.is_closed(node) {
            return Err(PathError::Closed(path));
        }
        match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(PathError::Folder(path)),
            FileType::Symlink => return Err(PathError::Symlink(path)),
            FileType::Fifo => return Err(special(path, "a pipe")),
            FileType::Socket => return Err(special(path, "a socket")),
            FileType::CharacterDevice | FileType::BlockDevice => {
                return Err(special(path, "a device"));
            }
            FileType::Unknown => return Err(special(path, "of unknown type")),
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(&folder.dir, name, flags, Mode::empty()).map_err(wrong)?);
        self.checked(file, path)
    }

    fn checked(&self, file: File, path: String) -> Result<Opened, PathError> {
        let metadata = file
            .metadata()
            .map_err(|error| PathError::io("look at", &path, error))?;
        let kind = metadata.file_type();
        if kind.is_dir() {
            return Err(PathError::Folder(path));
        }
        if !metadata.is_file() {
            let kind = if kind.is_fifo() { "a pipe" } else { "a device" };
            return Err(special(path, kind));
        }
        let node = node_of(&metadata);
        self.on_own_mount(&file, node, &path)?;
        // A file with one name is where that name is; only what has several can lie in a closed
        // folder as well. Listing that folder each time would cost more with every file in it.
        let closed = if metadata.nlink() > 1 {
            self.closed
                .contains_now(node)
                .map_err(|error| PathError::io("check what is closed for", &path, error))?
        } else {
            self.closed.contains_led(node)
        };
        if closed {
            return Err(PathError::Closed(path));
        }
        if metadata.len() > u64::try_from(CONTENT_BYTES_MAX).unwrap_or(u64::MAX) {
            return Err(PathError::Large {
                path,
                bytes: metadata.len(),
            });
        }
        Ok(Opened {
            file,
            node,
            links: metadata.nlink(),
            mode: metadata.mode() & 0o7777,
            owner: (metadata.uid(), metadata.gid()),
            bytes: metadata.len(),
        })
    }

    /// Looks at whatever is at a place without opening or following it.
    pub(crate) fn look(&self, target: &Target) -> Result<Stat, PathError> {
        let path = &target.path;
        let wrong = |errno: Errno| match errno {
            Errno::NOENT => PathError::Missing {
                nearest: self.nearest_in(&target.folder, &target.name),
                path: path.clone(),
            },
            errno => PathError::io("look at", path, errno),
        };
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(&target.folder.dir, &target.name, flags, Mode::empty()).map_err(wrong)?;
        let found = fstat(&fd).map_err(wrong)?;
        let node = NodeId {
            device: found.st_dev,
            inode: found.st_ino,
        };
        let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
        let several = !is_folder && found.st_nlink > 1;
        if self.is_closed(node) || (several && self.closed_now(path)?.contains(&node)) {
            return Err(PathError::Closed(path.clone()));
        }
        self.on_own_mount(&fd, node, path)?;
        Ok(found)
    }

    /// Every node that is closed by now.
    pub(crate) fn closed_now(&self, path: &str) -> Result<BTreeSet<NodeId>, PathError> {
        self.closed
            .nodes_now()
            .map_err(|error| PathError::io("check what is closed in", path, error))
    }

    /// Refuses what is on another mount, which may belong to anybody or answer never.
    pub(super) fn on_own_mount(
        &self,
        fd: impl AsFd,
        node: NodeId,
        path: &str,
    ) -> Result<(), PathError> {
        let mount = mount_of(fd).map_err(|errno| PathError::io("look at", path, errno))?;
        let same = match (mount, self.mount) {
            (Some(found), Some(own)) => found == own,
            // A kernel that does not tell mounts still tells devices.
            _ => node.device == self.node.device,
        };
        if same {
            Ok(())
        } else {
            Err(PathError::Mount(path.to_owned()))
        }
    }

    /// The name in the folder of `path` that is most like its last one.
    pub(super) fn nearest(&self, path: &str) -> Option<String> {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = self.walk(above).ok()?;
        self.nearest_in(&folder, name)
    }

    fn nearest_in(&self, folder: &Folder, name: &str) -> Option<String> {
        let names: Vec<_> = folder
            .dir
            .entries()
            .ok()?
            .take(NAMES_MAX)
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|there| there != name && !there.chars().any(char::is_control))
            .filter(|name| !self.is_closed_name(folder, name))
            .collect();
        nearest(name, names.iter().map(String::as_str)).map(|name| join(&folder.path, name))
    }

    fn is_closed_name(&self, folder: &Folder, name: &str) -> bool {
        statat(&folder.dir, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|found| {
            self.is_closed(NodeId {
                device: found.st_dev,
                inode: found.st_ino,
            })
        })
    }
}

fn special(path: String, kind: &'static str) -> PathError {
    PathError::Special { path, kind }
}

/// Device and inode of what a descriptor stands for.
pub(super) fn node_of_fd(fd: impl AsFd) -> Result<NodeId, Errno> {
    let found = fstat(fd)?;
    Ok(NodeId {
        device: found.st_dev,
        inode: found.st_ino,
    })
}

/// The mount of what a descriptor stands for, where the kernel tells it.
pub(super) fn mount_of(fd: impl AsFd) -> Result<Option<u64>, Errno> {
    match statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID) {
        Ok(found) if found.stx_mask & StatxFlags::MNT_ID.bits() != 0 => Ok(Some(found.stx_mnt_id)),
        Ok(_) | Err(Errno::NOSYS) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Whether the file system of a folder can exchange names. Asking it would change something, so
/// this goes by its type: network file systems cannot.
pub(super) fn exchanges(fd: impl AsFd) -> Result<Exchanges, Errno> {
    const NFS: i128 = 0x6969;
    const SMB: i128 = 0x517b;
    const CIFS: i128 = 0xff53_4d42;
    const SMB2: i128 = 0xfe53_4d42;
    const NINE_P: i128 = 0x0102_1997;
    const FUSE: i128 = 0x6573_5546;

    // The width and sign of the type differ between machines; its low 32 bits tell.
    let kind = i128::from(fstatfs(fd)?.f_type) & 0xffff_ffff;
    Ok(match kind {
        NFS | SMB | CIFS | SMB2 | NINE_P => Exchanges::No,
        FUSE => Exchanges::Perhaps,
        _ => Exchanges::Yes,
    })
}
