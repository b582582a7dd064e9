//! A home in a temporary folder, the command line called in-process, and what it printed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use placet::io::Io;
use placet::terminal::Terminal;
use placet_engine::clock::SystemClock;
use placet_engine::ids::LiveStamps;
use placet_engine::policy::Gate;
use placet_ledger::id::RunId;
use placet_ledger::ledger::Ledger;
use placet_ledger::owner::Parts;
use placet_ledger::store::sled::SledStore;

/// The agent of these tests: reads, then proposes two writes and a removal.
pub(crate) const SCRIPT: &str = r#"
[[turn]]
text = "I add the eggs and drop the log."
usage = { input = 31, output = 58 }
calls = [
  { id = "p1", tool = "ls", args = { path = "." } },
  { id = "p2", tool = "write_file", args = { path = "notes.txt", content = "milk\neggs\n" } },
  { id = "p3", tool = "rm", args = { path = "old.log" } },
]

[[turn]]
text = "Done."
usage = { input = 20, output = 2 }
"#;

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a call of the command line came to.
pub(crate) struct Output {
    pub(crate) code: u8,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A home, a workspace, and the runs that were started.
pub(crate) struct World {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) runs: Vec<String>,
    pub(crate) terminal: bool,
    /// Whether standard output goes elsewhere than to the terminal.
    pub(crate) redirected: bool,
    pub(crate) uid: u32,
    pub(crate) env_not_utf8: BTreeSet<String>,
    pub(crate) stdin: Vec<u8>,
    /// The current folder.
    pub(crate) cwd: PathBuf,
    /// The program by which commands are shut in.
    pub(crate) program: Option<PathBuf>,
    /// The search path.
    pub(crate) search: String,
    /// More of the environment.
    pub(crate) vars: BTreeMap<String, String>,
}

