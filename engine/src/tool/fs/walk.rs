//! The walk of `find` and `grep`: through open folders, in one order, and never out.
//!
//! It goes from descriptor to descriptor, so that nothing can be swapped under it; the libraries
//! for patterns only compare names. Symbolic links are met and not followed, other mounts are not
//! entered, and what is closed is not there at all. Whatever it leaves out for a bound it counts.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use placet_ledger::clock::Clock;
use rustix::fs::{FileType, Stat};
use serde_json::Value;

use super::list::{Closed, look};
use super::{Files, flag};
use crate::clock::SystemClock;
use crate::tool::{Awaited, ToolError};
use crate::workspace::{Folder, PathError, Workspace, visible};

/// Entries that one walk looks at: a folder tree of more is searched part by part.
const ENTRIES_MAX: usize = 200_000;

/// Folders in folders: each holds a descriptor, and a process has about a thousand.
const DEPTH_MAX: usize = 128;

/// Time for one walk, well below the time limit of a tool, so that what was found is told.
const WALK_MS_MAX: u64 = 60_000;

/// Bytes and patterns of all ignore files that hold in one folder: those that a person wrote are
/// far smaller, and a compiled pattern takes many times its own bytes.
const IGNORE_BYTES_MAX: usize = 1024 * 1024;
const IGNORE_PATTERNS_MAX: usize = 20_000;

/// Lines of an ignore file between two looks at whether anybody still waits.
const IGNORE_LINES_AT_ONCE: usize = 256;

/// What a walk passes over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    gitignore: bool,
    git: bool,
}

impl Rules {
    /// As the arguments `gitignore` and `git` say.
    pub(super) fn read(arguments: &Value) -> Self {
        Self {
            gitignore: flag(arguments, "gitignore", true),
            git: flag(arguments, "git", false),
        }
    }
}

/// When work ends that is not done: nobody waits any more, or it took too long.
#[derive(Debug, Clone)]
pub(super) struct Patience {
    awaited: Awaited,
    until_ms: u64,
}

impl Patience {
    pub(super) fn new(awaited: &Awaited) -> Self {
        Self::of(awaited, WALK_MS_MAX)
    }

    /// The same with another limit.
    pub(super) fn of(awaited: &Awaited, limit_ms: u64) -> Self {
        Self {
            awaited: awaited.clone(),
            until_ms: SystemClock.monotonic_ms().saturating_add(limit_ms),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        !self.awaited.holds() || SystemClock.monotonic_ms() >= self.until_ms
    }
}

/// An entry that a walk comes by.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    /// The folder that holds it.
    pub(super) folder: &'a Folder,
    /// Its name there.
    pub(super) name: &'a OsStr,
    /// What the system tells of it.
    pub(super) found: Stat,
    /// Path beneath the folder where the walk began.
    pub(super) path: &'a Path,
    /// Path beneath the workspace.
    whole: &'a Path,
}

impl Entry<'_> {
    pub(super) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.found.st_mode)
    }

    /// Path beneath the workspace, on one line.
    pub(super) fn shown(&self) -> String {
        shown(self.whole)
    }
}

/// A path on a line that is none of those which say what was left out or not found.
pub(super) fn shown(path: &Path) -> String {
    let shown = visible(path);
    if shown.starts_with("...") || shown.starts_with('(') {
        format!("./{shown}")
    } else {
        shown
    }
}

/// What a walk did not look at.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    entries: usize,
    deep: usize,
    unread: usize,
    mounts: usize,
    ignores: usize,
    over: bool,
    /// Whether a folder was met, to be searched alone.
    folders: bool,
}

impl LeftOut {
    /// One line for each reason; none if the walk saw everything.
    pub(super) fn lines(&self) -> String {
        let mut lines = String::new();
        let instead = if self.folders {
            "; search a folder beneath"
        } else {
            ""
        };
        if self.entries > 0 {
            // Writing to a string does not fail.
            let _ = writeln!(
                lines,
                "... {} entries were not looked at{instead}",
                self.entries
            );
        }
        for (count, what) in [
            (self.deep, "folders lie too deep and were not entered"),
            (self.unread, "folders could not be read"),
            (
                self.mounts,
                "folders are on other mounts and were not entered",
            ),
            (
                self.ignores,
                "ignore files are too large, or too many hold at once, and were left out of account",
            ),
        ] {
            if count > 0 {
                let _ = writeln!(lines, "... {count} {what}");
            }
        }
        if self.over {
            let _ = writeln!(
                lines,
                "... stopped before the end: it took too long{instead}"
            );
        }
        lines
    }
}

