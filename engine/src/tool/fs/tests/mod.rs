//! Every error that a model can cause with a file tool, and what the person is shown.

mod edit;
mod find;
mod grep;
mod make;
mod stat;
mod transfer;
mod tree;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use placet_ledger::content::Media;
use placet_ledger::id::{CallId, RunId};
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::tool::registry::Lookup;
use crate::tool::{Draft, Interrupted, Reconciled};
use crate::workspace::ClosedSet;

/// A workspace, a folder for locks and a home that is closed.
pub(super) struct Bench {
    pub(super) folder: TempDir,
    pub(super) files: Files,
}

impl Bench {
    pub(super) fn new() -> Self {
        Self::in_folder(TempDir::new().unwrap())
    }

    pub(super) fn in_folder(folder: TempDir) -> Self {
        for name in ["ws", "locks", "home"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let mut closed = ClosedSet::new();
        closed.close_folder(&folder.path().join("home")).unwrap();
        let workspace = Workspace::open(&folder.path().join("ws"), closed).unwrap();
        let files = Files::new(Arc::new(workspace), folder.path().join("locks"));
        Self { folder, files }
    }

    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join("ws").join(path)
    }

    pub(super) fn has(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        fs::write(self.at(path), content).unwrap();
        self
    }

    pub(super) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    pub(super) fn rm_tree(&self, path: &str) -> Result<Draft, ToolError> {
        remove::draft(&self.files, &json!({"path": path, "recursive": true}))
    }

    pub(super) fn mkdir(&self, path: &str, parents: bool) -> Result<Draft, ToolError> {
        super::make::draft(&self.files, &json!({"parents": parents, "path": path}))
    }

    /// `switches` holds `r` for recursive and `o` for overwrite.
    pub(super) fn transfer(
        &self,
        verb: Verb,
        from: &str,
        to: &str,
        switches: &str,
    ) -> Result<Draft, ToolError> {
        let arguments = json!({
            "from": from,
            "overwrite": switches.contains('o'),
            "recursive": switches.contains('r'),
            "to": to,
        });
        super::transfer::draft(&self.files, verb, &arguments)
    }

    pub(super) fn mv(&self, from: &str, to: &str, switches: &str) -> Result<Draft, ToolError> {
        self.transfer(Verb::Move, from, to, switches)
    }

    pub(super) fn cp(&self, from: &str, to: &str, switches: &str) -> Result<Draft, ToolError> {
        self.transfer(Verb::Copy, from, to, switches)
    }

    pub(super) fn has_mode(self, path: &str, mode: u32) -> Self {
        fs::set_permissions(self.at(path), fs::Permissions::from_mode(mode)).unwrap();
        self
    }

    pub(super) fn has_link(self, path: &str, to: &str) -> Self {
        symlink(to, self.at(path)).unwrap();
        self
    }

    /// Every path of the workspace, with mode and content or what a link holds.
    pub(super) fn everything(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.at("")];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let metadata = path.symlink_metadata().unwrap();
                let mode = metadata.permissions().mode() & 0o7777;
                let what = if metadata.is_dir() {
                    open.push(path.clone());
                    format!("folder {mode:o}")
                } else if metadata.is_symlink() {
                    format!("link {}", fs::read_link(&path).unwrap().display())
                } else if metadata.is_file() {
                    format!("file {mode:o} {}", fs::read_to_string(&path).unwrap())
                } else {
                    String::from("special")
                };
                let path = path.strip_prefix(self.at("")).unwrap();
                found.insert(path.to_str().unwrap().to_owned(), what);
            }
        }
        found
    }

    pub(super) fn has_folder(self, path: &str) -> Self {
        fs::create_dir_all(self.at(path)).unwrap();
        self
    }

    pub(super) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.at("")).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub(super) fn write(&self, path: &str, content: &str) -> Result<Draft, ToolError> {
        write::draft(&self.files, &json!({"content": content, "path": path}))
    }

    fn edit(&self, path: &str, old: &str, new: &str) -> Result<Draft, ToolError> {
        let arguments = json!({"new_text": new, "old_text": old, "path": path});
        super::edit::draft(&self.files, &arguments)
    }

    pub(super) fn rm(&self, path: &str) -> Result<Draft, ToolError> {
        remove::draft(&self.files, &json!({"path": path}))
    }

    fn read(&self, arguments: &Value) -> Result<String, ToolError> {
        read::read(&self.files, arguments).map(|text| String::from_utf8(text.bytes).unwrap())
    }

    fn ls(&self, arguments: &Value) -> Result<String, ToolError> {
        list::list(&self.files, arguments).map(|text| String::from_utf8(text.bytes).unwrap())
    }
}

