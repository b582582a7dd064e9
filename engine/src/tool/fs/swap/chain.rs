//! Makes a folder, with those above it where they are missing: built beside, then moved in place.
//!
//! Moving is one step, so that of several folders all are there or none, and it never overwrites.

use placet_ledger::content::Text;
use placet_ledger::precondition::Precondition;
use rustix::fs::{AtFlags, Mode, mkdirat, unlinkat};
use rustix::io::Errno;

use super::{Job, node_at};
use crate::tool::fs::Told;
use crate::tool::{Reconciled, ToolError};
use crate::workspace::{Folder, PathError};

/// Mode of a new folder, of which the process's mask takes its part.
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o777);

/// Where a folder is to be made.
struct Site<'a> {
    /// The folder above, which was there when the call was proposed.
    above: Folder,
    /// The names beneath it, the first of which was missing.
    names: Vec<&'a str>,
}

impl Site<'_> {
    fn first(&self) -> &str {
        self.names.first().copied().unwrap_or_default()
    }
}

impl Job<'_> {
    /// Makes the folder that was previewed.
    pub(in crate::tool::fs) fn make_folder(&self) -> Result<Text, ToolError> {
        let lock = self.lock()?;
        let site = self.site()?;
        if node_at(&site.above, site.first()) != Err(Errno::NOENT) {
            return Err(self.stale_folder("there is something of that name by now"));
        }
        match mkdirat(&site.above.dir, &self.temporary, FOLDER_MODE) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Err(self.leftover()),
            Err(errno) => return Err(self.failed("make a folder for", errno)),
        }
        let made = self.make_beneath(&site).and_then(|()| {
            lock.mark(self.call)?;
            self.move_to(&site.above, &self.temporary, site.first())
                .map_err(|errno| match errno {
                    Errno::EXIST => self.stale_folder("there is something of that name by now"),
                    errno => self.failed("put in place", errno),
                })
        });
        if let Err(error) = made {
            return Err(match self.unmake(&site) {
                Ok(true) => error,
                Ok(false) | Err(_) => ToolError::failed(format!(
                    "{error}; the temporary folder {} could not be removed",
                    self.temporary
                )),
            });
        }
        self.sync(&site.above)?;
        self.made(&site)
    }

    /// What became of [`Job::make_folder`].
    pub(in crate::tool::fs) fn reconcile_folder(&self) -> Result<Reconciled, ToolError> {
        let lock = self.lock()?;
        let Ok(site) = self.site() else {
            return Ok(Reconciled::Unknown);
        };
        if node_at(&site.above, &self.temporary).is_ok() {
            return Ok(if self.unmake(&site)? {
                Reconciled::NotDone
            } else {
                Reconciled::Unknown
            });
        }
        if node_at(&site.above, site.first()) == Err(Errno::NOENT) {
            return self.unless_created(&lock);
        }
        if !self.is_chain(&site, site.first()) {
            return Ok(Reconciled::Unknown);
        }
        self.sync(&site.above)?;
        Ok(Reconciled::Done(self.made(&site)?))
    }

    /// The same as of files, worded for what cannot be read.
    fn stale_folder(&self, what: &str) -> ToolError {
        ToolError::stale(format!(
            "the place of the folder {} is not as it was previewed: {what}; list the folder above \
             and propose anew",
            self.path
        ))
    }

    fn moved_folder(&self, error: PathError) -> ToolError {
        match error {
            error if error.is_refusal() => error.into(),
            PathError::MissingFolder(path) => {
                self.stale_folder(&format!("there is no folder {path} by now"))
            }
            error => self.stale_folder(&error.to_string()),
        }
    }

    fn made(&self, site: &Site<'_>) -> Result<Text, ToolError> {
        let told = Told {
            entries: Some(site.names.len()),
            path: self.path,
            ..Told::default()
        };
        told.text()
    }

    /// The folder above that was previewed, and what is to be made in it.
    fn site(&self) -> Result<Site<'_>, ToolError> {
        let Precondition::Absent {
            missing,
            parent,
            root,
            ..
        } = self.precondition
        else {
            return Err(ToolError::failed("the call has no folder to make"));
        };
        self.in_workspace(*root)?;
        let all: Vec<_> = self.path.split('/').collect();
        if all.iter().any(|name| matches!(*name, "" | "." | "..")) {
            return Err(PathError::NamesFolder(self.path.to_owned()).into());
        }
        let missing = usize::try_from(*missing).unwrap_or(usize::MAX);
        let there = all.len().checked_sub(missing.saturating_add(1));
        let (there, names) = there
            .and_then(|there| all.split_at_checked(there))
            .ok_or_else(|| ToolError::failed("the call has more folders to make than its path"))?;
        let workspace = &self.files.workspace;
        let above = workspace
            .descend(&workspace.folder(".")?, &there.join("/"))
            .map_err(|error| self.moved_folder(error))?;
        if above.node != *parent {
            return Err(self.stale_folder("the folder above is another one"));
        }
        let names = names.to_vec();
        Ok(Site { above, names })
    }

    /// Makes the folders beneath the first, which has the temporary name.
    fn make_beneath(&self, site: &Site<'_>) -> Result<(), ToolError> {
        let workspace = &self.files.workspace;
        let mut folder = workspace.enter(&site.above, &self.temporary)?;
        for name in site.names.iter().skip(1) {
            mkdirat(&folder.dir, *name, FOLDER_MODE)
                .map_err(|errno| self.failed("make a folder for", errno))?;
            self.sync(&folder)?;
            folder = workspace.enter(&folder, name)?;
        }
        Ok(())
    }

    /// Removes what was made under the temporary name; false if anything else is in it.
    fn unmake(&self, site: &Site<'_>) -> Result<bool, ToolError> {
        if !self.is_chain(site, &self.temporary) {
            return Ok(false);
        }
        let workspace = &self.files.workspace;
        for made in (1..site.names.len()).rev() {
            let within = site.names.get(1..=made).unwrap_or_default();
            let Some((name, above)) = within.split_last() else {
                continue;
            };
            let top = workspace.enter(&site.above, &self.temporary)?;
            if let Ok(folder) = workspace.descend(&top, &above.join("/")) {
                self.rmdir(&folder, name)?;
            }
        }
        self.rmdir(&site.above, &self.temporary)?;
        self.sync(&site.above)?;
        Ok(true)
    }

    fn rmdir(&self, folder: &Folder, name: &str) -> Result<(), ToolError> {
        match unlinkat(&folder.dir, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(self.unsettled("remove the temporary folder of", errno)),
        }
    }

    /// Whether what has the name `first` is as this call makes it: folders in each other and
    /// nothing else, or a beginning of them where it has the temporary name.
    fn is_chain(&self, site: &Site<'_>, first: &str) -> bool {
        let workspace = &self.files.workspace;
        let Ok(mut folder) = workspace.enter(&site.above, first) else {
            return false;
        };
        let may_end = first == self.temporary;
        for expected in site.names.iter().skip(1) {
            match only_name(&folder).as_deref() {
                Some([name]) if name == *expected => {}
                Some([]) => return may_end,
                Some(_) | None => return false,
            }
            folder = match workspace.enter(&folder, expected) {
                Ok(folder) => folder,
                Err(_) => return false,
            };
        }
        only_name(&folder).is_some_and(|names| names.is_empty())
    }
}

/// The names in a folder, up to two of them.
fn only_name(folder: &Folder) -> Option<Vec<std::ffi::OsString>> {
    let entries = folder.dir.entries().ok()?;
    entries
        .take(2)
        .map(|entry| entry.ok().map(|entry| entry.file_name()))
        .collect()
}
