//! A workspace with secrets beside it, and programs that run there contained.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use placet_engine::contain::{ContainError, Container, Ending, Helper, Job, Limits, Ran, helper};
use placet_engine::stop::Halt;
use placet_ledger::containment::Part;

/// A workspace, a home with a key in it, and a folder for marks.
pub(crate) struct Place {
    folder: tempfile::TempDir,
    pub(crate) container: Container,
}

/// The binary as its own helper.
pub(crate) fn helper() -> Helper {
    Helper {
        program: env!("CARGO_BIN_EXE_placet").into(),
        arguments: vec![helper::VERB.to_owned()],
    }
}

impl Place {
    /// With all that this machine can do.
    pub(crate) fn new() -> Self {
        Self::without([])
    }

    /// As on a machine that cannot do these parts.
    pub(crate) fn without(parts: impl IntoIterator<Item = Part>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home/.ssh", "work/.git/hooks", "running"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("home/.ssh/id"), "the key").unwrap();
        fs::write(folder.path().join("work/.git/config"), "[core]\n").unwrap();
        let without = parts.into_iter().collect();
        Self {
            container: Container::probe_without(helper(), &without),
            folder,
        }
    }

    /// A path of this place.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Whether a part holds here.
    pub(crate) fn has(&self, part: Part) -> bool {
        !self.container.level().missing().contains(&part)
    }

    /// A job that runs a program from its arguments.
    pub(crate) fn job(&self, argv: &[&str]) -> Job {
        Job {
            program: if argv[0].starts_with('/') {
                argv[0].into()
            } else {
                program(argv[0])
            },
            digest: None,
            argv: argv.iter().map(|&word| word.to_owned()).collect(),
            workspace: self.path("work"),
            read_only: vec![self.path("work/.git/hooks"), self.path("work/.git/config")],
            hidden: vec![self.path("home")],
            network: BTreeSet::new(),
            env: BTreeMap::new(),
            limits: Limits {
                time_ms: 60_000,
                memory_bytes: 1 << 30,
                processes: 256,
                file_bytes: 64 << 20,
                head_bytes: 256 << 10,
                tail_bytes: 256 << 10,
            },
            stdin: String::new(),
            mark: self.path("running/run-call"),
        }
    }

    /// A job that runs a script of the shell.
    pub(crate) fn shell(&self, script: &str) -> Job {
        self.job(&["/bin/sh", "-c", script])
    }

    /// Runs a job to its end.
    pub(crate) fn try_run(&self, job: &Job) -> Result<Ran, ContainError> {
        runtime().block_on(self.container.run(job, &Halt::default()))
    }

    /// Runs a job to its end, which nothing hinders.
    pub(crate) fn run(&self, job: &Job) -> Ran {
        let ran = self.try_run(job).unwrap();
        assert!(!job.mark.exists(), "the mark is gone");
        ran
    }

    /// What a script of the shell printed; it ends well.
    pub(crate) fn says(&self, script: &str) -> String {
        let ran = self.run(&self.shell(script));
        let (stdout, stderr) = (text(&ran.stdout.head), text(&ran.stderr.head));
        assert_eq!(ran.ending, Ending::Exited(0), "{script}: {stdout}{stderr}");
        stdout.trim_end().to_owned()
    }
}

/// Everything that runs jobs.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}

/// What was written, as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Where a program is: its real path, in a folder of the system.
pub(crate) fn program(name: &str) -> PathBuf {
    let folders = ["/usr/bin", "/bin", "/usr/local/bin"].map(Path::new);
    let mut found = folders.iter().map(|folder| folder.join(name));
    found
        .find(|path| path.exists())
        .unwrap_or_else(|| panic!("{name} is not in a folder of the system"))
}

impl Place {
    /// Builds the program of attempts in the workspace.
    #[expect(
        clippy::disallowed_methods,
        reason = "the compiler, outside of any run"
    )]
    pub(crate) fn attempts(&self) -> String {
        let program = self.path("work/attempts");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/contain/attempts.c");
        let built = std::process::Command::new("cc")
            .args(["-O1", "-w", "-o"])
            .arg(&program)
            .arg(source)
            .status()
            .unwrap();
        assert!(built.success(), "cc");
        program.to_str().unwrap().to_owned()
    }

    /// What an attempt printed.
    pub(crate) fn attempt(&self, words: &[&str]) -> String {
        let program = self.attempts();
        let mut argv = vec![program.as_str()];
        argv.extend(words);
        let ran = self.run(&self.job(&argv));
        assert_eq!(ran.ending, Ending::Exited(0), "{}", text(&ran.stderr.head));
        text(&ran.stdout.head)
    }

    /// A pipe with a name in the workspace: its reader sees the end only when all writers ended.
    pub(crate) fn pipe(&self) -> PathBuf {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let path = self.path("work/pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        path
    }
}
