//! Which places a command names: in the workspace, in the system, or elsewhere.

use std::path::Path;

use crate::contain::helper::{SYSTEM, is_owners_alone};
use crate::shell::{Plain, known};
use crate::workspace::Workspace;

/// Devices that a command may name: they keep nothing.
const DEVICES: [&str; 2] = ["/dev/null", "/dev/zero"];

/// Whether a path without symbolic links lies in a folder of the system.
pub(super) fn in_system(real: &Path) -> bool {
    let within = |folders: &[&str]| folders.iter().any(|folder| real.starts_with(folder));
    // What cannot be written as text is no place that is known.
    let Some(path) = real.to_str() else {
        return false;
    };
    let known = within(&SYSTEM) || within(&DEVICES) || known::is_system_file(path);
    known && !known::is_private(path) && !is_owners_alone(real)
}

/// Words of a command that name places neither in the workspace nor in the system, and what
/// belongs to placet wherever it lies.
pub(super) fn outside(workspace: &Workspace, plain: &Plain) -> Vec<String> {
    let words: Vec<String> = match known::read_only(plain) {
        Ok(claims) => claims.operands,
        Err(_) => named(plain),
    };
    let mut outside = Vec::new();
    for word in words {
        if !outside.contains(&word) && leads_outside(workspace, &word) {
            outside.push(word);
        }
    }
    outside
}

/// The words that look like paths, or the parts of flags that do.
fn named(plain: &Plain) -> Vec<String> {
    let words = plain.words().iter().skip(1);
    words
        .filter_map(|word| path_in(&word.text, word.expands))
        .collect()
}

/// What of a word looks like a path.
fn path_in(word: &str, expands: bool) -> Option<String> {
    let value = match word.strip_prefix('-') {
        None => word,
        Some(flag) => match flag.split_once('=') {
            Some((_, value)) => value,
            None => flag.get(flag.find(['/', '~'])?..)?,
        },
    };
    let climbs = value.split('/').any(|name| name == "..");
    let from_home = expands && value.starts_with(['~', '$']);
    let looks = climbs || from_home || (value.contains('/') && !value.contains("://"));
    looks.then(|| value.to_owned())
}

/// Whether a word leads to a place that a command has no business with. What cannot be followed
/// counts as such.
fn leads_outside(workspace: &Workspace, word: &str) -> bool {
    let root = Path::new(workspace.path());
    // A home or a variable may be anything.
    if word.starts_with(['~', '$']) {
        return true;
    }
    // Up to what a glob makes of it, and no further.
    let fixed = match word.find(['*', '?', '[', '$']) {
        Some(glob) => {
            let rest = word.get(glob..).unwrap_or_default();
            if rest.split('/').any(|name| name == "..") {
                return true;
            }
            let fixed = word.get(..glob).unwrap_or_default();
            fixed.rsplit_once('/').map_or("", |(above, _)| match above {
                "" => "/",
                above => above,
            })
        }
        None => word,
    };
    match workspace.leads(Path::new(fixed)) {
        Ok(real) => {
            let inside = real.starts_with(root) || in_system(&real);
            !inside || workspace.is_closed_place(&real)
        }
        Err(_) => true,
    }
}
