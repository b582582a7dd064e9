//! Opening files, of a home or that a person names: what is no regular file is said to be none, and
//! never waited for.
//!
//! Opening a pipe waits for somebody at its other end, and a device may have no end.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use crate::lock::{flags, flags_of_named};

/// Opens a file as the options say; a link is not followed.
pub fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let error = match options.custom_flags(flags()).open(path) {
        Ok(file) => {
            let kind = file.metadata()?.file_type();
            return if kind.is_file() {
                Ok(file)
            } else {
                Err(other(kind))
            };
        }
        Err(error) => error,
    };
    match fs::symlink_metadata(path) {
        Ok(there) if !there.is_file() && error.kind() != ErrorKind::AlreadyExists => {
            Err(other(there.file_type()))
        }
        Ok(_) | Err(_) => Err(error),
    }
}

/// Opens a file to read it.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().read(true), path)
}

/// Opens a file that a person named, to read it: it lies where they keep it, so links are followed.
pub fn open_named(path: &Path) -> io::Result<File> {
    // Opening a socket fails by itself, in the words of the system.
    let kind = fs::metadata(path)?.file_type();
    if !kind.is_file() {
        return Err(other(kind));
    }
    let mut options = OpenOptions::new();
    let file = options
        .read(true)
        .custom_flags(flags_of_named())
        .open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        Ok(file)
    } else {
        Err(other(kind))
    }
}

/// All bytes of a file that a person named; more than so many are an error, and no part of it.
pub fn read_named(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open_named(path)?;
    let mut bytes = Vec::new();
    let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(read).is_ok_and(|read| read <= most) {
        return Ok(bytes);
    }
    let what = format!("it has more than {most} bytes");
    Err(io::Error::new(ErrorKind::FileTooLarge, what))
}

/// All bytes of a file.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_to_read(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a file.
pub fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open_to_read(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// What a thing is that is no file; in words, since the system has others for each way to open it.
pub fn kind(of: FileType) -> &'static str {
    if of.is_symlink() {
        "a link"
    } else if of.is_dir() {
        "a folder"
    } else if of.is_fifo() {
        "a pipe"
    } else if of.is_socket() {
        "a socket"
    } else if of.is_file() {
        "a file"
    } else {
        "a device"
    }
}

fn other(of: FileType) -> io::Error {
    let what = format!("it is {} and no file", kind(of));
    io::Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    #[test]
    fn a_file_that_a_person_named_may_be_a_link_and_has_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "text").unwrap();
        fs::create_dir(at("folder")).unwrap();
        mkfifoat(CWD, at("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        let _listener = UnixListener::bind(at("socket")).unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink("/dev/zero", at("endless")).unwrap();
        symlink(at("pipe"), at("waiting")).unwrap();
        for name in ["file", "link"] {
            assert_eq!(read_named(&at(name), 4).unwrap(), b"text");
            let error = read_named(&at(name), 3).unwrap_err();
            let told = (error.kind(), error.to_string());
            let what = String::from("it has more than 3 bytes");
            assert_eq!(told, (ErrorKind::FileTooLarge, what));
        }
        for (name, said) in [
            ("folder", "it is a folder and no file"),
            ("pipe", "it is a pipe and no file"),
            ("waiting", "it is a pipe and no file"),
            ("socket", "it is a socket and no file"),
            ("endless", "it is a device and no file"),
        ] {
            let error = read_named(&at(name), 4).unwrap_err();
            let told = (error.kind(), error.to_string());
            assert_eq!(told, (ErrorKind::InvalidData, said.to_owned()), "{name}");
        }
        let missing = open_named(&at("missing")).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn what_is_no_file_is_named_however_it_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "text").unwrap();
        fs::create_dir(at("folder")).unwrap();
        mkfifoat(CWD, at("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        let _listener = UnixListener::bind(at("socket")).unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink("/dev/zero", at("endless")).unwrap();
        let options = || {
            let mut all = [const { None }; 4].map(|_: Option<()>| OpenOptions::new());
            all[0].read(true);
            all[1].write(true);
            all[2].read(true).write(true);
            all[3].write(true).create(true).truncate(false);
            all
        };
        for (name, said) in [
            ("folder", "it is a folder and no file"),
            ("pipe", "it is a pipe and no file"),
            ("socket", "it is a socket and no file"),
            ("link", "it is a link and no file"),
            ("endless", "it is a link and no file"),
        ] {
            for mut options in options() {
                let error = open(&mut options, &at(name)).unwrap_err();
                let told = (error.kind(), error.to_string());
                assert_eq!(told, (ErrorKind::InvalidData, said.to_owned()), "{name}");
            }
        }
        let device = open_to_read(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(device.to_string(), "it is a device and no file");
        for mut options in options() {
            assert!(open(&mut options, &at("file")).is_ok());
        }
        assert_eq!(read(&at("file")).unwrap(), b"text");
        assert_eq!(read_text(&at("file")).unwrap(), "text");
        let missing = read(&at("missing")).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        let mut new = OpenOptions::new();
        let error = open(new.write(true).create_new(true), &at("pipe")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    }
}
