//! Two hundred ways to write a command that a rule denies: none of them stands apart.

use super::{Match, RULES, pattern};

/// A command: its program and the rest.
struct Plain<'a> {
    program: &'a str,
    rest: &'a str,
}

impl Plain<'_> {
    /// A text with the parts of this command in their places.
    fn fill(&self, text: &str) -> String {
        let (first, tail) = self.program.split_at(1);
        let (second, third) = tail.split_at(1);
        let octal = escaped(self.program, |byte| format!("\\{byte:o}"));
        [
            ("{program}", self.program),
            ("{rest}", self.rest),
            ("{first}", first),
            ("{tail}", tail),
            ("{second}", second),
            ("{third}", third),
            ("{octal}", &octal),
        ]
        .iter()
        .fold(text.to_owned(), |text, (place, part)| {
            text.replace(place, part)
        })
    }
}

/// The bytes of a text, each written as an escape.
fn escaped(text: &str, write: fn(u8) -> String) -> String {
    text.bytes().map(write).collect::<Vec<_>>().concat()
}

/// Paths, quotes and case.
fn spelled(Plain { program, rest }: &Plain<'_>) -> Vec<String> {
    let (first, tail) = program.split_at(1);
    let hex = escaped(program, |byte| format!("\\x{byte:x}"));
    let octal = escaped(program, |byte| format!("\\{byte:o}"));
    let points = escaped(program, |byte| format!("\\u{byte:04x}"));
    let upper = program.to_uppercase();
    let names = [
        format!("/bin/{program}"),
        format!("../bin/{program}"),
        format!("//bin//{program}"),
        format!("/usr/../bin/./{program}"),
        format!("./{program}"),
        format!("~/bin/{program}"),
        format!("\"{program}\""),
        format!("'{program}'"),
        format!("{first}''{tail}"),
        format!("{first}\"\"{tail}"),
        format!("'{first}'{tail}"),
        format!("\"{first}\"'{tail}'"),
        format!("\\{program}"),
        format!("{first}\\{tail}"),
        format!("{first}\\\n{tail}"),
        format!("/bin/{first}'{tail}'"),
        format!("$'{program}'"),
        format!("$'{first}'{tail}"),
        format!("$\"{program}\""),
        format!("$'{hex}'"),
        format!("$'{octal}'"),
        format!("$'{points}'"),
        format!("\"/bin/\"$'{hex}'"),
        format!("{first}\u{200c}{tail}"),
        format!("{program}.exe"),
        format!("/mnt/c/bin/{upper}.EXE"),
        upper,
    ];
    names.iter().map(|name| format!("{name} {rest}")).collect()
}

/// Flags between the program and its words.
fn between(Plain { program, rest }: &Plain<'_>) -> Vec<String> {
    let flags = [
        "-v",
        "--verbose",
        "--context prod",
        "--context=prod",
        "-C dir",
        "-n ns --x=y",
        "--",
        "-c a.b=c",
        "  ",
        "\t",
        "--config 'a b'",
        "\\\n",
        "-q -q -q",
    ];
    let with = |flag: &&str| format!("{program} {flag} {rest}");
    flags.iter().map(with).collect()
}

