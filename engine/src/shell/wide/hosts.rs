//! Programs that run others: which words of a command may be programs in turn, and which cannot be
//! read.

use crate::steering::without_case;

use super::scan::{Segment, Word, is_assignment};
use super::{is_flag, script};

/// What was found about one command.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Found {
    /// Which programs it runs cannot all be read.
    pub(super) unreadable: bool,
    /// It runs other programs, whose names may hang on its flags.
    pub(super) hosts: bool,
    /// It takes words from elsewhere: patterns are matched by their program alone.
    pub(super) loose: bool,
}

/// How a program treats what it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It runs what it is given as code.
    Code,
    /// An interpreter that may be given a file.
    Shell,
    Python,
    Other,
    Awk,
    Sed,
    /// It gives words to a shell, or has commands of its own that run programs.
    Text,
    /// It runs the program that its words name.
    Wrapper,
    /// And reads words from elsewhere.
    Arguments,
    /// It runs a file in this very shell.
    Source,
}

const CODE: &[&str] = &[
    "eval",
    "parallel",
    "at",
    "batch",
    "crontab",
    "trap",
    "expect",
    "osascript",
    "powershell",
    "pwsh",
    "cmd",
    "wscript",
    "cscript",
    "mshta",
    "fc",
    "bind",
    "compgen",
    "complete",
];

const SHELLS: &[&str] = &[
    "sh", "bash", "rbash", "dash", "zsh", "ksh", "mksh", "pdksh", "ash", "yash", "fish", "csh",
    "tcsh", "rc", "es",
];

const PYTHONS: &[&str] = &["python", "pythonw", "pypy"];

const OTHERS: &[&str] = &[
    "perl", "ruby", "irb", "node", "nodejs", "deno", "bun", "ts-node", "tsx", "php", "lua",
    "luajit", "tclsh", "wish", "groovy", "scala", "r", "rscript", "julia", "guile", "racket",
    "sbcl", "clisp", "ghci", "runghc", "erl", "elixir", "iex", "jshell", "ocaml", "swipl", "gjs",
    "qjs", "xonsh", "elvish", "nu", "ipython", "raku", "janet", "bb", "clojure",
];

const TEXTS: &[&str] = &[
    "ssh",
    "su",
    "runuser",
    "script",
    "flock",
    "watch",
    "tmux",
    "screen",
    "nix-shell",
    "sqlite",
    "psql",
    "mysql",
    "mariadb",
    "gdb",
    "lldb",
    "vim",
    "vi",
    "nvim",
    "ex",
    "ed",
    "emacs",
    "m",
    "dc",
    "entr",
    "hyperfine",
    "concurrently",
    "nodemon",
    "watchexec",
    "sg",
    "xterm",
    "mosh",
    "socat",
    "ncat",
    "nc",
    "sftp",
    "ftp",
    "lftp",
    "docker-ssh",
    "sem",
    "newgrp",
    "telnet",
    "busctl",
];

const WRAPPERS: &[&str] = &[
    "sudo",
    "doas",
    "env",
    "nice",
    "nohup",
    "timeout",
    "gtimeout",
    "ionice",
    "chrt",
    "taskset",
    "setsid",
    "setarch",
    "stdbuf",
    "unbuffer",
    "chronic",
    "time",
    "command",
    "builtin",
    "exec",
    "busybox",
    "toybox",
    "strace",
    "ltrace",
    "gdbserver",
    "valgrind",
    "perf",
    "proot",
    "fakeroot",
    "chroot",
    "unshare",
    "nsenter",
    "bwrap",
    "firejail",
    "systemd-run",
    "cgexec",
    "prlimit",
    "numactl",
    "caffeinate",
    "arch",
    "dbus-launch",
    "dbus-run-session",
    "xvfb-run",
    "pkexec",
    "gosu",
    "su-exec",
    "setpriv",
    "capsh",
    "tini",
    "dumb-init",
    "catatonit",
    "coproc",
    "torsocks",
    "proxychains",
    "tsocks",
    "eatmydata",
    "faketime",
    "npx",
    "pnpx",
    "bunx",
    "uvx",
    "pipx",
    "rlwrap",
    "flatpak-spawn",
    "wsl",
    "winpty",
    "alias",
    "hash",
    "enable",
    "ccache",
    "moreutils",
    "ifne",
    "errno",
    "pee",
    "retry",
    "daemonize",
    "daemon",
    "start-stop-daemon",
    "sshpass",
    "run0",
    "machinectl",
    "linux",
    "linux32",
    "linux64",
    "i386",
    "x86_64",
    "noglob",
    "nocorrect",
    "then",
    "do",
    "else",
    "if",
    "while",
    "until",
    "elif",
    "not",
    "and",
    "or",
    "begin",
];

