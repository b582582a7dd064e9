//! What a person does beside approving and denying: programs of their own, amendments, questions,
//! leaving and stopping, several runs at once.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::tmux::{RUN, Start, Window};

/// A program of the person's, as a shell script in the folder of the window.
fn program(window: &Window, name: &str, text: &str) {
    let path = window.path(name);
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A window whose person has these programs: `./pager`, `./editor`.
fn with_programs(args: &[&str], pager: &str, editor: &str) -> Window {
    let env = [
        ("NO_COLOR", "1"),
        ("PAGER", "./pager"),
        ("EDITOR", "./editor"),
        ("LESSOPEN", "|touch opened"),
    ];
    let start = Start {
        args,
        env: &env,
        rows: 40,
        ..Start::default()
    };
    let window = start.window();
    program(&window, "pager", pager);
    program(&window, "editor", editor);
    window
}

/// Approves what is on the screen and sends it.
fn approve_all(window: &Window) {
    window.after(&["a"], "card 2 of 2");
    window.after(&["a"], "your answers");
    window.press(&["Enter"]);
    assert_eq!(window.ended(), 0, "{}", window.history());
    assert!(window.is_restored());
}

#[test]
fn the_whole_card_goes_through_the_pager() {
    let pager = "cat > paged; echo \"$LESSSECURE,$LESSOPEN.\" > how; stty -g < /dev/tty > lent";
    let window = with_programs(&RUN, pager, "false");
    window.shows("? help");
    window.press(&["v"]);
    window.until("the card again", |screen| {
        window.path("lent").exists() && screen.contains("? help")
    });
    assert_eq!(window.read("how"), "1,.\n");
    assert_eq!(window.read("lent"), window.read("before"));
    let paged = window.read("paged");
    assert!(paged.contains("    | +eggs\n"), "{paged}");
    assert!(paged.contains("  request        "), "{paged}");
    approve_all(&window);
}

#[test]
fn without_a_pager_the_whole_card_is_printed() {
    let env = [("NO_COLOR", "1"), ("PAGER", "no-such-pager")];
    let start = Start {
        env: &env,
        ..Start::default()
    };
    let window = start.window();
    window.shows("? help");
    window.after(&["v"], "no pager: any key goes back to the card");
    window.after(&["x"], "? help");
    assert!(window.history().is_empty() || !window.history().contains("x does nothing"));
    approve_all(&window);
    assert!(window.history().contains("  request        "));
}

#[test]
fn arguments_are_changed_in_the_editor_and_asked_for_anew() {
    let editor = "cp \"$1\" given; stat -c %a \"$1\" > mode; \
                  sed 's/eggs/bread/' given > \"$1.new\"; mv \"$1.new\" \"$1\"";
    let window = with_programs(&RUN, "true", editor);
    window.shows("? help");
    window.after(&["e"], "c2 is now c4, asked for anew");
    let screen = window.shows("? help");
    assert!(screen.contains("card 1 of 2"), "{screen}");
    assert!(screen.contains("+bread"), "{screen}");
    assert_eq!(window.read("mode"), "600\n");
    assert!(
        window
            .read("given")
            .contains("\"content\": \"milk\\neggs\\n\"")
    );
    approve_all(&window);
    assert_eq!(window.read("ws/notes.txt"), "milk\nbread\n");
}

#[test]
fn text_that_is_no_json_comes_back_and_nothing_is_changed_by_leaving_it() {
    let editor = "cp \"$1\" \"given.$(ls given.* 2>/dev/null | wc -l)\"; \
                  test -e given.1 || echo '{\"path\": ' > \"$1\"";
    let window = with_programs(&RUN, "true", editor);
    window.shows("? help");
    window.after(&["e"], "this is not JSON");
    window.press(&["e"]);
    window.until("the second try", |screen| {
        screen.contains("this is not JSON") && window.path("given.1").exists()
    });
    assert_eq!(window.read("given.1"), "{\"path\": \n");
    assert!(!window.history().contains("panicked"));
    approve_all(&window);
    assert_eq!(window.read("ws/notes.txt"), "milk\neggs\n");
}

#[test]
fn arguments_of_which_the_tool_makes_nothing_are_told_and_come_back() {
    let editor = "cp \"$1\" \"given.$(ls given.* 2>/dev/null | wc -l)\"; \
                  test -e given.1 || echo '{\"path\": \"../out\", \"content\": \"x\"}' > \"$1\"";
    let window = with_programs(&RUN, "true", editor);
    window.shows("? help");
    window.after(&["e"], "e opens your text again");
    window.press(&["e"]);
    window.until("the second try", |_| window.path("given.1").exists());
    assert!(window.read("given.1").contains("../out"));
    window.until("the card", |screen| {
        screen.contains("e opens your text again")
    });
    approve_all(&window);
}

#[test]
fn an_editor_that_fails_changes_nothing() {
    let window = with_programs(&RUN, "true", "exit 3");
    window.shows("? help");
    window.after(&["e"], "nothing is changed");
    approve_all(&window);
    assert_eq!(window.read("ws/notes.txt"), "milk\neggs\n");
}

/// Two writes in a row, in two turns.
const TWO_WRITES: &str = r#"
[[turn]]
calls = [{ id = "p1", tool = "write_file", args = { path = "one.txt", content = "1\n" } }]
[[turn]]
calls = [{ id = "p2", tool = "write_file", args = { path = "two.txt", content = "2\n" } }]
[[turn]]
calls = [{ id = "p3", tool = "write_file", args = { path = ".envrc", content = "3\n" } }]
[[turn]]
text = "Done."
"#;

#[test]
fn a_tool_that_is_always_allowed_asks_only_where_a_rule_always_asks() {
    let start = Start {
        script: TWO_WRITES,
        ..Start::default()
    };
    let window = start.window();
    window.after(&[], "t always write_file");
    window.after(&["t"], "approve, and always this tool");
    window.press(&["Enter"]);
    // The second write needs nobody; the third one is of a file that steers programs.
    let screen = window.until("the third write", |screen| {
        screen.contains(".envrc") && screen.contains("? help")
    });
    assert!(screen.contains("asked by always:environment"), "{screen}");
    assert!(!screen.contains("t always"), "{screen}");
    assert_eq!(window.read("ws/two.txt"), "2\n");
    window.after(&["a"], "your answers");
    window.press(&["Enter"]);
    assert_eq!(window.ended(), 0);
    assert_eq!(window.read("ws/.envrc"), "3\n");
}

#[test]
fn all_are_denied_with_one_note() {
    let window = Start::default().window();
    window.shows("? help");
    window.after(&["D"], "why none of them?");
    window.write("not today");
    window.after(&["Enter"], "your answers");
    window.press(&["Enter"]);
    assert_eq!(window.ended(), 0);
    let told = window.history();
    assert!(told.contains("c2 write_file: not today"), "{told}");
    assert!(told.contains("c3 rm: not today"), "{told}");
    assert_eq!(window.read("ws/notes.txt"), "milk\n");
}

/// Asks, then goes on with what it hears.
pub(super) const QUESTION: &str = r#"
[[turn]]
calls = [
  { id = "p1", tool = "ask_user", args = { question = "Which list?", options = ["food", "tools"] } },
]
[[turn]]
text = "Done."
"#;

#[test]
fn a_question_is_answered_in_a_line() {
    let start = Start {
        script: QUESTION,
        ..Start::default()
    };
    let window = start.window();
    let screen = window.shows("? help");
    assert!(screen.contains("the agent asks, not placet"), "{screen}");
    assert!(screen.contains("never asks for passwords"), "{screen}");
    assert!(!screen.contains("approve"), "{screen}");
    window.after(&["r"], "the agent reads it");
    window.write("food");
    window.after(&["Enter"], "answer: food");
    window.press(&["Enter"]);
    assert_eq!(window.ended(), 0);
}

#[test]
fn a_question_is_answered_in_the_editor_in_several_lines() {
    let env = [
        ("NO_COLOR", "1"),
        ("VISUAL", "printf 'food\\nand tools\\n' >"),
    ];
    let start = Start {
        script: QUESTION,
        env: &env,
        ..Start::default()
    };
    let window = start.window();
    window.shows("? help");
    window.after(&["e"], "answer: food (+1 lines, 10 bytes)");
    window.press(&["Enter"]);
    assert_eq!(window.ended(), 0);
}

#[test]
fn a_question_that_is_left_goes_on_waiting() {
    let start = Start {
        script: QUESTION,
        ..Start::default()
    };
    let window = start.window();
    window.shows("? help");
    window.after(&["n"], "left waiting");
    window.press(&["Enter"]);
    assert_eq!(window.ended(), 2);
    assert!(window.history().contains("ask_user"));
}

#[test]
fn a_run_is_parked_and_walked_again_from_the_inbox() {
    let window = Start::default().window();
    window.shows("? help");
    window.press(&["p"]);
    assert_eq!(window.ended(), 2);
    assert!(window.is_restored());
    assert_eq!(window.read("ws/notes.txt"), "milk\n");
    let told = window.history();
    assert!(told.contains("waits        c2 write_file"), "{told}");
    // The same home, now through the inbox.
    let again = window.again(&["inbox"]);
    again.shows("card 1 of 2");
    again.shows("? help");
    again.after(&["a"], "card 2 of 2");
    again.after(&["d"], "why not?");
    again.after(&["Enter"], "your answers");
    again.press(&["Enter"]);
    assert_eq!(again.ended(), 0, "{}", again.history());
    assert_eq!(again.read("ws/notes.txt"), "milk\neggs\n");
}

#[test]
fn the_inbox_walks_all_runs_and_one_can_be_left() {
    let window = Start::default().window();
    window.shows("? help");
    window.press(&["p"]);
    assert_eq!(window.ended(), 2);
    let second = window.again(&RUN);
    second.shows("? help");
    second.press(&["p"]);
    assert_eq!(second.ended(), 2);
    let inbox = second.again(&["inbox"]);
    inbox.shows("card 1 of 4");
    inbox.shows("? help");
    // The first run is left, the second one answered.
    inbox.after(&["p"], "card 3 of 4");
    inbox.shows("? help");
    inbox.after(&["a"], "card 4 of 4");
    let summary = inbox.after(&["a"], "your answers");
    assert_eq!(summary.matches("left waiting").count(), 2, "{summary}");
    assert_eq!(summary.matches(": approve").count(), 2, "{summary}");
    inbox.press(&["Enter"]);
    assert_eq!(inbox.ended(), 0, "{}", inbox.history());
    assert_eq!(inbox.read("ws/notes.txt"), "milk\neggs\n");
    let empty = inbox.again(&["inbox"]);
    empty.shows("card 1 of 2");
    empty.press(&["s"]);
    assert_eq!(empty.ended(), 130);
}

/// One write, which is killed when it is about to take place.
pub(super) const ONE_WRITE: &str = r#"
[[turn]]
calls = [
  { id = "p1", tool = "write_file", args = { path = "notes.txt", content = "milk\neggs\n" } },
]
[[turn]]
text = "Done."
"#;

/// A window over a call of which nobody knows whether it took effect.
pub(super) fn in_doubt(columns: usize, env: &[(&str, &str)]) -> Window {
    let args = [&RUN[..], &["--park", "--attend", "never"]].concat();
    let start = Start {
        columns,
        env,
        args: &args,
        script: ONE_WRITE,
        ..Start::default()
    };
    let window = start.window();
    assert_eq!(window.ended(), 2);
    let told = window.history();
    let run = told.split("\nrun ").nth(1).unwrap()[..6].to_owned();
    let placet = env!("CARGO_BIN_EXE_placet");
    let kill = "inject=renameat2:signal=SIGKILL:when=1";
    let strace = ["-f", "-qq", "-o", "trace", "-e", kill, placet];
    let approve = ["runs", "approve", &run];
    let killed = window.command("strace", &[&strace[..], &approve].concat());
    assert!(!killed.status.success());
    // Neither what was there nor what was to come: the tool cannot tell any more.
    for entry in fs::read_dir(window.path("ws")).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap() != "old.log" {
            fs::remove_file(path).unwrap();
        }
    }
    fs::write(window.path("ws/notes.txt"), "mine\n").unwrap();
    window.again(&["runs", "resume", &run, "--attend", "auto"])
}

