//! Two hundred ways to write a command that a rule denies: none of them stands apart.

use super::{Match, RULES, pattern};

/// A command: its program and the rest.
struct Plain<'a> {
    program: &'a str,
    rest: &'a str,
}

/// Paths, quotes and case.
fn spelled(Plain { program, rest }: &Plain<'_>) -> Vec<String> {
    let (first, tail) = program.split_at(1);
    let hex: String = program.bytes().map(|byte| format!("\\x{byte:x}")).collect();
    let octal: String = program.bytes().map(|byte| format!("\\{byte:o}")).collect();
    let points: String = program
        .bytes()
        .map(|byte| format!("\\u{byte:04x}"))
        .collect();
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

/// Programs that run the one that they are given.
fn wrapped(Plain { program, rest }: &Plain<'_>) -> Vec<String> {
    let before = [
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
    let mut all: Vec<String> = before
        .iter()
        .map(|before| format!("{before} {program} {rest}").replace("/ ", "/"))
        .collect();
    all.extend([
        format!("find . -exec {program} {rest} {{}} \\;"),
        format!("find . -execdir {program} {rest} {{}} +"),
        format!("find . -ok /bin/{program} {rest} {{}} ';'"),
        format!("fd -x {program} {rest}"),
        format!("env -S '{program} {rest}'"),
        format!("env '-S{program} {rest}'"),
        format!("su -c '{program} {rest}'"),
        format!("su '-c{program} {rest}'"),
        format!("script -qc \"{program} {rest}\" x"),
        format!("flock x -c '{program} {rest}'"),
        format!("ssh host '{program} {rest}'"),
        format!("watch '{program} {rest}'"),
        format!("parallel '{program} {rest}' ::: a"),
        format!("tmux new '{program} {rest}'"),
        format!("git -c alias.x='!{program} {rest}' x"),
        format!("git bisect run {program} {rest}"),
        format!("git rebase -x '{program} {rest}' main"),
        format!("git submodule foreach '{program} {rest}'"),
        format!("tar -I '{program} {rest}' -xf x"),
        format!("tar --to-command='{program} {rest}' -xf x"),
        format!("rsync -e '{program} {rest}' a b:"),
        format!("nix-shell --run '{program} {rest}'"),
    ]);
    all
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
fn expanded(Plain { program, rest }: &Plain<'_>) -> Vec<String> {
    let (first, tail) = program.split_at(1);
    let octal: String = program.bytes().map(|byte| format!("\\{byte:o}")).collect();
    vec![
        format!("X={program}; $X {rest}"),
        format!("X={program} && \"$X\" {rest}"),
        format!("A={first};B={tail};$A$B {rest}"),
        format!("A={first}; ${{A}}{tail} {rest}"),
        format!("A={first}; sudo ${{A}}{tail} {rest}"),
        format!("A={first}; xargs ${{A}}{tail} {rest}"),
        format!("A={first}; find . -exec ${{A}}{tail} {rest} \\;"),
        format!("{first}${{x}}{tail} {rest}"),
        format!("{first}$@{tail} {rest}"),
        format!("{first}``{tail} {rest}"),
        format!("{first}$(){tail} {rest}"),
        format!("$(echo {program}) {rest}"),
        format!("$(echo {first}){tail} {rest}"),
        format!("`echo {program}` {rest}"),
        format!("`echo {first}`{tail} {rest}"),
        format!("$(printf '{octal}') {rest}"),
        format!("$(base64 -d <<< x) {rest}"),
        format!("${{1:-{program}}} {rest}"),
        format!("set -- {program}; \"$@\" {rest}"),
        format!("/bin/{first}?{} {rest}", &tail[tail.len().min(1)..]),
        format!("/bin/{first}[{}]* {rest}", &tail[..1]),
        format!("/???/{first}* {rest}"),
        format!("/bin/@({first}){tail} {rest}"),
        format!("{{{program},{rest}}}"),
        format!("/bin/{{{first},x}}{tail} {rest}"),
        format!("{{{first},x}}{tail} {rest}"),
        format!("alias x={program}; x {rest}"),
        format!("alias x={first}''{tail}; x {rest}"),
        format!("y={first}; alias x=${{y}}{tail}; x {rest}"),
        format!("f(){{ {program} \"$@\"; }}; f {rest}"),
        format!("function f {{ {program} {rest}; }}; f"),
        format!("f() {{ $1{tail} {rest}; }}; f {first}"),
        format!("echo {program} {rest} | sh"),
        format!("echo {first}''{tail} {rest} | bash"),
        format!("printf '{octal} {rest}' | sh"),
        format!("printf '{octal} {rest}' | sudo sh"),
        format!("printf '{octal} {rest}' | bash -s"),
        format!("printf '{octal} {rest}' | bash -o pipefail"),
        format!("printf '{octal}' | xargs -I% % {rest}"),
        format!("printf '{octal}' | xargs env"),
        format!("printf '{octal} {rest}' | xargs sh -c"),
        format!("printf '{octal} {rest}' | parallel"),
        format!("printf '{octal} {rest}' | ssh host"),
        format!("printf '{octal} {rest}' | docker exec -i c sh"),
        format!("printf '{octal} {rest}' | sudo -s"),
        format!("printf '{octal} {rest}' | sudo chroot /x"),
        format!("printf '{octal} {rest}' | sudo su"),
        format!("time -p {first}$x{tail} {rest}"),
        format!("printf '{octal} {rest}' | python3"),
        format!("printf '{octal} {rest}' | python3 -"),
        format!("printf '{octal} {rest}' | perl"),
        "echo cm0gLXJm | base64 -d | sh".to_owned(),
        "base64 -d x | bash /dev/stdin".to_owned(),
        "base64 -d x | source /dev/stdin".to_owned(),
        ". <(base64 -d x)".to_owned(),
        "source <(base64 -d x)".to_owned(),
        "bash <(base64 -d x)".to_owned(),
        "bash < x".to_owned(),
        "bash <<< \"$(base64 -d x)\"".to_owned(),
        format!("sh <<E\n{program} {rest}\nE"),
        format!("bash <<'E'\n{first}''{tail} {rest}\nE"),
        format!("python3 - <<'E'\nf('{first}'+'{tail}')\nE"),
        format!("cat <<E\n$({program} {rest})\nE"),
        format!("cat <<E\n$({first}$X{tail} {rest})\nE"),
        format!("ls; {program} {rest}"),
        format!("ls && {program} {rest}"),
        format!("ls || {program} {rest}"),
        format!("ls & {program} {rest}"),
        format!("ls\n{program} {rest}"),
        format!("ls | {program} {rest}"),
        format!("ls |& /bin/{program} {rest}"),
        format!("({program} {rest})"),
        format!("{{ {program} {rest}; }}"),
        format!("if {program} {rest}; then :; fi"),
        format!("if true; then {program} {rest}; fi"),
        format!("while true; do {program} {rest}; done"),
        format!("for x in {program}; do $x {rest}; done"),
        format!("for x in {first}; do $x{tail} {rest}; done"),
        format!("case a in a) {first}$x{tail} {rest};; esac"),
        format!("echo \"$({program} {rest})\""),
        format!("echo \"$(echo \"$({first}$x{tail} {rest})\")\""),
        format!("ls <({program} {rest})"),
        format!("ls >({first}$x{tail} {rest})"),
        format!(">out {program} {rest}"),
        format!(">out {first}$x{tail} {rest}"),
        format!("2>&1 {first}$x{tail} {rest}"),
        format!("A=1 {first}$x{tail} {rest}"),
        format!("{{fd}}>out {first}$x{tail} {rest}"),
        format!("echo $((1 << 2))\n{first}$x{tail} {rest}\n2"),
        format!("ls # '\n{first}$x{tail} {rest} # '"),
        format!("echo 'a' \"'\" ; {first}$x{tail} {rest}"),
        format!("echo 'open ; {program} {rest}"),
        format!("ls\\\n;{program} {rest}"),
        format!("ls;\\\n{first}\\\n{tail} {rest}"),
        format!("cp /bin/{program} x; ./x {rest}"),
        format!("ln -s /bin/{program} x && ./x {rest}"),
        format!("hash -p /bin/{program} x; x {rest}"),
        format!("printf -v x {program}; $x {rest}"),
        format!("read x <<< {program}; $x {rest}"),
        format!("x='$({first}$y{tail})'; echo ${{x@P}}"),
        format!("={program} {rest}"),
        format!("{first}\0{tail} {rest}"),
    ]
}

#[test]
fn no_respelling_stands_apart() {
    let mut lost = Vec::new();
    for rule in RULES {
        let (program, words) = rule.split_once(' ').unwrap_or((rule, "x"));
        let rest = format!("{words} -a y");
        let plain = Plain {
            program,
            rest: &rest,
        };
        let all = [spelled, between, wrapped, interpreted, expanded].map(|build| build(&plain));
        let all: Vec<String> = all.concat();
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
