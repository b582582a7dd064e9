//! The list of a backup: which ledger it is of, where that was cut, and every file with its digest.
//!
//! One line of JSON and the digest of that line. A backup is what its list says to the last byte:
//! a file more, less or other than that, and a link, are errors.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

use super::{Backup, BackupError, STORE, failed, files};
use crate::digest::{Digest, Purpose, digest};
use crate::id::LedgerId;
use crate::merkle::Root;
use crate::store::{Tail, chain};

/// The name of the list.
const NAME: &str = "backup";

/// The format of backups that this release writes.
const FORMAT: u32 = 1;

/// More than the list of any backup has.
const LIST_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// One file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    path: String,
    bytes: u64,
    digest: Digest,
}

/// Everything.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct List {
    format: u32,
    ledger: LedgerId,
    size: u64,
    root: Root,
    files: Vec<Listed>,
}

fn damaged(what: impl Into<String>) -> BackupError {
    BackupError::Damaged(what.into())
}

impl List {
    /// Lists what is there, which is durable then.
    pub(super) fn of(dir: &Path, ledger: LedgerId, cut: Tail) -> Result<Self, BackupError> {
        let mut listed = Vec::new();
        for path in files::names(dir)? {
            let (bytes, digest) = files::settle(dir, &path)?;
            listed.push(Listed {
                path,
                bytes,
                digest,
            });
        }
        Ok(Self {
            format: FORMAT,
            ledger,
            size: cut.size,
            root: cut.root,
            files: listed,
        })
    }

    /// Writes it beside the files.
    pub(super) fn write(&self, dir: &Path) -> Result<Backup, BackupError> {
        let line = serde_json::to_string(self)
            .map_err(|error| failed("writing the list")(error.into()))?;
        let sum = digest(Purpose::File, line.as_bytes());
        let text = format!("{line}\n{sum}\n");
        files::write(&dir.join(NAME), text.as_bytes()).map_err(failed("writing the list"))?;
        files::sync_folders(dir).map_err(failed("syncing the backup"))?;
        Ok(self.backup())
    }

    fn backup(&self) -> Backup {
        let bytes = self.files.iter().map(|file| file.bytes);
        Backup {
            ledger: self.ledger,
            size: self.size,
            root: self.root,
            bytes: bytes.fold(0, u64::saturating_add),
        }
    }

    /// Reads the list of a backup.
    pub(super) fn read(dir: &Path) -> Result<Self, BackupError> {
        let cannot = |error: io::Error| match fs::metadata(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                BackupError::Missing(dir.to_owned())
            }
            Ok(_) | Err(_) => damaged(format!("its list, {}: {error}", dir.join(NAME).display())),
        };
        let file = files::open_below(dir, NAME).map_err(cannot)?;
        let mut text = String::new();
        let read = file.take(LIST_BYTES_MAX).read_to_string(&mut text);
        read.map_err(|error| damaged(format!("its list: {error}")))?;
        let (line, sum) = text
            .strip_suffix('\n')
            .and_then(|text| text.rsplit_once('\n'))
            .ok_or_else(|| damaged("its list is cut"))?;
        if sum.parse() != Ok(digest(Purpose::File, line.as_bytes())) {
            return Err(damaged("its list does not come to its digest"));
        }
        let list: Self = serde_json::from_str(line)
            .map_err(|error| damaged(format!("its list: {}", chain(&error))))?;
        if list.format != FORMAT {
            let what = format!("its format is {}, this release reads {FORMAT}", list.format);
            return Err(damaged(what));
        }
        if let Some(file) = list.files.iter().find(|file| !is_inside(&file.path)) {
            return Err(damaged(format!("{:?} leads out of it", file.path)));
        }
        Ok(list)
    }

    /// Copies every file that is listed into another folder, and compares it on the way.
    pub(super) fn copy(&self, dir: &Path, to: &Path) -> Result<Backup, BackupError> {
        let there: BTreeSet<String> = files::names(dir)?.into_iter().collect();
        let listed: BTreeSet<String> = self.files.iter().map(|file| file.path.clone()).collect();
        if let Some(missing) = listed.difference(&there).next() {
            return Err(damaged(format!("{missing} is missing")));
        }
        let more = |path: &&String| path.as_str() != NAME;
        if let Some(more) = there.difference(&listed).find(more) {
            return Err(damaged(format!("{more} is not in its list")));
        }
        for file in &self.files {
            let target = to.join(&file.path);
            if let Some(folder) = target.parent() {
                let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
                made.map_err(failed("making a folder"))?;
            }
            if files::copy(dir, &file.path, &target)? != (file.bytes, file.digest) {
                return Err(damaged(format!(
                    "{} is another than was written",
                    file.path
                )));
            }
        }
        Ok(self.backup())
    }
}

/// Whether a path names something in the store of a backup, and nothing by a way round.
fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    let first = parts.next();
    let rest: Vec<_> = parts.collect();
    first == Some(Component::Normal(STORE.as_ref()))
        && !rest.is_empty()
        && rest.into_iter().all(plain)
        && !path.contains('\0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_in_the_store() {
        for (path, inside) in [
            ("store/sled/db", true),
            ("store/keys", true),
            ("store/tile/entries/x001/234", true),
            ("store", false),
            ("keys", false),
            ("/store/keys", false),
            ("store/../keys", false),
            ("store/a/../../..", false),
            ("../store/keys", false),
            ("", false),
            ("store/a\0", false),
        ] {
            assert_eq!(is_inside(path), inside, "{path:?}");
        }
    }
}
