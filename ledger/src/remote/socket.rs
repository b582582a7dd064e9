//! The socket in the home: bound under the lock of the store, and found by its folder, since the
//! path of a home may be longer than the name of a socket can be.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Its name in the home.
pub const NAME: &str = "socket";

/// The socket by way of its open folder, which must stay open meanwhile.
fn through(folder: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{NAME}", folder.as_raw_fd()))
}

/// Binds the socket of a home, whose store this process has locked: what lies there was left by
/// one that is gone.
pub fn bind(home: &Path) -> io::Result<UnixListener> {
    let folder = File::open(home)?;
    match fs::remove_file(home.join(NAME)) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let path = through(&folder);
    let listener = UnixListener::bind(&path)?;
    // The folder is closed to others; so is the socket, should it not be.
    fs::set_permissions(home.join(NAME), Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Connects to whoever serves the socket of a home.
pub fn connect(home: &Path) -> io::Result<UnixStream> {
    let folder = File::open(home)?;
    UnixStream::connect(through(&folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_with_a_long_path_has_a_socket_and_a_stale_one_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder
            .path()
            .join("long".repeat(40))
            .join("home".repeat(40));
        fs::create_dir_all(&home).unwrap();
        assert_eq!(connect(&home).unwrap_err().kind(), io::ErrorKind::NotFound);
        drop(bind(&home).unwrap());
        let stale = connect(&home).unwrap_err();
        assert_eq!(stale.kind(), io::ErrorKind::ConnectionRefused);
        let listener = bind(&home).unwrap();
        let _connected = connect(&home).unwrap();
        listener.accept().unwrap();
        let mode = fs::metadata(home.join(NAME)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
