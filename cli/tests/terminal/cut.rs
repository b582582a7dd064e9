//! Cards that were not wholly on the screen are approved at the second press, or once they were
//! shown whole; nothing else makes up for it.

use super::tmux::{Start, Window};

/// A narrow window, on which the first card of the script is cut.
fn narrow(pager: &str) -> Window {
    let env = [("NO_COLOR", "1"), ("PAGER", pager)];
    let start = Start {
        columns: 40,
        env: &env,
        ..Start::default()
    };
    let window = start.window();
    window.shows("? help");
    window
}

/// It is stopped, and nothing ran.
fn stop(window: &Window) {
    window.press(&["s"]);
    assert_eq!(window.ended(), 130, "{}", window.history());
    assert!(window.is_restored());
    assert_eq!(window.read("ws/notes.txt"), "milk\n");
}

#[test]
fn a_cut_card_is_approved_at_the_second_press() {
    let window = narrow("false");
    let screen = window.after(&["a"], "a again approves");
    assert!(screen.contains("card 1 of 2"), "{screen}");
    window.after(&["a"], "card 2 of 2");
    // This one fits.
    window.shows("A approve all");
    window.after(&["a"], "your answers");
    window.press(&["Enter"]);
    assert_eq!(window.ended(), 0);
    assert_eq!(window.read("ws/notes.txt"), "milk\neggs\n");
}

#[test]
fn keys_typed_before_the_warning_was_on_the_screen_do_not_count() {
    let window = narrow("false");
    // In one write, so that the others are there before the warning is.
    window.write("aaaa");
    window.shows("a again approves");
    let screen = window.after(&["x"], "x does nothing here");
    assert!(screen.contains("card 1 of 2"), "{screen}");
    stop(&window);
}

#[test]
fn another_size_forgets_the_first_press() {
    let window = narrow("false");
    window.after(&["a"], "a again approves");
    window.resize(44, 24);
    window.until("the card without its warning", |screen| {
        screen.contains("? help") && !screen.contains("again")
    });
    let screen = window.after(&["a"], "a again approves");
    assert!(screen.contains("card 1 of 2"), "{screen}");
    // Where all of it fits nobody is warned, and not afterwards.
    window.resize(80, 40);
    window.until("the whole card", |screen| {
        screen.contains("    | eggs\n    |\n") && screen.contains("? help")
    });
    window.resize(40, 24);
    window.until("the cut card", |screen| {
        screen.contains("\nrun?\n") && screen.contains("? help")
    });
    window.after(&["a"], "card 2 of 2");
    stop(&window);
}

#[test]
fn a_card_that_the_pager_showed_is_approved_at_once() {
    let window = narrow("cat > paged.part; mv paged.part paged");
    window.after(&["a"], "a again approves");
    window.press(&["v"]);
    window.until("the card again", |screen| {
        window.path("paged").exists() && screen.contains("? help") && !screen.contains("again")
    });
    window.after(&["a"], "card 2 of 2");
    stop(&window);
}

#[test]
fn a_pager_that_fails_showed_nothing() {
    let window = narrow("exit 3; cat");
    let screen = window.after(&["v"], "cannot show it in the pager");
    assert!(screen.contains("exit status: 3"), "{screen}");
    window.after(&["a"], "a again approves");
    stop(&window);
}

#[test]
fn a_warning_for_which_there_is_no_room_approves_nothing() {
    let window = narrow("false");
    window.resize(40, 13);
    window.until("the low card", |screen| {
        screen.contains("? help") && screen.lines().count() <= 13
    });
    window.after(&["a"], "too small");
    // Any key shows the card again, and does nothing else.
    let screen = window.after(&["a"], "? help");
    assert!(screen.contains("card 1 of 2"), "{screen}");
    window.after(&["a"], "too small");
    stop(&window);
}

#[test]
fn denying_a_cut_card_takes_one_press() {
    let window = narrow("false");
    window.after(&["d"], "why not?");
    window.after(&["Enter"], "card 2 of 2");
    window.shows("A approve all");
    window.after(&["D"], "why none of them?");
    window.after(&["Enter"], "your answers");
    window.press(&["Enter"]);
    assert_eq!(window.ended(), 0);
    assert_eq!(window.read("ws/notes.txt"), "milk\n");
}
