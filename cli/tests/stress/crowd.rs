//! Who does what to the ledger, and what each was told.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// How often a run may be taken up again in the end before it counts as stuck.
const ROUNDS: usize = 20;

/// Runs that are open at once: whoever would start one more goes on with one instead, so that
/// what is left to do in the end does not grow with the time.
const OPEN_MAX: usize = 40;

/// Runs that are finished at once in the end.
const FINISHERS: usize = 4;

/// The agent of every run: seven files in three replies, and two words that only read.
const SCRIPT: &str = r#"
[[turn]]
text = "first"
usage = { input = 1, output = 1 }
calls = [
  { id = "a", tool = "ls", args = { path = "." } },
  { id = "b", tool = "write_file", args = { path = "one", content = "1" } },
  { id = "c", tool = "write_file", args = { path = "two", content = "2" } },
  { id = "d", tool = "write_file", args = { path = "three", content = "3" } },
]
[[turn]]
text = "second"
usage = { input = 1, output = 1 }
calls = [
  { id = "e", tool = "write_file", args = { path = "four", content = "4" } },
  { id = "f", tool = "ls", args = { path = "." } },
  { id = "g", tool = "write_file", args = { path = "five", content = "5" } },
]
[[turn]]
text = "third"
usage = { input = 1, output = 1 }
calls = [
  { id = "h", tool = "write_file", args = { path = "six", content = "6" } },
  { id = "i", tool = "write_file", args = { path = "seven", content = "7" } },
]
[[turn]]
text = "done"
usage = { input = 1, output = 1 }
"#;

/// What came of a process.
pub(super) struct Said {
    /// `None` where it was killed.
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// A home, and everybody who works with it.
pub(super) struct Crowd {
    folder: TempDir,
    begun: Instant,
    until: Option<Instant>,
    runs: usize,
    started: AtomicUsize,
    over: AtomicBool,
    /// Processes that may be killed.
    living: Mutex<BTreeSet<u32>>,
    /// A word for each thing that happened: what the killer goes by.
    happened: Sender<()>,
    heard: Mutex<Option<Receiver<()>>>,
    /// Digests of events that were printed once they were recorded.
    pub(super) acknowledged: Mutex<BTreeSet<String>>,
    /// Requests of which an answer was acknowledged.
    pub(super) answered: Mutex<BTreeSet<String>>,
    /// The workspace of each run that was heard of.
    pub(super) workspaces: Mutex<BTreeMap<String, PathBuf>>,
    killed: AtomicUsize,
    verified: AtomicUsize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Numbers that differ from thread to thread and are the same in every run of the test.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end).unwrap()).unwrap()
    }
}

