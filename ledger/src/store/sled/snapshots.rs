//! States of long runs: a sealed file each in a folder of the home, as a cache of the log.
//!
//! They are not synced: one that a crash cut does not open, and counts for nothing.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Arc;

use super::shared::Shared;
use crate::id::StreamId;
use crate::regular;
use crate::store::snapshots::SnapshotStore;
use crate::store::{ReadError, chain};

/// What the name of a file ends in that is not whole.
const UNFINISHED: &str = "new";

/// The states of the runs of one store.
pub(super) struct SledSnapshots {
    pub(super) shared: Arc<Shared>,
    pub(super) folder: PathBuf,
}

fn failed(error: impl std::error::Error) -> ReadError {
    ReadError::Io(chain(&error))
}

impl SledSnapshots {
    fn path(&self, run: StreamId) -> PathBuf {
        self.folder.join(run.to_string())
    }
}

impl SnapshotStore for SledSnapshots {
    fn read(&self, run: StreamId) -> Result<Option<Vec<u8>>, ReadError> {
        let sealed = match regular::read(&self.path(run)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(failed)?,
        };
        let ordinal = self.shared.reader().ordinal(run)?;
        let Some((keyring, ordinal)) = self.shared.keyring.as_ref().zip(ordinal) else {
            return Ok(None);
        };
        keyring.open_snapshot(run, ordinal, &sealed).map(Some)
    }

    fn write(&self, run: StreamId, bytes: &[u8]) -> Result<(), ReadError> {
        if let Some(why) = self.shared.closed() {
            return Err(ReadError::Io(format!("states are not written: {why}")));
        }
        let ordinal = self.shared.reader().ordinal(run)?;
        let Some((keyring, ordinal)) = self.shared.keyring.as_ref().zip(ordinal) else {
            return Ok(());
        };
        let sealed = keyring.seal_snapshot(run, ordinal, bytes).map_err(failed)?;
        let folder = DirBuilder::new().mode(0o700).create(&self.folder);
        match folder {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed(error));
            }
            Ok(()) | Err(_) => {}
        }
        let path = self.path(run);
        let new = path.with_extension(UNFINISHED);
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let written = regular::open(options, &new)
            .and_then(|mut file| file.write_all(&sealed))
            .and_then(|()| fs::rename(&new, &path));
        written.map_err(failed)
    }

    fn clear(&self) -> Result<(), ReadError> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(failed),
        }
    }
}
