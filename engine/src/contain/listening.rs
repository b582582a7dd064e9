//! Sockets with a path that were bound before a process starts, as the kernel lists them for this
//! network: whoever listens there runs outside, and a mount can cover what a filter cannot tell.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Where the kernel lists them.
const LIST: &str = "/proc/net/unix";

/// Fields of a line before the path.
const FIELDS: usize = 7;

/// Paths by which sockets were bound, as they were named.
#[derive(Debug, Default)]
pub(crate) struct Listening(BTreeSet<PathBuf>);

impl Listening {
    /// Those of this moment. Sockets of another network, such as a container's, are not among them.
    pub(crate) fn now() -> io::Result<Self> {
        Ok(Self::listed(&fs::read(LIST)?))
    }

    fn listed(list: &[u8]) -> Self {
        let lines = list.split(|&byte| byte == b'\n').skip(1);
        let paths = lines.filter_map(path).collect();
        Self(paths)
    }

    /// Those that lie in these folders by the path that they were bound with.
    pub(crate) fn within(&self, folders: &[PathBuf]) -> Vec<PathBuf> {
        let lies = |path: &&PathBuf| folders.iter().any(|folder| path.starts_with(folder));
        let found = self.0.iter().filter(lies);
        found.filter(|path| is_socket(path)).cloned().collect()
    }

    /// Whether a socket may be one of them: a name could be relative, or lead through links, so
    /// that its end is all that tells.
    pub(crate) fn may_have(&self, socket: &Path) -> bool {
        let name: Option<&OsStr> = socket.file_name();
        self.0.iter().any(|path| path.file_name() == name)
    }
}

fn is_socket(path: &Path) -> bool {
    let found = path.symlink_metadata();
    found.is_ok_and(|found| found.file_type().is_socket())
}

/// The path at the end of a line; an abstract name is none.
fn path(line: &[u8]) -> Option<PathBuf> {
    let mut rest = line;
    for _ in 0..FIELDS {
        let start = rest.iter().position(|&byte| byte != b' ')?;
        let (_, field) = rest.split_at_checked(start)?;
        let end = field.iter().position(|&byte| byte == b' ')?;
        (_, rest) = field.split_at_checked(end)?;
    }
    let path = rest.strip_prefix(b" ")?;
    let named = !path.is_empty() && !path.starts_with(b"@");
    named.then(|| PathBuf::from(OsString::from_vec(path.to_vec())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Linux writes it.
    const WRITTEN: &[u8] = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
        0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/a b\n\
        0000000000000000: 00000003 00000000 00000000 0001 03     7\n\
        0000000000000000: 00000002 00000000 00010000 0001 01 12346 @/tmp/.X11-unix/X0\n\
        0000000000000000: 00000002 00000000 00000000 0002 01 12347 ./tmp/dev.sock\n";

    #[test]
    fn paths_are_read_as_they_stand() {
        let listening = Listening::listed(WRITTEN);
        let paths: Vec<_> = listening
            .0
            .iter()
            .map(|path| path.to_str().unwrap())
            .collect();
        assert_eq!(paths, ["/run/a b", "./tmp/dev.sock"]);
        for (socket, expected) in [
            ("/srv/ws/tmp/dev.sock", true),
            ("/elsewhere/a b", true),
            ("/srv/ws/other.sock", false),
            ("/tmp/.X11-unix/X0", false),
        ] {
            assert_eq!(listening.may_have(Path::new(socket)), expected, "{socket}");
        }
    }

    #[test]
    fn one_that_is_bound_is_found_until_nobody_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let (at, folders) = (folder.path().join("a socket"), [folder.path().to_owned()]);
        let socket = std::os::unix::net::UnixListener::bind(&at).unwrap();
        assert_eq!(
            Listening::now().unwrap().within(&folders),
            std::slice::from_ref(&at)
        );
        drop(socket);
        assert!(at.exists());
        assert!(Listening::now().unwrap().within(&folders).is_empty());
    }
}