impl Crowd {
    pub(super) fn new(until: Option<Instant>, runs: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("script.toml"), SCRIPT).unwrap();
        let (happened, heard) = channel();
        let crowd = Self {
            folder,
            begun: Instant::now(),
            until,
            runs,
            started: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            living: Mutex::default(),
            happened,
            heard: Mutex::new(Some(heard)),
            acknowledged: Mutex::default(),
            answered: Mutex::default(),
            workspaces: Mutex::default(),
            killed: AtomicUsize::new(0),
            verified: AtomicUsize::new(0),
        };
        // The home is made by one that nobody kills.
        let first = crowd.run_in(&crowd.workspace("first"), false);
        assert_eq!(first.code, Some(2), "{}", first.stderr);
        crowd
    }

    pub(super) fn over(&self) {
        self.over.store(true, Ordering::SeqCst);
        self.something_happened();
    }

    /// Tells the killer, who may be gone.
    fn something_happened(&self) {
        let _gone = self.happened.send(()).is_err();
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    fn workspace(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join("work").join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_placet"));
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.folder.path())
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .arg("--home")
            .arg(self.home())
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Does something that nobody kills.
    pub(super) fn call(&self, args: &[&str]) -> Said {
        said(self.command(args).spawn().unwrap())
    }

    /// Does something that may be killed meanwhile.
    fn risk(&self, args: &[&str]) -> Said {
        let child = self.command(args).spawn().unwrap();
        let pid = child.id();
        lock(&self.living).insert(pid);
        let said = said(child);
        lock(&self.living).remove(&pid);
        self.something_happened();
        said
    }

    /// Starts a run, and hears what is recorded of it.
    fn run_in(&self, workspace: &std::path::Path, risk: bool) -> Said {
        let script = format!(
            "script:{}",
            self.folder.path().join("script.toml").display()
        );
        let workspace_text = workspace.display().to_string();
        let args = [
            "--json",
            "run",
            "--workspace",
            &workspace_text,
            "--model",
            &script,
            "--park",
            "--attend",
            "never",
            "--events",
            "Write files.",
        ];
        let mut child = self.command(&args).spawn().unwrap();
        let pid = child.id();
        if risk {
            lock(&self.living).insert(pid);
        }
        let stdout = BufReader::new(child.stdout.take().unwrap());
        for line in stdout.lines().map_while(Result::ok) {
            self.heard_of(&line, workspace);
            self.something_happened();
        }
        let said = said(child);
        lock(&self.living).remove(&pid);
        said
    }

    fn heard_of(&self, line: &str, workspace: &std::path::Path) {
        // A line that a kill cut short was not told.
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            return;
        };
        let Some(digest) = value["digest"].as_str() else {
            return;
        };
        lock(&self.acknowledged).insert(digest.to_owned());
        let run = value["record"]["run"].as_str().unwrap().to_owned();
        lock(&self.workspaces).insert(run, workspace.to_owned());
    }

    /// Starts runs and drives them until they park, or their driver is killed.
    pub(super) fn drive(&self, number: usize) {
        let mut dice = Dice(0x2545_f491_4f6c_dd1d ^ (number as u64 + 1));
        loop {
            if self.until.is_some_and(|until| Instant::now() >= until) {
                return;
            }
            if self.started.load(Ordering::SeqCst) >= OPEN_MAX {
                let open = self.open_runs();
                if open.len() >= OPEN_MAX {
                    self.go_on_with(&open[dice.below(open.len())]);
                    continue;
                }
            }
            let started = self.started.fetch_add(1, Ordering::SeqCst);
            if self.until.is_none() && started >= self.runs {
                return;
            }
            let workspace = self.workspace(&format!("{number}-{started}"));
            let said = self.run_in(&workspace, true);
            may_end_as(&said, "run", &[0, 2, 5]);
        }
    }

    /// Answers whatever waits, at random, and goes on with what was answered or left.
    pub(super) fn answer(&self, number: u64) {
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (number + 1));
        while !self.is_over() {
            let inbox = self.risk(&["--json", "inbox"]);
            may_end_as(&inbox, "inbox", &[0, 5]);
            let pending: Value = serde_json::from_str(&inbox.stdout).unwrap_or_default();
            let cards = pending["pending"].as_array().cloned().unwrap_or_default();
            if cards.is_empty() {
                self.go_on(&mut dice);
                continue;
            }
            let run = cards[dice.below(cards.len())]["run"]
                .as_str()
                .unwrap()
                .to_owned();
            let of_run: Vec<&Value> = cards.iter().filter(|card| card["run"] == *run).collect();
            let requests: Vec<String> = of_run
                .iter()
                .filter_map(|card| card["request"].as_str().map(str::to_owned))
                .collect();
            let mut args = vec!["runs", "approve", &run];
            let first = of_run[0]["call"].as_str().unwrap();
            let others: Vec<&str> = of_run[1..]
                .iter()
                .map(|card| card["call"].as_str().unwrap())
                .collect();
            let set = of_run[0]["set"].as_str().unwrap_or_default().to_owned();
            args.extend(["--set", &set]);
            if dice.below(4) == 0 {
                args.extend(others);
                args.extend(["--reject", first, "--note", "not that one"]);
            }
            let said = self.risk(&args);
            may_end_as(&said, "approve", &[0, 2, 3, 4, 5]);
            if matches!(said.code, Some(0 | 2)) {
                lock(&self.answered).extend(requests);
            }
        }
    }

    /// Takes up a run that nobody drives.
    fn go_on(&self, dice: &mut Dice) {
        let runs = self.open_runs();
        if !runs.is_empty() {
            self.resume(&runs[dice.below(runs.len())]);
        }
    }

    fn resume(&self, run: &str) {
        let said = self.risk(&["runs", "resume", run]);
        may_end_as(&said, "resume", &[0, 2, 3, 4, 5]);
    }

    /// Approves all of a run, or takes it up where nothing waits.
    fn go_on_with(&self, run: &str) {
        let said = self.risk(&["runs", "approve", run]);
        may_end_as(&said, "approve", &[0, 2, 3, 4, 5]);
        if !matches!(said.code, Some(0 | 2)) {
            self.resume(run);
        }
    }

    /// Runs that are not finished, at most a page of them; none where the list was killed.
    fn open_runs(&self) -> Vec<String> {
        let list = self.risk(&["--json", "runs", "list"]);
        may_end_as(&list, "list", &[0, 5]);
        runs_of(&list)
    }

    /// Verifies the ledger again and again.
    pub(super) fn verify(&self) {
        while !self.is_over() {
            let said = self.risk(&["audit", "verify"]);
            may_end_as(&said, "verify", &[0, 5]);
            self.verified.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Kills somebody after some things happened; whoever has the store every other time.
    pub(super) fn kill(&self) {
        let heard = lock(&self.heard).take().unwrap();
        let mut dice = Dice(0x1234_5678_9abc_def1);
        let mut left = 10;
        while heard.recv().is_ok() && !self.is_over() {
            left -= 1;
            if left > 0 {
                continue;
            }
            left = 5 + dice.below(40);
            let owner = fs::read_to_string(self.home().join("owner"));
            let owner = owner.ok().and_then(|text| text.trim().parse::<u32>().ok());
            let living: Vec<u32> = lock(&self.living).iter().copied().collect();
            if living.is_empty() {
                continue;
            }
            let chosen = match owner.filter(|owner| living.contains(owner)) {
                Some(owner) if dice.below(2) == 0 => owner,
                _ => living[dice.below(living.len())],
            };
            let pid = Pid::from_raw(i32::try_from(chosen).unwrap()).unwrap();
            if kill_process(pid, Signal::KILL).is_ok() {
                self.killed.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    /// Answers and resumes until every run is finished.
    pub(super) fn finish_every_run(&self) {
        let mut left = Vec::new();
        for _ in 0..ROUNDS {
            let list = self.call(&["--json", "runs", "list"]);
            assert_eq!(list.code, Some(0), "{}", list.stderr);
            left = runs_of(&list);
            self.say(&format!("{} runs are open", left.len()));
            if left.is_empty() {
                return;
            }
            let next = AtomicUsize::new(0);
            thread::scope(|scope| {
                for _ in 0..FINISHERS {
                    scope.spawn(|| {
                        while let Some(run) = left.get(next.fetch_add(1, Ordering::SeqCst)) {
                            self.finish(run);
                        }
                    });
                }
            });
        }
        panic!("{} runs are stuck: {left:#?}", left.len());
    }

    /// Approves all of a run, or takes it up where nothing waits: nobody else does.
    fn finish(&self, run: &str) {
        let approved = self.call(&["runs", "approve", run]);
        may_end_as(&approved, "last approve", &[0, 2, 3, 5]);
        if !matches!(approved.code, Some(0 | 2)) {
            let resumed = self.call(&["runs", "resume", run]);
            may_end_as(&resumed, "last resume", &[0, 2]);
        }
    }

    /// Says when something was, for whoever reads the output.
    pub(super) fn say(&self, what: &str) {
        eprintln!("{:6.1} s: {what}", self.begun.elapsed().as_secs_f32());
    }

    /// What there was, for whoever reads the output.
    pub(super) fn tally(&self, held: &super::ledger::Held) -> String {
        format!(
            "{} runs, {} records, {} acknowledged, {} answers acknowledged, {} killed, {} verified",
            held.runs(),
            held.records(),
            lock(&self.acknowledged).len(),
            lock(&self.answered).len(),
            self.killed.load(Ordering::SeqCst),
            self.verified.load(Ordering::SeqCst),
        )
    }
}

fn runs_of(list: &Said) -> Vec<String> {
    let list: Value = serde_json::from_str(&list.stdout).unwrap_or_default();
    let runs = list["runs"].as_array().into_iter().flatten();
    let ids = runs.map(|run| run["run"].as_str().unwrap().to_owned());
    ids.collect()
}

fn said(child: Child) -> Said {
    let output = child.wait_with_output().unwrap();
    Said {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A process ends as one of these, or by the killer.
fn may_end_as(said: &Said, what: &str, codes: &[i32]) {
    let fine = said.code.is_none_or(|code| codes.contains(&code));
    let (out, err) = (&said.stdout, &said.stderr);
    assert!(fine, "{what} ended with {:?}: {out}{err}", said.code);
}
