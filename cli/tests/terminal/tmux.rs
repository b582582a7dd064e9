//! The real program in a real terminal: a private tmux server with one window, its keys, its
//! screen. The output of the window is piped here as well, so that a test waits for what is
//! written and not for time to pass.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};

/// How long nothing may be written before a test that waits for something gives up.
const SILENCE_MAX: Duration = Duration::from_secs(20);

/// What the window runs: how the terminal was before and after, and how the program ended.
const SCRIPT: &str = r#"
cd "$PLACE"
# Ctrl-C is for the program; the window tells how that ended.
trap : INT
stty -g > before
sh -c 'echo $$ > pid; exec "$0" "$@"' "$@"
echo "ended with $?"
stty -g > after
echo "the end"
exec cat > /dev/null
"#;

/// A window of a terminal, and the folder in which the program runs.
pub(crate) struct Window {
    dir: Option<tempfile::TempDir>,
    socket: PathBuf,
    written: Receiver<()>,
    size: (usize, usize),
    env: Vec<(String, String)>,
    run: RefCell<Option<String>>,
}

/// How a program is started in a window.
pub(crate) struct Start<'a> {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    pub(crate) script: &'a str,
    pub(crate) env: &'a [(&'a str, &'a str)],
    pub(crate) args: &'a [&'a str],
    /// What is started, which is placet or becomes it.
    pub(crate) program: &'a [&'a str],
}

impl Default for Start<'_> {
    fn default() -> Self {
        Self {
            columns: 80,
            rows: 24,
            script: crate::support::SCRIPT,
            env: &[("NO_COLOR", "1")],
            args: &RUN,
            program: &[env!("CARGO_BIN_EXE_placet")],
        }
    }
}

/// The arguments that start a run with the script.
pub(crate) const RUN: [&str; 6] = [
    "run",
    "--model",
    "script:tidy.toml",
    "--workspace",
    "ws",
    "Tidy up.",
];

impl Start<'_> {
    /// Starts the program in a window of its own.
    pub(crate) fn window(&self) -> Window {
        self.window_in(self.folder())
    }

    /// A folder for a window.
    pub(crate) fn folder(&self) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("ws")).unwrap();
        fs::write(at("ws/notes.txt"), "milk\n").unwrap();
        fs::write(at("ws/old.log"), "debug 1\n").unwrap();
        fs::write(at("tidy.toml"), self.script).unwrap();
        fs::write(at("window.sh"), SCRIPT).unwrap();
        fs::write(at("tmux.conf"), "set -g status off\n").unwrap();
        dir
    }

    /// The same in a folder that is there.
    pub(crate) fn window_in(&self, dir: tempfile::TempDir) -> Window {
        // An earlier window in this folder has its own; its server may take a while to end.
        let id = uuid::Uuid::new_v4().to_string();
        let id = &id[..8];
        let pipe = dir.path().join(format!("{id}.pipe"));
        let socket = dir.path().join(format!("{id}.sock"));
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let (told, written) = channel();
        let window = Window {
            dir: Some(dir),
            socket,
            written,
            size: (self.columns, self.rows),
            env: self
                .env
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            run: RefCell::default(),
        };
        let place = window.path("").display().to_string();
        let mut words = vec![
            "env".to_owned(),
            "-i".to_owned(),
            format!("PLACE={place}"),
            format!("HOME={place}"),
            format!("TMPDIR={place}"),
            "PATH=/usr/local/bin:/usr/bin:/bin".to_owned(),
            "TERM=tmux-256color".to_owned(),
        ];
        words.extend(
            self.env
                .iter()
                .map(|(name, value)| format!("{name}={value}")),
        );
        words.extend(["sh".to_owned(), format!("{place}/window.sh")]);
        words.extend(self.program.iter().map(|word| (*word).to_owned()));
        words.extend(self.args.iter().map(|word| (*word).to_owned()));
        let (columns, rows) = (self.columns.to_string(), self.rows.to_string());
        let mut args = vec!["new-session", "-d", "-x", &columns, "-y", &rows, "--"];
        args.extend(words.iter().map(String::as_str));
        let pipe_to = format!("exec cat > '{}'", pipe.display());
        // In one call, so that nothing is written before it is piped.
        args.extend([";", "pipe-pane", "-O", &pipe_to]);
        window.tmux(&args);
        std::thread::spawn(move || {
            let mut pipe = File::open(pipe).unwrap();
            let mut buffer = [0; 4096];
            while pipe.read(&mut buffer).is_ok_and(|read| read > 0) {
                if told.send(()).is_err() {
                    return;
                }
            }
        });
        window
    }
}

