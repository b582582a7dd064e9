//! The programs that are known to run others, and how each treats the words that it is given.

use crate::steering::without_case;

use super::scan::Word;

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

/// Programs that run what they are given as code.
const CODE: &str = "\
    eval parallel at batch crontab trap expect osascript powershell pwsh cmd wscript cscript \
    mshta fc bind compgen complete";

/// Shells.
const SHELLS: &str = "\
    sh bash rbash dash zsh ksh mksh pdksh ash yash fish csh tcsh rc es";

/// Pythons.
const PYTHONS: &str = "\
    python pythonw pypy";

/// Other interpreters.
const OTHERS: &str = "\
    perl ruby irb node nodejs deno bun ts-node tsx php lua luajit tclsh wish groovy scala r \
    rscript julia guile racket sbcl clisp ghci runghc erl elixir iex jshell ocaml swipl gjs \
    qjs xonsh elvish nu ipython raku janet bb clojure";

/// Programs that give words to a shell, or have commands of their own that run programs.
const TEXTS: &str = "\
    ssh su runuser script flock watch tmux screen nix-shell sqlite psql mysql mariadb gdb lldb \
    vim vi nvim ex ed emacs m dc entr hyperfine concurrently nodemon watchexec sg xterm mosh \
    socat ncat nc sftp ftp lftp docker-ssh sem newgrp telnet busctl";

/// Programs that run the one that their words name.
const WRAPPERS: &str = "\
    sudo doas env nice nohup timeout gtimeout ionice chrt taskset setsid setarch stdbuf \
    unbuffer chronic time command builtin exec busybox toybox strace ltrace gdbserver valgrind \
    perf proot fakeroot chroot unshare nsenter bwrap firejail systemd-run cgexec prlimit \
    numactl caffeinate arch dbus-launch dbus-run-session xvfb-run pkexec gosu su-exec setpriv \
    capsh tini dumb-init catatonit coproc torsocks proxychains tsocks eatmydata faketime npx \
    pnpx bunx uvx pipx rlwrap flatpak-spawn wsl winpty alias hash enable ccache moreutils ifne \
    errno pee retry daemonize daemon start-stop-daemon sshpass run0 machinectl linux linux32 \
    linux64 i386 x86_64 noglob nocorrect";

/// Programs that start a shell, which reads what they are fed.
const STARTERS: &str = "\
    chroot nsenter unshare fakeroot proot setarch linux32 linux64 run0 machinectl wsl \
    flatpak-spawn i386 x86_64 bwrap firejail";

/// Flags by which others do.
const STARTING: &str = "\
    -s -i --shell --login";

/// Programs that run code of the workspace, or others with few words more.
const RUNNERS: &str = "\
    find fd make gmake npm yarn pnpm bundle uv poetry pipenv conda direnv mise asdf nix docker \
    podman nerdctl";

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
    (
        "make",
        Kind::Text,
        &["--eval", "-E", "-", "SHELL=", "/dev/"],
    ),
    (
        "gmake",
        Kind::Text,
        &["--eval", "-E", "-", "SHELL=", "/dev/"],
    ),
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

fn among(list: &str, name: &str) -> bool {
    list.split(' ').any(|known| known == name)
}

/// Whether a program runs others, or code of the workspace, whatever its words: an entry for it
/// says little.
pub(super) fn is_host(program: &str) -> bool {
    kind(program, &[]).is_some() || among(RUNNERS, &name_of(program))
}

/// Whether some words make a host of a program.
pub(super) fn with(text: &str) -> bool {
    let name = name_of(text);
    WITH.iter().any(|(known, _, _)| *known == name)
}

/// Whether some word starts a shell, which reads what it is fed.
pub(super) fn starts_a_shell(words: &[Word]) -> bool {
    words
        .iter()
        .any(|word| among(STARTING, &word.text) || among(STARTERS, &name_of(&word.text)))
}

/// The name of a program, without its path, its version and its case.
fn name_of(text: &str) -> String {
    let path = text.trim_end_matches('/');
    let name = without_case(path.rsplit('/').next().unwrap_or_default());
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    if among(WRAPPERS, name) || bare.is_empty() {
        name.to_owned()
    } else {
        bare.to_owned()
    }
}

/// How the program of these words treats them; `None` where it is no known host.
pub(super) fn kind(text: &str, words: &[Word]) -> Option<Kind> {
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
        _ if among(CODE, name) => Kind::Code,
        _ if among(SHELLS, name) => Kind::Shell,
        _ if among(PYTHONS, name) => Kind::Python,
        _ if among(OTHERS, name) => Kind::Other,
        _ if among(TEXTS, name) => Kind::Text,
        _ if among(WRAPPERS, name) || loads => Kind::Wrapper,
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
