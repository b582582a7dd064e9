//! How the terminal is left: stopped at any place, by a key or by a signal; what was typed too
//! early; another size; and a second opinion in between.

use rustix::process::{Pid, Signal, kill_process};

use super::tmux::{RUN, Start, Window};

fn signal(window: &Window, signal: Signal) {
    let pid: i32 = window.read("pid").trim().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// The program ended like this, left the terminal as it was, and nothing ran.
fn stopped(window: &Window, code: i32) {
    assert_eq!(window.ended(), code, "{}", window.history());
    assert!(window.is_restored());
    assert_eq!(window.read("ws/notes.txt"), "milk\n");
}

#[test]
fn stop_and_control_c_leave_a_run_that_can_be_resumed() {
    for key in ["s", "C-c"] {
        let window = Start::default().window();
        window.shows("? help");
        window.press(&[key]);
        stopped(&window, 130);
        let prefix = window.run();
        let resumed = window.again(&["runs", "resume", &prefix]);
        resumed.shows("? help");
        resumed.after(&["a"], "card 2 of 2");
        resumed.after(&["a"], "your answers");
        resumed.press(&["Enter"]);
        assert_eq!(resumed.ended(), 0);
        assert_eq!(resumed.read("ws/notes.txt"), "milk\neggs\n");
    }
}

#[test]
fn control_c_in_a_note_goes_back_to_the_card() {
    for key in ["C-c", "Escape"] {
        let window = Start::default().window();
        window.shows("? help");
        window.after(&["d"], "why not?");
        window.write("nev");
        window.until("the note", |screen| screen.contains("nev_"));
        window.after(&[key], "? help");
        let screen = window.screen();
        assert!(!screen.contains("your answer so far"), "{screen}");
        window.press(&["C-c"]);
        stopped(&window, 130);
    }
}

#[test]
fn a_signal_at_a_card_restores_the_terminal() {
    let window = Start::default().window();
    window.shows("? help");
    signal(&window, Signal::TERM);
    stopped(&window, 143);
}

#[test]
fn a_signal_in_a_note_restores_the_terminal() {
    let window = Start::default().window();
    window.shows("? help");
    window.after(&["d"], "why not?");
    signal(&window, Signal::TERM);
    stopped(&window, 143);
}

/// A model that takes long.
const SLOW: &str = r#"
[[turn]]
delay_ms = 60000
text = "Too late."
"#;

#[test]
fn control_c_while_the_model_works_stops_it() {
    let start = Start {
        script: SLOW,
        ..Start::default()
    };
    let window = start.window();
    window.shows("asking the model 0 s");
    window.shows("asking the model 1 s");
    window.press(&["C-c"]);
    stopped(&window, 130);
    assert!(
        !window.history().contains("asking the model"),
        "{}",
        window.history()
    );
}

/// A model that takes long enough for somebody to type.
const SLOWER_CARD: &str = r#"
[[turn]]
delay_ms = 1500
calls = [{ id = "p1", tool = "write_file", args = { path = "notes.txt", content = "x\n" } }]
[[turn]]
text = "Done."
"#;

#[test]
fn what_was_typed_before_a_card_was_on_the_screen_is_discarded() {
    let start = Start {
        script: SLOWER_CARD,
        ..Start::default()
    };
    let window = start.window();
    window.shows("asking the model 0 s");
    window.write("aA");
    window.press(&["Enter", "Enter"]);
    let screen = window.shows("? help");
    assert!(screen.contains("c1 write_file"), "{screen}");
    // Whatever had been kept of it would be seen before this key.
    let screen = window.after(&["x"], "x does nothing here");
    assert!(screen.contains("c1 write_file"), "{screen}");
    assert!(!screen.contains("your answer"), "{screen}");
    window.press(&["s"]);
    stopped(&window, 130);
}

#[test]
fn keys_typed_for_one_card_do_not_count_for_the_next() {
    let window = Start::default().window();
    window.shows("? help");
    // In one write, so that the second is there before the second card is.
    window.write("aa");
    window.shows("card 2 of 2");
    window.until("the keys of the second card", |screen| {
        screen.contains("A approve all")
    });
    window.press(&["x"]);
    let screen = window.shows("x does nothing here");
    assert!(screen.contains("card 2 of 2"), "{screen}");
    window.press(&["s"]);
    stopped(&window, 130);
}

#[test]
fn enter_that_was_typed_before_the_summary_was_on_the_screen_sends_nothing() {
    let start = Start {
        script: SLOWER_CARD,
        ..Start::default()
    };
    let window = start.window();
    window.shows("? help");
    window.press(&["a", "Enter", "Enter"]);
    window.shows("your answers");
    window.after(&["x"], "Enter sends it; b back");
    window.press(&["s"]);
    stopped(&window, 130);
}

#[test]
fn pasted_text_is_no_key() {
    let window = Start::default().window();
    window.shows("? help");
    window.paste("a\nA\n");
    let screen = window.shows("pasted text is not taken for keys");
    assert!(screen.contains("card 1 of 2"), "{screen}");
    window.after(&["d"], "why not?");
    window.paste("because\nof this");
    window.until("the note", |screen| screen.contains("because of this_"));
    window.press(&["C-c", "s"]);
    stopped(&window, 130);
}

#[test]
fn a_card_follows_the_size_of_its_window() {
    let window = Start::default().window();
    window.shows("? help");
    window.resize(40, 24);
    window.until("the narrow card", |screen| {
        screen.contains("\nrun?\n") && screen.contains("? help")
    });
    // Too small for a card: nothing can be approved there.
    window.resize(40, 8);
    window.shows("This window is too small");
    window.press(&["a"]);
    window.resize(80, 24);
    let screen = window.until("the wide card", |screen| {
        screen.contains("may it run?\n") && screen.contains("? help")
    });
    assert!(screen.contains("card 1 of 2"), "{screen}");
    assert!(!screen.contains("your answer"), "{screen}");
    window.resize(25, 24);
    window.shows("too small");
    window.press(&["s"]);
    stopped(&window, 130);
}

#[test]
fn a_window_that_is_too_small_from_the_start_takes_no_answer() {
    let start = Start {
        columns: 60,
        rows: 6,
        ..Start::default()
    };
    let window = start.window();
    window.shows("too small");
    window.write("aaD");
    window.press(&["Enter", "Enter"]);
    window.resize(80, 24);
    let screen = window.shows("? help");
    assert!(screen.contains("card 1 of 2"), "{screen}");
    assert!(!screen.contains("your answer"), "{screen}");
    window.press(&["p"]);
    stopped(&window, 2);
}

#[test]
fn nobody_is_asked_where_that_is_not_wanted() {
    for more in [&["--attend", "never", "--park"][..], &["--json", "--park"]] {
        let args = [&RUN[..], more].concat();
        let start = Start {
            args: &args,
            ..Start::default()
        };
        stopped(&start.window(), 2);
    }
}

#[test]
fn control_c_in_the_pager_is_for_the_pager() {
    let pager =
        "trap 'echo told > told; echo' INT; cat > paged; echo paging; read line < /dev/tty; true";
    let env = [("NO_COLOR", "1"), ("PAGER", pager)];
    let start = Start {
        env: &env,
        ..Start::default()
    };
    let window = start.window();
    window.shows("? help");
    window.after(&["v"], "paging");
    window.press(&["C-c"]);
    window.until("the pager's own end", |_| window.path("told").exists());
    // Where the pager was told before it waited for a line, it still waits for one.
    window.after(&["Enter"], "? help");
    assert_eq!(window.read("told"), "told\n");
    // The run goes on as if nothing had been: the wish to stop was not ours.
    window.after(&["a"], "card 2 of 2");
    window.after(&["a"], "your answers");
    window.press(&["Enter"]);
    assert_eq!(window.ended(), 0);
    assert!(window.is_restored());
}
