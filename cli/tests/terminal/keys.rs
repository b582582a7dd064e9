//! Each key at a card, a note, the help and the summary, with the screens that they lead to.

use super::golden;
use super::people::{QUESTION, in_doubt};
use super::tmux::{Start, Window};
use crate::support::SCRIPT;

/// A width, and whether there is colour.
#[derive(Clone, Copy)]
struct Looks(usize, bool);

const LOOKS: [Looks; 4] = [
    Looks(80, false),
    Looks(80, true),
    Looks(40, false),
    Looks(40, true),
];

impl Looks {
    fn window(self, script: &str) -> Window {
        let programs = [
            ("PAGER", "cat > paged.part; mv paged.part paged"),
            ("EDITOR", "sed -i s/eggs/bread/"),
        ];
        let plain = [&programs[..], &[("NO_COLOR", "1")]].concat();
        let Self(columns, color) = self;
        Start {
            columns,
            script,
            env: if color { &programs } else { &plain },
            ..Start::default()
        }
        .window()
    }

    /// Presses a key that only warns, where the first card is cut: on the narrow screen.
    fn warned(self, name: &str, window: &Window, key: &str, warns: &str) {
        let Self(columns, _) = self;
        if columns == 40 {
            window.after(&[key], warns);
            self.golden(name, window);
        }
    }

    fn golden(self, name: &str, window: &Window) {
        let Self(columns, color) = self;
        let (screen, look) = if color {
            (window.colors(), "colour")
        } else {
            (window.screen(), "plain")
        };
        golden(&format!("{name}-{columns}-{look}"), &screen);
    }
}

#[test]
fn approve_deny_back_and_all_of_what_is_left() {
    for look in LOOKS {
        let window = look.window(SCRIPT);
        window.shows("? help");
        look.golden("card", &window);
        window.after(&["A"], "A comes after every card");
        look.golden("too-early", &window);
        window.after(&["x"], "x does nothing here");
        look.golden("no-such-key", &window);
        window.after(&["?"], "any key goes back");
        look.golden("help", &window);
        window.after(&["x"], "? help");
        look.warned("cut", &window, "a", "a again approves");
        window.after(&["a"], "A approve all");
        look.golden("last-card", &window);
        window.after(&["d"], "why not?");
        window.write("keep the log, I need it to find out what went wrong last night");
        window.until("the whole note", |screen| screen.contains("night_"));
        look.golden("note", &window);
        window.after(&["Enter"], "your answers");
        look.golden("summary", &window);
        window.after(&["b"], "your answer so far: deny");
        look.golden("decided", &window);
        window.after(&["A"], "your answers");
        window.press(&["Enter"]);
        assert_eq!(window.ended(), 0);
        assert_eq!(window.read("ws/notes.txt"), "milk\neggs\n");
        assert_eq!(window.read("ws/old.log"), "debug 1\n");
        let told = window.history();
        assert!(told.contains("denied       c3 rm: keep the log"), "{told}");
        // What the model said last was shown as it arrived, and is not said again.
        assert_eq!(told.matches("    | Done.\n").count(), 1, "{told}");
        assert!(!told.contains("last text"), "{told}");
        assert!(window.is_restored());
    }
}

#[test]
fn view_edit_always_and_deny_all() {
    for look in LOOKS {
        let window = look.window(SCRIPT);
        window.shows("? help");
        window.press(&["v"]);
        window.until("the card again", |screen| {
            window.path("paged").exists() && screen.contains("? help")
        });
        look.golden("card", &window);
        window.after(&["e"], "c2 is now c4, asked for anew");
        look.golden("amended", &window);
        window.after(&["t"], "t again approves");
        look.golden("always-cut", &window);
        window.after(&["t"], "allowed once you send");
        look.golden("always", &window);
        window.after(&["D"], "why none of them?");
        window.write("no");
        window.until("the note", |screen| screen.contains("no_"));
        look.golden("deny-all", &window);
        window.after(&["Enter"], "your answers");
        look.golden("all-denied", &window);
        window.press(&["Enter"]);
        assert_eq!(window.ended(), 0);
        assert_eq!(window.read("ws/notes.txt"), "milk\n");
        assert!(window.is_restored());
    }
}

#[test]
fn park_the_inbox_and_stop() {
    for look in LOOKS {
        let window = look.window(SCRIPT);
        window.shows("? help");
        window.press(&["p"]);
        assert_eq!(window.ended(), 2);
        let inbox = window.again(&["inbox"]);
        inbox.shows("? help");
        look.golden("card", &inbox);
        inbox.press(&["s"]);
        assert_eq!(inbox.ended(), 130);
        assert!(inbox.is_restored());
    }
}

#[test]
fn answer_a_question_and_leave_it() {
    for look in LOOKS {
        let window = look.window(QUESTION);
        window.shows("? help");
        look.golden("question", &window);
        window.after(&["r"], "the agent reads it");
        window.write("food");
        window.until("the reply", |screen| screen.contains("food_"));
        look.golden("reply", &window);
        window.after(&["Enter"], "answer: food");
        look.golden("replied", &window);
        window.after(&["b"], "your answer so far: answer: food");
        window.after(&["n"], "left waiting");
        look.golden("question-left", &window);
        window.press(&["p"]);
        assert_eq!(window.ended(), 2);
        assert!(window.is_restored());
    }
}

#[test]
fn settle_a_doubt_or_leave_it() {
    for look in LOOKS {
        let Looks(columns, color) = look;
        let env: &[(&str, &str)] = if color { &[] } else { &[("NO_COLOR", "1")] };
        let window = in_doubt(columns, env);
        window.shows("? help");
        look.golden("in-doubt", &window);
        window.after(&["n"], "it did not take effect");
        window.write("no");
        window.until("the note", |screen| screen.contains("no_"));
        look.golden("settling", &window);
        window.after(&["Escape"], "? help");
        window.after(&["y"], "it took effect");
        window.write("yes");
        window.after(&["Enter"], "your answers");
        look.golden("settled", &window);
        window.after(&["b"], "your answer so far");
        window.after(&["l"], "your answers");
        window.press(&["s"]);
        assert_eq!(window.ended(), 130);
        assert!(window.is_restored());
    }
}

/// A word of a line becomes another, and a line is added.
const WORDS: &str = r#"
[[turn]]
calls = [
  { id = "p1", tool = "write_file", args = { path = "notes.txt", content = "oat milk\neggs\n" } },
]
"#;

#[test]
fn words_that_changed_are_set_apart() {
    for look in LOOKS {
        let window = look.window(WORDS);
        window.shows("? help");
        look.golden("changed-words", &window);
        look.warned("all-cut", &window, "A", "again approves all");
        window.press(&["C-c"]);
        assert_eq!(window.ended(), 130);
    }
}