/// An ignore file that holds beneath its folder.
#[derive(Debug)]
struct Ignore {
    /// The folder's path beneath the workspace.
    base: PathBuf,
    patterns: Gitignore,
    /// What it takes of the bounds.
    size: Size,
}

/// How large ignore files are.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    bytes: usize,
    patterns: usize,
}

impl Size {
    fn of(text: &str) -> Self {
        let patterns = text.lines().filter(|line| !line.trim().is_empty());
        Self {
            bytes: text.len(),
            patterns: patterns.count(),
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            patterns: self.patterns.saturating_add(other.patterns),
        }
    }

    fn is_too_much(self) -> bool {
        self.bytes > IGNORE_BYTES_MAX || self.patterns > IGNORE_PATTERNS_MAX
    }
}

/// A walk under way.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    workspace: &'a Workspace,
    /// The folder where it begins.
    start: PathBuf,
    rules: Rules,
    patience: &'a Patience,
    closed: Closed,
    ignores: Vec<Ignore>,
    room: usize,
    left_out: LeftOut,
}

impl<'a> Walk<'a> {
    pub(super) fn new(files: &'a Files, rules: Rules, patience: &'a Patience) -> Self {
        Self {
            workspace: &files.workspace,
            start: PathBuf::new(),
            rules,
            patience,
            closed: Closed::default(),
            ignores: Vec::new(),
            room: ENTRIES_MAX,
            left_out: LeftOut::default(),
        }
    }