/// What stands before a program that it runs.
const BEFORE: &[&str] = &[
    "sudo",
    "sudo -u root",
    "sudo -E --",
    "doas",
    "env",
    "env A=1",
    "env -i A=1 B=2",
    "nice",
    "nice -n 5",
    "nohup",
    "timeout 5",
    "timeout -k 1 5s",
    "ionice",
    "ionice -c 3",
    "chronic",
    "setsid",
    "setsid -w",
    "stdbuf -oL",
    "unbuffer",
    "busybox",
    "toybox",
    "/bin/busybox",
    "command",
    "command -p",
    "builtin",
    "exec",
    "exec -a x",
    "time",
    "/usr/bin/time -v",
    "watch",
    "watch -n 1",
    "parallel",
    "xargs",
    "xargs -n1",
    "xargs -I{}",
    "ssh host",
    "ssh -o A=b host",
    "strace",
    "strace -f -o x",
    "ltrace",
    "chroot /x",
    "unshare -n",
    "nsenter -t 1",
    "flock x",
    "script -c",
    "su -c",
    "su root -c",
    "runuser -u x --",
    "/lib64/ld-linux-x86-64.so.2 /bin/../bin/",
    "ld.so",
    "bwrap --ro-bind / /",
    "firejail",
    "systemd-run",
    "taskset 1",
    "chrt 1",
    "setarch x86_64",
    "proot",
    "fakeroot",
    "npx",
    "sudo nice -n 5 env A=1",
    "env env env",
    "coproc",
    "!",
    "A=1",
    "A=1 B='c d'",
    "time -p",
    "docker exec c",
    "kubectl exec p --",
    "wsl",
    "sshpass -p x ssh h",
    "some-wrapper --",
    "perf stat",
    "gdb --args",
    "valgrind",
    "tini --",
    "gosu x",
    "direnv exec .",
    "uv run",
];

/// Programs that run what their flags or strings hold.
const WITHIN: &[&str] = &[
    "find . -exec {program} {rest} {} \\;",
    "find . -execdir {program} {rest} {} +",
    "find . -ok /bin/{program} {rest} {} ';'",
    "fd -x {program} {rest}",
    "env -S '{program} {rest}'",
    "env '-S{program} {rest}'",
    "su -c '{program} {rest}'",
    "su '-c{program} {rest}'",
    "script -qc \"{program} {rest}\" x",
    "flock x -c '{program} {rest}'",
    "ssh host '{program} {rest}'",
    "watch '{program} {rest}'",
    "parallel '{program} {rest}' ::: a",
    "tmux new '{program} {rest}'",
    "git -c alias.x='!{program} {rest}' x",
    "git bisect run {program} {rest}",
    "git rebase -x '{program} {rest}' main",
    "git submodule foreach '{program} {rest}'",
    "tar -I '{program} {rest}' -xf x",
    "tar --to-command='{program} {rest}' -xf x",
    "rsync -e '{program} {rest}' a b:",
    "nix-shell --run '{program} {rest}'",
];

/// Programs that run the one that they are given.
fn wrapped(plain: &Plain<'_>) -> Vec<String> {
    let before = BEFORE.iter().map(|before| {
        let Plain { program, rest } = plain;
        format!("{before} {program} {rest}").replace("/ ", "/")
    });
    before
        .chain(WITHIN.iter().map(|text| plain.fill(text)))
        .collect()
}

/// Interpreters that get code.
fn interpreted(Plain { program, rest }: &Plain<'_>) -> Vec<String> {
    let (first, tail) = program.split_at(1);
    let codes = [
        format!("{program} {rest}"),
        format!("{first}\"\"{tail} {rest}"),
        format!("x={first}; ${{x}}{tail} {rest}"),
    ];
    let hosts = [
        "sh -c",
        "bash -c",
        "bash -lc",
        "/bin/sh -c",
        "dash -c",
        "zsh -c",
        "sudo sh -c",
        "eval",
        "env bash -ec",
        "busybox sh -c",
        "docker exec c sh -c",
        "fish -c",
        "timeout 5 bash -c",
        "ld.so /bin/sh -c",
        "unknown bash -c",
        "pwsh -Command",
        "powershell -c",
        "cmd /c",
        "sudo -u sh bash -c",
        "command eval",
        "trap",
    ];
    let mut all = Vec::new();
    for host in hosts {
        all.extend(codes.iter().map(|code| format!("{host} '{code}'")));
    }
    let split = format!("'{first}'+'{tail}'");
    all.extend([
        format!("python3 -c \"import os; os.system('{program} {rest}')\""),
        format!("python3 -c \"import os; os.system({split} + ' {rest}')\""),
        format!("python -m timeit \"__import__('os').system({split})\""),
        format!("python3.12 -Bc \"x({split})\""),
        format!("perl -e 'system \"{program} {rest}\"'"),
        format!("perl -pe 'system \"{first}\".\"{tail}\"' x"),
        format!("ruby -e 'system \"{first}\" + \"{tail}\"'"),
        format!("node -e \"c.execSync({split})\""),
        format!("node --eval \"c.execSync({split})\""),
        format!("deno eval \"f({split})\""),
        format!("php -r 'system(\"{first}\".\"{tail}\");'"),
        format!("lua -e 'os.execute(\"{first}\"..\"{tail}\")'"),
        format!("awk 'BEGIN{{system(\"{program} {rest}\")}}'"),
        format!("awk 'BEGIN{{system(\"{first}\" \"{tail}\")}}'"),
        format!("awk 'BEGIN{{\"{first}\" \"{tail}\" | getline}}'"),
        format!("sudo awk 'BEGIN{{system(\"{first}\" \"{tail}\")}}'"),
        format!("sed '1e {program} {rest}' x"),
        format!("sed 's/a/{program}/e' x"),
        format!("sed -e 1p -e '1e{program} {rest}' x"),
        format!("sed -n 's/^/{first}'\"/;s/$/{tail}/e\" x"),
        format!("make --eval='x:; {first}$(y){tail} {rest}'"),
        format!("gdb -batch -ex '!{first}\"\"{tail}'"),
        format!("vim -c '!{program} {rest}'"),
    ]);
    all
}

