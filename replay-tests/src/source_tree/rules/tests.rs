//! Each rule about sources, on inputs that break it and on inputs that do not.

use super::*;

/// The lines that a rule finds in one file.
fn lines(rule: fn(&Source) -> Vec<Finding>, path: &str, text: &str) -> Vec<usize> {
    let findings = rule(&Source::new(path, text));
    findings.iter().map(|finding| finding.line).collect()
}

#[test]
fn demands_a_sentence_at_the_top() {
    let rule = opens_with_its_purpose;
    assert_eq!(lines(rule, "a.rs", "//! Says it.\n"), [0; 0]);
    assert_eq!(lines(rule, "a.rs", "use std::fmt;\n//! Late.\n"), [1]);
    assert_eq!(lines(rule, "a.rs", "// no doc\n"), [1]);
    assert_eq!(lines(rule, "a.rs", ""), [1]);
}

#[test]
fn counts_lines_and_lets_tests_be_longer() {
    let text = "x\n".repeat(501);
    assert_eq!(lines(is_short, "ledger/src/a.rs", &text), [0]);
    assert_eq!(lines(is_short, "ledger/src/a/tests.rs", &text), [0; 0]);
    assert_eq!(lines(is_short, "replay-tests/tests/a.rs", &text), [0; 0]);
    let text = "x\n".repeat(901);
    assert_eq!(lines(is_short, "replay-tests/tests/a.rs", &text), [0]);
    assert_eq!(
        lines(is_short, "ledger/src/a.rs", &"x\n".repeat(500)),
        [0; 0]
    );
}

#[test]
fn counts_columns_but_not_inside_literals() {
    let wide = format!("ok();\n// {}\n", "x".repeat(98));
    assert_eq!(lines(is_narrow, "a.rs", &wide), [2]);
    let vector = format!("f(\"{}\");\n", "x".repeat(200));
    assert_eq!(lines(is_narrow, "a.rs", &vector), [0; 0]);
    let wide = format!("f(\"a\", {});\n", "x".repeat(100));
    assert_eq!(lines(is_narrow, "a.rs", &wide), [1]);
}

#[test]
fn finds_what_is_not_ascii_even_in_comments() {
    assert_eq!(lines(is_ascii, "a.rs", "fine\n// caf\u{e9}\n"), [2]);
    assert_eq!(lines(is_ascii, "a.toml", "a = \"\u{202e}\"\n"), [1]);
}

#[test]
fn finds_banned_words_in_code_and_not_in_text() {
    let rule = has_no_banned_word;
    for (word, _) in BANNED {
        let text = format!("fine();\n  {word} ();\n");
        assert_eq!(lines(rule, "a.rs", &text), [2], "{word}");
        let text = format!("// {word}\nlet x = \"{word}\";\n");
        assert_eq!(lines(rule, "a.rs", &text), [0; 0], "{word}");
    }
    let debt = concat!("// FIX", "ME later\n");
    assert_eq!(lines(rule, "a.rs", debt), [1]);
    assert_eq!(lines(rule, "a.rs", "// TODO(sled): later\n"), [0; 0]);
    assert_eq!(lines(rule, "ledger/src/utils.rs", ""), [0]);
    assert_eq!(lines(rule, "engine/src/tool/common.rs", ""), [0]);
    assert_eq!(lines(rule, "engine/src/uncommon.rs", ""), [0; 0]);
}

#[test]
fn finds_sleeps_in_tests_alone() {
    let rule = does_not_sleep_in_tests;
    let text = "fn f() { thread::sleep(d); }\n\
                #[cfg(test)]\nmod tests { fn g() { std::thread::sleep(d); } }\n";
    assert_eq!(lines(rule, "engine/src/clock.rs", text), [3]);
    let text = "async fn f() {\n tokio::time::sleep(d).await; }\n";
    assert_eq!(lines(rule, "replay-tests/tests/a.rs", text), [2]);
    assert_eq!(lines(rule, "engine/src/clock/tests.rs", text), [2]);
    assert_eq!(lines(rule, "engine/src/clock.rs", text), [0; 0]);
}