#[test]
fn a_call_in_doubt_is_settled_with_words() {
    for (key, asks, word) in [
        (
            "y",
            "it took effect: how do you know?",
            "it took effect: I looked",
        ),
        (
            "n",
            "it did not take effect: how do you know?",
            "it did not: I looked",
        ),
    ] {
        let window = in_doubt(80, &[("NO_COLOR", "1")]);
        let screen = window.shows("? help");
        assert!(screen.contains("and nobody knows whether"), "{screen}");
        assert!(!screen.contains("approve"), "{screen}");
        window.after(&[key], asks);
        window.press(&["Enter"]);
        window.shows("write something, or Esc to go back");
        window.write("I looked");
        window.after(&["Enter"], word);
        window.press(&["Enter"]);
        assert_eq!(window.ended(), 0, "{}", window.history());
        assert_eq!(window.read("ws/notes.txt"), "mine\n");
    }
}

#[test]
fn a_call_in_doubt_can_be_left_so() {
    let window = in_doubt(80, &[("NO_COLOR", "1")]);
    window.shows("? help");
    window.after(&["l"], "left waiting");
    window.press(&["Enter"]);
    assert_eq!(window.ended(), 2);
    assert!(
        window.history().contains("in doubt"),
        "{}",
        window.history()
    );
}

