//! Other names of a program: versions, links, paths that are set, names that are found, filled in
//! or hidden behind an alias.

use std::collections::BTreeMap;

use super::{Command, Match, pattern};
use Match::{Apart, Matches, Unreadable};

const RENAMED: &[(&str, &str, Match)] = &[
    // A versioned name is the program.
    ("python", "python3 x.py", Matches),
    ("python", "/usr/bin/python3.11 x.py", Matches),
    ("python3", "python3.11 x.py", Matches),
    ("pip install", "pip3 install x", Matches),
    ("pip install", "pip-3.11 install x", Matches),
    ("perl", "perl5.36 x.pl", Matches),
    ("perl", "perl5.36-x86_64-linux-gnu x.pl", Matches),
    ("gcc", "gcc-12 x.c", Matches),
    ("python", "pythonic x", Apart),
    ("sha", "sha256sum x", Apart),
    ("rm", "cat rm.1", Apart),
    ("pip install", "pipx3 install x", Apart),
    // Where programs are looked for.
    ("git tag", "PATH=. zz v", Unreadable),
    ("git tag", "PATH+=:. zz v", Unreadable),
    ("git tag", "export PATH=.; zz v", Unreadable),
    ("git tag", "export \"PATH=.\"; zz v", Unreadable),
    ("git tag", "env PATH=. zz v", Unreadable),
    ("git tag", "sudo env A=1 PATH=. zz v", Unreadable),
    ("git tag", "read PATH; zz v", Unreadable),
    ("git tag", "printf -v PATH x; zz v", Unreadable),
    ("git tag", "for PATH in a b; do zz v; done", Unreadable),
    ("git tag", "declare -n p=PATH; p=.; zz v", Unreadable),
    ("git tag", "hash -p /bin/ls zz; zz v", Unreadable),
    ("git tag", "hash -r; zz v", Apart),
    ("git tag", "grep PATH x", Apart),
    ("git tag", "echo $PATH", Apart),
    ("git tag", "MYPATH=. zz v", Apart),
    ("git tag", "cmake -DPATH=x .", Apart),
    // What is found is run.
    (
        "git tag",
        "find . -name 'gi*' -exec {} tag v \\;",
        Unreadable,
    ),
    ("git tag", "find . -execdir ./{} tag v \\;", Unreadable),
    ("git tag", "find . -ok {} tag v \\;", Unreadable),
    ("git tag", "find . -okdir {} tag v \\;", Unreadable),
    ("git tag", "find . -exec env {} tag v \\;", Unreadable),
    (
        "git tag",
        "find . -exec env -i A=1 {} tag v \\;",
        Unreadable,
    ),
    (
        "git tag",
        "find . -exec sudo -u root {} tag v \\;",
        Unreadable,
    ),
    ("git tag", "find . -exec timeout 5 {} tag v \\;", Unreadable),
    ("git tag", "fd -x {} tag v", Unreadable),
    ("git tag", "fd gi. -X {} tag v", Unreadable),
    ("git tag", "fd gi. -x{} tag v", Unreadable),
    ("git tag", "fd gi. --exec={} tag v", Unreadable),
    ("git tag", "fd gi. -Hx ./{/} tag v", Unreadable),
    ("git tag", "timeout 5 find . -exec {} tag v \\;", Unreadable),
    ("git tag", "ls; find . -exec {} tag v \\;", Unreadable),
    ("git tag", "find . -exec cat {} \\;", Apart),
    ("git tag", "find . -exec grep -n x {} +", Apart),
    ("git tag", "find . -exec nice -n 5 cat a {} +", Apart),
    ("git tag", "fd -e rs -x wc {}", Apart),
    // Quotes that are marked, for one shell, and a letter more for the other.
    ("git tag", "g$'it' tag v", Matches),
    ("git tag", "gi$'t' tag v", Matches),
    ("git tag", "g$''it tag v", Matches),
    ("git tag", "g$\"\"it tag v", Matches),
    ("git tag", "g$\"it\" tag v", Matches),
    ("git tag", "'g'$'it' tag v", Matches),
    ("git tag", "/usr/bin/g$'it' tag v", Matches),
    ("git tag", "env g$'it' tag v", Matches),
    ("git tag", "sudo -u x g$'it' tag v", Matches),
    ("git tag", "ls | g$'it' tag v", Matches),
    ("git tag", "(g$'it' tag v)", Matches),
    ("git tag", "{ g$'it' tag v; }", Matches),
    ("git tag", "ba$'sh' -c 'zz'", Unreadable),
    ("git tag", "echo $'\\' ; g${x}it tag v #'", Unreadable),
    ("git tag", "cat a$'b'", Apart),
    // Programs that run others.
    ("git tag", "logsave x git tag v", Matches),
    ("git tag", "sotruss git tag v", Matches),
    ("git tag", "run-parts --arg=tag x", Apart),
    ("git tag", "run-parts $X", Unreadable),
    ("git tag", "logsave x $X tag v", Unreadable),
    ("git tag", "dpkg-architecture -c git tag v", Matches),
    ("git tag", "dpkg-architecture -c $X tag", Unreadable),
    ("git tag", "dpkg --pre-invoke='g\"\"it tag v' -i x", Matches),
    (
        "git tag",
        "apt-get -o DPkg::Pre-Invoke::='g\"\"it tag' update",
        Matches,
    ),
    ("git tag", "make MAKEFLAGS='--eval=$(shell x)'", Unreadable),
    ("git tag", "MAKEFLAGS=--eval=x make", Unreadable),
    ("git tag", "hg --config alias.x='!g\"\"it tag' x", Matches),
    ("git tag", "gh alias set x '!g\"\"it tag v'", Matches),
    ("git tag", "rpm --eval '%(g\"\"it tag v)'", Matches),
    ("git tag", "rpm -E '%(g\"\"it tag v)'", Matches),
    ("git tag", "systemd-cat g$X tag", Unreadable),
    ("git tag", "systemd-run git tag v", Matches),
    ("git tag", "cargo watch -s 'g\"\"it tag v'", Matches),
    ("git tag", "rustup run stable git tag v", Matches),
    ("git tag", "rustup run stable $X tag", Unreadable),
    ("git tag", "rails runner 'x(\"g\"+\"it\")'", Unreadable),
    (
        "git tag",
        "bundle exec rails runner 'x(\"g\"+\"it\")'",
        Unreadable,
    ),
    ("git tag", "wp eval 'x(\"g\".\"it\");'", Unreadable),
    ("git tag", "octave --eval 'x([\"g\" \"it\"])'", Unreadable),
    ("git tag", "pry -e 'x(\"g\"+\"it\")'", Unreadable),
    ("git tag", "oksh -c 'g\"\"it tag v'", Matches),
    ("git tag", "osh -c 'g\"\"it tag v'", Matches),
    ("git tag", "mksh -c 'g\"\"it tag v'", Matches),
    ("git tag", "yash -c 'g\"\"it tag v'", Matches),
    ("git tag", "rc -c 'g''it tag v'", Matches),
    ("git tag", "es -c 'g''it tag v'", Matches),
    ("git tag", "catchsegv $X tag", Unreadable),
    ("git tag", "ts $X tag", Unreadable),
    (
        "git tag",
        "hg --config alias.x='!$(printf g)it tag' x",
        Unreadable,
    ),
    (
        "git tag",
        "gh alias set x '!$(printf g)it tag v'",
        Unreadable,
    ),
    ("git tag", "rpm -E '%($(printf g)it tag v)'", Unreadable),
    (
        "git tag",
        "cargo watch -s '$(printf g)it tag v'",
        Unreadable,
    ),
    (
        "git tag",
        "apt-get -o X::='$(printf g)it tag' update",
        Unreadable,
    ),
    ("git tag", "cargo test", Apart),
    ("git tag", "apt-get install x", Apart),
    ("git tag", "rpm -qa", Apart),
    // Names that the shell fills in.
    ("git tag", "zz /usr/bin/gi[t] tag v", Unreadable),
    ("git tag", "zz /usr/bin/gi? tag v", Unreadable),
    ("git tag", "zz g* tag v", Unreadable),
    ("git tag", "zz -x /usr/bin/[g]it tag v; ls", Unreadable),
    ("git", "zz gi?", Unreadable),
    ("git tag", "zz * tag v", Apart),
    ("git tag", "zz /usr/bin/* tag v", Apart),
    ("git tag", "zz gi? status", Apart),
    ("git tag", "zz ha? tag", Apart),
    ("git tag", "cat gi* tag", Apart),
    ("rm", "ls r*", Apart),
    ("rm", "cargo fmt -- r*", Apart),
    // Aliases of git, and what holds them.
    ("git tag", "git zz", Unreadable),
    ("git tag", "git -C nest zz", Unreadable),
    ("git tag", "git --git-dir=b zz", Unreadable),
    ("git tag", "git --git-dir b zz", Unreadable),
    ("git tag", "git -p zz v", Unreadable),
    ("git tag", "sudo git zz", Unreadable),
    ("git tag", "nice -n 5 git zz", Unreadable),
    ("git tag", "zz git zz", Unreadable),
    ("git tag", "git -c include.path=x status", Unreadable),
    (
        "git tag",
        "git -c includeIf.gitdir:/.path=x status",
        Unreadable,
    ),
    ("git tag", "GIT_CONFIG_GLOBAL=x git status", Matches),
    ("rm", "GIT_CONFIG_GLOBAL=x git status", Unreadable),
    ("rm", "env GIT_CONFIG_COUNT=1 git status", Unreadable),
    ("rm", "GIT_CONFIG_NOSYSTEM=1 git status", Apart),
    ("git tag", "git status", Apart),
    ("git tag", "git --version", Apart),
    ("git tag", "git --no-pager log -1", Apart),
    ("git tag", "git -C nest diff", Apart),
    ("git tag", "grep git notes.md", Apart),
    ("git tag", "cat git zz", Apart),
    ("rm", "git zz", Apart),
];