/// Variables, substitutions, functions, globs, and code from pipes and texts.
const EXPANDED: &[&str] = &[
    "X={program}; $X {rest}",
    "X={program} && \"$X\" {rest}",
    "A={first};B={tail};$A$B {rest}",
    "A={first}; ${A}{tail} {rest}",
    "A={first}; sudo ${A}{tail} {rest}",
    "A={first}; xargs ${A}{tail} {rest}",
    "A={first}; find . -exec ${A}{tail} {rest} \\;",
    "{first}${x}{tail} {rest}",
    "{first}$@{tail} {rest}",
    "{first}``{tail} {rest}",
    "{first}$(){tail} {rest}",
    "$(echo {program}) {rest}",
    "$(echo {first}){tail} {rest}",
    "`echo {program}` {rest}",
    "`echo {first}`{tail} {rest}",
    "$(printf '{octal}') {rest}",
    "$(base64 -d <<< x) {rest}",
    "${1:-{program}} {rest}",
    "set -- {program}; \"$@\" {rest}",
    "/bin/{first}?{third} {rest}",
    "/bin/{first}[{second}]* {rest}",
    "/???/{first}* {rest}",
    "/bin/@({first}){tail} {rest}",
    "{{program},{rest}}",
    "/bin/{{first},x}{tail} {rest}",
    "{{first},x}{tail} {rest}",
    "alias x={program}; x {rest}",
    "alias x={first}''{tail}; x {rest}",
    "y={first}; alias x=${y}{tail}; x {rest}",
    "f(){ {program} \"$@\"; }; f {rest}",
    "function f { {program} {rest}; }; f",
    "f() { $1{tail} {rest}; }; f {first}",
    "echo {program} {rest} | sh",
    "echo {first}''{tail} {rest} | bash",
    "printf '{octal} {rest}' | sh",
    "printf '{octal} {rest}' | sudo sh",
    "printf '{octal} {rest}' | bash -s",
    "printf '{octal} {rest}' | bash -o pipefail",
    "printf '{octal}' | xargs -I% % {rest}",
    "printf '{octal}' | xargs env",
    "printf '{octal} {rest}' | xargs sh -c",
    "printf '{octal} {rest}' | parallel",
    "printf '{octal} {rest}' | ssh host",
    "printf '{octal} {rest}' | docker exec -i c sh",
    "printf '{octal} {rest}' | sudo -s",
    "printf '{octal} {rest}' | sudo chroot /x",
    "printf '{octal} {rest}' | sudo su",
    "time -p {first}$x{tail} {rest}",
    "printf '{octal} {rest}' | python3",
    "printf '{octal} {rest}' | python3 -",
    "printf '{octal} {rest}' | perl",
    "echo cm0gLXJm | base64 -d | sh",
    "base64 -d x | bash /dev/stdin",
    "base64 -d x | source /dev/stdin",
    ". <(base64 -d x)",
    "source <(base64 -d x)",
    "bash <(base64 -d x)",
    "bash < x",
    "bash <<< \"$(base64 -d x)\"",
    "sh <<E\n{program} {rest}\nE",
    "bash <<'E'\n{first}''{tail} {rest}\nE",
    "python3 - <<'E'\nf('{first}'+'{tail}')\nE",
    "cat <<E\n$({program} {rest})\nE",
    "cat <<E\n$({first}$X{tail} {rest})\nE",
    "ls; {program} {rest}",
    "ls && {program} {rest}",
    "ls || {program} {rest}",
    "ls & {program} {rest}",
    "ls\n{program} {rest}",
    "ls | {program} {rest}",
    "ls |& /bin/{program} {rest}",
    "({program} {rest})",
    "{ {program} {rest}; }",
    "if {program} {rest}; then :; fi",
    "if true; then {program} {rest}; fi",
    "while true; do {program} {rest}; done",
    "for x in {program}; do $x {rest}; done",
    "for x in {first}; do $x{tail} {rest}; done",
    "case a in a) {first}$x{tail} {rest};; esac",
    "echo \"$({program} {rest})\"",
    "echo \"$(echo \"$({first}$x{tail} {rest})\")\"",
    "ls <({program} {rest})",
    "ls >({first}$x{tail} {rest})",
    ">out {program} {rest}",
    ">out {first}$x{tail} {rest}",
    "2>&1 {first}$x{tail} {rest}",
    "A=1 {first}$x{tail} {rest}",
    "{fd}>out {first}$x{tail} {rest}",
    "echo $((1 << 2))\n{first}$x{tail} {rest}\n2",
    "ls # '\n{first}$x{tail} {rest} # '",
    "echo 'a' \"'\" ; {first}$x{tail} {rest}",
    "echo 'open ; {program} {rest}",
    "ls\\\n;{program} {rest}",
    "ls;\\\n{first}\\\n{tail} {rest}",
    "cp /bin/{program} x; ./x {rest}",
    "ln -s /bin/{program} x && ./x {rest}",
    "hash -p /bin/{program} x; x {rest}",
    "printf -v x {program}; $x {rest}",
    "read x <<< {program}; $x {rest}",
    "x='$({first}$y{tail})'; echo ${x@P}",
    "={program} {rest}",
    "{first}\0{tail} {rest}",
];

