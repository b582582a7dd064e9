//! A watch of which the test is the pause: what happens between two looks happens in it.

use std::collections::BTreeSet;
use std::io::{Cursor, Error, ErrorKind, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use placet_engine::stop::Stop;

use super::*;
use crate::args::{Color, GlobalArgs};
use crate::io::Io;
use crate::ui::Printer;

const SCRIPT: &str = r#"
[[turn]]
text = "I drop the log."
usage = { input = 1, output = 1 }
calls = [{ id = "p1", tool = "rm", args = { path = "old.log" } }]

[[turn]]
text = "Done."
usage = { input = 1, output = 1 }
"#;

/// What was written; a pipe that is closed takes nothing.
#[derive(Clone, Default)]
struct Output {
    bytes: Arc<Mutex<Vec<u8>>>,
    closed: bool,
}

impl Output {
    /// What was written since the last time.
    fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.bytes.lock().unwrap())).unwrap()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.closed {
            return Err(Error::from(ErrorKind::BrokenPipe));
        }
        self.bytes.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn io(dir: &Path, stdout: &Output, stderr: &Output) -> Io {
    let at = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let env = [
        ("HOME", at("person")),
        ("XDG_STATE_HOME", at("state")),
        ("XDG_DATA_HOME", at("data")),
    ];
    Io {
        stdin: Box::new(Cursor::new(Vec::new())),
        stdout: Box::new(stdout.clone()),
        stderr: Box::new(stderr.clone()),
        cwd: dir.to_owned(),
        env: env.map(|(key, value)| (key.to_owned(), value)).into(),
        env_not_utf8: BTreeSet::new(),
        stdout_is_terminal: false,
        stderr_is_terminal: false,
        terminal: None,
        lent: Arc::default(),
        uid: rustix::process::geteuid().as_raw(),
        signals: false,
        stop: Stop::default(),
        terminated: Arc::default(),
        program: None,
    }
}

/// A folder with a script and a workspace, and the command line in it.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("ws")).unwrap();
        std::fs::write(dir.path().join("ws/old.log"), "debug\n").unwrap();
        std::fs::write(dir.path().join("tidy.toml"), SCRIPT).unwrap();
        Self(dir)
    }

    fn call(&self, args: &[&str]) -> (u8, String) {
        let (stdout, stderr) = (Output::default(), Output::default());
        let args = std::iter::once("placet").chain(args.iter().copied());
        let mut io = io(self.0.path(), &stdout, &stderr);
        let status = crate::run(args.map(Into::into).collect(), &mut io);
        (status.code(), stdout.take() + &stderr.take())
    }

    /// Starts a run that waits for an answer.
    fn start(&self) -> String {
        let (model, prompt) = ("script:tidy.toml", "Tidy up.");
        let run = ["--json", "run", "--model", model, "--workspace", "ws"];
        let (code, shown) = self.call(&[&run[..], &["--park", prompt]].concat());
        assert_eq!(code, 2, "{shown}");
        let report: serde_json::Value =
            serde_json::from_str(shown.lines().next().unwrap()).unwrap();
        report["run"].as_str().unwrap().to_owned()
    }

    /// Watches; `pause` is called between two looks with what was shown since the last, and says
    /// whether to look again.
    fn watch(
        &self,
        run: Option<&str>,
        json: bool,
        pause: &mut dyn FnMut(String, String) -> bool,
    ) -> (ExitStatus, String) {
        self.watch_into(&Output::default(), run, json, pause)
    }

    fn watch_into(
        &self,
        stdout: &Output,
        run: Option<&str>,
        json: bool,
        pause: &mut dyn FnMut(String, String) -> bool,
    ) -> (ExitStatus, String) {
        let stderr = Output::default();
        let mut io = io(self.0.path(), stdout, &stderr);
        let global = GlobalArgs {
            home: None,
            json,
            quiet: false,
            color: Color::Never,
            config: None,
        };
        let printer = Printer::new(&mut io, json, false, Color::Never);
        let mut wiring = Wiring::new(global, printer).unwrap();
        let run = run.map(str::to_owned);
        let done = follow(WatchArgs { run }, &mut wiring, &mut |_| {
            pause(stdout.take(), stderr.take())
        });
        (done.unwrap(), stdout.take())
    }
}

/// The type of the record of each line.
fn types(shown: &str) -> Vec<&str> {
    shown
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            words.find(|word| Event::NAMES.contains(word))
        })
        .collect()
}

