//! What may become an entry of the per-command list, and how much such an entry would let by.
//!
//! An entry says which program may run and with which first word; what it does not say is what the
//! rest of the words make of it. Programs that run whatever they are given need a person to insist.

use crate::shell::wide::Pattern;
use crate::shell::{explain, key};

/// Why a text is no entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAnEntry {
    /// It is a command with more than its key.
    #[error("{given:?} is more than a key: an entry is a key such as `git push`, here {key:?}")]
    Longer {
        /// What was given.
        given: String,
        /// Its key.
        key: String,
    },
    /// No entry could cover it.
    #[error("{given:?} has no key: {why}")]
    NoKey {
        /// What was given.
        given: String,
        /// How it is read.
        why: String,
    },
}

/// The key that an entry with this text has: the text itself.
pub fn entry_key(text: &str) -> Result<String, NotAnEntry> {
    let given = || text.to_owned();
    match key(text) {
        Some(key) if key == text => Ok(key),
        Some(key) => Err(NotAnEntry::Longer {
            given: given(),
            key,
        }),
        None => Err(NotAnEntry::NoKey {
            given: given(),
            why: no_key(text),
        }),
    }
}

/// Why a command has no key, in words.
pub fn no_key(command: &str) -> String {
    explain::explain::<&str>(command, &[]).why
}

/// Why an entry on a program lets by more than its key says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Caution {
    /// It runs code that its words, its input or a file hold.
    Interpreter,
    /// It runs another program, which its words name.
    Wrapper,
    /// It runs code of the workspace, which an agent can write.
    Runner,
    /// It acts as another user.
    OtherUser,
    /// It acts on another machine, or in a container.
    Elsewhere,
    /// Its settings and aliases, which its words can set, name programs to run.
    Settings,
    /// Some of its words have it run another program.
    Host,
}

impl Caution {
    /// What the program does, as the end of a sentence about it.
    pub const fn why(self) -> &'static str {
        match self {
            Self::Interpreter => "runs whatever code it is given",
            Self::Wrapper => "runs whatever program its words name",
            Self::Runner => "runs code of the workspace, which the agent can write",
            Self::OtherUser => "acts as another user",
            Self::Elsewhere => "acts on another machine or in a container",
            Self::Settings => "can be told by its own settings to run any program",
            Self::Host => "can be told by its words to run other programs",
        }
    }
}

/// Which commands of a program.
enum Words {
    /// All of them.
    All,
    /// Those whose key has one of these as its second word, or no second word.
    These(&'static [&'static str]),
}

/// Programs by what they do, beneath their base names without a version; a star stands for all
/// names that begin so. What the wide reading of commands knows to run others comes on top.
const PROGRAMS: &[(Caution, Words, &str)] = &[
    (
        Caution::Interpreter,
        Words::All,
        ". R Rscript ash awk bash bc busybox csh dash dc ed elixir emacs erl escript eval \
         editor ex expect fish gawk gdb* ghci groovy iex ipython irb java jshell julia kotlin \
         ksh lldb lua luajit m4 mawk mksh mysql nawk nu nvim octave original-awk osascript \
         pdb pdb3 perl php powershell prove psql pwsh pypy python raku rbash ruby \
         runghc rview rvim scala sed sh source sqlite swift tclsh tcsh toybox vi view vim* \
         wish xonsh yash zsh bpftrace jbang mono nim tcl",
    ),
    (
        Caution::Wrapper,
        Words::All,
        "at batch bwrap builtin capsh choom chronic chrt command crontab dbus-run-session \
         direnv entr env exec fakeroot faketime fd fdfind find firejail flock i386 ionice \
         ld-linux* ld.so* ldd less linux32 linux64 ltrace man more nice nohup nsenter \
         numactl pager parallel perf prlimit rsync run-parts runcon screen script service \
         setarch setpriv setsid ssh-agent start-stop-daemon stdbuf strace systemctl \
         systemd-cat systemd-inhibit systemd-run tar taskset time timeout tmux trap \
         uclampset unshare valgrind watch watchexec x86_64 xargs xvfb-run zip byobu distcc \
         dtach rr sccache trace-cmd zellij",
    ),
    (
        Caution::Host,
        Words::All,
        "c++ c89 c99 cc clang clang++ cpp g++ gcc sort split",
    ),
    (
        Caution::Settings,
        Words::All,
        "apt apt-get aptitude chg dpkg hg install ip procmail rpm rpmbuild rpmspec \
         sensible-editor vigr vipw wget",
    ),
    (
        Caution::Settings,
        Words::These(&["alias", "extension"]),
        "gh",
    ),
    (
        Caution::Runner,
        Words::All,
        "ant bazel bazelisk buck bun bundle bunx cabal cargo cmake composer conda \
         corepack cross ctest deno dotnet esbuild eslint gmake gradle gradlew gulp hatch \
         invoke jest just lerna make maven meson mise mix mocha mvn mvnw ninja nix \
         nix-build nix-shell node nodejs nox npm npx nx pdm pip pipenv pipx pnpm pnpx \
         poetry pre-commit pytest rails rake rspec rustup sbt scons stack task tox ts-node tsx \
         turbo uv uvx vite vitest webpack wp yarn yarnpkg zig airflow bats celery crystal dart \
         django-admin electron fab flask flutter forever grunt gunicorn jupyter lein nimble \
         phing phpunit pm2 rush streamlit terraform terragrunt tofu uvicorn",
    ),
    (
        Caution::Runner,
        Words::These(&["generate", "run", "test", "tool"]),
        "go",
    ),
    (
        Caution::OtherUser,
        Words::All,
        "chroot doas gosu newgrp pkexec runuser sg su sudo sudoedit",
    ),
    (
        Caution::Elsewhere,
        Words::All,
        "ansible ansible-playbook buildah crictl ctr docker docker-compose kubectl lxc \
         mosh nerdctl podman rsh scp sftp ssh telnet vagrant",
    ),
    (
        Caution::Settings,
        Words::These(&[
            "bisect",
            "config",
            "difftool",
            "filter-branch",
            "grep",
            "hook",
            "mergetool",
            "rebase",
            "submodule",
            "submodule--helper",
        ]),
        "git",
    ),
];

/// What must be known of an entry with this key before it is made.
pub fn caution(key: &str) -> Option<Caution> {
    let mut words = key.split(' ');
    let program = base_name(words.next().unwrap_or_default());
    let next = words.next();
    let listed = PROGRAMS.iter().find(|(_, which, programs)| {
        let meant = match (which, next) {
            (Words::All, _) | (Words::These(_), None) => true,
            (Words::These(these), Some(next)) => these.contains(&next),
        };
        meant && programs.split(' ').any(|name| is_named(program, name))
    });
    match listed {
        Some((caution, ..)) => Some(*caution),
        None => runs_others(program).then_some(Caution::Host),
    }
}

/// Whether the wide reading of commands knows it as one that runs others.
fn runs_others(program: &str) -> bool {
    Pattern::parse(program).is_ok_and(|pattern| pattern.runs_others())
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether a program goes by a name, also with what tells versions and builds apart: `python3.12`,
/// `clang-17`, `perl5.36-x86_64-linux-gnu`, `vim.basic`.
fn is_named(program: &str, name: &str) -> bool {
    if let Some(begin) = name.strip_suffix('*') {
        return program.starts_with(begin);
    }
    program.strip_prefix(name).is_some_and(|rest| {
        rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == '-')
    })
}

#[cfg(test)]
mod tests;
