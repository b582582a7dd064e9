//! Which words that name files may be read, as far as the words themselves say.

use super::{Claims, Verdict};
use crate::secrets::{holds_secrets, is_secret};

/// Folders whose programs are known by their names.
const PROGRAM_FOLDERS: [&str; 4] = ["/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/"];

/// Folders that hold the system and its tools, and nobody's own data.
const SYSTEM_FOLDERS: [&str; 10] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix/store",
];

/// Single files beside them that tell about the machine only.
const SYSTEM_FILES: [&str; 7] = [
    "/dev/null",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/uptime",
    "/proc/version",
];

/// Places inside system folders that tell who the machine is, beside those with secrets. A name
/// stands for all that begin with it.
const TELLING: [&str; 3] = ["/etc/ipsec", "/etc/krb5", "/etc/machine-id"];

/// What a command does with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// It reads what is in there, perhaps all that lies below.
    Contents,
    /// It prints names and what the file system keeps about them.
    Names,
}

/// The bare name of a program; an error where the name alone does not say which program runs.
pub(super) fn program_name(word: &str) -> Verdict<&str> {
    let mut folders = PROGRAM_FOLDERS.iter();
    let name = folders.find_map(|folder| word.strip_prefix(folder));
    let name = name.unwrap_or(word);
    if name.is_empty() || name.contains('/') {
        return Err(format!(
            "`{word}` is no bare name of a program of the system"
        ));
    }
    Ok(name)
}

/// Notes a path that is read, if the words alone do not forbid it.
pub(super) fn claim(path: &str, used: Use, claims: &mut Claims) -> Verdict<()> {
    // The standard input is closed or the person's own.
    if path == "-" {
        return Ok(());
    }
    check(path, used)?;
    claims.operands.push(path.to_owned());
    Ok(())
}

/// Whether a path lies in the workspace or a system folder, by its words.
pub(super) fn check(path: &str, used: Use) -> Verdict<()> {
    if path.is_empty() {
        return Err("an operand is empty".to_owned());
    }
    let mut parts = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".");
    if !path.starts_with('/') {
        let stays = parts.try_fold(0_usize, |depth, part| match part {
            ".." => depth.checked_sub(1),
            _ => depth.checked_add(1),
        });
        return match stays {
            Some(_) => Ok(()),
            None => Err(format!("`{path}` leaves the workspace")),
        };
    }
    let outside = || format!("`{path}` is in no system folder that may be read");
    let parts: Vec<&str> = parts.collect();
    if parts.contains(&"..") {
        return Err(outside());
    }
    let whole = format!("/{}", parts.join("/"));
    if is_system_file(&whole) {
        return Ok(());
    }
    let inside = SYSTEM_FOLDERS.iter().any(|folder| is_below(&whole, folder));
    let reads_secrets = used == Use::Contents && holds_private(&whole);
    if !inside || is_private(&whole) || reads_secrets {
        return Err(outside());
    }
    Ok(())
}

/// Whether a path of the system, without symbolic links, is one that no command reads unasked.
pub(crate) fn is_private(path: &str) -> bool {
    is_secret(path) || TELLING.iter().any(|telling| path.starts_with(telling))
}

/// Whether such a path lies somewhere below a folder.
fn holds_private(folder: &str) -> bool {
    holds_secrets(folder) || TELLING.iter().any(|telling| is_below(telling, folder))
}

/// Whether it is one of the single files that tell about the machine only.
pub(crate) fn is_system_file(path: &str) -> bool {
    SYSTEM_FILES.contains(&path)
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