#[test]
fn a_run_is_followed_from_its_first_record_to_its_last() {
    let place = Place::new();
    let run = place.start();
    let mut seen = Vec::new();
    let (status, last) = place.watch(Some(&run[..8]), false, &mut |shown, told| {
        assert_eq!(told, "");
        seen.push(shown);
        match seen.len() {
            // Nothing happens before the second look.
            1 => true,
            2 => place.call(&["runs", "approve", &run[..8]]).0 == 0,
            looks => panic!("{looks} looks at a run that is finished"),
        }
    });
    assert_eq!(status, ExitStatus::Done);
    assert_eq!(types(&seen[0]).first(), Some(&"run.started"));
    assert_eq!(types(&seen[0]).last(), Some(&"run.parked"));
    assert_eq!(seen[1], "");
    assert_eq!(types(&last).first(), Some(&"approval.granted"));
    assert_eq!(types(&last).last(), Some(&"run.finished"));
    // Line for line what `runs show` has.
    let page = place.call(&["runs", "show", &run[..8]]).1;
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let page: Vec<String> = page.lines().map(squeezed).collect();
    for line in seen[0].lines().chain(last.lines()) {
        assert!(page.contains(&squeezed(line)), "{line}");
    }
}

#[test]
fn a_run_that_is_finished_is_shown_once() {
    let place = Place::new();
    let run = place.start();
    assert_eq!(place.call(&["runs", "cancel", &run, "--note", "no"]).0, 0);
    let (status, shown) = place.watch(Some(&run), false, &mut |_, _| unreachable!());
    assert_eq!(status, ExitStatus::Done);
    assert_eq!(types(&shown).last(), Some(&"run.finished"));
}

#[test]
fn every_run_is_followed_from_now_on() {
    let place = Place::new();
    let first = place.start();
    let mut looks = 0;
    let mut second = String::new();
    let (status, rest) = place.watch(None, false, &mut |shown, _| {
        looks += 1;
        match looks {
            1 => {
                assert_eq!(shown, "", "what was there before is not shown");
                second = place.start();
                true
            }
            2 => {
                let started = shown.lines().next().unwrap();
                assert!(started.contains(&format!(" {}", &second[..6])), "{started}");
                assert!(started.contains("run.started"), "{started}");
                place.call(&["runs", "cancel", &first, "--note", "no"]).0 == 0
            }
            _ => {
                assert_eq!(types(&shown).last(), Some(&"run.finished"));
                false
            }
        }
    });
    assert_eq!((status, rest.as_str()), (ExitStatus::Interrupted, ""));
    assert_eq!(looks, 3);
}

#[test]
fn a_line_of_json_is_an_event_of_the_log() {
    let place = Place::new();
    let run = place.start();
    assert_eq!(place.call(&["runs", "approve", &run]).0, 0);
    let (_, shown) = place.watch(Some(&run), true, &mut |_, _| unreachable!());
    let log = place.call(&["--json", "audit", "log", "--run", &run]).1;
    let log: serde_json::Value = serde_json::from_str(&log).unwrap();
    let line = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    let lines: Vec<_> = shown.lines().map(line).collect();
    assert_eq!(log["events"].as_array().unwrap(), &lines);
}

#[test]
fn whoever_comes_while_a_watch_holds_the_ledger_is_served() {
    let place = Place::new();
    let run = place.start();
    let home = place.0.path().join("data/placet");
    let socket = home.join("socket");
    let mut looks = 0;
    place.watch(None, false, &mut |_, told| {
        assert_eq!(told, "");
        looks += 1;
        assert!(socket.exists(), "the watch serves the ledger");
        // Another one reads and writes through it, and is not kept waiting.
        assert_eq!(place.call(&["runs", "show", &run]).0, 0);
        if looks == 1 {
            return place.call(&["runs", "cancel", &run, "--note", "no"]).0 == 0;
        }
        false
    });
    assert_eq!(looks, 2);
    assert!(!socket.exists(), "nothing is served once the watch is over");
}

#[test]
fn a_ledger_that_takes_no_writes_is_not_watched() {
    let place = Place::new();
    let run = place.start();
    std::fs::remove_dir_all(place.0.path().join("state")).unwrap();
    let (code, shown) = place.call(&["runs", "watch", &run]);
    assert_eq!(code, 6, "{shown}");
    assert!(
        shown.contains("the head file of the store is missing"),
        "{shown}"
    );
}

#[test]
fn a_run_that_is_not_there_is_named() {
    let place = Place::new();
    place.start();
    let (code, shown) = place.call(&["runs", "watch", "ffffffffffff"]);
    assert_eq!(code, 4, "{shown}");
    assert!(
        shown.contains("hint: placet runs list --all names every run"),
        "{shown}"
    );
}

#[test]
fn a_watch_that_nobody_reads_any_more_ends() {
    let place = Place::new();
    let run = place.start();
    let closed = Output {
        closed: true,
        ..Output::default()
    };
    let (status, _) = place.watch_into(&closed, Some(&run), false, &mut |_, _| unreachable!());
    assert_eq!(status, ExitStatus::Done);
}