/// Programs that run others with certain words alone.
const WITH: &[(&str, Kind, &[&str])] = &[
    (
        "env",
        Kind::Text,
        &["-S", "-vS", "-iS", "-uS", "--split-string"],
    ),
    ("find", Kind::Wrapper, &["-exec", "-ok"]),
    ("fd", Kind::Wrapper, &["-x", "-X", "--exec"]),
    ("docker", Kind::Wrapper, &["run", "exec", "create"]),
    ("podman", Kind::Wrapper, &["run", "exec", "create"]),
    ("nerdctl", Kind::Wrapper, &["run", "exec", "create"]),
    ("kubectl", Kind::Wrapper, &["exec", "run", "debug"]),
    ("oc", Kind::Wrapper, &["exec", "run", "debug", "rsh"]),
    ("npm", Kind::Text, &["exec", "x", "explore"]),
    ("pnpm", Kind::Text, &["exec", "dlx"]),
    ("yarn", Kind::Text, &["exec", "dlx"]),
    ("npx", Kind::Text, &["-c", "--call"]),
    ("bundle", Kind::Wrapper, &["exec"]),
    ("uv", Kind::Wrapper, &["run", "tool"]),
    ("poetry", Kind::Wrapper, &["run"]),
    ("pipenv", Kind::Wrapper, &["run"]),
    ("conda", Kind::Wrapper, &["run"]),
    ("direnv", Kind::Wrapper, &["exec"]),
    ("mise", Kind::Wrapper, &["exec", "x"]),
    ("asdf", Kind::Wrapper, &["exec"]),
    (
        "nix",
        Kind::Text,
        &["-c", "--command", "run", "shell", "develop"],
    ),
    (
        "tar",
        Kind::Text,
        &[
            "-I",
            "-F",
            "--to-command",
            "--use-compress",
            "--checkpoint",
            "--rsh",
        ],
    ),
    ("rsync", Kind::Text, &["-e", "--rsh", "--rsync-path"]),
    ("scp", Kind::Text, &["-S", "-o", "-D"]),
    ("zip", Kind::Text, &["-TT", "--unzip-command"]),
    ("sort", Kind::Text, &["--compress-program"]),
    ("rg", Kind::Text, &["--pre", "--hostname-bin"]),
    ("man", Kind::Text, &["-P", "--pager", "-H", "--html"]),
    ("make", Kind::Text, &["--eval", "-E", "-", "SHELL="]),
    ("gmake", Kind::Text, &["--eval", "-E", "-", "SHELL="]),
    ("go", Kind::Text, &["-exec", "-toolexec"]),
    ("less", Kind::Text, &["+"]),
    ("split", Kind::Text, &["--filter"]),
    ("curl", Kind::Text, &["--proxy-command"]),
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
            "--open-files",
            "for-each-repo",
            "ext::",
            "alias.",
            "!",
        ],
    ),
];

/// Words behind which a command begins.
const OPENERS: &[&str] = &[
    "if", "then", "else", "elif", "do", "while", "until", "!", "time", "{", "}", "fi", "done",
    "esac", "in", "()",
];

/// At how many of its words one command is looked at anew.
const HOSTS_MAX: usize = 16;

/// Looks at one command.
pub(super) fn look(segment: &Segment) -> Found {
    let mut found = Found::default();
    let mut begins = true;
    for (at, word) in segment.words.iter().enumerate() {
        if word.target {
            continue;
        }
        if !begins || (is_assignment(word) && !word.text.starts_with('=')) {
            begins |= OPENERS.contains(&word.text.as_str());
            continue;
        }
        if OPENERS.contains(&word.text.as_str()) {
            continue;
        }
        begins = false;
        let rest = segment.words.get(at..).unwrap_or_default();
        // A program that expands may be any.
        found.unreadable |= word.expands;
        host(rest, segment.fed, &mut found);
    }
    found.unreadable |= handed_on(segment);
    found
}

/// Whether some word names an interpreter that gets code, whatever runs it.
fn handed_on(segment: &Segment) -> bool {
    let interprets = |word: &Word| {
        let known = kind(&word.text, &[]);
        known.filter(|kind| matches!(kind, Kind::Shell | Kind::Python | Kind::Other))
    };
    let pairs = segment
        .words
        .iter()
        .zip(segment.words.iter().skip(1))
        .skip(1);
    let last = segment.words.iter().skip(1).next_back();
    let reads = segment.fed && last.is_some_and(|word| interprets(word).is_some());
    let coded = |(word, next): (&Word, &Word)| {
        let codes = |kind| is_flag(&next.text) && !script::takes_no_code(kind, &next.text);
        interprets(word).is_some_and(codes)
    };
    reads || pairs.into_iter().any(coded)
}

