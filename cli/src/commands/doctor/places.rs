//! What lies in the home and beside the head file, held against what should: a folder, a link or a
//! pipe in the place of a file is told with what can be done about that one.

use std::fs::Metadata;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use placet_ledger::regular;
use placet_ledger::remote::socket;

use crate::lost::lost;

/// What should lie at a place.
enum Should {
    File,
    Folder,
    Socket,
    /// Either of the first two: others look at what it is.
    Any,
}

/// Where it is looked.
pub(super) struct Places {
    /// The home.
    pub(super) home: PathBuf,
    /// The folder of the head file, where it is known.
    pub(super) head: Option<PathBuf>,
}

/// What is something else than it should be.
#[derive(Debug, Default)]
pub(super) struct Odd {
    /// What it is.
    pub(super) found: Vec<String>,
    /// What can be done.
    pub(super) hints: Vec<&'static str>,
}

impl Places {
    fn should(&self, path: &Path) -> (Should, &'static str) {
        let names = |folder: &Path| -> Option<Vec<String>> {
            let below = path.strip_prefix(folder).ok()?;
            below
                .iter()
                .map(|name| Some(name.to_str()?.to_owned()))
                .collect()
        };
        let head = self.head.as_deref().and_then(names);
        if let Some([name]) = head.as_deref() {
            let known = ["head", "home", "holder"].contains(&name.as_str());
            let should = if known { Should::File } else { Should::Any };
            return (should, lost(name));
        }
        match names(&self.home).as_deref() {
            Some([name]) => (in_home(name), lost(name)),
            Some([folder, name]) => (in_folder(folder, name), lost(folder)),
            Some([folder, ..]) => (Should::Any, lost(folder)),
            Some([]) | None => (Should::Any, "move it away: the home is a folder"),
        }
    }

    /// Takes down what is something else than it should be.
    pub(super) fn look(&self, path: &Path, meta: &Metadata, odd: &mut Odd) {
        let kind = meta.file_type();
        let (should, hint) = self.should(path);
        let fits = match should {
            Should::File => kind.is_file(),
            Should::Folder => kind.is_dir(),
            Should::Socket => kind.is_socket(),
            Should::Any => kind.is_file() || kind.is_dir(),
        };
        if !fits {
            let (path, kind) = (path.display(), regular::kind(kind));
            odd.found.push(format!("{path} is {kind}"));
            if !odd.hints.contains(&hint) {
                odd.hints.push(hint);
            }
        }
    }
}

fn in_home(name: &str) -> Should {
    match name {
        socket::NAME => Should::Socket,
        "ledger" | "owner" | "keys" | "ledger.key" | "recovery.key" | "socket.key" | "host" => {
            Should::File
        }
        "sled" | "log" | "tile" | "content" | "snapshots" | "driving" | "running" | "locks" => {
            Should::Folder
        }
        _ => Should::Any,
    }
}

/// sled has a folder among its files, and so have tiles: they are looked at as the ledger is.
fn in_folder(folder: &str, name: &str) -> Should {
    match folder {
        "sled" if name != "blobs" => Should::File,
        "log" | "content" | "snapshots" | "driving" | "running" | "locks" => Should::File,
        _ => Should::Any,
    }
}
