//! What is proposed of a command: program, class, operands, places and words.

mod links;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use placet_ledger::precondition::Precondition;
use placet_ledger::program::ProgramClass::{self, System, User};
use serde_json::json;
use tempfile::TempDir;

use super::operands::Operands;
use super::propose::draft;
use super::*;
use crate::shell::{Reading, read};
use crate::tool::{Draft, ToolError};
use crate::workspace::ClosedSet;

/// A workspace, a folder of a person's own programs, and a home that is closed.
struct Bench {
    folder: TempDir,
    commands: Commands,
}

impl Bench {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["ws/sub", "bin", "home"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        let mut closed = ClosedSet::new();
        closed.close_folder(&at("home")).unwrap();
        let workspace = Workspace::open(&at("ws"), closed).unwrap();
        let path = format!("{}:{}", at("bin").display(), at("ws").display());
        let machine = Machine::new(None, None, &path, at("home"));
        let commands = Commands {
            workspace: Arc::new(workspace),
            machine: Arc::new(machine),
        };
        Self { folder, commands }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn has(self, path: &str, text: &str) -> Self {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
        self
    }

    fn has_program(self, path: &str) -> Self {
        let bench = self.has(path, "#!/bin/sh\n");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(bench.at(path), mode).unwrap();
        bench
    }

    fn draft(&self, command: &str) -> Result<Draft, ToolError> {
        draft(&self.commands, &json!({"command": command}))
    }

    /// Path beneath the folder of all, class, and whether a shell reads the words.
    fn program(&self, command: &str) -> (String, ProgramClass, bool) {
        let draft = self.draft(command).unwrap();
        let process = draft.process.unwrap();
        let real = self.folder.path().canonicalize().unwrap();
        let path = PathBuf::from(&process.program.path);
        let path = path
            .strip_prefix(real)
            .unwrap_or(&path)
            .display()
            .to_string();
        (path, process.class, process.program.shell)
    }

    fn operands(&self, command: &str) -> Vec<String> {
        let files = Operands::of(&self.commands.workspace, command).files;
        files.into_iter().map(|file| file.path).collect()
    }

    fn outside(&self, command: &str) -> Vec<String> {
        let Reading::Plain(plain) = read(command) else {
            panic!("{command} is not plain");
        };
        places::outside(&self.commands.workspace, &plain)
    }

    fn repository(&self, command: &str) -> Vec<String> {
        let Reading::Plain(plain) = read(command) else {
            panic!("{command} is not plain");
        };
        repository::configured(&self.commands.workspace, &plain)
    }
}

fn failure(result: Result<Draft, ToolError>) -> String {
    result.unwrap_err().to_string()
}

fn real(path: &str) -> String {
    PathBuf::from(path)
        .canonicalize()
        .unwrap()
        .display()
        .to_string()
}

#[test]
fn programs_are_found_by_name_and_by_path() {
    let bench = Bench::new()
        .has_program("bin/mine")
        .has_program("bin/ls")
        .has_program("ws/tool")
        .has_program("ws/sub/tool");
    symlink("/bin/cat", bench.at("bin/link")).unwrap();
    symlink("../../bin/mine", bench.at("ws/sub/way")).unwrap();
    let tool = bench.at("ws/tool").display().to_string();
    let (sh, cat) = (real("/bin/sh"), real("/bin/cat"));
    let cases = [
        ("cat x", cat.as_str(), System, false),
        ("/bin/cat x", &cat, System, false),
        ("mine", "bin/mine", User, false),
        // A person's own folders come first.
        ("ls", "bin/ls", User, false),
        // A link that a person can turn is as little of the system as where it lies.
        ("link", &cat, User, false),
        ("./tool", "ws/tool", ProgramClass::Workspace, false),
        (&tool, "ws/tool", ProgramClass::Workspace, false),
        ("sub/tool", "ws/sub/tool", ProgramClass::Workspace, false),
        ("sub/../tool", "ws/tool", ProgramClass::Workspace, false),
        ("sub/way", "bin/mine", ProgramClass::Workspace, false),
        ("../bin/mine", "bin/mine", ProgramClass::Workspace, false),
        ("cat *.txt", &cat, System, true),
        ("cat $HOME", &cat, System, true),
        ("cd sub", &sh, System, true),
        ("export A=b", &sh, System, true),
        ("ulimit -n 5", &sh, System, true),
        ("cat x | cat", &sh, System, true),
        ("cat x; nosuch", &sh, System, true),
        ("A=b cat x", &sh, System, true),
        ("echo $(cat x)", &sh, System, true),
    ];
    for (command, path, class, shell) in cases {
        let expected = (path.to_owned(), class, shell);
        assert_eq!(bench.program(command), expected, "{command}");
    }
}

#[test]
fn what_is_no_program_is_told() {
    let bench = Bench::new()
        .has("ws/text", "x")
        .has_program("bin/deployer")
        .has_program("ws/only-here")
        .has_program("home/own");
    for (command, expected) in [
        ("deployr", "no program deployr on the path"),
        ("only-here", "no program only-here on the path"),
        ("./none", "no program at ./none"),
        ("./text", "not a file that can be run"),
        ("./sub", "not a file that can be run"),
        ("text/x", "no program at text/x"),
        ("../home/own", "belongs to placet"),
        ("nosuch *.txt", "no program nosuch"),
        ("   ", "empty"),
        ("ls a\u{0}b", "control character"),
        ("ls a\rb", "control character"),
        ("ls \u{9b}1m", "control character"),
    ] {
        let said = failure(bench.draft(command));
        assert!(said.contains(expected), "{command:?}: {said}");
    }
    let long = format!("echo {}", "x".repeat(64 * 1024));
    assert!(failure(bench.draft(&long)).contains("65541 bytes, of at most 65536"));
}

#[test]
fn the_files_that_a_command_names_are_its_operands() {
    let bench = Bench::new()
        .has("ws/a.sh", "a")
        .has("ws/b c", "b")
        .has("ws/sub/d", "d")
        .has("elsewhere/e", "e")
        .has("home/key", "k");
    symlink("a.sh", bench.at("ws/link")).unwrap();
    symlink("../elsewhere/e", bench.at("ws/out")).unwrap();
    symlink("../home/key", bench.at("ws/key")).unwrap();
    let absolute = format!("cat {}", bench.at("ws/a.sh").display());
    let cases: [(&str, &[&str]); 17] = [
        ("ls", &[]),
        ("sh a.sh", &["a.sh"]),
        ("./a.sh", &["a.sh"]),
        ("sh ./sub/../a.sh", &["a.sh"]),
        ("sh link", &["a.sh"]),
        ("cat 'b c' a.sh a.sh", &["a.sh", "b c"]),
        ("cat sub sub/d", &["sub/d"]),
        ("cat out key ../elsewhere/e", &[]),
        ("make --file=a.sh", &["a.sh"]),
        ("make -fa.sh", &["a.sh"]),
        ("curl -d @sub/d x", &["sub/d"]),
        ("cat *.sh", &[]),
        ("true && sh a.sh", &["a.sh"]),
        ("sh <a.sh >new", &["a.sh"]),
        ("echo $(sh a.sh)", &["a.sh"]),
        ("cat none", &[]),
        (&absolute, &["a.sh"]),
    ];
    for (command, expected) in cases {
        assert_eq!(bench.operands(command), expected, "{command}");
    }
}

#[test]
fn more_than_so_many_operands_are_told() {
    let mut bench = Bench::new();
    let mut command = String::from("cat");
    for number in 0..66 {
        let name = format!("f{number}");
        bench = bench.has(&format!("ws/{name}"), "x");
        command = format!("{command} {name}");
    }
    let operands = Operands::of(&bench.commands.workspace, &command);
    assert_eq!((operands.files.len(), operands.left_out), (64, 2));
    let said = bench.draft(&command).unwrap().message;
    assert!(
        said.ends_with("2 files that it names are not compared when it runs."),
        "{said}"
    );
}

#[test]
fn a_difference_of_operands_is_named() {
    let bench = Bench::new().has("ws/a", "1").has("ws/b", "1");
    let workspace = &bench.commands.workspace;
    let of = |command: &str| Operands::of(workspace, command);
    let before = of("cat a b c");
    assert_eq!(of("cat a b c").differ_from(&before.files), None);
    fs::write(bench.at("ws/c"), "new").unwrap();
    let said = of("cat a b c").differ_from(&before.files).unwrap();
    assert_eq!(said, "c was not there before");
    fs::write(bench.at("ws/b"), "2").unwrap();
    let said = of("cat a b c").differ_from(&before.files).unwrap();
    assert_eq!(said, "b has changed");
    fs::remove_file(bench.at("ws/a")).unwrap();
    let said = of("cat a b c").differ_from(&before.files).unwrap();
    assert_eq!(said, "a is no longer there");
}

#[test]
fn a_link_that_leads_elsewhere_by_now_is_a_difference() {
    let bench = Bench::new().has("ws/a", "1").has("ws/b", "1");
    symlink("a", bench.at("ws/link")).unwrap();
    let workspace = &bench.commands.workspace;
    let before = Operands::of(workspace, "sh link");
    fs::remove_file(bench.at("ws/link")).unwrap();
    symlink("b", bench.at("ws/link")).unwrap();
    let after = Operands::of(workspace, "sh link");
    assert_eq!(
        after.differ_from(&before.files).unwrap(),
        "a is no longer there"
    );
}

#[test]
fn words_that_lead_outside_are_named() {
    let bench = Bench::new()
        .has("ws/a", "1")
        .has("home/key", "k")
        .has("other/x", "x");
    symlink("../other", bench.at("ws/way")).unwrap();
    symlink("../home/key", bench.at("ws/key")).unwrap();
    symlink("/usr", bench.at("ws/usr")).unwrap();
    symlink("/etc", bench.at("ws/etc")).unwrap();
    let inside = format!("cp {}/a b", bench.commands.workspace.path());
    let cases: [(&str, &[&str]); 28] = [
        ("cp a b", &[]),
        ("cp ./a sub/new/deep", &[]),
        (&inside, &[]),
        ("cp /usr/include/x /etc/hosts /dev/null .", &[]),
        ("cp usr/bin/env b", &[]),
        ("cp ../other/x b", &["../other/x"]),
        ("cp sub/../../other/x b", &["sub/../../other/x"]),
        ("cp way/x b", &["way/x"]),
        ("cp ./key b", &["./key"]),
        (
            "cp /etc/shadow /etc/ssh/x .",
            &["/etc/shadow", "/etc/ssh/x"],
        ),
        (
            "cp /proc/1/environ /sys/x /tmp/x .",
            &["/proc/1/environ", "/sys/x", "/tmp/x"],
        ),
        ("cp ~/x .", &["~/x"]),
        ("cp $HOME/x .", &["$HOME/x"]),
        ("cp sub/* .", &[]),
        ("cp */../../x .", &["*/../../x"]),
        ("cp /tmp/* .", &["/tmp/*"]),
        ("curl https://example.com/x", &[]),
        (
            "make --directory=/tmp -I/usr/include -L/srv/x",
            &["/tmp", "/srv/x"],
        ),
        ("cp .. .", &[".."]),
        ("cat /proc/cpuinfo etc/hosts", &[]),
        ("cat etc/shadow a", &["etc/shadow"]),
        (
            "cat etc/mysql/debian.cnf etc/shadow.bak",
            &["etc/mysql/debian.cnf", "etc/shadow.bak"],
        ),
        ("ls /", &["/"]),
        ("git diff HEAD~2 main..x HEAD:a -- sub/new", &[]),
        ("git diff etc/shadow a", &["etc/shadow"]),
        ("git diff -U10 way/x", &["way/x"]),
        ("git grep x -- way/x a", &["way/x"]),
        ("git stash show way", &["way"]),
    ];
    for (command, expected) in cases {
        assert_eq!(bench.outside(command), expected, "{command}");
    }
}

#[test]
fn every_repository_that_git_would_read_counts() {
    let store = |bench: Bench, at: &str, config: &str| {
        let bench = bench
            .has(&format!("{at}/HEAD"), "ref: refs/heads/main\n")
            .has(&format!("{at}/config"), config);
        for folder in ["objects", "refs"] {
            fs::create_dir_all(bench.at(at).join(folder)).unwrap();
        }
        bench
    };
    let evil = "[core]\n\tfsmonitor = ./evil\n";
    let plain = "[core]\n\tbare = false\n";
    let found = ["core.fsmonitor"];
    let none: [&str; 0] = [];
    let bench = Bench::new();
    assert_eq!(bench.repository("git status"), none, "no repository");
    let bench = store(Bench::new(), "ws/.git", plain);
    assert_eq!(bench.repository("git status"), none);
    let bench = store(Bench::new(), "ws/.git", evil);
    assert_eq!(bench.repository("git status"), found);
    assert_eq!(bench.repository("cat a"), none, "it reads no repository");
    let bench = store(Bench::new(), ".git", evil);
    assert_eq!(bench.repository("git status"), found, "above the workspace");
    let bench = store(store(Bench::new(), "ws/.git", plain), "ws/sub/.git", evil);
    assert_eq!(bench.repository("git status"), none);
    assert_eq!(bench.repository("git -C sub status"), found, "named");
    let bench = bench.has("ws/.git/index", "DIRC\0\0\0\x02");
    assert_eq!(bench.repository("git status"), none);
    fs::write(bench.at("ws/.git/index"), b"DIRC\0\0\xe0\0x").unwrap();
    assert_eq!(
        bench.repository("git status"),
        found,
        "a part of the repository"
    );
    let bench = store(Bench::new(), "ws/bare", evil);
    assert_eq!(
        bench.repository("git -C bare log"),
        found,
        "without a working tree"
    );
    let bench = store(Bench::new(), "main/.git", plain)
        .has("main/.git/worktrees/w/HEAD", "x")
        .has("main/.git/worktrees/w/commondir", "../..\n")
        .has(
            "main/.git/worktrees/w/config.worktree",
            "[diff \"x\"]\ncommand = y\n",
        );
    let place = format!("gitdir: {}\n", bench.at("main/.git/worktrees/w").display());
    let bench = bench.has("ws/.git", &place);
    assert_eq!(bench.repository("git diff"), ["diff.command"], "a worktree");
    let bench = store(Bench::new(), "ws/.git", plain).has("ws/.git/hooks/post-index-change", "x");
    assert_eq!(bench.repository("git status"), ["hooks/post-index-change"]);
}

#[test]
fn a_proposal_holds_all_that_would_run() {
    let bench = Bench::new().has("ws/a", "1");
    let arguments = json!({"command": "cat a 'b\n\"c'", "network": [443, 80, 443]});
    let draft = draft(&bench.commands, &arguments).unwrap();
    let effective = json!({
        "command": "cat a 'b\n\"c'", "network": [80, 443], "timeout_s": 180,
    });
    assert_eq!(draft.arguments, effective);
    assert_eq!(draft.execute_arguments, effective);
    assert_eq!(
        draft.preview.as_deref(),
        Some("\"cat\"\n\"a\"\n\"b\\n\\\"c\"\n")
    );
    let told = "cat a 'b\\n\"c'";
    assert_eq!(draft.message, format!("Run {told} ({}).", real("/bin/cat")));
    let process = draft.process.unwrap();
    assert_eq!(process.program.argv, ["cat", "a", "b\n\"c"]);
    assert_eq!(process.network, [80, 443].into());
    assert!(!process.program.shell);
    let Precondition::Operands {
        files,
        root,
        target,
    } = draft.precondition
    else {
        panic!("other precondition");
    };
    assert_eq!(files.len(), 1);
    assert_eq!(root, bench.commands.workspace.root());
    assert_eq!(target, "cat a");
}

#[test]
fn what_is_not_plain_goes_through_the_shell_and_counts_by_its_text() {
    let bench = Bench::new();
    let draft = bench.draft("-x; cat a").unwrap();
    let program = draft.process.unwrap().program;
    assert_eq!(program.argv, ["/bin/sh", "-c", "--", "-x; cat a"]);
    assert_eq!(draft.preview, None);
    assert_eq!(
        draft.message,
        format!("Run -x; cat a (through {}).", real("/bin/sh"))
    );
    assert_eq!(draft.precondition.path(), "-x; cat a");
    let draft = bench.draft("cat *").unwrap();
    assert_eq!(
        draft.message,
        format!("Run cat * ({}, through /bin/sh).", real("/bin/cat"))
    );
}

#[test]
fn ports_are_numbers_that_a_port_can_have() {
    let bench = Bench::new();
    for (ports, fine) in [
        (json!([]), true),
        (json!([1, 65535]), true),
        (json!([0]), false),
        (json!([65536]), false),
        (json!(["80"]), false),
    ] {
        let arguments = json!({"command": "cat", "network": ports});
        assert_eq!(draft(&bench.commands, &arguments).is_ok(), fine, "{ports}");
    }
}

#[test]
fn a_proposal_tells_what_cannot_be_guarded() {
    let bench = Bench::new().has("ws/a", "1");
    fs::hard_link(bench.at("ws/a"), bench.at("ws/.envrc")).unwrap();
    symlink(".npmrc", bench.at("ws/.npmrc")).unwrap();
    let said = bench.draft("cat a").unwrap().message;
    let expected = format!(
        "Run cat a ({}). What lies in .npmrc cannot be looked at: files that steer programs may be \
         changed there. Files that steer programs have other names, by which they can be changed: .envrc.",
        real("/bin/cat")
    );
    assert_eq!(said, expected);
}
