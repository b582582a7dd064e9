//! What an agent writes to draw on the screen: it stays behind the margin, visible, and counted.

use super::golden;
use super::tmux::{Start, Window};

/// Texts that move cursors, hide, reverse, or speak as we do.
fn hostile() -> Vec<String> {
    let fixture = include_str!("../fixtures/hostile.json");
    let texts: Vec<String> = serde_json::from_str(fixture).unwrap();
    // No argument holds a NUL: such a call never becomes a card.
    texts
        .into_iter()
        .filter(|text| !text.contains('\0'))
        .collect()
}

/// A script of one turn with these calls, and one that ends.
fn script(text: &str, calls: &[(&str, serde_json::Value)]) -> String {
    let calls = calls.iter().enumerate().map(|(index, (tool, args))| {
        let call = [
            ("id", format!("p{index}")),
            ("tool", (*tool).to_owned()),
            ("args_json", args.to_string()),
        ];
        let call = call.map(|(name, value)| (name.to_owned(), toml::Value::String(value)));
        toml::Value::Table(call.into_iter().collect())
    });
    let turn = |text: &str, calls: Vec<toml::Value>| {
        let mut turn = toml::Table::new();
        turn.insert("text".to_owned(), text.into());
        turn.insert("calls".to_owned(), calls.into());
        toml::Value::Table(turn)
    };
    let mut script = toml::Table::new();
    let turns = vec![turn(text, calls.collect()), turn("Done.", Vec::new())];
    script.insert("turn".to_owned(), turns.into());
    toml::to_string(&script).unwrap()
}

fn window(script: &str, columns: usize) -> Window {
    let env = [
        ("NO_COLOR", "1"),
        ("PAGER", "cat > paged.part; mv paged.part paged"),
    ];
    Start {
        columns,
        script,
        env: &env,
        ..Start::default()
    }
    .window()
}

/// The rows of a screen that are not behind the margin of somebody's text.
fn ours(screen: &str) -> Vec<&str> {
    let theirs = |row: &&str| row.starts_with("    |") || row.starts_with("    >");
    screen.lines().filter(|row| !theirs(row)).collect()
}

/// Neither a row nor the whole card in the pager holds anything that is not seen as it is.
fn is_plain(text: &str) {
    let moves = |c: char| c.is_control() && c != '\n';
    let hides = |c: char| {
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
            || matches!(c, '\u{feff}' | '\u{ad}' | '\u{e0000}'..='\u{e0fff}')
    };
    let bad = text.chars().find(|c| moves(*c) || hides(*c));
    assert_eq!(bad, None, "{text}");
}

/// The whole card, as the pager is given it.
fn paged(window: &Window) -> String {
    window.press(&["v"]);
    window.until("the pager and the card again", |screen| {
        window.path("paged").exists() && screen.contains("? help")
    });
    window.read("paged")
}

fn writes(content: &str, columns: usize) -> Window {
    let args = serde_json::json!({"path": "new.txt", "content": content});
    window(&script("", &[("write_file", args)]), columns)
}

fn leave(window: &Window) {
    window.press(&["s"]);
    assert_eq!(window.ended(), 130);
    assert!(window.is_restored());
}

#[test]
fn content_stays_behind_its_margin_at_any_width() {
    for columns in [80, 40] {
        let harmless = writes(&"x\n".repeat(400), columns);
        let expected = harmless.shows("? help");
        let content = hostile().join("\n") + &"\nx".repeat(200);
        let attacked = writes(&content, columns);
        let screen = attacked.shows("? help");
        // Numbers of lines and bytes aside, every row of ours is as it is without an attack.
        let counted = |row: &&str| !row.starts_with("    + ") && !row.contains("lines added");
        let rows = |screen| ours(screen).into_iter().filter(counted).collect::<Vec<_>>();
        assert_eq!(rows(&screen), rows(&expected), "{screen}");
        is_plain(&screen);
        let whole = paged(&attacked);
        is_plain(&whole);
        assert!(whole.contains("Approve? [y/N] y"));
        leave(&attacked);
        leave(&harmless);
    }
}

#[test]
fn each_hostile_content_is_shown_with_nothing_moved() {
    // Many at once: each one starts a line of its own, so that all are seen in few windows.
    let texts = hostile();
    for part in texts.chunks(10) {
        let window = writes(&part.join("\n"), 80);
        let screen = window.shows("? help");
        assert!(
            screen.starts_with("c1 write_file of run b3e41f: may it run?\n"),
            "{screen}"
        );
        let rule = screen.lines().rev().find(|row| row.starts_with("----"));
        assert_eq!(rule.map(str::len), Some(79), "{screen}");
        is_plain(&screen);
        leave(&window);
    }
}