#[test]
fn finds_what_reaches_out_of_the_pure_core() {
    let rule = core_is_pure;
    for word in ["async fn f() {}", "use tokio::sync;", "rand::random()"] {
        assert_eq!(lines(rule, "ledger/src/run/next.rs", word), [1], "{word}");
    }
    for text in [
        "use std::fs;",
        "std::env::args()",
        "use std::{fmt, net::IpAddr};",
    ] {
        assert_eq!(lines(rule, "ledger/src/digest.rs", text), [1], "{text}");
    }
    let text = "use std::time::Instant;\nfn f(t: SystemTime) {}\n";
    assert_eq!(lines(rule, "engine/src/policy/mod.rs", text).len(), 2);
    let text = "use std::{fmt, io};\n#[cfg(test)]\nmod tests { use std::fs; }\n// async\n";
    assert_eq!(lines(rule, "ledger/src/canonical/mod.rs", text), [0; 0]);
    let text = "use std::fs;\n";
    assert_eq!(lines(rule, "ledger/src/canonical/tests.rs", text), [0; 0]);
    assert_eq!(lines(rule, "ledger/src/runner.rs", text), [0; 0]);
    assert_eq!(lines(rule, "ledger/src/store/mod.rs", text), [0; 0]);
}

#[test]
fn notices_a_pure_path_that_was_renamed() {
    let skeleton = Tree::of(&[("ledger/src/run/mod.rs", "")]);
    assert_eq!(pure_paths_exist(&skeleton), []);
    let grown = Tree::of(&[("ledger/src/run/mod.rs", ""), ("ledger/src/ledger.rs", "")]);
    let missing = pure_paths_exist(&grown);
    assert!(missing.iter().any(|f| f.path == "ledger/src/digest"));
    assert!(missing.iter().all(|f| f.path != "ledger/src/run"));
    assert!(missing.iter().all(|f| f.path.starts_with("ledger/")));
}

#[test]
fn allows_one_mint_of_permits() {
    let owner = ("ledger/src/owner.rs", "fn f() { Permit::mint(granted) }");
    assert_eq!(permits_have_one_mint(&Tree::of(&[owner])), []);
    let other = ("engine/src/runner.rs", "fn f() {\n Permit::mint(granted) }");
    let found = permits_have_one_mint(&Tree::of(&[owner, other]));
    assert_eq!(found.len(), 2);
    assert!(found.iter().any(|f| f.path == other.0 && f.line == 2));
    let tested = (
        "engine/src/tool.rs",
        "#[cfg(test)]\nmod tests { fn f() { Permit::mint(x) } }",
    );
    assert_eq!(permits_have_one_mint(&Tree::of(&[owner, tested])), []);
    let none = Tree::of(&[("ledger/src/owner.rs", "")]);
    assert_eq!(permits_have_one_mint(&none).len(), 1);
    assert_eq!(permits_have_one_mint(&Tree::of(&[])), []);
}

#[test]
fn finds_a_process_that_starts_elsewhere() {
    let rule = processes_start_in_few_places;
    let text = "fn f() {\n Command::new(program) }";
    assert_eq!(lines(rule, "engine/src/runner.rs", text), [2]);
    assert_eq!(
        lines(rule, "cli/src/home.rs", "std::process::Command::new(x)"),
        [1]
    );
    for (path, _) in STARTS_PROCESSES {
        assert_eq!(lines(rule, path, text), [0; 0], "{path}");
    }
    for text in [
        "#[cfg(test)]\nmod tests { Command::new(x) }",
        "// Command::new",
    ] {
        assert_eq!(lines(rule, "engine/src/runner.rs", text), [0; 0], "{text}");
    }
    assert_eq!(lines(rule, "cli/tests/watch.rs", text), [0; 0]);
}

#[test]
fn finds_a_file_of_tests_that_nobody_lists() {
    let tree = Tree::of(&[
        ("replay-tests/tests/suite.rs", "mod tidy;\n// mod bind;\n"),
        ("replay-tests/tests/tidy.rs", ""),
        ("replay-tests/tests/bind.rs", ""),
        ("replay-tests/tests/cli/mod.rs", ""),
        ("replay-tests/tests/cli/inbox.rs", ""),
    ]);
    let paths: Vec<_> = tests_are_not_forgotten(&tree)
        .into_iter()
        .map(|finding| finding.path)
        .collect();
    assert_eq!(
        paths,
        [
            "replay-tests/tests/bind.rs",
            "replay-tests/tests/cli/mod.rs"
        ]
    );
}

#[test]
fn finds_a_new_entry_at_the_top() {
    let found = top_level_is_agreed(["docs", "Cargo.toml", "notes.txt"]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path, "notes.txt");
}
