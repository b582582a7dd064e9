//! Every accepted command of the tables that is installed here, run for real under strace: none
//! starts another program, opens a file for writing, or changes what a name stands for.

#![allow(
    clippy::disallowed_methods,
    reason = "programs are started here to be traced; no run of an agent is among them"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::accepted;

const CALLS: &str = "trace=execve,execveat,open,openat,openat2,creat,unlink,unlinkat,rename,\
    renameat,renameat2,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,truncate,ftruncate,chmod,\
    fchmod,fchmodat,chown,fchown,fchownat,utimensat,setxattr,sethostname,settimeofday,\
    clock_settime,mount,kill";

/// Folders where programs of the system lie; the last is where some machines keep their git.
const FOLDERS: [&str; 5] = ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"];

/// Shell scripts or front ends that start the program that they stand for.
const STAND_FOR_OTHERS: [&str; 3] = ["egrep", "fgrep", "dpkg"];

/// A workspace with what the tables name.
fn workspace() -> tempfile::TempDir {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path();
    for folder in ["src", "docs", "home"] {
        fs::create_dir(root.join(folder)).unwrap();
    }
    for (name, text) in [
        ("Cargo.toml", "[package]\nname = \"x\"\n"),
        ("README.md", "# x\n"),
        ("notes.txt", "one two\nthree\n"),
        ("file.txt", "one\ntwo\n"),
        ("patterns.txt", "o\n"),
        ("data.csv", "1,2\n3,4\n"),
        ("data.json", "{\"name\": \"x\", \"a\": []}\n"),
        ("notes.b64", "b25l\n"),
        ("sums.txt", ""),
        ("src/main.rs", "fn main() {}\n"),
    ] {
        fs::write(root.join(name), text).unwrap();
    }
    for arguments in [
        vec!["init", "-q", "-b", "main"],
        vec!["add", "."],
        vec![
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "commit",
            "-qm",
            "first",
        ],
        vec!["branch", "feature"],
        vec!["tag", "v1.0"],
    ] {
        let git = Command::new("git")
            .args(&arguments)
            .current_dir(root)
            .status();
        assert!(git.unwrap().success(), "{arguments:?}");
    }
    // An index that is older than its files would be refreshed.
    fs::write(root.join("notes.txt"), "one two\nthree\n").unwrap();
    scratch
}

fn program(name: &str) -> Option<PathBuf> {
    let mut places = FOLDERS.iter().map(|folder| Path::new(folder).join(name));
    if name.starts_with('/') {
        return Some(PathBuf::from(name)).filter(|path| path.exists());
    }
    places.find(|path| path.exists())
}

/// What a command did beyond reading, line by line.
fn deeds(root: &Path, program: &Path, words: &[String]) -> Vec<String> {
    let scratch = tempfile::tempdir().unwrap();
    let trace = scratch.path().join("trace");
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-qq", "-e", CALLS, "-e", "signal=none", "-o"])
        .arg(&trace);
    strace.arg(program).args(&words[1..]);
    strace.current_dir(root).env_clear().envs([
        ("PATH", FOLDERS.join(":").as_str()),
        ("TERM", "xterm"),
        ("LC_ALL", "C"),
        // What whoever runs a command that reads a repository sets as well.
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "diff.autoRefreshIndex"),
        ("GIT_CONFIG_VALUE_0", "false"),
    ]);
    strace
        .env("HOME", root.join("home"))
        .env("TMPDIR", scratch.path());
    strace
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    strace.status().unwrap();
    let stands_for = STAND_FOR_OTHERS.contains(&words[0].as_str());
    let lines = fs::read_to_string(&trace).unwrap();
    lines
        .lines()
        .skip(1)
        .filter(|line| is_deed(line, stands_for))
        .map(str::to_owned)
        .collect()
}

/// Whether a line is more than opening a file to read it.
fn is_deed(line: &str, stands_for: bool) -> bool {
    if line.contains("execve(") || line.contains("execveat(") {
        return !stands_for;
    }
    if line.contains(" exited with ") || line.contains("/dev/null") || line.contains("/dev/tty") {
        return false;
    }
    // Asking whether a process lives sends nothing.
    if line.contains("kill(") {
        return !line.contains(", 0)");
    }
    let opens = ["open(", "openat(", "openat2("]
        .iter()
        .any(|call| line.contains(call));
    let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"];
    let resumed = line.contains("resumed>");
    !resumed && (!opens || writes.iter().any(|flag| line.contains(flag)))
}

#[test]
fn none_starts_a_program_or_writes() {
    let scratch = workspace();
    let mut ran = 0;
    let mut wrong = Vec::new();
    for words in accepted() {
        let Some(program) = program(&words[0]) else {
            continue;
        };
        ran += 1;
        for deed in deeds(scratch.path(), &program, &words) {
            wrong.push(format!("{words:?}: {deed}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(ran > 250, "only {ran} commands could be run");
}
