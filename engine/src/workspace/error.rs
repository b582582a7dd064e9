//! Why a workspace cannot be used, and why a path in one cannot.

use std::io;
use std::path::PathBuf;

use placet_ledger::limits::CONTENT_BYTES_MAX;

/// Why a run cannot have this workspace.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// It cannot be opened as a folder.
    #[error("cannot open the workspace {path}")]
    Open {
        /// The path as given.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Its path cannot be recorded.
    #[error("the path of the workspace must be UTF-8 without control characters, found {0:?}")]
    Path(PathBuf),
    /// It contains what belongs to placet.
    #[error(
        "the workspace {path} contains {closed}, which belongs to placet: choose a folder beside it"
    )]
    Contains {
        /// The workspace.
        path: PathBuf,
        /// The closed folder.
        closed: PathBuf,
    },
    /// It lies in what belongs to placet.
    #[error(
        "the workspace {path} lies inside {closed}, which belongs to placet: choose a folder outside it"
    )]
    Inside {
        /// The workspace.
        path: PathBuf,
        /// The closed folder.
        closed: PathBuf,
    },
    /// What is closed cannot be listed, so nobody knows what is closed.
    #[error("cannot list {path}, which belongs to placet")]
    Closed {
        /// The closed path.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The folder at its path is another one than before.
    #[error(
        "the workspace {path} is another folder than when the run began: expected {expected}, found {found}"
    )]
    Moved {
        /// The workspace.
        path: PathBuf,
        /// The node that the run recorded.
        expected: String,
        /// The node that is there.
        found: String,
    },
}

/// Why a path does not lead to what a tool was asked for; worded for the model that sent it.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// An empty path.
    #[error("the path is empty: send one relative to the workspace, such as notes.txt")]
    Empty,
    /// A path with characters that would hide what it is.
    #[error("the path {0:?} has control characters: send one without them")]
    Control(String),
    /// A path that is too long for any file system.
    #[error("the path has {0} bytes, of at most 4095")]
    Long(usize),
    /// A file named as a folder.
    #[error(
        "the path {0} ends in a slash or dots, which name a folder: name a file, such as \
         folder/file"
    )]
    NamesFolder(String),
    /// A way out of the workspace.
    #[error("the path {0} leads outside the workspace: only files inside it can be used")]
    Outside(String),
    /// What belongs to placet.
    #[error("closed: {0} belongs to placet, and no tool may use it")]
    Closed(String),
    /// A name that placet uses for its own temporary files.
    #[error("the name of {0} is kept for placet's own temporary files: choose another")]
    Reserved(String),
    /// Another mount.
    #[error("{0} is on another mount than the workspace, and no tool crosses mounts")]
    Mount(String),
    /// Nothing there.
    #[error("there is no {path}{}", hint(.nearest.as_deref()))]
    Missing {
        /// The path.
        path: String,
        /// The name beside it that is most like the one asked for.
        nearest: Option<String>,
    },
    /// No folder to hold the file.
    #[error("there is no folder {0} to hold the file: create it first, or correct the path")]
    MissingFolder(String),
    /// A folder where a file was expected.
    #[error("{}", folder(.0))]
    Folder(String),
    /// A file where a folder was expected.
    #[error("{0} is not a folder")]
    NotFolder(String),
    /// A symbolic link where the file itself was expected.
    #[error("{0} is a symbolic link: name the file that it leads to")]
    Symlink(String),
    /// A device, pipe or socket.
    #[error("{path} is {kind}, and only regular files can be used")]
    Special {
        /// The path.
        path: String,
        /// What it is.
        kind: &'static str,
    },
    /// Too many bytes.
    #[error("{path} has {bytes} bytes, of at most {CONTENT_BYTES_MAX} that a tool can handle")]
    Large {
        /// The path.
        path: String,
        /// How many.
        bytes: u64,
    },
    /// The system said no.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// What was being done.
        action: &'static str,
        /// The path.
        path: String,
        /// Why not.
        source: io::Error,
    },
}

impl PathError {
    /// Whether it is not allowed at all, as opposed to not possible as things are.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Outside(_) | Self::Closed(_) | Self::Reserved(_) | Self::Mount(_) => true,
            Self::Empty
            | Self::Control(_)
            | Self::Long(_)
            | Self::NamesFolder(_)
            | Self::Missing { .. }
            | Self::MissingFolder(_)
            | Self::Folder(_)
            | Self::NotFolder(_)
            | Self::Symlink(_)
            | Self::Special { .. }
            | Self::Large { .. }
            | Self::Io { .. } => false,
        }
    }

    pub(crate) fn io(action: &'static str, path: &str, source: impl Into<io::Error>) -> Self {
        Self::Io {
            action,
            path: path.to_owned(),
            source: source.into(),
        }
    }
}

fn folder(path: &str) -> String {
    if path == "." {
        String::from("the path . is a folder, the workspace itself: name something in it")
    } else {
        format!("{path} is a folder, not a file")
    }
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(": did you mean {name}?"))
}
