//! What a process finds in its environment: a short list, and nothing that came from the person's.

use std::collections::BTreeMap;
use std::path::Path;

use crate::contain::Job;

/// Where programs are looked for when nobody says otherwise.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Never passed on, whoever gives it: ways to the person's session, and files that a shell or the
/// loader would run.
const REFUSED: [&str; 14] = [
    "BASH_ENV",
    "DISPLAY",
    "ENV",
    "GIT_ASKPASS",
    "GIT_DIR",
    "GIT_EXTERNAL_DIFF",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "LD_AUDIT",
    "LD_PRELOAD",
    "SSH_ASKPASS",
    "TMUX",
    "TMUX_PANE",
    "XDG_RUNTIME_DIR",
];
const REFUSED_STARTS: [&str; 5] = ["BASH_FUNC_", "DBUS_", "GIT_CONFIG", "PLACET_", "WAYLAND_"];
const REFUSED_ENDS: [&str; 2] = ["_SOCK", "_SOCKET"];

/// Settings of git that a repository cannot override: no program of its own choice is run.
const GIT: [(&str, &str); 8] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("credential.helper", ""),
    // What only reads does not write the index.
    ("diff.autoRefreshIndex", "false"),
    ("log.showSignature", "false"),
    ("protocol.ext.allow", "never"),
    ("safe.bareRepository", "explicit"),
];

fn refused(name: &str) -> bool {
    REFUSED.contains(&name)
        || REFUSED_STARTS.iter().any(|start| name.starts_with(start))
        || REFUSED_ENDS.iter().any(|end| name.ends_with(end))
        || name.is_empty()
        || name.contains(['=', '\0'])
}

/// The environment of a job, whose home and temporary folder is `private`.
pub(super) fn of(
    job: &Job,
    private: &Path,
    user: &str,
    toolchains: impl IntoIterator<Item = (&'static str, String)>,
) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut set = |name: &str, value: &str| all.insert(name.to_owned(), value.to_owned());
    for (name, value) in toolchains {
        set(name, &value);
    }
    for (name, value) in [
        ("PATH", PATH),
        ("LANG", "C.UTF-8"),
        ("USER", user),
        ("LOGNAME", user),
    ] {
        set(name, value);
    }
    for (name, value) in job.env.iter().filter(|(name, _)| !refused(name)) {
        set(name, value);
    }
    let private = private.display().to_string();
    let above = job.workspace.parent().unwrap_or(&job.workspace);
    for (name, value) in [
        ("HOME", private.as_str()),
        ("TMPDIR", &private),
        ("TERM", "dumb"),
        ("PAGER", "cat"),
        ("GIT_PAGER", "cat"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_CEILING_DIRECTORIES", &above.display().to_string()),
        ("GIT_CONFIG_COUNT", &GIT.len().to_string()),
    ] {
        set(name, value);
    }
    for (index, (key, value)) in GIT.iter().enumerate() {
        set(&format!("GIT_CONFIG_KEY_{index}"), key);
        set(&format!("GIT_CONFIG_VALUE_{index}"), value);
    }
    all
}
