//! The names in a command that lead to files of another name: a rule about a program means its
//! file, whatever the link to it is called.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::program::{Search, is_runnable};
use crate::shell::wide::Command;

/// How many words of a command are looked at: no command of every day has as many.
const WORDS_MAX: usize = 128;

/// Programs that tell by the name of the link what they do.
const BY_LINK: [&str; 4] = ["busybox", "toybox", "coreutils", "multicall"];

/// The names in a command that lead to programs of another name, and the real paths of these.
pub(super) fn links(search: &Search<'_>, command: &str) -> BTreeMap<String, String> {
    let read = Command::read(command);
    let folders = folders(search.workspace, &read);
    let words: BTreeSet<&str> = read.literals().take(WORDS_MAX).filter_map(name).collect();
    let linked = words.into_iter().filter_map(|word| {
        let real = folders
            .iter()
            .find_map(|folder| leads_to(search, folder, word))?;
        Some((word.to_owned(), real))
    });
    linked.collect()
}

/// A name in a command that no longer leads where it was shown to lead, or began to.
pub(super) fn leads_elsewhere(
    search: &Search<'_>,
    command: &str,
    shown: &BTreeMap<String, String>,
) -> Option<String> {
    let now = links(search, command);
    let mut names = shown.keys().chain(now.keys());
    names
        .find(|name| shown.get(*name) != now.get(*name))
        .cloned()
}

/// What of a word may be the name of a program.
fn name(word: &str) -> Option<&str> {
    let name = if word.starts_with('-') {
        word.split_once('=')?.1
    } else {
        word
    };
    let odd = |c: char| c.is_whitespace() || c.is_control();
    (!name.is_empty() && !name.contains(odd)).then_some(name)
}

/// The folders from which relative paths may start: the workspace, and where the command goes.
fn folders(workspace: &Path, command: &Command) -> Vec<PathBuf> {
    let argvs = command
        .argvs()
        .filter(|argv| matches!(argv.first(), Some(&("cd" | "pushd"))));
    let entered = argvs.filter_map(|argv| argv.get(1).map(|folder| workspace.join(folder)));
    [workspace.to_owned()].into_iter().chain(entered).collect()
}

/// The real path of the program that a name means, where it has another name.
fn leads_to(search: &Search<'_>, folder: &Path, name: &str) -> Option<String> {
    let at = if name.contains('/') {
        folder.join(name)
    } else {
        search
            .path
            .iter()
            .map(|folder| folder.join(name))
            .find(|at| is_runnable(at))?
    };
    let real = at.canonicalize().ok().filter(|real| is_runnable(real))?;
    let base = real.file_name()?.to_str()?;
    let typed = name.rsplit('/').next()?;
    let text = real
        .to_str()
        .filter(|text| !text.chars().any(char::is_control))?;
    (base != typed && !BY_LINK.contains(&base)).then(|| text.to_owned())
}
