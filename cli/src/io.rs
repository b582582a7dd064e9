//! Everything that comes in from outside or goes out: nothing else touches terminal, environment
//! or current folder.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use placet_engine::stop::Stop;

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
    /// Whether standard output is a terminal.
    pub stdout_is_terminal: bool,
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
    /// The real outside.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the place that reads them"
    )]
    pub fn real() -> Self {
        let utf8 = |(key, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((key.into_string().ok()?, value.into_string().ok()?))
        };
        let mut env: BTreeMap<String, String> = std::env::vars_os().filter_map(utf8).collect();
        // What the terminal says counts for more than what a shell may have exported.
        if let Ok(size) = rustix::termios::tcgetwinsize(std::io::stdout())
            && size.ws_col > 0
        {
            env.insert(String::from("COLUMNS"), size.ws_col.to_string());
        }
        Self {
            stdin: Box::new(std::io::stdin()),
            stdout: Box::new(std::io::stdout()),
            stderr: Box::new(std::io::stderr()),
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
            env,
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

    /// A path as the user gave it, from the current folder.
    pub fn path(&self, path: &std::path::Path) -> PathBuf {
        self.cwd.join(path)
    }
}