impl World {
    /// A workspace, and no home yet.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let workspace = dir.path().join("ws");
        std::fs::create_dir(&workspace).unwrap();
        std::fs::write(workspace.join("notes.txt"), "milk\n").unwrap();
        std::fs::write(workspace.join("old.log"), "debug 1\n").unwrap();
        std::fs::write(dir.path().join("tidy.toml"), SCRIPT).unwrap();
        Self {
            cwd: dir.path().to_owned(),
            dir,
            runs: Vec::new(),
            terminal: false,
            redirected: false,
            uid: 1000,
            env_not_utf8: BTreeSet::new(),
            stdin: Vec::new(),
            program: None,
            search: String::new(),
            vars: BTreeMap::new(),
        }
    }

    /// With a model of another script.
    pub(crate) fn with_script(script: &str) -> Self {
        let world = Self::new();
        std::fs::write(world.path("tidy.toml"), script).unwrap();
        world
    }

    /// With a run that waits for an answer.
    pub(crate) fn parked() -> Self {
        let mut world = Self::new();
        world.start("Tidy up.");
        world
    }

    /// The same under the user of the test: processes of the program itself may drive its run.
    pub(crate) fn parked_as_user() -> Self {
        let mut world = Self::new();
        world.uid = rustix::process::geteuid().as_raw();
        world.start("Tidy up.");
        world
    }

    /// With a variable of the environment.
    pub(crate) fn var(&mut self, name: &str, value: &str) {
        self.vars.insert(name.to_owned(), value.to_owned());
    }

    /// Starts a run; its first eight digits name it from then on.
    pub(crate) fn start(&mut self, prompt: &str) -> String {
        self.start_with(prompt, &[])
    }

    /// The same with more options.
    pub(crate) fn start_with(&mut self, prompt: &str, options: &[&str]) -> String {
        let args = [
            "--json",
            "run",
            "--model",
            "script:tidy.toml",
            "--workspace",
            "ws",
            "--park",
            prompt,
        ];
        let started = self.call(&[&args[..], options].concat());
        assert_eq!(started.code, 2, "{}", started.stderr);
        let report: serde_json::Value = serde_json::from_str(&started.stdout).unwrap();
        let run = report["run"].as_str().unwrap().to_owned();
        self.runs.push(run.clone());
        run
    }

    pub(crate) fn run(&self) -> &str {
        &self.runs[0]
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Calls the command line as the binary does.
    pub(crate) fn call(&self, args: &[&str]) -> Output {
        self.call_at(args, None)
    }

    /// The same at the terminal of a person.
    pub(crate) fn call_at(&self, args: &[&str], terminal: Option<Box<dyn Terminal>>) -> Output {
        let (stdout, stderr) = (Buffer::default(), Buffer::default());
        let at = |name: &str| self.path(name).to_str().unwrap().to_owned();
        let env = [
            ("HOME", at("person")),
            ("XDG_STATE_HOME", at("state")),
            ("XDG_DATA_HOME", at("data")),
            ("TMPDIR", at("")),
            ("PATH", self.search.clone()),
        ];
        let env = env
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        let env: BTreeMap<_, _> = env.chain(self.vars.clone()).collect();
        let mut io = Io {
            stdin: Box::new(io::Cursor::new(self.stdin.clone())),
            stdout: Box::new(stdout.clone()),
            stderr: Box::new(stderr.clone()),
            cwd: self.cwd.clone(),
            env,
            env_not_utf8: self.env_not_utf8.clone(),
            stdout_is_terminal: self.terminal && !self.redirected,
            stderr_is_terminal: self.terminal,
            terminal,
            lent: Arc::default(),
            uid: self.uid,
            signals: false,
            stop: placet_engine::stop::Stop::default(),
            terminated: Arc::default(),
            program: self.program.clone(),
        };
        let args = std::iter::once("placet").chain(args.iter().copied());
        let status = placet::run(args.map(Into::into).collect(), &mut io);
        Output {
            code: status.code(),
            stdout: stdout.text(),
            stderr: stderr.text(),
        }
    }

    /// Works in the ledger itself, on the first run, as a process does that no verb starts.
    pub(crate) fn in_ledger(&self, work: impl AsyncFnOnce(Ledger, RunId)) {
        self.in_store(async |store| {
            let ledger = over(store).await;
            work(ledger, self.run().parse().unwrap()).await;
        });
    }

    /// The same in the store, over which there may be several ledgers.
    pub(crate) fn in_store(&self, work: impl AsyncFnOnce(Arc<SledStore>)) {
        let home = self.path("data/placet");
        let ledger = SledStore::ledger_at(&home).unwrap();
        let head_dir = self.path("state/placet").join(ledger.to_string());
        let store = Arc::new(SledStore::open(&home, &head_dir).unwrap());
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        runtime.block_on(work(store.clone()));
        store.close();
    }

    /// Shows every record by itself: what each rests on comes to what is recorded.
    pub(crate) fn records_hold(&self) {
        let log = self.call(&["--json", "audit", "log"]).stdout;
        let log: serde_json::Value = serde_json::from_str(&log).unwrap();
        for (position, event) in log["events"].as_array().unwrap().iter().enumerate() {
            let shown = self.call(&["--json", "audit", "show", &format!("#{position}")]);
            assert_eq!(shown.code, 0, "{}", shown.stderr);
            let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
            assert_eq!(shown["holds"], true, "{shown}");
            assert_eq!(shown["digest"], event["digest"]);
        }
        assert_eq!(self.call(&["audit", "verify"]).code, 0);
    }

    /// Everything that a call came to, without what is different each time.
    pub(crate) fn show(&self, args: &[&str]) -> String {
        let Output {
            code,
            stdout,
            stderr,
        } = self.call(args);
        let shown = format!("{stdout}-- stderr --\n{stderr}-- exit {code} --");
        self.redact(&shown)
    }

    /// The same of JSON, spread over lines.
    pub(crate) fn json(&self, args: &[&str]) -> String {
        let output = self.call(&[&["--json"], args].concat());
        let mut lines = String::new();
        for line in output.stdout.lines() {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            lines.push_str(&serde_json::to_string_pretty(&value).unwrap());
            lines.push('\n');
        }
        let shown = format!(
            "{lines}-- stderr --\n{}-- exit {} --",
            output.stderr, output.code
        );
        self.redact(&shown)
    }

    fn redact(&self, text: &str) -> String {
        let mut text = text.replace(self.dir.path().to_str().unwrap(), "<dir>");
        for (index, run) in self.runs.iter().enumerate() {
            let name = format!("<run{}>", index + 1);
            text = text.replace(run, &name).replace(&run[..6], &name);
        }
        let mut out = String::new();
        let mut rest = text.as_str();
        while let Some(c) = rest.chars().next() {
            let boundary = !out
                .chars()
                .last()
                .is_some_and(|c| c.is_ascii_alphanumeric());
            let token = if boundary { token(rest) } else { None };
            let (length, shown) = token.unwrap_or((c.len_utf8(), &rest[..c.len_utf8()]));
            out.push_str(shown);
            rest = &rest[length..];
        }
        out
    }
}

