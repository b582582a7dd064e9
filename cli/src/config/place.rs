//! Where the user's config lies, and reading it from there.

use std::path::{Path, PathBuf};

use placet_engine::outfit::read_text;

use super::{Config, parse_user};
use crate::error::CommandError;
use crate::io::Io;

/// The folder of the user's config.
pub(crate) fn default_folder(io: &Io) -> Option<PathBuf> {
    let home = || io.var("HOME").map(|home| Path::new(home).join(".config"));
    let folder = io.var("XDG_CONFIG_HOME").map(PathBuf::from).or_else(home);
    folder.map(|folder| io.path(&folder.join("placet")))
}

/// Where the user's config lies, or would.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    path: PathBuf,
    /// Whether a person named it: then it must be there.
    named: bool,
}

impl Place {
    /// The file that was named, or the default one.
    pub(crate) fn locate(named: Option<&Path>, io: &Io) -> Self {
        let default = || default_folder(io).map(|folder| folder.join("config.toml"));
        let path = named.map(|named| io.path(named)).or_else(default);
        Self {
            path: path.unwrap_or_default(),
            named: named.is_some(),
        }
    }

    /// Its path; empty where nobody says whose config it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Its folder: a file that the config names lies beside it.
    pub(crate) fn folder(&self) -> PathBuf {
        self.path.parent().map(Path::to_owned).unwrap_or_default()
    }

    /// Whether a person named it.
    pub(crate) const fn is_named(&self) -> bool {
        self.named
    }

    /// Reads the config.
    pub(crate) fn read(&self) -> Result<Config, CommandError> {
        match read_text(&self.path) {
            Ok(text) => parse_user(&self.path, &text),
            Err(error) if !self.named && error.kind() == std::io::ErrorKind::NotFound => {
                Ok(Config::default())
            }
            Err(error) => {
                let what = format!("cannot read the config {}: {error}", self.path.display());
                Err(CommandError::usage(what))
            }
        }
    }
}
