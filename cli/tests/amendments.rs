//! `runs amend`, `runs revoke`, `runs policy`: what a person changes about calls and their gate.

use crate::support::World;

fn json(world: &World, args: &[&str]) -> serde_json::Value {
    let output = world.call(&[&["--json"], args].concat());
    serde_json::from_str(&output.stdout).unwrap()
}

/// With arguments for a call in a file.
fn with_arguments(world: &World, arguments: &str) {
    std::fs::write(world.path("arguments.json"), arguments).unwrap();
}

/// Amends a call with what is in that file.
fn amend<'a>(run: &'a str, call: &'a str) -> [&'a str; 6] {
    ["runs", "amend", run, call, "--args", "arguments.json"]
}

const TEA: &str = r#"{"path": "notes.txt", "content": "milk\ntea\n"}"#;

#[test]
fn an_amended_call_is_another_one_that_waits_in_its_place() {
    let world = World::parked();
    let run = &world.run()[..8];
    with_arguments(&world, TEA);
    insta::assert_snapshot!(world.show(&amend(run, "c2")), @"");
    let shown = world.show(&["runs", "show", run]);
    let (_, cards) = shown.split_once("\n\nc4 write_file").unwrap();
    insta::assert_snapshot!(cards, @"");
    let inbox = json(&world, &["inbox"]);
    assert_eq!(inbox["pending"][0]["supersedes"], "c2");
    insta::assert_snapshot!(world.show(&["runs", "approve", run, "c2", "c3"]), @"");
    insta::assert_snapshot!(world.show(&amend(run, "c2")), @"");
    insta::assert_snapshot!(world.show(&["runs", "approve", run, "c4", "c3"]), @"");
    assert_eq!(
        std::fs::read_to_string(world.path("ws/notes.txt")).unwrap(),
        "milk\ntea\n"
    );
    assert_eq!(world.call(&["audit", "verify"]).code, 0);
    assert_eq!(world.call(&["runs", "replay", run]).code, 0);
}

