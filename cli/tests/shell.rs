//! `shell explain`: one command for people, many for programs.

use serde_json::{Value, json};

use crate::support::World;

#[test]
fn explains_a_command_without_a_ledger() {
    let world = World::new();
    let explain = |args: &[&str]| world.show(&[&["shell", "explain"], args].concat());
    let plain = explain(&["frob status 'a b' $X", "--entry", "frob"]);
    // Why it is not known to change nothing is told elsewhere.
    let plain: Vec<_> = plain
        .lines()
        .filter(|line| !line.starts_with("read as"))
        .collect();
    insta::assert_snapshot!(plain.join("\n"), @r"
    command    frob status 'a b' $X
    words      [frob] [status] [a b] [$X]...
    key        frob status
    read-only  no
    covered    yes
    -- stderr --
    -- exit 0 --
    ");
    insta::assert_snapshot!(explain(&["git log | sh"]), @r"
    command    git log | sh
    read as    not one plain command: a control operator
    key        none: no entry covers it
    read-only  no
    -- stderr --
    -- exit 0 --
    ");
    insta::assert_snapshot!(explain(&["$A > b; c `d`"]), @r"
    command    $A > b; c `d`
    read as    high-risk by its syntax
    hazard     a command name that expands, at byte 0
    hazard     a redirection that reads or writes a file, at byte 3
    hazard     a command substitution, at byte 10
    key        none: no entry covers it
    read-only  no
    -- stderr --
    -- exit 0 --
    ");
    insta::assert_snapshot!(explain(&["git \u{1b}[2J"]), @r"
    command    git \x1b[2J
    read as    not one plain command: a character that shells or people may take for another
    key        none: no entry covers it
    read-only  no
    -- stderr --
    -- exit 0 --
    ");
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
    assert_eq!(
        lines,
        [
            json!({
                "command": "git status", "syntax_high_risk": false, "hazards": [],
                "key": "git status", "read_only": true, "covered": true,
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
    assert!(
        lines[0]["why"]
            .as_str()
            .unwrap()
            .starts_with("one plain command")
    );
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
fn an_entry_is_one_that_grants_add_would_take() {
    let mut world = World::new();
    for (entry, says) in [
        ("ls -la", "is more than a key"),
        ("git push --force", "is more than a key"),
        ("git log | sh", "has no key"),
        ("A=1 ls", "has no key"),
        (" ls", "is more than a key"),
        ("", "has no key"),
    ] {
        let added = world.call(&["grants", "add", entry]);
        assert_eq!(added.code, 64, "{entry}: {}", added.stderr);
        assert!(added.stderr.contains(says), "{entry}: {}", added.stderr);
        let explained = world.call(&["shell", "explain", "ls", "--entry", entry]);
        let all = (explained.code, explained.stdout.as_str(), &explained.stderr);
        assert_eq!(all, (64, "", &added.stderr), "{entry}");
        let line = json!({"command": "ls", "entries": ["ls", entry]});
        world.stdin = format!("{line}\n").into_bytes();
        let explained = world.call(&["shell", "explain", "--stdin", "--json"]);
        assert_eq!((explained.code, explained.stdout.as_str()), (64, ""));
        let named = "line 1 of standard input: ";
        assert!(explained.stderr.contains(named), "{}", explained.stderr);
        assert!(explained.stderr.contains(says), "{}", explained.stderr);
    }
    let taken = ["shell", "explain", "git log -1", "--entry", "git log"];
    let taken = world.call(&taken);
    assert!(taken.stdout.contains("covered    yes"), "{}", taken.stdout);
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
