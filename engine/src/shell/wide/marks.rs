//! Programs that run others with certain words alone, and how those words are told.

use super::programs::{Kind, among};
use super::scan::Word;

/// Names of one program, how it treats its words, and those that make a host of it.
///
/// Long flags count however short they are cut; letters behind one dash count anywhere among
/// others; words of letters alone are whole, and any else may have more behind.
const WITH: &[(&str, Kind, &[&str])] = &[
    ("env genv", Kind::Text, &["-S", "--split-string"]),
    ("find gfind", Kind::Wrapper, &["-exec", "-ok"]),
    (
        "fd fdfind",
        Kind::Wrapper,
        &["-x", "-X", "--exec", "--exec-batch"],
    ),
    (
        "docker podman nerdctl",
        Kind::Wrapper,
        &["run", "exec", "create"],
    ),
    ("kubectl", Kind::Wrapper, &["exec", "run", "debug"]),
    ("oc", Kind::Wrapper, &["exec", "run", "debug", "rsh"]),
    ("npm", Kind::Text, &["exec", "x", "explore"]),
    ("pnpm yarn", Kind::Text, &["exec", "dlx"]),
    ("npx", Kind::Text, &["-c", "--call"]),
    ("bundle direnv asdf", Kind::Wrapper, &["exec"]),
    ("uv", Kind::Wrapper, &["run", "tool"]),
    ("poetry pipenv conda", Kind::Wrapper, &["run"]),
    ("mise", Kind::Wrapper, &["exec", "x"]),
    (
        "nix",
        Kind::Text,
        &["-c", "--command", "run", "shell", "develop"],
    ),
    (
        "tar gtar bsdtar",
        Kind::Text,
        &[
            "-I",
            "-F",
            "--to-command",
            "--use-compress-program",
            "--checkpoint-action",
            "--rsh-command",
            "--rmt-command",
            "--info-script",
            "--new-volume-script",
        ],
    ),
    ("rsync", Kind::Text, &["-e", "--rsh", "--rsync-path"]),
    ("scp", Kind::Text, &["-S", "-o", "-D"]),
    ("zip", Kind::Text, &["-TT", "--unzip-command"]),
    ("sort gsort", Kind::Text, &["--compress-program"]),
    ("rg", Kind::Text, &["--pre", "--hostname-bin"]),
    ("man", Kind::Text, &["-P", "--pager", "-H", "--html"]),
    (
        "make gmake",
        Kind::Code,
        &[
            "-",
            "-f-",
            "-f/dev/",
            "-f/proc/",
            "/dev/",
            "/proc/",
            "--file=-",
            "--file=/dev/",
            "--file=/proc/",
            "--makefile=-",
            "--makefile=/dev/",
            "--makefile=/proc/",
        ],
    ),
    (
        "make gmake",
        Kind::Text,
        &["--eval", "-E", "SHELL=", "MAKEFLAGS="],
    ),
    (
        "apt apt-get apt-cache apt-mark aptitude",
        Kind::Text,
        &["-o", "--option", "-c", "--config-file"],
    ),
    (
        "dpkg",
        Kind::Text,
        &["--pre-invoke", "--post-invoke", "--status-logger"],
    ),
    (
        "rpm rpmbuild rpmspec",
        Kind::Text,
        &["--eval", "-E", "--define", "-D", "--pipe", "--load"],
    ),
    ("hg chg", Kind::Text, &["--config", "--config-file"]),
    ("gh", Kind::Text, &["alias", "extension"]),
    ("cargo", Kind::Text, &["watch", "--config"]),
    ("rustup", Kind::Wrapper, &["run"]),
    ("rails", Kind::Code, &["runner", "r", "console", "c"]),
    ("wp", Kind::Code, &["eval", "shell", "--exec"]),
    (
        "gcc g++ cc c++ gfortran",
        Kind::Code,
        &["-wrapper", "--wrapper"],
    ),
    (
        "go",
        Kind::Text,
        &["-exec", "-toolexec", "--exec", "--toolexec"],
    ),
    ("less more pager", Kind::Text, &["+"]),
    ("buildah", Kind::Wrapper, &["run"]),
    ("docker-compose", Kind::Wrapper, &["run", "exec"]),
    ("crictl ctr lxc", Kind::Wrapper, &["exec", "run"]),
    ("vagrant", Kind::Text, &["ssh", "-c", "--command"]),
    (
        "c cpp clang clang++",
        Kind::Code,
        &["-wrapper", "--wrapper", "-fplugin"],
    ),
    ("split gsplit", Kind::Text, &["--filter"]),
    ("curl", Kind::Text, &["--proxy-command"]),
    (
        "rake",
        Kind::Code,
        &["-e", "-E", "-p", "--execute", "--execute-continue"],
    ),
    ("prove", Kind::Text, &["-e", "--exec"]),
    ("ansible", Kind::Text, &["-a", "--args"]),
    ("adb", Kind::Text, &["shell", "exec-out", "exec-in"]),
    (
        "git",
        Kind::Text,
        &[
            "-c",
            "--config-env",
            "--exec",
            "-x",
            "bisect",
            "filter-branch",
            "foreach",
            "--upload-pack",
            "--receive-pack",
            "difftool",
            "mergetool",
            "-O",
            "--open-files-in-pager",
            "for-each-repo",
            "ext::",
            "alias.",
            "!",
        ],
    ),
];

/// Whether some words make a host of the program of this name.
pub(super) fn knows(name: &str) -> bool {
    WITH.iter().any(|(names, _, _)| among(names, name))
}

/// How the program of this name treats the words behind it, where they make a host of it.
pub(super) fn kind(name: &str, behind: &[Word]) -> Option<Kind> {
    let known = WITH.iter().filter(|(names, _, _)| among(names, name));
    let mut marked = known.filter(|(names, _, marks)| {
        // The first word of `tar` is flags without a dash too.
        let bare = behind.first().filter(|_| names.starts_with("tar "));
        let bare = bare.is_some_and(|word| {
            let flags = format!("-{}", word.text);
            !word.text.starts_with('-') && marks.iter().any(|mark| is_mark(mark, &flags))
        });
        let mut words = behind.iter();
        bare || words.any(|word| marks.iter().any(|mark| is_mark(mark, &word.text)))
    });
    marked.next().map(|(_, kind, _)| *kind)
}

/// Whether a word is, holds or shortens a mark.
pub(super) fn is_mark(mark: &str, word: &str) -> bool {
    if mark.starts_with("--") {
        return is_long(mark, word);
    }
    let Some(letters) = mark.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
        let whole = mark == "-" || mark.chars().all(char::is_alphanumeric);
        return word == mark || (!whole && word.starts_with(mark));
    };
    let alone = letters.len() <= 2 || !letters.chars().all(char::is_alphanumeric);
    if !alone {
        return word.starts_with(mark);
    }
    let cluster = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let before = cluster.and_then(|cluster| cluster.split_once(letters));
    before.is_some_and(|(before, _)| before.chars().all(char::is_alphanumeric))
}

/// Whether a word is a long flag, or its beginning, with the value that the mark demands.
fn is_long(mark: &str, word: &str) -> bool {
    let (mark, wanted) = mark.split_once('=').unwrap_or((mark, ""));
    let (flag, value) = word.split_once('=').unwrap_or((word, ""));
    let named = flag.len() > 2 && flag.starts_with("--");
    named && value.starts_with(wanted) && (mark.starts_with(flag) || flag.starts_with(mark))
}
