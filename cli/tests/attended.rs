//! A person at a terminal, in-process: keys from a list, frames into another. What needs a real
//! terminal is in `terminal`.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};

use placet::terminal::{Happening, Key, Size, Terminal};
use placet_engine::stop::Stop;

use crate::support::World;

/// What happened at a terminal.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) frames: Vec<String>,
    paged: Vec<String>,
    edited: Vec<String>,
    entered: usize,
    left: usize,
}

/// A terminal of which keys, size and editor are given.
struct Scripted {
    happenings: VecDeque<io::Result<Happening>>,
    size: Size,
    edits: VecDeque<io::Result<String>>,
    log: Arc<Mutex<Log>>,
}

impl Terminal for Scripted {
    fn size(&self) -> Size {
        self.size
    }

    fn enter(&mut self) -> io::Result<()> {
        self.log.lock().unwrap().entered += 1;
        Ok(())
    }

    fn leave(&mut self) {
        self.log.lock().unwrap().left += 1;
    }

    fn draw(&mut self, rows: &[String]) -> io::Result<()> {
        assert!(rows.len() <= self.size.rows, "{rows:#?}");
        self.log.lock().unwrap().frames.push(rows.join("\n"));
        Ok(())
    }

    fn discard(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn next(&mut self, _stop: &Stop) -> io::Result<Happening> {
        let next = self.happenings.pop_front();
        next.unwrap_or_else(|| Err(io::Error::other("no key is left")))
    }

    fn page(&mut self, text: &str, _stop: &Stop) -> io::Result<()> {
        self.log.lock().unwrap().paged.push(text.to_owned());
        Ok(())
    }

    fn edit(&mut self, text: &str, _suffix: &str) -> io::Result<String> {
        self.log.lock().unwrap().edited.push(text.to_owned());
        let edit = self.edits.pop_front();
        edit.unwrap_or_else(|| Err(io::Error::other("no editor")))
    }
}

/// Keys by their characters; `>` is Enter.
pub(crate) fn keys(text: &str) -> VecDeque<io::Result<Happening>> {
    let key = |c| match c {
        '>' => Key::Enter,
        c => Key::Char(c),
    };
    text.chars().map(|c| Ok(Happening::Key(key(c)))).collect()
}

/// A person who does this, and what comes of a call at their terminal.
pub(crate) fn at(
    world: &World,
    happenings: VecDeque<io::Result<Happening>>,
    edits: Vec<io::Result<String>>,
    args: &[&str],
) -> (crate::support::Output, Log) {
    let log = Arc::new(Mutex::new(Log::default()));
    let terminal = Scripted {
        happenings,
        size: Size {
            columns: 80,
            rows: 24,
        },
        edits: edits.into(),
        log: Arc::clone(&log),
    };
    let output = world.call_at(args, Some(Box::new(terminal)));
    let log = std::mem::take(&mut *log.lock().unwrap());
    (output, log)
}

const RUN: [&str; 6] = [
    "run",
    "--model",
    "script:tidy.toml",
    "--workspace",
    "ws",
    "Tidy up.",
];

fn notes(world: &World) -> String {
    std::fs::read_to_string(world.path("ws/notes.txt")).unwrap()
}

#[test]
fn a_run_is_walked_answered_in_one_set_and_driven_to_its_end() {
    let world = World::new();
    let (output, log) = at(&world, keys("adno>>"), Vec::new(), &RUN);
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert_eq!(notes(&world), "milk\neggs\n");
    assert!(world.path("ws/old.log").exists());
    assert!(output.stdout.contains("c3 rm: no"), "{}", output.stdout);
    assert_eq!((log.entered, log.left), (1, 1));
    // One set: both answers have one id, at a terminal.
    let told = world.call(&["--json", "audit", "log", "--type", "approval.granted"]);
    assert!(told.stdout.contains("\"terminal\""), "{}", told.stdout);
}

#[test]
fn nothing_of_the_dialog_is_on_standard_output() {
    let world = World::new();
    let (output, _) = at(&world, keys("aa>"), Vec::new(), &RUN);
    assert!(!output.stdout.contains("may it run?"), "{}", output.stdout);
    assert!(output.stdout.starts_with("run "), "{}", output.stdout);
}

#[test]
fn the_terminal_is_given_back_however_the_dialog_ends() {
    let stopped = || VecDeque::from([Ok(Happening::Stopped)]);
    for (happenings, code) in [
        (keys("s"), 130),
        (keys("p"), 2),
        (keys("aas"), 130),
        (keys("dn"), 1),
        (keys(""), 1),
        (stopped(), 130),
    ] {
        let world = World::new();
        let (output, log) = at(&world, happenings, Vec::new(), &RUN);
        assert_eq!(output.code, code, "{}", output.stderr);
        assert_eq!((log.entered, log.left), (1, 1));
        assert_eq!(notes(&world), "milk\n");
    }
}

#[test]
fn json_and_attend_never_ask_nobody() {
    for more in [&["--json"][..], &["--attend", "never"]] {
        let world = World::new();
        let args = [&RUN[..], more, &["--park"]].concat();
        let (output, log) = at(&world, keys(""), Vec::new(), &args);
        assert_eq!(output.code, 2, "{}", output.stderr);
        assert_eq!(log.entered, 0);
    }
}

#[test]
fn a_run_that_was_parked_is_asked_about_again_only_if_that_is_wanted() {
    let world = World::parked();
    let run = &world.run()[..8];
    let (output, log) = at(&world, keys(""), Vec::new(), &["runs", "resume", run]);
    assert_eq!((output.code, log.entered), (2, 0), "{}", output.stderr);
    let args = ["runs", "resume", run, "--attend", "auto"];
    let (output, log) = at(&world, keys("aa>"), Vec::new(), &args);
    assert_eq!((output.code, log.entered), (0, 1), "{}", output.stderr);
    assert_eq!(notes(&world), "milk\neggs\n");
}

#[test]
fn an_amendment_keeps_what_was_decided_about_the_other_cards() {
    let world = World::new();
    let edits = vec![Ok(r#"{"path": "old.txt"}"#.to_owned())];
    std::fs::write(world.path("ws/old.txt"), "old\n").unwrap();
    let (output, log) = at(&world, keys("aea>"), edits, &RUN);
    assert_eq!(output.code, 0, "{}", output.stderr);
    let given = "{\n  \"path\": \"old.log\",\n  \"recursive\": false\n}\n";
    assert_eq!(log.edited, [given]);
    assert_eq!(notes(&world), "milk\neggs\n");
    assert!(world.path("ws/old.log").exists());
    assert!(!world.path("ws/old.txt").exists());
    let summary = log.frames.last().unwrap();
    assert!(summary.contains("c2 write_file"), "{summary}");
    assert!(summary.contains("c4 rm"), "{summary}");
}

#[test]
fn an_amendment_that_nobody_needs_to_be_asked_about_goes_on_at_once() {
    let script = "[[turn]]\ncalls = [{ id = \"p1\", tool = \"write_file\", \
                  args = { path = \".envrc\", content = \"x\\n\" } }]\n\
                  [[turn]]\ntext = \"Done.\"\n";
    let world = World::with_script(script);
    let edits = vec![Ok(r#"{"path": "notes.txt", "content": "x\n"}"#.to_owned())];
    let args = [&RUN[..], &["--approval-policy", "high-risk"]].concat();
    let (output, _) = at(&world, keys("e"), edits, &args);
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert_eq!(notes(&world), "x\n");
    assert!(!world.path("ws/.envrc").exists());
}

#[test]
fn the_same_arguments_again_are_no_amendment() {
    let world = World::new();
    let edits = vec![
        Ok("{\"path\":\"notes.txt\",\"content\":\"milk\\neggs\\n\"}".to_owned()),
        Ok("not json".to_owned()),
        Err(io::Error::other("the editor is gone")),
    ];
    let (output, log) = at(&world, keys("eeep"), edits, &RUN);
    assert_eq!(output.code, 2, "{}", output.stderr);
    assert_eq!(log.edited.len(), 3);
    assert_eq!(log.edited[2], "not json");
    let told = log.frames.join("\n");
    assert!(told.contains("nothing was changed"), "{told}");
    assert!(told.contains("this is not JSON: expected"), "{told}");
    assert!(told.contains("the editor is gone"), "{told}");
}

#[test]
fn the_inbox_is_listed_where_its_output_goes_to_a_program() {
    let world = World::parked();
    let (output, log) = at(&world, keys(""), Vec::new(), &["inbox"]);
    // Standard output is no terminal here.
    assert_eq!((output.code, log.entered), (0, 0));
    assert!(output.stdout.contains("may it run?"));
}

#[test]
fn the_inbox_asks_and_goes_on_with_every_run_that_got_answers() {
    let mut world = World::parked();
    world.start("Once more.");
    world.terminal = true;
    let (output, log) = at(&world, keys("paa>"), Vec::new(), &["inbox"]);
    assert_eq!((output.code, log.entered), (0, 1), "{}", output.stderr);
    assert_eq!(notes(&world), "milk\neggs\n");
    let (output, _) = at(&world, keys("D>>"), Vec::new(), &["inbox"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    let (output, log) = at(&world, keys(""), Vec::new(), &["inbox"]);
    assert_eq!((output.code, log.entered), (0, 0));
    assert!(output.stderr.contains("nothing waits for an answer"));
}

#[test]
fn events_go_to_standard_output_while_a_person_is_asked() {
    let world = World::new();
    let args = [&RUN[..], &["--events"]].concat();
    let (output, log) = at(&world, keys("aa>"), Vec::new(), &args);
    assert_eq!((output.code, log.entered), (0, 1), "{}", output.stderr);
    for line in output.stdout.lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(event["record"].is_object(), "{line}");
    }
    assert!(output.stdout.contains("run.finished"));
    // No row is drawn over on a screen that both streams may share.
    for drawn in ["asking the model", "Done.", "\r"] {
        assert!(!output.stderr.contains(drawn), "{}", output.stderr);
    }
}

/// How often the model's last words stand on each stream, and whether the report has a last text.
fn said(output: &crate::support::Output, words: &str) -> (usize, usize, bool) {
    let count = |text: &str| text.matches(words).count();
    let report = output.stdout.contains("  last text\n");
    (count(&output.stdout), count(&output.stderr), report)
}

#[test]
fn what_was_shown_as_it_arrived_is_not_said_again_on_the_same_terminal() {
    // At its end, and where it was parked.
    for (pressed, words) in [("aa>", "| Done."), ("p", "| I add the eggs")] {
        for (redirected, expected) in [(false, (0, 1, false)), (true, (1, 1, true))] {
            let mut world = World::new();
            (world.terminal, world.redirected) = (true, redirected);
            let (output, _) = at(&world, keys(pressed), Vec::new(), &RUN);
            // The last row is drawn again with each piece of it, and at its end.
            let (stdout, stderr, report) = said(&output, words);
            let told = (stdout, stderr.min(1), report);
            assert_eq!(told, expected, "{}\n{}", output.stdout, output.stderr);
        }
    }
}

#[test]
fn what_nobody_saw_arrive_is_said_in_the_report() {
    // Quietly nothing is shown as it arrives.
    let mut world = World::new();
    world.terminal = true;
    let quiet = [&["--quiet"][..], &RUN].concat();
    let (output, _) = at(&world, keys("aa>"), Vec::new(), &quiet);
    assert_eq!(said(&output, "| Done."), (1, 0, true), "{}", output.stderr);
    // In another process it was said before.
    let mut world = World::parked();
    world.terminal = true;
    let run = world.run()[..8].to_owned();
    let (output, _) = at(&world, keys(""), Vec::new(), &["runs", "resume", &run]);
    let said = said(&output, "| I add the eggs");
    assert_eq!(said, (1, 0, true), "{}", output.stderr);
}

#[test]
fn of_each_run_of_the_inbox_that_is_left_out_which_was_shown_of_it() {
    let mut world = World::parked();
    world.start("Once more.");
    world.terminal = true;
    // Both are denied and end with the same words, each shown as it arrived.
    let (output, _) = at(&world, keys("D>>"), Vec::new(), &["inbox"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert!(!output.stdout.contains("last text"), "{}", output.stdout);
    assert!(
        output.stderr.matches("| Done.\n").count() == 2,
        "{}",
        output.stderr
    );
}

#[test]
fn a_cut_card_is_approved_at_the_second_press_and_not_after_another_size() {
    let long = "egg\\n".repeat(60);
    let script = format!(
        "[[turn]]\ncalls = [{{ id = \"p1\", tool = \"write_file\", \
         args = {{ path = \"notes.txt\", content = \"{long}\" }} }}]\n\
         [[turn]]\ntext = \"Done.\"\n"
    );
    let resized = || Ok(Happening::Resized);
    let key = |c| Ok(Happening::Key(Key::Char(c)));
    let enter = || Ok(Happening::Key(Key::Enter));
    for (happenings, code) in [
        (vec![key('a'), key('a'), enter()], 0),
        (vec![key('t'), key('t'), enter()], 0),
        (vec![key('A'), key('A'), enter()], 0),
        (vec![key('v'), key('a'), enter()], 0),
        // None of these reaches the summary: no key is left, or Enter does nothing.
        (vec![key('a'), enter()], 1),
        (vec![key('a'), resized(), key('a'), enter()], 1),
        (vec![key('a'), key('t'), enter()], 1),
        (vec![key('A'), key('a'), enter()], 1),
    ] {
        let world = World::with_script(&script);
        let (output, log) = at(&world, happenings.into(), Vec::new(), &RUN);
        assert_eq!(output.code, code, "{}", log.frames.join("\n"));
        let written = if code == 0 {
            "egg\n".repeat(60)
        } else {
            "milk\n".into()
        };
        assert_eq!(notes(&world), written);
    }
}