pub(super) fn said<T: std::fmt::Debug>(result: Result<T, ToolError>, expected: &str) {
    let error = result.unwrap_err().to_string();
    assert!(
        error.contains(expected),
        "{error:?} does not say {expected:?}"
    );
    assert!(error.is_ascii() && error.len() < 1_000);
}

pub(super) fn pipe(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

#[test]
fn shows_the_cards_of_the_worked_example() {
    let bench = Bench::new()
        .has("notes.txt", "milk\n")
        .has("old.log", "debug 1\n");
    let draft = bench.write("./notes.txt", "milk\neggs\n").unwrap();
    assert_eq!(draft.message, "Write notes.txt: 1 line added.");
    assert_eq!(
        draft.preview.unwrap(),
        "--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1,2 @@\n milk\n+eggs\n"
    );
    let arguments = json!({"content": "milk\neggs\n", "path": "notes.txt"});
    assert_eq!(
        (&draft.arguments, &draft.execute_arguments),
        (&arguments, &arguments)
    );
    let Precondition::File {
        digest,
        links,
        path,
        ..
    } = draft.precondition
    else {
        panic!("the file exists");
    };
    assert_eq!((links, path.as_str()), (1, "notes.txt"));
    assert_eq!(
        digest.to_string(),
        "1a74be4003e5b6008c3e3191b7921599daab2eea2e3b3eb034379c31ee36ef31"
    );
    let draft = bench.rm("old.log").unwrap();
    assert_eq!(draft.message, "Remove old.log (8 bytes).");
    assert_eq!(
        draft.preview.unwrap(),
        "--- a/old.log\n+++ /dev/null\n@@ -1 +0,0 @@\n-debug 1\n"
    );
    assert_eq!(
        draft.execute_arguments,
        json!({"path": "old.log", "recursive": false})
    );
}

#[test]
fn a_new_file_is_previewed_as_a_creation() {
    let bench = Bench::new();
    let draft = bench.write("new.txt", "a\nb\n").unwrap();
    assert_eq!(draft.message, "Create new.txt: 2 lines.");
    assert!(
        draft
            .preview
            .unwrap()
            .starts_with("--- /dev/null\n+++ b/new.txt\n")
    );
    assert!(matches!(draft.precondition, Precondition::Absent { .. }));
    assert_eq!(
        bench.write("x", "").unwrap().message,
        "Create x: an empty file."
    );
    assert!(bench.names().is_empty(), "proposing writes nothing");
}

#[test]
fn several_hard_links_are_told() {
    let bench = Bench::new().has("a", "x\n");
    fs::hard_link(bench.at("a"), bench.at("b")).unwrap();
    for draft in [
        bench.write("a", "y\n"),
        bench.edit("a", "x", "y"),
        bench.rm("a"),
    ] {
        let message = draft.unwrap().message;
        assert!(message.contains("has 2 hard links"), "{message}");
    }
}

#[test]
fn a_read_only_file_is_told() {
    let bench = Bench::new().has("a", "x\n");
    assert!(!bench.rm("a").unwrap().message.contains("read-only"));
    fs::set_permissions(bench.at("a"), fs::Permissions::from_mode(0o444)).unwrap();
    for draft in [
        bench.write("a", "y\n"),
        bench.edit("a", "x", "y"),
        bench.rm("a"),
    ] {
        let message = draft.unwrap().message;
        assert!(message.ends_with("read-only (mode 444)."), "{message}");
    }
}

#[test]
fn a_file_system_that_may_not_exchange_is_told() {
    for exchanges in [Exchanges::Yes, Exchanges::Perhaps, Exchanges::No] {
        let mut bench = Bench::new().has("a", "x\n");
        bench.files.exchanges = exchanges;
        let message = bench.write("a", "y\n").unwrap().message;
        let told = message.contains("may not exchange");
        assert_eq!(told, exchanges != Exchanges::Yes, "{message}");
    }
}

#[test]
fn what_changes_nothing_is_an_error() {
    let bench = Bench::new().has("a", "x\n");
    said(bench.write("a", "x\n"), "nothing would change");
    said(bench.edit("a", "x", "x"), "nothing would change");
}

#[test]
fn only_text_is_read_and_edited() {
    let bench = Bench::new().has("nul", "a\0b").has("latin", b"caf\xe9");
    for path in ["nul", "latin"] {
        let expected = if path == "nul" { "binary" } else { "not UTF-8" };
        said(bench.read(&json!({"path": path})), expected);
        said(bench.write(path, "x"), expected);
        said(bench.edit(path, "a", "x"), expected);
        let draft = bench.rm(path).unwrap();
        assert!(draft.preview.unwrap().contains("Binary file, "));
    }
}

#[test]
fn special_files_folders_and_links_are_named_for_what_they_are() {
    let bench = Bench::new().has("a", "x\n");
    fs::create_dir(bench.at("folder")).unwrap();
    pipe(&bench.at("pipe"));
    let _socket = std::os::unix::net::UnixListener::bind(bench.at("socket")).unwrap();
    symlink("a", bench.at("link")).unwrap();
    symlink("nowhere", bench.at("dangling")).unwrap();
    for (path, expected) in [
        ("folder", "is a folder"),
        ("pipe", "is a pipe"),
        ("socket", "is a socket"),
        ("link", "is a symbolic link"),
        ("dangling", "is a symbolic link"),
        ("folder/", "name a file"),
        ("a/", "name a file"),
        (".", "is a folder"),
        ("folder/..", "name a file"),
        ("a/b", "is not a folder"),
        ("none/b", "there is no folder none"),
        ("", "is empty"),
        ("a\nb", "control characters"),
        (".placet-b3e41f07-c1.tmp", "kept for placet's own"),
    ] {
        said(bench.write(path, "y"), expected);
        said(bench.edit(path, "x", "y"), expected);
        if !expected.contains("own") {
            said(bench.rm(path), expected);
        }
    }
    said(bench.rm("folder"), "set recursive to remove it");
    for (path, expected) in [
        ("folder", "is a folder"),
        ("pipe", "is a pipe"),
        ("dangling", "there is no"),
    ] {
        said(bench.read(&json!({"path": path})), expected);
    }
    // The name itself is no hint.
    let error = bench.read(&json!({"path": "dangling"})).unwrap_err();
    assert!(!error.to_string().contains("did you mean"), "{error}");
    assert_eq!(bench.read(&json!({"path": "link"})).unwrap(), "x\n");
}

#[test]
fn reads_lines_and_hints_at_names() {
    let bench = Bench::new().has("notes.txt", "1\n2\n3\n").has("empty", "");
    let read = |arguments| bench.read(&arguments);
    assert_eq!(read(json!({"path": "notes.txt"})).unwrap(), "1\n2\n3\n");
    assert_eq!(
        read(json!({"path": "notes.txt", "offset": 2})).unwrap(),
        "2\n3\n"
    );
    assert_eq!(
        read(json!({"path": "notes.txt", "offset": 2, "limit": 1})).unwrap(),
        "2\n"
    );
    assert_eq!(read(json!({"path": "empty"})).unwrap(), "");
    said(
        read(json!({"path": "notes.txt", "offset": 4})),
        "has 3 lines",
    );
    said(read(json!({"path": "note.txt"})), "did you mean notes.txt?");
    said(bench.rm("note.txt"), "did you mean notes.txt?");
    said(read(json!({"path": "zzz/zzz"})), "there is no zzz/zzz");
    fs::File::create(bench.at("large"))
        .unwrap()
        .set_len(CONTENT_BYTES_MAX as u64 + 1)
        .unwrap();
    said(read(json!({"path": "large"})), "of at most 16777216");
    said(bench.write("large", "x"), "of at most 16777216");
}

#[test]
fn lists_sorted_bounded_and_without_forged_lines() {
    let bench = Bench::new().has("b", "12345").has("a\nb", "");
    fs::create_dir(bench.at("c")).unwrap();
    symlink("b", bench.at("d")).unwrap();
    assert_eq!(bench.ls(&json!({"path": "c"})).unwrap(), "(empty)\n");
    let all = bench.ls(&json!({})).unwrap();
    let lines: Vec<_> = all.lines().collect();
    assert_eq!(lines[0], "-          0 a\\nb");
    assert_eq!(lines[1], "-          5 b");
    assert!(lines[2].starts_with('d') && lines[2].ends_with(" c"));
    assert!(lines[3].starts_with('l') && lines[3].ends_with(" d"));
    for number in 0..1_005 {
        fs::write(bench.at(&format!("c/{number:04}")), "").unwrap();
    }
    let many = bench.ls(&json!({"path": "c/"})).unwrap();
    assert_eq!(many.lines().count(), 1_001);
    assert!(
        many.ends_with(" 0999\n... and 5 more entries, left out\n"),
        "{many}"
    );
    said(bench.ls(&json!({"path": "b"})), "is not a folder");
    said(bench.ls(&json!({"path": ".."})), "outside the workspace");
}

#[test]
fn no_tool_reaches_what_is_closed() {
    let bench = Bench::new();
    let home = bench.folder.path().join("home");
    // Made after the workspace was opened, and linked by another name.
    fs::write(home.join("key"), "secret").unwrap();
    fs::hard_link(home.join("key"), bench.at("innocent")).unwrap();
    symlink(&home, bench.at("out")).unwrap();
    said(
        bench.read(&json!({"path": "innocent"})),
        "closed: innocent belongs to placet",
    );
    said(bench.write("innocent", "x"), "closed:");
    said(bench.edit("innocent", "secret", "x"), "closed:");
    said(bench.rm("innocent"), "closed:");
    for path in ["out/key", "../home/key"] {
        said(bench.read(&json!({"path": path})), "outside the workspace");
        said(bench.write(path, "x"), "outside the workspace");
    }
    assert!(!bench.ls(&json!({})).unwrap().contains("innocent"));
    // A closed folder that comes to lie in the workspace later.
    fs::rename(&home, bench.at("moved")).unwrap();
    said(bench.read(&json!({"path": "moved/key"})), "closed:");
    said(bench.write("moved/new", "x"), "closed:");
    said(bench.ls(&json!({"path": "moved"})), "closed:");
    assert!(!bench.ls(&json!({})).unwrap().contains("moved"));
}

#[test]
fn files_that_run_as_somebody_else_are_not_written() {
    let bench = Bench::new().has("a", "x\n");
    fs::set_permissions(bench.at("a"), fs::Permissions::from_mode(0o4755)).unwrap();
    said(bench.write("a", "y\n"), "refused: a has set-id");
    said(bench.edit("a", "x", "y"), "refused: a has set-id");
}

#[tokio::test]
async fn the_registered_tools_propose_and_reconcile() {
    let bench = Bench::new().has("notes.txt", "milk\n");
    let mut registry = Registry::new();
    register_file_tools(
        &mut registry,
        Arc::clone(&bench.files.workspace),
        bench.files.locks.clone(),
    )
    .unwrap();
    let names: Vec<_> = registry.names().map(ToString::to_string).collect();
    let expected = [
        "cp",
        "edit_file",
        "find",
        "grep",
        "ls",
        "mkdir",
        "mv",
        "read_file",
        "rm",
        "stat",
        "write_file",
    ];
    assert_eq!(names, expected);
    let Lookup::Tool(tool) = registry.visible("write_file") else {
        panic!("write_file is registered");
    };
    let arguments = tool
        .read_arguments(br#"{"path":"notes.txt","content":"milk\neggs\n"}"#)
        .unwrap();
    let draft = tool.propose().unwrap().propose(&arguments).await.unwrap();
    let run: RunId = "b3e41f07-8c2d-4e6a-9f51-0a7d3c58e912".parse().unwrap();
    let interrupted = Interrupted {
        run,
        call: CallId::FIRST,
        arguments: &draft.execute_arguments,
        precondition: Some(&draft.precondition),
    };
    let before = tool
        .execute()
        .unwrap()
        .reconcile(interrupted)
        .await
        .unwrap();
    assert_eq!(before, Reconciled::NotDone);
    fs::write(bench.at("notes.txt"), "milk\neggs\n").unwrap();
    let Reconciled::Done(result) = tool
        .execute()
        .unwrap()
        .reconcile(interrupted)
        .await
        .unwrap()
    else {
        panic!("the intended content is in place");
    };
    assert_eq!(result.media, Media::Json);
    assert_eq!(
        String::from_utf8(result.bytes).unwrap(),
        "{\"bytes\":10,\"digest\":\"ad3d5de9d0fcb9653f0aff65d0c3664f7730e84ee26985212df5e547cb025e9b\",\"path\":\"notes.txt\"}"
    );
    let lost = Interrupted {
        precondition: None,
        ..interrupted
    };
    assert!(tool.execute().unwrap().reconcile(lost).await.is_err());
}
