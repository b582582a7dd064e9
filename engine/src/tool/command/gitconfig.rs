//! The configuration of a repository: which keys it sets, and which of them run nothing.
//!
//! It is read as strictly as git itself or more: what cannot be read counts as a key that may run
//! something.

/// Stands for lines that cannot be read.
pub(super) const UNREADABLE: &str = "lines that cannot be read";

/// Keys that run nothing and lead nowhere: section and name, `*` for any name.
const HARMLESS: &[(&str, &[&str])] = &[
    ("advice", &["*"]),
    ("branch", &["*"]),
    ("color", &["*"]),
    (
        "core",
        &[
            "abbrev",
            "autocrlf",
            "bare",
            "checkstat",
            "commitgraph",
            "compression",
            "eol",
            "filemode",
            "ignorecase",
            "ignorestat",
            "logallrefupdates",
            "longpaths",
            "multipackindex",
            "precomposeunicode",
            "preloadindex",
            "protecthfs",
            "protectntfs",
            "quotepath",
            "repositoryformatversion",
            "safecrlf",
            "sharedrepository",
            "splitindex",
            "symlinks",
            "trustctime",
            "untrackedcache",
            "whitespace",
        ],
    ),
    (
        "diff",
        &["algorithm", "colormoved", "mnemonicprefix", "renames"],
    ),
    (
        "extensions",
        &["objectformat", "refstorage", "worktreeconfig"],
    ),
    ("fetch", &["prune", "prunetags"]),
    ("gc", &["auto", "autodetach", "pruneexpire"]),
    ("index", &["threads", "version"]),
    ("init", &["defaultbranch"]),
    ("lfs", &["repositoryformatversion"]),
    ("log", &["date", "decorate"]),
    ("merge", &["conflictstyle", "ff"]),
    ("pull", &["ff", "rebase"]),
    ("push", &["autosetupremote", "default", "followtags"]),
    ("rebase", &["autosquash", "autostash"]),
    (
        "remote",
        &["fetch", "prune", "push", "pushurl", "tagopt", "url"],
    ),
    ("status", &["showuntrackedfiles"]),
    (
        "submodule",
        &["active", "branch", "ignore", "recurse", "shallow", "url"],
    ),
    ("user", &["email", "name", "useconfigonly"]),
];

/// Keys in a configuration that are not known to run nothing, as `section.name`.
pub(super) fn runs(text: &[u8]) -> Vec<String> {
    let Ok(text) = std::str::from_utf8(text) else {
        return vec![UNREADABLE.to_owned()];
    };
    let mut found: Vec<String> = Vec::new();
    let mut section: Option<String> = None;
    for line in text.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let key = match read_line(line, &mut section) {
            Ok(None) => continue,
            Ok(Some(name)) => match &section {
                Some(section) if is_harmless(section, &name) => continue,
                Some(section) => format!("{section}.{name}"),
                None => UNREADABLE.to_owned(),
            },
            Err(Unreadable) => UNREADABLE.to_owned(),
        };
        if !found.contains(&key) {
            found.push(key);
        }
    }
    found
}

/// A line that git would read in a way of its own.
struct Unreadable;

/// The key that a line sets, if any; the section that it begins is noted.
fn read_line(line: &str, section: &mut Option<String>) -> Result<Option<String>, Unreadable> {
    // The next line would be a part of this one.
    if line.ends_with('\\') {
        return Err(Unreadable);
    }
    let mut rest = line.trim_matches([' ', '\t']);
    if let Some(header) = rest.strip_prefix('[') {
        let (name, after) = read_header(header).ok_or(Unreadable)?;
        *section = Some(name);
        rest = after.trim_matches([' ', '\t']);
    }
    if rest.is_empty() || rest.starts_with(['#', ';']) {
        return Ok(None);
    }
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let (name, value) = rest.split_at(end.unwrap_or(rest.len()));
    let value = value.trim_start_matches([' ', '\t']);
    if name.is_empty() || !(value.is_empty() || value.starts_with('=')) {
        return Err(Unreadable);
    }
    Ok(Some(name.to_ascii_lowercase()))
}

/// The section of a header and what stands after it; a subsection is left out.
fn read_header(header: &str) -> Option<(String, &str)> {
    let end = header.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '.'))?;
    let (name, rest) = header.split_at(end);
    let name = name.split('.').next().filter(|name| !name.is_empty())?;
    let name = name.to_ascii_lowercase();
    if let Some(after) = rest.strip_prefix(']') {
        return Some((name, after));
    }
    let quoted = rest.trim_start_matches([' ', '\t']).strip_prefix('"')?;
    let mut escaped = false;
    for (at, c) in quoted.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => {
                let after = quoted.get(at..)?.strip_prefix("\"]")?;
                return Some((name, after));
            }
            _ => {}
        }
    }
    None
}

fn is_harmless(section: &str, name: &str) -> bool {
    HARMLESS.iter().any(|(known, names)| {
        *known == section && names.iter().any(|one| *one == "*" || *one == name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_writes_by_itself_runs_nothing() {
        let text = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
            \tlogallrefupdates = true\n[remote \"origin\"]\n\turl = git@example.com:a/b.git\n\
            \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\
            \tremote = origin\n\tmerge = refs/heads/main\n# a comment\n; another\n\n\
            [user]\n\tname = \"Ann; B\"\n\temail = ann@example.com\n[submodule \"x\"]\n\
            \turl = ../x\n\tactive = true\n[init] defaultBranch = main\r\n";
        assert_eq!(runs(text.as_bytes()), Vec::<String>::new());
    }

    #[test]
    fn every_other_key_may_run_something() {
        let unreadable = UNREADABLE;
        for (text, expected) in [
            ("[core]\nfsmonitor = ./evil", vec!["core.fsmonitor"]),
            ("[CORE]\n  FsMonitor=./evil", vec!["core.fsmonitor"]),
            ("[core] fsmonitor = x", vec!["core.fsmonitor"]),
            ("[core]\nhooksPath", vec!["core.hookspath"]),
            ("[core]\nworktree = /", vec!["core.worktree"]),
            ("[diff \"x\"]\ntextconv = sh", vec!["diff.textconv"]),
            ("[diff.x]\ncommand = sh", vec!["diff.command"]),
            ("[filter \"lfs\"]\nprocess = x", vec!["filter.process"]),
            ("[include]\npath = other", vec!["include.path"]),
            ("[includeIf \"gitdir:x\"]\npath = y", vec!["includeif.path"]),
            ("[alias]\nst = !sh", vec!["alias.st"]),
            ("[submodule \"x\"]\nupdate = !sh", vec!["submodule.update"]),
            ("[remote \"x\"]\nuploadpack = sh", vec!["remote.uploadpack"]),
            (
                "[a]\nb = 1\n[core]\nbare = false\n[a]\nb = 2\nc = 3",
                vec!["a.b", "a.c"],
            ),
            // The next line would belong to this one.
            ("[core]\nbare = \\\n[user]\nname = x", vec![unreadable]),
            ("fsmonitor = x", vec![unreadable]),
            ("[core\nfsmonitor = x", vec![unreadable, unreadable]),
            ("\u{feff}[core]\nbare = true", vec![unreadable]),
            ("[user \"a]\nname = x", vec![unreadable]),
            ("[user]\n$x = y", vec![unreadable]),
            ("[user]\nname.y = z", vec![unreadable]),
        ] {
            let mut expected = expected;
            expected.dedup();
            assert_eq!(runs(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(runs(b"[user]\nname = \xff"), [unreadable]);
    }
}