/// Looks at a program and its words.
fn host(words: &[Word], fed: bool, found: &mut Found) {
    let Some(kind) = words.first().and_then(|word| kind(&word.text, words)) else {
        return;
    };
    let behind = words.get(1..).unwrap_or_default();
    found.hosts = true;
    found.unreadable |= unreadable(kind, behind, fed);
    if !matches!(kind, Kind::Wrapper | Kind::Text | Kind::Arguments) {
        return;
    }
    // Variables, and words that are read from elsewhere, can say what the program will do.
    found.loose |= kind == Kind::Arguments || behind.iter().any(is_assignment);
    let inner = (1..words.len())
        .filter_map(|at| words.get(at..))
        .filter(|rest| {
            let first = rest.first();
            first.is_some_and(|word| self::kind(&word.text, &[]).is_some() || with(&word.text))
        });
    for (number, rest) in inner.enumerate() {
        let Some(inner) = rest.first().and_then(|word| self::kind(&word.text, rest)) else {
            continue;
        };
        let behind = rest.get(1..).unwrap_or_default();
        found.loose |= inner == Kind::Arguments;
        found.unreadable |= number >= HOSTS_MAX || unreadable(inner, behind, fed);
        // What is read from elsewhere would be its program.
        found.unreadable |= kind == Kind::Arguments;
        if found.unreadable {
            return;
        }
    }
}

/// Whether a program runs others, by some of its words or by all.
pub(super) fn is_host(program: &str) -> bool {
    kind(program, &[]).is_some() || with(program)
}

fn with(text: &str) -> bool {
    let name = name_of(text);
    WITH.iter().any(|(known, _, _)| *known == name)
}

/// The name of a program, without its path, its version and its case.
fn name_of(text: &str) -> String {
    let path = text.trim_end_matches('/');
    let name = without_case(path.rsplit('/').next().unwrap_or_default());
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    if WRAPPERS.contains(&name) || bare.is_empty() {
        name.to_owned()
    } else {
        bare.to_owned()
    }
}

/// How the program of these words treats them; `None` where it is no known host.
fn kind(text: &str, words: &[Word]) -> Option<Kind> {
    if text == "." {
        return Some(Kind::Source);
    }
    let name = name_of(text);
    let name = name.as_str();
    let with = WITH.iter().find(|(known, _, marks)| {
        let behind = words.get(1..).unwrap_or_default();
        let marked = |word: &Word| marks.iter().any(|mark| marks_word(mark, &word.text));
        *known == name && behind.iter().any(marked)
    });
    if let Some((_, kind, _)) = with {
        return Some(*kind);
    }
    // The dynamic loader runs the file that it is given.
    let loads = name.starts_with("ld-") || name.starts_with("ld.so") || name == "ld-linux";
    Some(match name {
        "source" => Kind::Source,
        "xargs" => Kind::Arguments,
        "awk" | "gawk" | "mawk" | "nawk" => Kind::Awk,
        "sed" | "gsed" => Kind::Sed,
        _ if CODE.contains(&name) => Kind::Code,
        _ if SHELLS.contains(&name) => Kind::Shell,
        _ if PYTHONS.contains(&name) => Kind::Python,
        _ if OTHERS.contains(&name) => Kind::Other,
        _ if TEXTS.contains(&name) => Kind::Text,
        _ if WRAPPERS.contains(&name) || loads => Kind::Wrapper,
        _ => return None,
    })
}

/// Whether a word is one that makes a host of its program; long and odd ones may have more behind.
fn marks_word(mark: &str, word: &str) -> bool {
    let open = mark.starts_with("--")
        || !mark.starts_with('-') && !mark.chars().all(char::is_alphanumeric);
    let attached = mark.len() == 2 && mark != "--" && !mark.starts_with("-x");
    word == mark || ((open || attached || mark.len() > 3) && mark != "-" && word.starts_with(mark))
}

/// Whether the programs that a host runs cannot be read from its words.
fn unreadable(kind: Kind, behind: &[Word], fed: bool) -> bool {
    let words = || behind.iter().filter(|word| !word.target);
    match kind {
        Kind::Code => true,
        Kind::Shell | Kind::Python | Kind::Other => script::runs_code(kind, behind),
        Kind::Awk => script::awk_runs(behind),
        Kind::Sed => script::sed_runs(behind),
        Kind::Source => words()
            .next()
            .is_none_or(|word| word.expands || script::is_stream(&word.text)),
        Kind::Text => fed || words().any(|word| word.expands || word.text.contains(is_odd)),
        Kind::Wrapper => words().any(is_open),
        Kind::Arguments => words().any(is_open) || !script::names_its_program(behind),
    }
}

fn is_open(word: &Word) -> bool {
    word.expands || word.text.contains(['$', '`'])
}

/// Whether a character may mean something to a shell.
fn is_odd(c: char) -> bool {
    !(c.is_alphanumeric()
        || matches!(
            c,
            '_' | '-' | '.' | '/' | ':' | '=' | ',' | '@' | '%' | '+' | '^'
        ))
}
