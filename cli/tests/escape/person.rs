//! A machine as a person has it: a home with a ledger and keys, sessions, servers, a workspace.

use std::cell::RefCell;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::run::Wish;
use super::servers::Servers;

/// What only a process of the person's knows.
pub(crate) const SECRET: &str = "kept-by-another-process";
/// What stands beside the keys of the ledger.
const NOTE: &str = "kept-beside-the-keys";

/// The person's machine, as far as attacks meet it.
pub(crate) struct Person {
    folder: tempfile::TempDir,
    /// What is started beside, ended with this.
    children: RefCell<Vec<Child>>,
    pub(crate) servers: Servers,
    victim: Victim,
}

/// Where the other process of the person has its secret.
#[derive(Default)]
struct Victim {
    pid: u32,
    address: String,
    descriptor: String,
    segment: String,
}

/// What was written, as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Builds one of the programs of this folder.
pub(crate) fn build(source: &str, program: &Path) {
    let built = Command::new("cc")
        .args(["-O1", "-w", "-o"])
        .arg(program)
        .arg(
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests/escape")
                .join(source),
        )
        .status()
        .unwrap();
    assert!(built.success(), "cc {source}");
}

impl Person {
    /// With a ledger, and nothing else that runs.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let person = Self {
            folder,
            children: RefCell::default(),
            servers: Servers::default(),
            victim: Victim::default(),
        };
        for name in [
            "home/work/.git/hooks",
            "home/work/.git/objects",
            "home/work/.git/refs",
        ] {
            fs::create_dir_all(person.path(name)).unwrap();
        }
        for name in ["home/.ssh", "run"] {
            fs::create_dir(person.path(name)).unwrap();
        }
        fs::write(person.path("home/work/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(person.path("home/work/.git/config"), "[core]\n").unwrap();
        fs::set_permissions(person.path("home/.ssh"), fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(person.path("home/.bashrc"), "# mine\n").unwrap();
        build("attack.c", &person.path("home/work/attack"));
        build("lesser.c", &person.path("lesser"));
        person
    }

    /// With all servers and sessions that a person has, and another process of theirs.
    pub(crate) fn at_work() -> Self {
        let mut person = Self::new();
        // The first run makes the ledger.
        person.park(&[Wish::of("true")], &[]);
        fs::write(person.path("home/.local/share/placet/note"), NOTE).unwrap();
        let note = person.path("home/.local/share/placet/note");
        fs::set_permissions(note, fs::Permissions::from_mode(0o600)).unwrap();
        person.start_victim();
        person.servers = Servers::start(&person);
        person
    }

    /// A path of this machine.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// The same as text.
    pub(crate) fn at(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// A program with the person's environment, in the person's workspace.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        let path = format!(
            "{}:/usr/local/bin:/usr/bin:/bin",
            self.at("home/.cargo/bin")
        );
        command
            .env_clear()
            .env("HOME", self.path("home"))
            .env("XDG_RUNTIME_DIR", self.path("run"))
            .env("SSH_AUTH_SOCK", self.path("run/ssh-agent"))
            .env("PATH", path)
            .env("LC_ALL", "C.UTF-8")
            .env("SECRET_OF_DRIVER", "known-by-the-driver")
            .current_dir(self.path("home/work"))
            .stdin(Stdio::null());
        command
    }

    /// What came of a program that ended.
    pub(crate) fn output(&self, program: &str, words: &[&str]) -> Output {
        self.command(program).args(words).output().unwrap()
    }

    /// What came of placet itself.
    pub(crate) fn placet(&self, words: &[&str]) -> Output {
        self.output(env!("CARGO_BIN_EXE_placet"), words)
    }

    /// Keeps a process until the machine goes.
    pub(crate) fn keep(&self, child: Child) {
        self.children.borrow_mut().push(child);
    }

    /// A pipe with a name in the workspace: its reader sees the end when all writers have ended.
    pub(crate) fn pipe(&self) -> PathBuf {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let pipe = self.path("home/work/pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        pipe
    }

    /// Starts another process of the person, which keeps its secret in every place.
    pub(crate) fn start_victim(&mut self) {
        let mut child = self
            .command(self.path("home/work/attack"))
            .args(["victim", SECRET])
            .env("SECRET_OF_PERSON", SECRET)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let said = child.stdout.take().unwrap();
        BufReader::new(said).read_line(&mut line).unwrap();
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        let [address, descriptor, segment] = words.try_into().unwrap();
        self.victim = Victim {
            pid: child.id(),
            address,
            descriptor,
            segment,
        };
        self.keep(child);
    }

    /// Waits until the other process of the person has ended; whether it did.
    pub(crate) fn victim_ends(&self) -> bool {
        let pid = i32::try_from(self.victim.pid).ok().and_then(Pid::from_raw);
        let handle = pidfd_open(pid.unwrap(), PidfdFlags::empty()).unwrap();
        let patience = Timespec {
            tv_sec: 10,
            tv_nsec: 0,
        };
        let mut ended = [PollFd::new(&handle, PollFlags::IN)];
        poll(&mut ended, Some(&patience)).unwrap() == 1
    }

    /// The version of Landlock that this kernel has.
    pub(crate) fn landlock(&self) -> i32 {
        let told = self.output(&self.at("home/work/attack"), &["landlock"]);
        text(&told.stdout).trim().parse().unwrap()
    }

    /// What is printed for a file of keys of the ledger.
    pub(crate) fn sum_of_key(&self) -> String {
        let key = self.at("home/.local/share/placet/ledger.key");
        let summed = self.output("sha256sum", &[&key]);
        assert!(summed.status.success(), "{}", text(&summed.stderr));
        text(&summed.stdout)[..64].to_owned()
    }

    /// A command with what stands for places and numbers of this machine; nothing where the
    /// machine has not what it needs.
    pub(crate) fn fill(&self, command: &str, word: &str) -> Option<String> {
        let victim = &self.victim;
        let store = self.at("home/.local/share/placet");
        let mut filled = command.to_owned();
        for (name, value) in [
            ("{attack}", self.at("home/work/attack")),
            ("{ws}", self.at("home/work")),
            ("{home}", self.at("home")),
            ("{run}", self.at("run")),
            ("{store}", store),
            ("{word}", word.to_owned()),
            ("{victim}", victim.pid.to_string()),
            ("{address}", victim.address.clone()),
            ("{descriptor}", victim.descriptor.clone()),
            ("{segment}", victim.segment.clone()),
        ] {
            filled = filled.replace(name, &value);
        }
        for (name, value) in self.servers.names() {
            if filled.contains(name) {
                filled = filled.replace(name, &value?);
            }
        }
        Some(filled)
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        for child in self.children.get_mut() {
            let _gone = child.kill();
            let _gone = child.wait();
        }
        self.servers.stop();
    }
}
