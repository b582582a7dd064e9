//! What must not be seen though it lies in what can be read: secrets among the system's settings
//! and beside toolchains.

use std::collections::VecDeque;
use std::fs::{self, Metadata};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use crate::secrets::KNOWN;

/// The system's settings.
const SETTINGS: &str = "/etc";

/// Credentials that lie in a home's folders of toolchains.
const BESIDE_TOOLCHAINS: [&str; 3] = [
    ".dotnet/corefx/cryptography",
    ".local/share/uv/credentials",
    ".opam/plugins/opam-publish",
];

/// Entries of the settings that are looked at. Folders beyond are covered as they are.
const ENTRIES_MAX: usize = 20_000;

/// All of it that is there, or may be, but for what holds the workspace or lies in it.
pub(super) fn all(home: Option<&Path>, workspace: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = KNOWN.iter().map(PathBuf::from).collect();
    if geteuid().is_root() {
        found.extend(closed_to_others(Path::new(SETTINGS), workspace));
    }
    if let Some(home) = home {
        found.extend(BESIDE_TOOLCHAINS.iter().map(|below| home.join(below)));
    }
    found
}

/// Whether a path without symbolic links lies in settings that this user, being root, reads only as
/// their owner.
pub(crate) fn is_owners_alone(real: &Path) -> bool {
    let within = |path: &&Path| path.starts_with(SETTINGS);
    let closed = |path: &Path| {
        let found = path.symlink_metadata();
        found.is_ok_and(|found| is_closed(&found))
    };
    geteuid().is_root() && real.ancestors().take_while(within).any(closed)
}

/// Whether others can read nothing there: root, who owns it, could.
fn is_closed(found: &Metadata) -> bool {
    let (read, enter) = (0o4, 0o1);
    // What lies in a folder that others can enter is theirs to read by name.
    let wanted = if found.is_dir() { enter } else { read };
    !found.is_symlink() && found.permissions().mode() & wanted == 0
}

/// What of some settings nobody but their owner and group can read, the outermost of each.
fn closed_to_others(settings: &Path, workspace: &Path) -> Vec<PathBuf> {
    let mut closed = Vec::new();
    let mut open = VecDeque::from([settings.to_owned()]);
    let mut left = ENTRIES_MAX;
    while let Some(folder) = open.pop_front() {
        let entries = fs::read_dir(&folder);
        for entry in entries.into_iter().flatten().flatten() {
            let (path, found) = (entry.path(), entry.metadata());
            left = left.saturating_sub(1);
            let Ok(found) = found else { continue };
            let unseen = found.is_dir() && left == 0;
            if path.starts_with(workspace) {
                continue;
            }
            if !workspace.starts_with(&path) && (unseen || is_closed(&found)) {
                closed.push(path);
            } else if found.is_dir() {
                open.push_back(path);
            }
        }
    }
    closed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_cannot_read_is_found_outermost() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for (path, mode) in [
            ("app", 0o755),
            ("app/private", 0o750),
            ("app/private/inner", 0o700),
            ("named", 0o711),
            ("work", 0o700),
            ("work/here", 0o700),
        ] {
            fs::create_dir(root.join(path)).unwrap();
            fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
        }
        for (path, mode) in [
            ("open", 0o644),
            ("key", 0o600),
            ("group", 0o640),
            ("app/key", 0o600),
            ("app/open", 0o444),
            ("app/private/open", 0o644),
            ("named/key", 0o600),
            ("work/key", 0o600),
            ("work/here/key", 0o600),
        ] {
            fs::write(root.join(path), "x").unwrap();
            fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
        }
        std::os::unix::fs::symlink("open", root.join("link")).unwrap();
        let found = closed_to_others(root, &root.join("work/here"));
        let mut found: Vec<_> = found
            .iter()
            .map(|at| at.strip_prefix(root).unwrap())
            .collect();
        found.sort();
        let expected = [
            "app/key",
            "app/private",
            "group",
            "key",
            "named/key",
            "work/key",
        ];
        assert_eq!(found, expected.map(Path::new));
    }
}
