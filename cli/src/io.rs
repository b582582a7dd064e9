//! Everything that comes in from outside or goes out: nothing else touches terminal, environment
//! or current folder.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use placet_engine::stop::Stop;

use crate::terminal::{Programs, Screen, Terminal};

/// The outside.
pub struct Io {
    /// Standard input.
    pub stdin: Box<dyn Read + Send>,
    /// Data goes here.
    pub stdout: Box<dyn Write + Send>,
    /// Everything else goes here.
    pub stderr: Box<dyn Write + Send>,
    /// The current folder.
    pub cwd: PathBuf,
    /// The environment; what is not UTF-8 is not in it.
    pub env: BTreeMap<String, String>,
    /// The names of variables whose values are not UTF-8.
    pub env_not_utf8: BTreeSet<String>,
    /// Whether standard output is a terminal.
    pub stdout_is_terminal: bool,
    /// Whether standard error is a terminal.
    pub stderr_is_terminal: bool,
    /// Where a person can be asked: a terminal on standard input and standard error.
    pub terminal: Option<Box<dyn Terminal>>,
    /// Whether another program has the terminal, so that an interrupt is meant for that one.
    pub lent: Arc<AtomicBool>,
    /// The user.
    pub uid: u32,
    /// Whether signals are turned into a wish to stop.
    pub signals: bool,
    /// The wish to stop.
    pub stop: Stop,
    /// Whether that wish was a signal to terminate, not Ctrl-C.
    pub terminated: Arc<AtomicBool>,
    /// The file of the running program, which no tool may touch.
    pub program: Option<PathBuf>,
}

impl Io {
    /// The folder for temporary files.
    pub(crate) fn temporary(&self) -> PathBuf {
        let named = self.var("TMPDIR").map(PathBuf::from);
        named.unwrap_or_else(|| PathBuf::from("/tmp"))
    }

    /// The real outside.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the place that reads them"
    )]
    pub fn real() -> Self {
        let mut env = BTreeMap::new();
        let mut env_not_utf8 = BTreeSet::new();
        for (key, value) in std::env::vars_os() {
            match (key.into_string(), value.into_string()) {
                (Ok(key), Ok(value)) => drop(env.insert(key, value)),
                (Ok(key), Err(_)) => drop(env_not_utf8.insert(key)),
                (Err(_), _) => {}
            }
        }
        // What the terminal says counts for more than what a shell may have exported.
        if let Ok(size) = rustix::termios::tcgetwinsize(std::io::stdout())
            && size.ws_col > 0
        {
            env.insert(String::from("COLUMNS"), size.ws_col.to_string());
        }
        let (stdin, stderr) = (std::io::stdin(), std::io::stderr());
        let programs = Programs::of(|name| env.get(name).map(String::as_str));
        let lent: Arc<AtomicBool> = Arc::default();
        // A terminal that says of itself that it can do nothing shows no cards.
        let able = env.get("TERM").is_none_or(|name| name != "dumb");
        let terminal = (stdin.is_terminal() && stderr.is_terminal() && able).then(|| {
            let screen: Box<dyn Terminal> = Box::new(Screen::new(programs, lent.clone()));
            screen
        });
        Self {
            stderr_is_terminal: stderr.is_terminal(),
            terminal,
            lent,
            stdin: Box::new(stdin),
            stdout: Box::new(std::io::stdout()),
            stderr: Box::new(stderr),
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
            env,
            env_not_utf8,
            stdout_is_terminal: std::io::stdout().is_terminal(),
            uid: rustix::process::getuid().as_raw(),
            signals: true,
            stop: Stop::default(),
            terminated: Arc::default(),
            program: std::env::current_exe().ok(),
        }
    }

    /// A variable of the environment; an empty one counts as absent.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.env
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// What stands on standard input, if that is no more than so many bytes.
    pub fn stdin_up_to(&mut self, most: u64) -> std::io::Result<Option<Vec<u8>>> {
        up_to(self.stdin.as_mut(), most)
    }

    /// A path as the user gave it, from the current folder.
    pub fn path(&self, path: &std::path::Path) -> PathBuf {
        self.cwd.join(path)
    }
}

/// All that a reader holds, if that is no more than so many bytes: a part is never taken for all.
pub(crate) fn up_to(reader: impl Read, most: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let read = reader
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok(u64::try_from(read)
        .is_ok_and(|read| read <= most)
        .then_some(bytes))
}
