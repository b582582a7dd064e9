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
         pdb pdb3 perl php powershell prove psql pwsh pypy python raku rbash ruby runghc rview rvim scala sed sh \
         source sqlite swift tclsh tcsh toybox vi view vim* wish xonsh yash zsh",
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
         uclampset unshare valgrind watch watchexec x86_64 xargs xvfb-run zip",
    ),
    (
        Caution::Host,
        Words::All,
        "c++ c89 c99 cc clang clang++ cpp g++ gcc sort split",
    ),
    (Caution::Settings, Words::All, "apt apt-get dpkg"),
    (
        Caution::Runner,
        Words::All,
        "ant bazel bazelisk buck bun bundle bunx cabal cargo cmake composer conda \
         corepack cross ctest deno dotnet esbuild eslint gmake gradle gradlew gulp hatch \
         invoke jest just lerna make maven meson mise mix mocha mvn mvnw ninja nix \
         nix-build nix-shell node nodejs nox npm npx nx pdm pip pipenv pipx pnpm pnpx \
         poetry pre-commit pytest rake rspec rustup sbt scons stack task tox ts-node tsx \
         turbo uv uvx vite vitest webpack yarn yarnpkg zig",
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
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_key_and_nothing_more() {
        for key in [
            "ls",
            "git push",
            "/usr/bin/git status",
            "sudo apt",
            "npx jest",
        ] {
            assert_eq!(entry_key(key).as_deref(), Ok(key), "{key}");
        }
        for (given, key) in [
            ("git push --force", "git push"),
            ("git push origin main", "git push"),
            ("ls -la", "ls"),
            ("git -C repo status", "git"),
            ("  git   push", "git push"),
            ("'git' push", "git push"),
        ] {
            let longer = NotAnEntry::Longer {
                given: given.to_owned(),
                key: key.to_owned(),
            };
            assert_eq!(entry_key(given), Err(longer), "{given}");
        }
        for given in [
            "",
            "git push; rm -rf .",
            "git push && ls",
            "$X push",
            "git push > log",
            "A=1 git push",
            "git $(id)",
            "ls # all",
            "git push\nls",
            "if",
            "git 'push",
        ] {
            let refused = entry_key(given);
            assert!(
                matches!(&refused, Err(NotAnEntry::NoKey { why, .. }) if !why.is_empty()),
                "{given}: {refused:?}"
            );
        }
    }

    #[test]
    fn what_runs_other_code_than_its_key_names_is_known() {
        for (key, caution) in [
            ("bash", Caution::Interpreter),
            ("/bin/sh deploy.sh", Caution::Interpreter),
            ("dash x", Caution::Interpreter),
            ("zsh x", Caution::Interpreter),
            ("python3", Caution::Interpreter),
            ("python3.12 x.py", Caution::Interpreter),
            ("perl5.36", Caution::Interpreter),
            ("ruby x.rb", Caution::Interpreter),
            ("sqlite3 x.db", Caution::Interpreter),
            ("env FOO", Caution::Wrapper),
            ("xargs rm", Caution::Wrapper),
            ("find .", Caution::Wrapper),
            ("nohup x", Caution::Wrapper),
            ("timeout 5", Caution::Wrapper),
            ("nice x", Caution::Wrapper),
            ("watch ls", Caution::Wrapper),
            ("parallel x", Caution::Wrapper),
            ("make", Caution::Runner),
            ("make all", Caution::Runner),
            ("just build", Caution::Runner),
            ("npm test", Caution::Runner),
            ("npx jest", Caution::Runner),
            ("pnpm run", Caution::Runner),
            ("yarn build", Caution::Runner),
            ("node x.js", Caution::Runner),
            ("deno run", Caution::Runner),
            ("bun test", Caution::Runner),
            ("cargo test", Caution::Runner),
            ("cargo build", Caution::Runner),
            ("./gradlew build", Caution::Runner),
            ("go test", Caution::Runner),
            ("go", Caution::Runner),
            ("sudo apt", Caution::OtherUser),
            ("doas ls", Caution::OtherUser),
            ("ssh host", Caution::Elsewhere),
            ("docker run", Caution::Elsewhere),
            ("git", Caution::Settings),
            ("git config", Caution::Settings),
            ("/usr/bin/git", Caution::Settings),
        ] {
            assert_eq!(self::caution(key), Some(caution), "{key}");
        }
        for key in [
            "ls",
            "cat notes.txt",
            "git status",
            "git push",
            "go vet",
            "rg TODO",
            "rustfmt x.rs",
            "echo bash",
            "gitk x",
            "findmnt x",
            "environment x",
        ] {
            assert_eq!(caution(key), None, "{key}");
        }
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "one table")]
    fn no_name_of_a_program_that_runs_others_goes_without_a_word() {
        for key in [
            "linux64 x",
            "linux32 x",
            "x86_64 x",
            "i386 x",
            "prlimit x",
            "ld-linux.so.2 x",
            "/lib64/ld-linux-x86-64.so.2 x",
            "/lib/ld.so x",
            "ld.so.1 x",
            "vim x",
            "vim.basic x",
            "vim.tiny x",
            "vimdiff a",
            "view x",
            "rvim x",
            "rview x",
            "editor x",
            "pager x",
            "awk x",
            "nawk x",
            "gawk x",
            "gawk-5.2 x",
            "mawk x",
            "original-awk x",
            "split x",
            "sort x",
            "sort",
            "sg x",
            "newgrp x",
            "fakeroot x",
            "fakeroot-sysv x",
            "capsh x",
            "dbus-run-session x",
            "choom x",
            "uclampset x",
            "runcon x",
            "systemd-inhibit x",
            "systemd-cat x",
            "systemd-run x",
            "pdb x",
            "pdb3 x",
            "pdb3.11 x",
            "prove x",
            "gdb x",
            "gdb-multiarch x",
            "gdbtui x",
            "ldd x",
            "gcc x.c",
            "gcc-12 x.c",
            "x86_64-linux-gnu-gcc x.c",
            "cc x.c",
            "c99 x.c",
            "g++ x.cc",
            "g++-12 x.cc",
            "clang x.c",
            "clang-17 x.c",
            "clang++ x.cc",
            "apt-get update",
            "apt list",
            "dpkg x",
            "service x",
            "perl5.36-x86_64-linux-gnu x",
            "python3-dbg x",
            "python3.12-config x",
            // What the wide reading knows alone.
            "hyperfine x",
            "proot x",
            "rlwrap x",
            "racket x",
            "socat x",
            "ccache x",
            "sshpass x",
        ] {
            assert!(caution(key).is_some(), "{key}");
        }
        for key in [
            "sorted x",
            "cctl x",
            "viewer x",
            "splitter x",
            "rg x",
            "wc x",
        ] {
            assert_eq!(caution(key), None, "{key}");
        }
    }
}
