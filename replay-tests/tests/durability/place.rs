//! A home, a workspace and a script in one temporary folder, and the programs that work on them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use futures_executor::block_on;
use placet_engine::policy::Gate;
use placet_ledger::audit::{HeadPosition, Report, verify};
use placet_ledger::envelope::Envelope;
use placet_ledger::event::Event;
use placet_ledger::store::head::Head;
use placet_ledger::store::sled::SledStore;
use placet_replay::cut;
use tempfile::TempDir;

const SCRIPT: &str = r#"
[[turn]]
calls = [
  { tool = "edit_file", args = { path = "a.txt", old_text = "one", new_text = "uno" } },
  { tool = "write_file", args = { path = "new.txt", content = "made\n" } },
  { tool = "rm", args = { path = "old.txt" } },
  { tool = "edit_file", args = { path = "sub/b.txt", old_text = "two", new_text = "duo" } },
]
[[turn]]
calls = [
  { tool = "edit_file", args = { path = "a.txt", old_text = "uno", new_text = "uno uno" } },
  { tool = "write_file", args = { path = "sub/b.txt", content = "all new\n" } },
]
[[turn]]
text = "Done."
"#;

/// What a workspace holds, by path.
pub(super) type Files = BTreeMap<PathBuf, String>;

/// Everything of one user in a temporary folder.
pub(super) struct Place {
    _folder: TempDir,
    root: PathBuf,
}

impl Place {
    /// A workspace and a script; there is no ledger yet.
    pub(super) fn new() -> Self {
        Self::with(SCRIPT)
    }

    /// The same with another script.
    pub(super) fn with(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::write(root.join("script.toml"), script).unwrap();
        let work = root.join("work");
        fs::create_dir_all(work.join("sub")).unwrap();
        fs::create_dir(root.join("state")).unwrap();
        for (path, text) in [
            ("a.txt", "one\n"),
            ("sub/b.txt", "two\n"),
            ("old.txt", "old\n"),
        ] {
            fs::write(work.join(path), text).unwrap();
        }
        Self {
            _folder: folder,
            root,
        }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// `placet run` of the script in the workspace.
    pub(super) fn run(&self, more: &[&str]) -> Command {
        let work = self.root.join("work").display().to_string();
        let script = format!("script:{}", self.root.join("script.toml").display());
        let mut command = placet(self, &["run", "--model", &script, "--workspace", &work]);
        command.args(more).arg("Do it.");
        command
    }

    /// All that is in the workspace.
    pub(super) fn files(&self) -> Files {
        let mut files = Files::new();
        let work = self.root.join("work");
        read(&work, &work, &mut files);
        files
    }

    /// All that is to be in it after the script.
    pub(super) fn files_after() -> Files {
        let files = [
            ("a.txt", "uno uno\n"),
            ("new.txt", "made\n"),
            ("sub/b.txt", "all new\n"),
        ];
        files
            .map(|(path, text)| (path.into(), text.to_owned()))
            .into()
    }

    fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    fn head_dir(&self) -> Option<PathBuf> {
        let ledger = SledStore::ledger_at(&self.home())?;
        Some(self.root.join("state/placet").join(ledger.to_string()))
    }

    /// A copy of the store as it is, to look at; none where there is no store yet.
    fn store(&self, scratch: &Path) -> Option<SledStore> {
        let head = self.head_dir()?;
        let (store, why) = SledStore::open_copy(&self.home(), &head, scratch).unwrap();
        assert!(why.is_none(), "{why:?}");
        Some(store)
    }

    /// Everything in the ledger; nothing where there is none yet.
    pub(super) fn log(&self) -> Vec<Envelope> {
        let scratch = tempfile::tempdir().unwrap();
        let store = self.store(scratch.path());
        store.map_or_else(Vec::new, |store| block_on(cut::log(&store)).unwrap())
    }

    /// The one run, if its start is on disk.
    pub(super) fn the_run(&self) -> Option<String> {
        let log = self.log();
        let started = |record: &&Envelope| matches!(record.event(), Event::RunStarted(_));
        let runs: Vec<_> = log.iter().filter(started).map(Envelope::stream).collect();
        assert!(runs.len() <= 1, "{runs:?}");
        runs.first().map(ToString::to_string)
    }

    /// What verification says of the ledger.
    pub(super) fn verify(&self) -> Report {
        let scratch = tempfile::tempdir().unwrap();
        let store = self.store(scratch.path()).unwrap();
        let head = Head::read(&self.head_dir().unwrap()).unwrap();
        let head = HeadPosition::from(&head);
        block_on(verify(&store, Some(head), Some(&Gate)))
    }
}

fn read(folder: &Path, work: &Path, files: &mut Files) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, work, files);
        } else {
            let name = path.strip_prefix(work).unwrap().to_owned();
            files.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
}

/// The binary, on a place.
pub(super) fn placet(place: &Place, arguments: &[&str]) -> Command {
    let binary = build().join("placet");
    let mut command = Command::new(binary);
    command
        .env("HOME", place.root())
        .env("XDG_STATE_HOME", place.root().join("state"))
        .env("XDG_CONFIG_HOME", place.root().join("config"))
        .env("PLACET_HOME", place.home())
        .current_dir(place.root())
        .args(arguments);
    command
}

/// An example of the ledger's, built: a test has a path to binaries of its own package alone.
pub(super) fn example(name: &str) -> PathBuf {
    build().join("examples").join(name)
}

/// Builds the binary and the example, and says where they lie.
///
/// Both at once and out of the whole workspace: cargo then gives every dependency the features
/// that it has where all tests are built, and nothing is compiled a second time.
fn build() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let features = "placet/system-tests,placet-ledger/conformance,placet-replay/system-tests";
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--workspace", "--features", features])
            .args(["--bin", "placet", "--example", "append", "--target-dir"])
            .arg(target)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{errors}");
        target.join("debug")
    });
    built.clone()
}
