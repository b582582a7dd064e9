//! Attempts at the terminal of a person who has just approved: characters in its input, and a card
//! of the command's own on its screen.

use std::fs;
use std::path::PathBuf;

use placet_ledger::containment::Part;
use serde_json::json;

use super::person::build;
use crate::terminal::tmux::{RUN, Start, Window};

/// What a command writes to look like a card, and presses to answer the next one.
const PLANTED: &str = "c9 ls of run b3e41f: may it run?";

/// An agent that wants a command, and then a file that is to be asked for.
fn agent() -> String {
    let call = |tool: &str, arguments: serde_json::Value| {
        format!(
            "[[turn]]\ntext = \"t\"\ncalls = [{{ id = \"p\", tool = \"{tool}\", \
             args_json = \"\"\"{}\"\"\" }}]\n",
            arguments
                .to_string()
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
        )
    };
    let file = json!({"path": "two.txt", "content": "2\n"});
    call(
        "execute_command",
        json!({"command": "./attack terminal > said"}),
    ) + &call("write_file", file)
        + "[[turn]]\ntext = \"Done.\"\n"
}

/// A folder with a program that becomes a lesser machine's.
struct Lesser(tempfile::TempDir);

impl Lesser {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        build("lesser.c", &folder.path().join("lesser"));
        Self(folder)
    }

    fn program(&self) -> PathBuf {
        self.0.path().join("lesser")
    }
}

/// A window in whose workspace the attack lies.
fn window(start: &Start<'_>) -> Window {
    let folder = start.folder();
    build("attack.c", &folder.path().join("ws/attack"));
    start.window_in(folder)
}

/// Tells the attack which terminal is the person's, and what to write there.
fn name_terminal(window: &Window) {
    let told = format!("{}\n{PLANTED}\n", window.terminal());
    fs::write(window.path("ws/terminal.new"), told).unwrap();
    fs::rename(window.path("ws/terminal.new"), window.path("ws/.terminal")).unwrap();
}

/// Approves the attack on a machine that lacks these parts; what it said of each way.
fn attacked(without: &[Part]) -> String {
    let lesser = Lesser::new();
    let lesser = lesser.program().to_str().unwrap().to_owned();
    let names: Vec<_> = without.iter().map(|part| part.as_str()).collect();
    let (names, placet) = (names.join(","), env!("CARGO_BIN_EXE_placet"));
    let full = [placet];
    let partial = [&lesser[..], &names, placet];
    let waiting = [&RUN[..], &["--park"]].concat();
    let start = Start {
        rows: 40,
        script: &agent(),
        args: &waiting,
        program: if without.is_empty() { &full } else { &partial },
        ..Start::default()
    };
    let window = window(&start);
    let card = window.shows("? help");
    name_terminal(&window);
    assert!(card.contains("c1 execute_command"), "{card}");
    for name in without.iter().map(|part| part.as_str()) {
        assert!(card.contains(name), "{card}");
    }
    window.after(&["a"], "your answers");
    window.press(&["Enter"]);
    let next = window.until("the second card", |screen| {
        screen.contains("c2 write_file") && screen.contains("? help")
    });
    // It waits still: nobody has pressed anything.
    let mut rows = next.lines();
    assert!(rows.all(|row| !row.contains(PLANTED)), "{next}");
    assert!(!next.contains("your answers"), "{next}");
    assert!(!window.path("ws/two.txt").exists());
    window.after(&["d"], "why not?");
    window.after(&["Enter"], "your answers");
    window.press(&["Enter"]);
    assert_eq!(window.ended(), 0, "{}", window.history());
    assert!(!window.path("ws/two.txt").exists());
    if without.is_empty() {
        assert!(!window.history().contains(PLANTED), "{}", window.history());
    }
    let said = window.read("ws/said");
    assert_eq!(said.matches("TIOCSTI").count(), 5, "{said}");
    said
}

/// Whether this kernel puts characters into a terminal for those whom it belongs to.
fn injects() -> bool {
    let allowed = fs::read_to_string("/proc/sys/dev/tty/legacy_tiocsti");
    // Before there was a switch every kernel did.
    allowed.is_err() || allowed.is_ok_and(|allowed| allowed.trim() == "1")
}

#[test]
fn a_program_of_the_persons_reaches_their_terminal() {
    let script = "cd ws; until test -s .terminal; do sleep 0.05; done; ./attack terminal > said; \
                  IFS= read -r got; echo \"read <$got>\"";
    let start = Start {
        program: &["sh", "-c", script],
        args: &[],
        ..Start::default()
    };
    let window = window(&start);
    name_terminal(&window);
    window.shows(PLANTED);
    let said = window.until("what was said", |_| {
        let said = fs::read_to_string(window.path("ws/said"));
        said.is_ok_and(|said| said.matches("TIOCSTI").count() == 5)
    });
    let ways = window.read("ws/said");
    assert_eq!(ways.matches(": wrote").count(), 2, "{ways} {said}");
    // What is forbidden to everybody proves nothing of placet, so it is told apart here.
    if injects() {
        assert!(ways.contains("/dev/tty: open, TIOCSTI worked"), "{ways}");
    } else if !ways.contains("TIOCSTI worked") {
        window.press(&["y", "Enter"]);
    }
    window.shows("read <y>");
}

#[test]
fn a_command_reaches_no_terminal() {
    let said = attacked(&[]);
    assert!(
        !said.contains("worked") && !said.contains("wrote"),
        "{said}"
    );
}

#[test]
fn without_mounts_the_rules_keep_a_command_from_the_terminal() {
    let said = attacked(&[Part::Mounts]);
    assert!(
        !said.contains("worked") && !said.contains("wrote"),
        "{said}"
    );
}

#[test]
fn without_anything_a_command_draws_and_presses_no_key() {
    let said = attacked(&Part::ALL);
    assert!(!said.contains("worked"), "{said}");
    // Its session has no terminal, but the person's can be opened by its name.
    assert!(!said.contains("/dev/tty: wrote"), "{said}");
    let written = said.lines().filter(|line| line.ends_with(": wrote"));
    let written: Vec<_> = written.collect();
    assert!(
        written.len() == 1 && written[0].starts_with("/dev/pts/"),
        "{said}"
    );
}
