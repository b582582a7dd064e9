//! The memory that temporary files take, seen by the watcher through the root of the init.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use placet_ledger::containment::Part;
use rustix::fs::statvfs;

use crate::contain::spec::Spec;

/// Where memory for temporary files is shared by name.
const SHARED: &str = "/dev/shm";

/// The folders that are memory where there is a private one.
pub(super) fn folders(private: &Path) -> [&Path; 2] {
    [private.parent().unwrap_or(private), Path::new(SHARED)]
}

/// The folders whose files are memory of the job's own.
#[derive(Debug)]
pub(super) struct Scratch {
    init: u32,
    folders: Vec<PathBuf>,
}

impl Scratch {
    /// Those of an init; none where the folders are the machine's.
    pub(super) fn of(spec: &Spec, init: u32) -> Self {
        let folders = if spec.has(Part::Mounts) {
            folders(&spec.temporary).map(Path::to_path_buf).into()
        } else {
            Vec::new()
        };
        Self { init, folders }
    }

    /// Bytes in use. A file that is mapped counts here and where it is mapped.
    pub(super) fn used(&self) -> u64 {
        let used = self
            .folders
            .iter()
            .filter_map(|folder| self.used_in(folder));
        used.fold(0, u64::saturating_add)
    }

    fn used_in(&self, folder: &Path) -> Option<u64> {
        let below = folder.strip_prefix("/").ok()?;
        let inside = Path::new("/proc").join(self.init.to_string()).join("root");
        let inside = inside.join(below);
        let device = |path: &Path| fs::metadata(path).ok().map(|found| found.dev());
        // Until the init has its own root it sees the machine's.
        if device(&inside)? == device(folder).unwrap_or(0) {
            return None;
        }
        let found = statvfs(&inside).ok()?;
        let blocks = found.f_blocks.saturating_sub(found.f_bfree);
        Some(blocks.saturating_mul(found.f_frsize))
    }
}