#[test]
fn a_program_is_known_by_its_other_names() {
    let mut wrong = Vec::new();
    for (rule, command, expected) in RENAMED {
        let found = pattern(rule).matches(command);
        if found != *expected {
            wrong.push(format!("{rule}: {command}: {found:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_link_is_the_file_that_it_leads_to() {
    let links = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        let pairs = pairs.iter();
        pairs
            .map(|(word, path)| ((*word).to_owned(), (*path).to_owned()))
            .collect()
    };
    let git = links(&[("./x", "/usr/bin/git"), ("vi", "/usr/bin/vim.basic")]);
    for (rule, command, expected) in [
        ("git tag", "./x tag v", Matches),
        ("git tag", "./x status", Apart),
        ("git tag", "./x zz", Unreadable),
        ("git tag", "nice ./x tag v", Matches),
        ("git tag", "nice --adjustment=./x tag v", Matches),
        ("git tag", "ls; ./x tag v", Matches),
        ("git tag", "./y tag v", Apart),
        ("x tag", "./x tag v", Matches),
        ("vi", "vi a", Matches),
        ("vim.basic", "vi a", Matches),
    ] {
        let command_read = Command::read_with(command, &git);
        let found = pattern(rule).stands_to(&command_read);
        assert_eq!(found, expected, "{rule}: {command}");
    }
    let shell = links(&[("./x", "/usr/bin/bash")]);
    let command = Command::read_with("./x -c 'g\"\"it tag v'", &shell);
    assert_eq!(pattern("git tag").stands_to(&command), Unreadable);
}