impl Window {
    fn call(&self, args: &[&str]) -> Output {
        let conf = self.path("tmux.conf");
        Command::new("tmux")
            .arg("-S")
            .arg(&self.socket)
            .arg("-f")
            .arg(conf)
            .args(args)
            .env_remove("TMUX")
            .env("LC_ALL", "C.UTF-8")
            .output()
            .unwrap()
    }

    fn tmux(&self, args: &[&str]) -> String {
        let output = self.call(args);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "tmux {args:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// A file of the folder in which the program runs.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.as_ref().unwrap().path().join(name)
    }

    /// What stands in such a file.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The program once more in the same folder, in a new window that looks the same.
    pub(crate) fn again(mut self, args: &[&str]) -> Self {
        drop(self.call(&["kill-server"]));
        let dir = self.dir.take().unwrap();
        let env = self.env.iter();
        let env: Vec<(&str, &str)> = env.map(|(n, v)| (n.as_str(), v.as_str())).collect();
        let (columns, rows) = self.size;
        let start = Start {
            columns,
            rows,
            env: &env,
            args,
            ..Start::default()
        };
        start.window_in(dir)
    }

    /// The program called directly, in the same folder, with the same home.
    pub(crate) fn command(&self, program: &str, args: &[&str]) -> Output {
        Command::new(program)
            .args(args)
            .env_clear()
            .env("HOME", self.path(""))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .current_dir(self.path(""))
            .output()
            .unwrap()
    }

    /// How the run is named, once a card of it was on the screen.
    pub(crate) fn run(&self) -> String {
        self.run.borrow().clone().unwrap()
    }

    /// Presses keys, by the names that tmux has for them.
    pub(crate) fn press(&self, keys: &[&str]) {
        if !keys.is_empty() {
            self.tmux(&[&["send-keys", "--"], keys].concat());
        }
    }

    /// Types a text, character by character.
    pub(crate) fn write(&self, text: &str) {
        self.tmux(&["send-keys", "-l", "--", text]);
    }

    /// Pastes a text, as a terminal does that tells pasting from typing.
    pub(crate) fn paste(&self, text: &str) {
        self.tmux(&["set-buffer", "--", text]);
        self.tmux(&["paste-buffer", "-p"]);
    }