    /// Visits everything beneath a folder, name by name in the order of their bytes.
    pub(super) fn run(
        mut self,
        start: &Folder,
        visit: &mut dyn FnMut(&Entry<'_>),
    ) -> Result<LeftOut, ToolError> {
        self.start = PathBuf::from(&start.path);
        if self.rules.gitignore {
            self.ignores_above(start)?;
        }
        self.folder(start, Path::new(""), 0, visit)?;
        if self.patience.is_over() {
            self.left_out.over = true;
        }
        Ok(self.left_out)
    }

    /// The rules of the folders above the one where the walk begins hold as well.
    fn ignores_above(&mut self, start: &Folder) -> Result<(), ToolError> {
        let mut above = self.workspace.folder(".")?;
        let names = start.path.split('/').filter(|name| !name.is_empty());
        for (depth, name) in names.enumerate() {
            if self.patience.is_over() {
                break;
            }
            if depth > DEPTH_MAX {
                self.left_out.ignores = self.left_out.ignores.saturating_add(1);
                break;
            }
            let path = PathBuf::from(&above.path);
            self.ignores_of(&above, &path);
            above = self.workspace.enter(&above, name)?;
        }
        Ok(())
    }

    fn ignores_of(&mut self, folder: &Folder, path: &Path) {
        let Ok(mut opened) = self.workspace.open_named(folder, ".gitignore") else {
            return;
        };
        let room = u64::try_from(IGNORE_BYTES_MAX).unwrap_or(u64::MAX);
        let text = if opened.bytes > room {
            None
        } else {
            let bytes = opened.read(".gitignore").unwrap_or_default();
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        let held = self.ignores.iter().map(|ignore| ignore.size);
        let held = held.fold(Size::default(), Size::and);
        let fits = text.filter(|text| !held.and(Size::of(text)).is_too_much());
        let Some(text) = fits else {
            self.left_out.ignores = self.left_out.ignores.saturating_add(1);
            return;
        };
        if let Some(patterns) = self.patterns(&text) {
            self.ignores.push(Ignore {
                base: path.to_owned(),
                patterns,
                size: Size::of(&text),
            });
        }
    }

    /// The patterns of an ignore file; none if nobody waits for them.
    fn patterns(&self, text: &str) -> Option<Gitignore> {
        let mut builder = GitignoreBuilder::new(".");
        for (number, line) in text.lines().enumerate() {
            if number.is_multiple_of(IGNORE_LINES_AT_ONCE) && self.patience.is_over() {
                return None;
            }
            // A line that is no pattern ignores nothing, as git has it.
            drop(builder.add_line(None, line));
        }
        builder.build().ok().filter(|ignore| !ignore.is_empty())
    }

    fn is_ignored(&self, path: &Path, is_folder: bool) -> bool {
        for ignore in self.ignores.iter().rev() {
            let Ok(beneath) = path.strip_prefix(&ignore.base) else {
                continue;
            };
            match ignore.patterns.matched(beneath, is_folder) {
                Match::None => {}
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
            }
        }
        false
    }

    fn folder(
        &mut self,
        folder: &Folder,
        path: &Path,
        depth: usize,
        visit: &mut dyn FnMut(&Entry<'_>),
    ) -> Result<(), ToolError> {
        let names = match self.names(folder) {
            Ok(names) => names,
            Err(error) if depth == 0 => return Err(error.into()),
            Err(_) => {
                self.left_out.unread = self.left_out.unread.saturating_add(1);
                return Ok(());
            }
        };
        let ignores = self.ignores.len();
        let beneath_root = self.start.join(path);
        if self.rules.gitignore {
            self.ignores_of(folder, &beneath_root);
        }
        for name in names {
            if self.patience.is_over() {
                break;
            }
            let Some(found) = look(folder, &name) else {
                continue;
            };
            let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
            let whole = beneath_root.join(&name);
            if (!self.rules.git && name == ".git")
                || self.is_ignored(&whole, is_folder)
                || self.closed.hides(self.workspace, &folder.path, &found)?
            {
                continue;
            }
            let entry = Entry {
                folder,
                name: &name,
                found,
                path: &path.join(&name),
                whole: &whole,
            };
            visit(&entry);
            if is_folder {
                self.left_out.folders = true;
                self.enter(&entry, depth.saturating_add(1), visit)?;
            }
        }
        self.ignores.truncate(ignores);
        Ok(())
    }

    fn enter(
        &mut self,
        entry: &Entry<'_>,
        depth: usize,
        visit: &mut dyn FnMut(&Entry<'_>),
    ) -> Result<(), ToolError> {
        if depth > DEPTH_MAX {
            self.left_out.deep = self.left_out.deep.saturating_add(1);
            return Ok(());
        }
        match self.workspace.enter(entry.folder, entry.name) {
            Ok(folder) => self.folder(&folder, entry.path, depth, visit),
            Err(PathError::Mount(_)) => {
                self.left_out.mounts = self.left_out.mounts.saturating_add(1);
                Ok(())
            }
            // Another thing of that name by now, which is not to be known of.
            Err(PathError::Closed(_) | PathError::MissingFolder(_) | PathError::NotFolder(_)) => {
                Ok(())
            }
            Err(_) => {
                self.left_out.unread = self.left_out.unread.saturating_add(1);
                Ok(())
            }
        }
    }

    /// The first names in order, as many as there is room for.
    fn names(&mut self, folder: &Folder) -> Result<BTreeSet<OsString>, PathError> {
        let shown = if folder.path.is_empty() {
            "."
        } else {
            &folder.path
        };
        let wrong = |error| PathError::io("list", shown, error);
        let mut names = BTreeSet::new();
        for entry in folder.dir.entries().map_err(wrong)? {
            names.insert(entry.map_err(wrong)?.file_name());
            if names.len() > self.room && names.pop_last().is_some() {
                self.left_out.entries = self.left_out.entries.saturating_add(1);
                // Nobody waits for the end of a folder of millions of entries.
                if self.left_out.entries.is_multiple_of(1_024) && self.patience.is_over() {
                    break;
                }
            }
        }
        self.room = self.room.saturating_sub(names.len());
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_to_a_folder_that_is_not_there() {
        for (folders, instead) in [(false, ""), (true, "; search a folder beneath")] {
            let left_out = LeftOut {
                entries: 3,
                over: true,
                folders,
                ..LeftOut::default()
            };
            assert_eq!(
                left_out.lines(),
                format!(
                    "... 3 entries were not looked at{instead}\n\
                     ... stopped before the end: it took too long{instead}\n"
                )
            );
        }
    }
}