#[test]
fn an_answer_to_the_old_call_by_its_digest_is_a_conflict() {
    let world = World::parked();
    let run = &world.run()[..8];
    let before = json(&world, &["inbox"]);
    let card = |of: &serde_json::Value, index: usize| {
        let request = of["pending"][index]["request"].as_str().unwrap();
        let call = of["pending"][index]["call"].as_str().unwrap();
        format!("{{\"call\":\"{call}\",\"request\":\"{request}\",\"approve\":true}}")
    };
    let set = before["pending"][0]["set"].as_str().unwrap().to_owned();
    let file = format!(
        "{{\"answers\":[{},{}]}}",
        card(&before, 0),
        card(&before, 1)
    );
    std::fs::write(world.path("old"), file).unwrap();
    with_arguments(&world, TEA);
    assert_eq!(world.call(&amend(run, "c2")).code, 2);
    insta::assert_snapshot!(world.show(&["runs", "answer", run, "--file", "old"]), @"");
    assert_eq!(world.call(&["runs", "approve", run, "--set", &set]).code, 3);
    let both = ["runs", "amend", run, "c3", "--args", "arguments.json"];
    with_arguments(&world, r#"{"path": "notes.txt"}"#);
    insta::assert_snapshot!(world.json(&both), @"");
}

#[test]
fn an_amendment_is_refused_where_no_proposal_comes_of_it() {
    let mut world = World::parked();
    let run = world.run()[..8].to_owned();
    for (arguments, call) in [
        ("", "c2"),
        ("{\"path\": \"notes.txt\"", "c2"),
        (
            "{\"path\": \"notes.txt\", \"path\": \"b\", \"content\": \"\"}",
            "c2",
        ),
        ("{\"path\": \"../out\", \"content\": \"x\"}", "c2"),
        ("{\"path\": \"gone.log\"}", "c3"),
    ] {
        with_arguments(&world, arguments);
        let refused = world.call(&amend(&run, call));
        assert_eq!(refused.code, 3, "{arguments}: {}", refused.stderr);
    }
    insta::assert_snapshot!(world.show(&amend(&run, "c3")), @"");
    insta::assert_snapshot!(world.show(&amend(&run, "c1")), @"");
    insta::assert_snapshot!(world.show(&amend(&run, "c9")), @"");
    std::fs::remove_file(world.path("arguments.json")).unwrap();
    insta::assert_snapshot!(world.show(&amend(&run, "c2")), @"");
    world.stdin = vec![b' '; placet_ledger::limits::CONTENT_BYTES_MAX + 1];
    insta::assert_snapshot!(world.show(&["runs", "amend", &run, "c2", "--args", "-"]), @"");
    assert_eq!(
        json(&world, &["inbox"])["pending"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn an_amended_call_that_clears_by_itself_is_driven_on_once_nothing_waits() {
    let mut world = World::parked();
    let run = world.run()[..8].to_owned();
    assert_eq!(world.call(&["runs", "policy", &run, "high-risk"]).code, 0);
    world.stdin = TEA.as_bytes().to_vec();
    insta::assert_snapshot!(world.show(&["runs", "amend", &run, "c2", "--args", "-"]), @"");
    assert_eq!(
        std::fs::read_to_string(world.path("ws/notes.txt")).unwrap(),
        "milk\n"
    );
    world.stdin = br#"{"path": "notes.txt"}"#.to_vec();
    let last = ["runs", "amend", &run, "c3", "--args", "-", "--no-resume"];
    insta::assert_snapshot!(world.show(&last), @"");
    insta::assert_snapshot!(world.show(&["runs", "resume", &run]), @"");
}

#[test]
fn an_approval_is_taken_back_before_it_is_used() {
    let world = World::parked();
    let run = &world.run()[..8];
    let revoke = |call| ["runs", "revoke", run, call, "--note", "the wrong file"];
    insta::assert_snapshot!(world.show(&revoke("c2")), @"");
    assert_eq!(world.call(&["runs", "approve", run, "--no-resume"]).code, 0);
    insta::assert_snapshot!(world.show(&["runs", "prompt", run, "Wait."]), @"");
    insta::assert_snapshot!(world.show(&revoke("c1")), @"");
    insta::assert_snapshot!(world.show(&revoke("c2")), @"");
    insta::assert_snapshot!(world.show(&revoke("c2")), @"");
    insta::assert_snapshot!(world.show(&revoke("c9")), @"");
    assert_eq!(world.call(&["runs", "resume", run]).code, 0);
    assert_eq!(
        std::fs::read_to_string(world.path("ws/notes.txt")).unwrap(),
        "milk\n"
    );
    assert!(!world.path("ws/old.log").exists());
    insta::assert_snapshot!(world.show(&["audit", "log", "--verdict", "revoked"]), @"");
    let event = json(&world, &["audit", "log", "--type", "approval.revoked"]);
    let at = format!("#{}", event["events"][0]["position"]);
    let shown = world.show(&["audit", "show", &at]);
    let checks: Vec<_> = shown
        .lines()
        .filter(|line| line.contains("holds"))
        .collect();
    insta::assert_snapshot!(checks.join("\n"), @"");
    insta::assert_snapshot!(world.json(&revoke("c2")), @"");
}

#[test]
fn a_policy_counts_from_then_on_and_answers_nothing() {
    let world = World::parked();
    let run = &world.run()[..8];
    let raise = ["runs", "policy", run, "true", "--note", "I look on"];
    insta::assert_snapshot!(world.show(&raise), @"");
    insta::assert_snapshot!(world.show(&raise), @"");
    let shown = world.show(&["runs", "show", run]);
    let about: Vec<_> = shown
        .lines()
        .filter(|line| line.contains("polic"))
        .collect();
    insta::assert_snapshot!(about.join("\n"), @"");
    let shown = json(&world, &["runs", "show", run]);
    assert_eq!(
        (&shown["policy"], &shown["policy_at_start"]),
        (&"high-risk".into(), &"false".into())
    );
    insta::assert_snapshot!(world.json(&["runs", "policy", run, "low-risk"]), @"");
    insta::assert_snapshot!(world.show(&["runs", "policy", run, "some"]), @"");
    assert_eq!(world.call(&["runs", "reject", run, "--note", "no"]).code, 0);
    insta::assert_snapshot!(world.show(&["runs", "policy", run, "false"]), @"");
}
