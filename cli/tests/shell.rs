//! `shell explain`: one command for people, many for programs.

use serde_json::{Value, json};

use crate::support::World;

#[test]
fn explains_a_command_without_a_ledger() {
    let world = World::new();
    let explain = |args: &[&str]| world.show(&[&["shell", "explain"], args].concat());
    insta::assert_snapshot!(explain(&["git status 'a b' $X", "--entry", "git"]), @"");
    insta::assert_snapshot!(explain(&["git log | sh"]), @"");
    insta::assert_snapshot!(explain(&["$A > b; c `d`"]), @"");
    insta::assert_snapshot!(explain(&["git \u{1b}[2J"]), @"");
    assert!(!world.path("data").exists());
}

#[test]
fn explains_each_line_in_json() {
    let mut world = World::new();
    world.stdin = br#"{"command":"git status","entries":["git"]}
{"command":"git status && a","entries":["git"]}
{"command":"a >b"}
"#
    .to_vec();
    let shown = world.call(&["shell", "explain", "--stdin", "--json"]);
    assert_eq!((shown.code, shown.stderr.as_str()), (0, ""));
    let lines: Vec<Value> = shown
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let why = "one plain command: git is not on the list";
    assert_eq!(
        lines,
        [
            json!({
                "command": "git status", "syntax_high_risk": false, "hazards": [],
                "key": "git status", "read_only": false, "covered": true,
                "words": ["git", "status"], "why": lines[0]["why"],
            }),
            json!({
                "command": "git status && a", "syntax_high_risk": false, "hazards": [],
                "key": null, "read_only": false, "covered": false, "words": null,
                "why": "not one plain command: a control operator",
            }),
            json!({
                "command": "a >b", "syntax_high_risk": true,
                "hazards": [{"kind": "redirection", "at": 2}],
                "key": null, "read_only": false, "covered": false, "words": null,
                "why": "a redirection that reads or writes a file",
            }),
        ]
    );
    assert!(lines[0]["why"].as_str().unwrap().starts_with(&why[..17]));
}

#[test]
fn a_bad_line_is_named_by_its_number() {
    let mut world = World::new();
    for (line, found) in [
        ("", "EOF"),
        ("git status", "expected value"),
        ("[\"git\"]", "expected an object"),
        ("{\"command\":1}", "invalid type"),
        ("{\"command\":\"a\",\"entry\":[]}", "unknown field"),
        ("{\"entries\":[]}", "missing field"),
    ] {
        world.stdin =
            format!("{{\"command\":\"a\"}}\n{line}\n{{\"command\":\"b\"}}\n").into_bytes();
        let shown = world.call(&["shell", "explain", "--stdin", "--json"]);
        assert_eq!(shown.code, 64, "{line}");
        assert_eq!(shown.stdout.lines().count(), 1, "{line}");
        assert!(
            shown.stderr.contains("line 2 of standard input"),
            "{}",
            shown.stderr
        );
        assert!(shown.stderr.contains(found), "{}", shown.stderr);
    }
}

#[test]
fn refuses_standard_input_beside_a_command_or_without_json() {
    let world = World::new();
    for args in [
        &["shell", "explain"][..],
        &["shell", "explain", "--stdin"],
        &["shell", "explain", "--stdin", "a", "--json"],
        &["shell", "explain", "--stdin", "--entry", "a", "--json"],
    ] {
        let shown = world.call(args);
        assert_eq!((shown.code, shown.stdout.as_str()), (64, ""), "{args:?}");
    }
}