#[test]
fn an_answer_that_comes_too_late_is_told_and_nothing_runs() {
    let args = [&RUN[..], &["--park-expiry", "1s"]].concat();
    let env = [("NO_COLOR", "1"), ("PAGER", "sleep 2; cat > paged")];
    let start = Start {
        args: &args,
        env: &env,
        ..Start::default()
    };
    let window = start.window();
    window.shows("? help");
    window.press(&["v"]);
    window.until("the card again", |screen| {
        window.path("paged").exists() && screen.contains("? help")
    });
    window.after(&["a"], "card 2 of 2");
    window.after(&["a"], "your answers");
    window.press(&["Enter"]);
    assert_eq!(window.ended(), 3, "{}", window.history());
    let told = window.history();
    assert!(told.contains("your answers were not recorded: "), "{told}");
    assert!(told.contains("expired"), "{told}");
    assert_eq!(window.read("ws/notes.txt"), "milk\n");
}

#[test]
fn a_command_line_at_a_terminal_shows_the_cards_that_it_answers() {
    let window = Start::default().window();
    window.shows("? help");
    window.press(&["p"]);
    assert_eq!(window.ended(), 2);
    let prefix = window.run();
    let reject = window.again(&["runs", "reject", &prefix, "--note", "no"]);
    assert_eq!(reject.ended(), 0);
    let told = reject.history();
    assert!(told.contains("c2 write_file of run"), "{told}");
    assert!(told.contains("    | +eggs"), "{told}");
}

#[test]
fn an_earlier_denial_of_the_same_target_is_on_the_card() {
    let again = ONE_WRITE.split("[[turn]]\ntext").next().unwrap();
    let again = again.to_owned() + &ONE_WRITE.replace("eggs", "bread");
    let start = Start {
        script: &again,
        ..Start::default()
    };
    let window = start.window();
    window.shows("? help");
    window.after(&["d"], "why not?");
    window.write("not that one");
    window.after(&["Enter"], "your answers");
    window.press(&["Enter"]);
    let screen = window.until("the next card", |screen| {
        screen.contains("c2 write_file") && screen.contains("? help")
    });
    let denied = "  denied before  c1 on the same target\n    | not that one\n";
    assert!(screen.contains(denied), "{screen}");
    window.press(&["s"]);
    assert_eq!(window.ended(), 130);
}