fn expanded(plain: &Plain<'_>) -> Vec<String> {
    EXPANDED.iter().map(|text| plain.fill(text)).collect()
}

/// Ways to write a command that a rule is about.
pub(crate) fn respellings(rule: &str) -> Vec<String> {
    let (program, words) = rule.split_once(' ').unwrap_or((rule, "x"));
    let rest = format!("{words} -a y");
    let plain = Plain {
        program,
        rest: &rest,
    };
    let all = [spelled, between, wrapped, interpreted, expanded].map(|build| build(&plain));
    all.concat()
}

#[test]
fn no_respelling_stands_apart() {
    let mut lost = Vec::new();
    for rule in RULES {
        let all = respellings(rule);
        assert!(all.len() >= 200, "{rule}: {}", all.len());
        let pattern = pattern(rule);
        let apart = |command: &&String| pattern.matches(command) == Match::Apart;
        lost.extend(
            all.iter()
                .filter(apart)
                .map(|command| format!("{rule}: {command}")),
        );
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

#[test]
fn what_can_be_read_matches_outright() {
    for rule in RULES {
        let (program, words) = rule.split_once(' ').unwrap_or((rule, "x"));
        let plain = Plain {
            program,
            rest: words,
        };
        let pattern = pattern(rule);
        for command in between(&plain).into_iter().chain(wrapped(&plain)) {
            assert_eq!(
                pattern.matches(&command),
                Match::Matches,
                "{rule}: {command}"
            );
        }
    }
}
