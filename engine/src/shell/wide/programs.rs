//! The programs that are known to run others, and how each treats the words that it is given.

use crate::steering::without_case;

use super::marks;
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
    sh bash rbash dash zsh ksh mksh pdksh lksh posh sash ash yash fish csh tcsh rc es \
    oksh osh ysh hush mrsh gash nash loksh";

/// Pythons.
const PYTHONS: &str = "\
    python pythonw pypy";

/// Other interpreters.
const OTHERS: &str = "\
    perl ruby irb node nodejs deno bun ts-node tsx php lua luajit tclsh wish groovy scala r \
    rscript julia guile racket sbcl clisp ghci runghc erl elixir iex jshell ocaml swipl gjs \
    qjs xonsh elvish nu ipython raku janet bb clojure pry java kotlin escript \
    ghc runhaskell swift pdb mono jbang bpftrace nim tcl";

/// Programs that give words to a shell, or have commands of their own that run programs.
const TEXTS: &str = "\
    ssh su runuser script flock watch tmux screen nix-shell sqlite psql mysql mariadb gdb \
    gdbtui lldb vim vi nvim view rview rvim gvim vimdiff ex ed emacs emacsclient m dc entr \
    hyperfine concurrently nodemon watchexec sg xterm mosh socat ncat nc sftp ftp lftp \
    docker-ssh sem newgrp editor telnet busctl rsh gnuplot octave";

/// Programs that run the one that their words name.
const WRAPPERS: &str = "\
    sudo doas env nice nohup timeout gtimeout ionice chrt taskset setsid setarch stdbuf \
    unbuffer chronic time command builtin exec busybox toybox strace ltrace gdbserver valgrind \
    perf proot fakeroot chroot unshare nsenter bwrap firejail systemd-run cgexec prlimit \
    numactl caffeinate arch dbus-launch dbus-run-session xvfb-run pkexec gosu su-exec setpriv \
    capsh tini dumb-init catatonit coproc torsocks proxychains tsocks eatmydata faketime npx \
    pnpx bunx uvx pipx rlwrap flatpak-spawn wsl winpty alias hash enable ccache moreutils ifne \
    errno pee retry daemonize daemon start-stop-daemon sshpass run0 machinectl linux linux32 \
    linux64 i386 x86_64 noglob nocorrect logsave sotruss run-parts dpkg-architecture catchsegv \
    choom runcon systemd-inhibit systemd-cat uclampset ts tsp softlimit chpst envdir envuidgid \
    setuidgid s6-setuidgid pgrphack fghack systemd-nspawn schroot nocache cpulimit trickle torify \
    aa-exec rr heaptrack uftrace reptyr dtach abduco nq ssh-agent wine qemu-x86_64 \
    qemu-aarch64 gtime sandbox-exec sudoedit service ldd sccache distcc trace-cmd byobu zellij";

/// Programs that start a shell, which reads what they are fed.
const STARTERS: &str = "\
    chroot nsenter unshare fakeroot proot setarch linux32 linux64 run0 machinectl wsl \
    flatpak-spawn i386 x86_64 bwrap firejail";

/// Flags by which others do.
const STARTING: &str = "\
    -s -i --shell --login";

/// Names that begin as a host's does and are none.
const NAMESAKES: &str = "\
    node_modules node-gyp ssh-keygen ssh-add ssh-keyscan python3-config python-config";

/// Endings by which a name is that of a file.
const EXTENSIONS: &str = "\
    sh py js mjs cjs ts tsx jsx rb pl php lua txt md json toml yml yaml html css log c h cpp rs \
    go java sql csv xml conf cfg ini lock example local zip gz tgz bz2 xz deb rpm";

/// Programs that run code of the workspace, or others with few words more.
pub(super) const RUNNERS: &str = "\
    find fd make gmake npm yarn pnpm bundle uv poetry pipenv conda direnv mise asdf nix docker \
    podman nerdctl";

pub(super) fn among(list: &str, name: &str) -> bool {
    list.split(' ').any(|known| known == name)
}

/// Whether a program runs others, or code of the workspace, whatever its words: an entry for it
/// says little.
pub(super) fn is_host(program: &str) -> bool {
    kind(program, &[]).is_some() || among(RUNNERS, &name_of(program))
}

/// Whether some words make a host of a program.
pub(super) fn with(text: &str) -> bool {
    marks::knows(&name_of(text))
}

/// Whether some word starts a shell, which reads what it is fed.
pub(super) fn starts_a_shell(words: &[Word]) -> bool {
    words
        .iter()
        .any(|word| among(STARTING, &word.text) || among(STARTERS, &name_of(&word.text)))
}

/// The name of a program, without its path, its version and its case.
pub(super) fn name_of(text: &str) -> String {
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
    let behind = words.get(1..).unwrap_or_default();
    marks::kind(name, behind)
        .or_else(|| named(name))
        .or_else(|| beginning(name).and_then(named))
}

/// Whether a word is itself the name of a host, and does not merely begin with it.
pub(super) fn is_outright(text: &str) -> bool {
    let name = name_of(text);
    named(&name).is_some() || marks::knows(&name)
}

/// The letters that a name begins with, where more hangs on them as in `vim.basic`.
fn beginning(name: &str) -> Option<&str> {
    let parts = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '_');
    let (letters, _) = name.split_once(parts)?;
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let file = extension.is_some_and(|extension| among(EXTENSIONS, extension));
    let telling = letters.len() > 2 || matches!(letters, "sh" | "nc" | "vi");
    (telling && !file && !among(NAMESAKES, name)).then_some(letters)
}

/// How a program of this very name treats its words.
fn named(name: &str) -> Option<Kind> {
    // The dynamic loader runs the file that it is given.
    let loads = name.starts_with("ld-") || name.starts_with("ld.so") || name == "ld-linux";
    Some(match name {
        "source" => Kind::Source,
        "xargs" => Kind::Arguments,
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => Kind::Awk,
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