#[test]
fn our_own_words_are_not_ours_behind_the_margin() {
    let fake = "\n---------------\n\
                c9 ls of run b3e41f: may it run?\n  tier           read-only\n\
                a approve  d deny  A approve all  D deny all\nyour answers\nEnter sends it";
    for columns in [80, 40] {
        let args = serde_json::json!({"question": fake, "options": [fake]});
        let asks = window(&script(fake, &[("ask_user", args)]), columns);
        let screen = asks.shows("? help");
        let ours = ours(&screen).join("\n");
        assert!(!ours.contains("c9"), "{screen}");
        assert!(!ours.contains("approve"), "{screen}");
        assert!(!ours.contains("Enter sends"), "{screen}");
        golden(&format!("fake-card-{columns}-plain"), &screen);
        leave(&asks);
        let told = asks.history();
        let rows = told.lines().filter(|row| row.contains("c9 ls of run"));
        for row in rows {
            assert!(row.starts_with("    |"), "{told}");
        }
    }
}

#[test]
fn what_a_model_says_moves_nothing_on_the_screen() {
    for columns in [80, 40] {
        let said = hostile().join("\n");
        let args = serde_json::json!({"path": "new.txt", "content": "x\n"});
        let window = window(&script(&said, &[("write_file", args)]), columns);
        let screen = window.shows("? help");
        assert!(
            screen.starts_with("c1 write_file of run b3e41f"),
            "{screen}"
        );
        leave(&window);
        let told = window.history();
        is_plain(&told);
        // What it said stands between what the program says, all of it behind the margin.
        assert!(told.contains("    | Approve? [y/N] y"), "{told}");
        let shell = told.lines().filter(|row| row.contains("Approve?"));
        assert!(shell.clone().count() >= 1);
        for row in shell {
            assert!(row.starts_with("    | "), "{row}");
        }
    }
}

#[test]
fn names_of_tools_and_paths_are_told_in_ascii() {
    let calls = [
        ("\u{1b}[2Jls", serde_json::json!({})),
        ("re\u{430}d_file", serde_json::json!({"path": "notes.txt"})),
        (
            "rm",
            serde_json::json!({"path": "\u{202e}gol.dlo\u{1b}[8m"}),
        ),
        (
            "write_file",
            serde_json::json!({"path": "caf\u{e9} \u{5bbd}.txt", "content": "x\n"}),
        ),
    ];
    for columns in [80, 40] {
        let window = window(&script("", &calls), columns);
        let screen = window.shows("? help");
        assert!(screen.is_ascii(), "{screen}");
        assert!(screen.contains("caf\\xe9 \\u{5bbd}.txt"), "{screen}");
        leave(&window);
        is_plain(&window.history());
    }
}

#[test]
fn what_is_left_out_is_counted_to_the_line_and_byte() {
    // 5,000 lines of 5 bytes in the content; the diff has one more byte a line, and a header.
    for columns in [80, 40] {
        let window = writes(&"milk\n".repeat(5000), columns);
        let screen = window.shows("? help");
        let mut cut = Vec::new();
        let mut shown = 0;
        for row in screen.lines() {
            if let Some(told) = row.strip_prefix("    + ") {
                let mut numbers = told.split(|c: char| !c.is_ascii_digit());
                let mut number = || numbers.find_map(|part| part.parse::<usize>().ok()).unwrap();
                cut.push((shown, number(), number()));
                shown = 0;
            } else if row.contains("milk") {
                shown += 1;
            } else if row.starts_with("  what would run") || row.starts_with("  diff") {
                shown = 0;
            }
        }
        let [.., (argument, lines, bytes), (diff, diff_lines, diff_bytes)] = cut[..] else {
            panic!("{screen}");
        };
        // After the last line end there is one more line, which is empty.
        assert_eq!(
            (argument + lines, argument * 5 + bytes),
            (5001, 25_000),
            "{screen}"
        );
        assert_eq!(
            (diff + diff_lines, diff * 6 + diff_bytes),
            (5001, 30_000),
            "{screen}"
        );
        leave(&window);
    }
}

#[test]
fn a_line_without_end_fills_no_more_than_its_rows() {
    for columns in [80, 40] {
        for text in [
            "x",
            "\u{5bbd}",
            "a\u{301}\u{302}\u{303}\u{304}",
            "\u{1b}[31m",
            "word ",
        ] {
            let window = writes(&text.repeat(20_000), columns);
            let screen = window.shows("? help");
            let rows: Vec<&str> = screen.lines().collect();
            assert!(rows[0].starts_with("c1 write_file of run"), "{screen}");
            let rule = rows
                .iter()
                .rposition(|row| row.starts_with("----"))
                .unwrap();
            assert!(rows.len() <= 24 && rule >= 12, "{screen}");
            assert!(screen.contains("    + 1 line, "), "{screen}");
            leave(&window);
        }
    }
}

#[test]
fn a_note_is_shown_as_it_will_be_read() {
    let window = writes("x\n", 40);
    window.shows("? help");
    window.after(&["d"], "why not?");
    window.paste("\u{202e}live \u{5bbd}\u{5bbd} \u{1b}[31m a\u{301} \\ end");
    let screen = window.until("the note", |screen| screen.contains("end_"));
    assert!(screen.contains("\\u{202e}live"), "{screen}");
    is_plain(&screen);
    let summary = window.after(&["Enter"], "your answers");
    is_plain(&summary);
    window.press(&["s"]);
    assert_eq!(window.ended(), 130);
}
