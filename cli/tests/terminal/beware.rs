//! What is to be known of a call before it is approved stands on the first screen, in words, at
//! both widths.

use super::golden;
use super::people::ONE_WRITE;
use super::tmux::{Start, Window};

const WIDTHS: [usize; 2] = [80, 40];

fn window(script: &str, columns: usize) -> Window {
    let programs = [
        ("NO_COLOR", "1"),
        ("PAGER", "cat > paged.part; mv paged.part paged"),
        ("EDITOR", "sed -i s/eggs/bread/"),
    ];
    let start = Start {
        columns,
        script,
        env: &programs,
        ..Start::default()
    };
    let window = start.window();
    window.shows("? help");
    window
}

/// The card with this title, as it was kept.
fn card(window: &Window, title: &str, name: &str, columns: usize) -> String {
    let screen = window.until(title, |screen| {
        screen.contains(title) && screen.contains("? help")
    });
    golden(&format!("{name}-{columns}-plain"), &screen);
    window.press(&["s"]);
    assert_eq!(window.ended(), 130);
    // The words of the screen, wherever it breaks them.
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Looks at the whole card, and approves it.
fn approve(window: &Window, then: &str) {
    window.press(&["v"]);
    window.until("the pager and the card again", |screen| {
        window.path("paged").exists() && screen.contains("? help")
    });
    window.after(&["a"], then);
}

/// The same write once more after the first turn.
fn again(content: &str) -> String {
    let first = ONE_WRITE.split("[[turn]]\ntext").next().unwrap();
    first.to_owned() + &ONE_WRITE.replace("eggs", content)
}

#[test]
fn that_its_target_was_denied_before() {
    for columns in WIDTHS {
        let window = window(&again("bread"), columns);
        window.after(&["d"], "why not?");
        window.write("not that one");
        window.after(&["Enter"], "your answers");
        window.press(&["Enter"]);
        let words = card(&window, "c2 write_file of run", "denied-before", columns);
        let denied = "denied before c1 on the same target | not that one";
        assert!(words.contains(denied), "{words}");
    }
}

#[test]
fn that_a_person_changed_the_same_call_before() {
    for columns in WIDTHS {
        let window = window(&again("eggs"), columns);
        window.press(&["e"]);
        // The new card with its keys, not what is left of the old one below it.
        window.until("the amended card", |screen| {
            screen.contains("c1 is now c2, asked for anew")
                && screen.contains("c2 write_file of run")
                && screen.contains("? help")
        });
        approve(&window, "your answers");
        window.press(&["Enter"]);
        let words = card(&window, "c3 write_file of run", "changed-before", columns);
        let changed = "changed before c1 asked for the same, and a person changed it";
        assert!(words.contains(changed), "{words}");
    }
}

#[test]
fn that_it_stands_in_place_of_another() {
    for columns in WIDTHS {
        let window = window(ONE_WRITE, columns);
        window.after(&["e"], "c1 is now c2, asked for anew");
        let words = card(&window, "c2 write_file of run", "in-place-of", columns);
        let instead = "in place of c1, to which a person gave these arguments";
        assert!(words.contains(instead), "{words}");
    }
}

/// Two writes of one file in one turn.
const SAME_PLACE: &str = r#"
[[turn]]
calls = [
  { id = "p1", tool = "write_file", args = { path = "notes.txt", content = "milk\neggs\n" } },
  { id = "p2", tool = "write_file", args = { path = "notes.txt", content = "milk\nbread\n" } },
]
"#;

#[test]
fn that_another_call_is_about_the_same_place() {
    for columns in WIDTHS {
        let window = window(SAME_PLACE, columns);
        approve(&window, "card 2 of 2");
        let words = card(&window, "c2 write_file of run", "depends-on", columns);
        let same = "depends on c1 is about the same place: once it ran, this one is stale";
        assert!(words.contains(same), "{words}");
    }
}

/// A file that steers git.
const STEERS: &str = r#"
[[turn]]
calls = [{ id = "p1", tool = "write_file", args = { path = ".gitattributes", content = "x\n" } }]
"#;

#[test]
fn why_it_asks_whatever_the_policy() {
    for columns in WIDTHS {
        let window = window(STEERS, columns);
        let words = card(&window, "c1 write_file of run", "asks-always", columns);
        let always = "asks always a file that steers git, whatever the policy";
        assert!(words.contains(always), "{words}");
        assert!(!words.contains("t always"), "{words}");
    }
}