    /// Gives the window another size.
    pub(crate) fn resize(&self, columns: usize, rows: usize) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.tmux(&["resize-window", "-x", &columns, "-y", &rows]);
    }

    /// The person's terminal, by its path.
    pub(crate) fn terminal(&self) -> String {
        let told = self.tmux(&["display-message", "-p", "#{pane_tty}"]);
        told.trim().to_owned()
    }

    /// What stands on the screen now.
    pub(crate) fn screen(&self) -> String {
        self.redacted(&self.tmux(&["capture-pane", "-p"]))
    }

    /// The same with its colours.
    pub(crate) fn colors(&self) -> String {
        let screen = self.tmux(&["capture-pane", "-p", "-e"]);
        let screen = self.redacted(&screen).replace('\u{1b}', "^[");
        // Where a colour ends tmux says in one of several ways, at the end of its row or at the
        // beginning of the next one, depending on what stood there before. There is no background.
        let screen = screen.replace("^[[49m", "").replace("^[[39m", "^[[0m");
        let screen = screen.replace("^[[0m^[[0m", "^[[0m");
        screen.replace("\n^[[0m", "^[[0m\n")
    }

    /// Everything that was written to the first screen, also what has scrolled out of it.
    pub(crate) fn history(&self) -> String {
        self.redacted(&self.tmux(&["capture-pane", "-p", "-J", "-S", "-"]))
    }

    /// What stands on the screen, once all of a frame does: after its last row is written the
    /// cursor stands there.
    fn settled(&self) -> Option<String> {
        let place = "#{alternate_on} #{cursor_x} #{cursor_y}";
        let both = ["capture-pane", "-p", ";", "display-message", "-p", place];
        let told = self.tmux(&both);
        let (screen, place) = told.trim_end().rsplit_once('\n')?;
        let (alternate, place) = place.split_once(' ')?;
        let rows = screen.lines().enumerate();
        let (at, last) = rows.filter(|(_, row)| !row.is_empty()).last()?;
        let end = format!("{} {at}", last.chars().count());
        let whole = alternate == "0" || place == end || !last.is_ascii();
        whole.then(|| self.redacted(screen))
    }

    /// Waits until the screen is as it should be, and shows it.
    pub(crate) fn until(&self, what: &str, is: impl Fn(&str) -> bool) -> String {
        loop {
            if let Some(screen) = self.settled().filter(|screen| is(screen)) {
                return screen;
            }
            let written = self.written.recv_timeout(SILENCE_MAX);
            assert!(
                written.is_ok(),
                "waited for {what}; the screen is\n{}",
                self.screen()
            );
        }
    }

    /// Waits until this stands on the screen.
    pub(crate) fn shows(&self, text: &str) -> String {
        self.until(&format!("{text:?}"), |screen| screen.contains(text))
    }

    /// Presses keys, then waits until this stands on the screen.
    pub(crate) fn after(&self, keys: &[&str], text: &str) -> String {
        self.press(keys);
        self.shows(text)
    }

    /// Waits for the end of the program, and tells its exit code.
    pub(crate) fn ended(&self) -> i32 {
        self.until("the end", |screen| screen.contains("the end"));
        let history = self.history();
        let code = history.rsplit_once("ended with ").unwrap().1;
        code.lines().next().unwrap().trim().parse().unwrap()
    }

    /// Whether the terminal is as it was before the program began.
    pub(crate) fn is_restored(&self) -> bool {
        self.read("before") == self.read("after")
    }

    /// What is different each time, by something of the same width.
    fn redacted(&self, screen: &str) -> String {
        let mut run = self.run.borrow_mut();
        // The title of a card begins in the first column, where no text of an agent does.
        let title = |row: &str| row.starts_with('c') && row.contains(" of run ");
        if run.is_none()
            && let Some(row) = screen.lines().find(|row| title(row))
            && let Some((_, rest)) = row.split_once(" of run ")
        {
            *run = rest.get(..6).map(str::to_owned);
        }
        let mut screen = screen.to_owned();
        if let Some(run) = &*run {
            screen = screen.replace(run, "b3e41f");
            // Names of files beside a target have two digits more.
            let longer = ".placet-b3e41f";
            while let Some(at) = screen.find(longer).map(|at| at + longer.len()) {
                let rest = screen.get(at + 2..).unwrap_or_default().to_owned();
                screen.truncate(at - longer.len());
                screen.push_str(".placet-RUNIDxx");
                screen.push_str(&rest);
            }
        }
        let stamp = |at: &usize| {
            let like = |(c, form): (char, char)| match form {
                '9' => c.is_ascii_digit(),
                form => c == form,
            };
            let form = "9999-99-99T99:99:99Z";
            let text = screen.get(*at..at + form.len());
            text.is_some_and(|text| text.chars().zip(form.chars()).all(like))
        };
        let stamps: Vec<usize> = (0..screen.len()).filter(stamp).collect();
        for at in stamps {
            screen.replace_range(at..at + 20, "2026-12-01T09:00:00Z");
        }
        screen
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // The server of this window, by its own socket.
        if self.dir.is_some() {
            drop(self.call(&["kill-server"]));
        }
    }
}