/// What is different each time, at the beginning of a text: its length and what stands for it.
fn token(text: &str) -> Option<(usize, &'static str)> {
    let like = |form: &str| {
        let fits = |(c, f): (char, char)| match f {
            'x' => c.is_ascii_hexdigit() && !c.is_ascii_uppercase(),
            '9' => c.is_ascii_digit(),
            f => c == f,
        };
        text.len() >= form.len()
            && text.is_char_boundary(form.len())
            && text.chars().zip(form.chars()).all(fits)
            && !text[form.len()..].starts_with(|c: char| c.is_ascii_alphanumeric())
    };
    let digest = "x".repeat(64);
    let forms = [
        ("9999-99-99T99:99:99.999999Z", "<time>"),
        ("9999-99-99T99:99:99Z", "<time>"),
        ("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", "<id>"),
        (digest.as_str(), "<digest>"),
        ("xxxxxxxxxx", "<code>"),
        ("xxxxxx@", "<stream>@"),
    ];
    for (form, shown) in forms {
        if like(form) || (form.ends_with('@') && starts_like(text, form)) {
            return Some((form.len(), shown));
        }
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit = text[digits..].starts_with(" ms");
    (digits > 0 && unit).then_some((digits, "<n>"))
}

fn starts_like(text: &str, form: &str) -> bool {
    text.len() >= form.len()
        && text.bytes().zip(form.bytes()).all(|(c, f)| match f {
            b'x' => c.is_ascii_digit() || (b'a'..=b'f').contains(&c),
            f => c == f,
        })
}

/// The number of every `.._ms` field of JSON becomes 0.
pub(crate) fn without_durations(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once("_ms\": ") {
        Some((name, rest)) => {
            let comma = if rest.ends_with(',') { "," } else { "" };
            format!("{name}_ms\": 0{comma}")
        }
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A ledger over a store.
pub(crate) async fn over(store: Arc<SledStore>) -> Ledger {
    let clock = Arc::new(SystemClock);
    let parts = Parts {
        store,
        judge: Arc::new(Gate),
        clock: clock.clone(),
        stamps: Arc::new(LiveStamps::new(clock)),
        rows: None,
        snapshots: None,
    };
    Ledger::open(parts).await.unwrap()
}

/// Starts the program; the process is a person's, and no run's.
#[expect(clippy::disallowed_methods, reason = "the program itself is looked at")]
pub(crate) fn spawn(world: &World, args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_placet"));
    command.args(args).env_clear().current_dir(&world.cwd);
    for (name, folder) in [
        ("HOME", "person"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_DATA_HOME", "data"),
    ] {
        command.env(name, world.path(folder));
    }
    command.envs(&world.vars);
    command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .stdout(Stdio::piped());
    command.spawn().unwrap()
}
