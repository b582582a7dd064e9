//! `runs reply` and `runs prompt`: what a person tells an agent.

use crate::support::World;

/// An agent that asks a person something.
const ASKS: &str = r#"
[[turn]]
text = "One question first."
usage = { input = 10, output = 10 }
calls = [
  { id = "p1", tool = "ask_user", args = { question = "Which list?", options = ["old", "new"] } },
]

[[turn]]
text = "Thank you."
usage = { input = 10, output = 10 }
"#;

/// An agent that asks twice, and wants to write beside it.
const ASKS_TWICE: &str = r#"
[[turn]]
usage = { input = 10, output = 10 }
calls = [
  { id = "p1", tool = "ask_user", args = { question = "Which list?" } },
  { id = "p2", tool = "ask_user", args = { question = "Which day?" } },
  { id = "p3", tool = "write_file", args = { path = "a.txt", content = "a\n" } },
]

[[turn]]
text = "Thank you."
usage = { input = 10, output = 10 }
"#;

fn asking(script: &str) -> World {
    let mut world = World::with_script(script);
    world.start("Sort the lists.");
    world
}

fn json(world: &World, args: &[&str]) -> serde_json::Value {
    let output = world.call(&[&["--json"], args].concat());
    serde_json::from_str(&output.stdout).unwrap()
}

#[test]
fn a_question_waits_is_answered_and_stands_in_the_timeline() {
    let world = asking(ASKS);
    let run = &world.run()[..8];
    let shown = world.show(&["runs", "show", run]);
    let (_, cards) = shown.split_once("run.parked").unwrap();
    insta::assert_snapshot!(cards, @"");
    insta::assert_snapshot!(world.show(&["runs", "list"]), @"");
    insta::assert_snapshot!(world.show(&["inbox"]), @"");
    insta::assert_snapshot!(world.show(&["runs", "reply", run, "the old\none"]), @"");
    let shown = world.show(&["runs", "show", run]);
    let said: Vec<_> = shown
        .lines()
        .filter(|line| line.contains("question."))
        .collect();
    insta::assert_snapshot!(said.join("\n"), @"");
    let events = json(&world, &["runs", "show", run]);
    let events = events["events"].as_array().unwrap();
    let of = |name: &str| events.iter().find(|event| event["type"] == name).unwrap();
    assert_eq!(of("question.asked")["said"], "Which list?\n1. old\n2. new");
    assert_eq!(of("question.answered")["said"], "the old\none");
}

#[test]
fn a_reply_is_refused_where_it_fits_nothing() {
    let world = asking(ASKS_TWICE);
    let run = &world.run()[..8];
    insta::assert_snapshot!(world.show(&["runs", "reply", run, "both"]), @"");
    insta::assert_snapshot!(world.show(&["runs", "reply", run, "c3", "yes"]), @"");
    insta::assert_snapshot!(world.show(&["runs", "reply", run, "c9", "yes"]), @"");
    insta::assert_snapshot!(world.show(&["runs", "reply", run, "c1", " "]), @"");
    insta::assert_snapshot!(world.show(&["runs", "reply", run, "the", "old"]), @"");
    let other = "0".repeat(64);
    let bound = ["runs", "reply", run, "c1", "old", "--request", &other];
    insta::assert_snapshot!(world.show(&bound), @"");
    let log = json(&world, &["audit", "log", "--type", "attempt.refused"]);
    assert!(!log["events"].as_array().unwrap().is_empty());
    let shown = json(&world, &["inbox"]);
    assert_eq!(shown["pending"].as_array().unwrap().len(), 3);
}

#[test]
fn replies_and_answers_to_one_reply_of_the_model_come_one_by_one() {
    let world = asking(ASKS_TWICE);
    let run = &world.run()[..8];
    let card = json(&world, &["inbox"])["pending"][0].clone();
    assert_eq!(
        (&card["kind"], &card["call"]),
        (&"question".into(), &"c1".into())
    );
    let request = card["request"].as_str().unwrap();
    let bound = ["runs", "reply", run, "c1", "old", "--request", request];
    assert_eq!(world.call(&bound).code, 2);
    insta::assert_snapshot!(world.show(&bound), @"");
    assert_eq!(world.call(&["runs", "reply", run, "Monday"]).code, 2);
    insta::assert_snapshot!(world.show(&["runs", "reply", run, "again"]), @"");
    insta::assert_snapshot!(world.show(&["runs", "approve", run]), @"");
    assert!(world.path("ws/a.txt").exists());
    assert_eq!(world.call(&["runs", "reply", run, "once more"]).code, 5);
}

#[test]
fn a_reply_from_standard_input_may_leave_the_run_to_somebody_else() {
    let mut world = asking(ASKS);
    world.stdin = b"from a pipe\n".to_vec();
    let run = world.run()[..8].to_owned();
    insta::assert_snapshot!(world.json(&["runs", "reply", &run, "-", "--no-resume"]), @"");
    world.stdin = vec![0xff];
    assert_eq!(world.call(&["runs", "reply", &run, "-"]).code, 64);
    assert_eq!(world.call(&["runs", "resume", &run]).code, 0);
}

#[test]
fn a_late_reply_ends_the_run_as_expired() {
    let mut world = World::with_script(ASKS);
    world.start_with("Sort the lists.", &["--park-expiry", "1ms"]);
    let run = &world.run()[..8];
    assert!(!world.call(&["inbox"]).stdout.contains("runs reply"));
    insta::assert_snapshot!(world.show(&["runs", "reply", run, "too late"]), @"");
}

#[test]
fn a_message_enters_where_no_call_is_open() {
    let world = asking(ASKS);
    let run = &world.run()[..8];
    insta::assert_snapshot!(world.show(&["runs", "prompt", run, "And hurry."]), @"");
    assert_eq!(
        world
            .call(&["runs", "reply", run, "old", "--no-resume"])
            .code,
        0
    );
    assert_eq!(world.call(&["runs", "prompt", run, " "]).code, 64);
    insta::assert_snapshot!(world.show(&["runs", "prompt", run, "And hurry.", "--no-resume"]), @"");
    insta::assert_snapshot!(world.show(&["runs", "prompt", run, "Please."]), @"");
    let shown = world.show(&["runs", "show", run]);
    let said: Vec<_> = shown
        .lines()
        .filter(|line| line.contains("prompt.added"))
        .collect();
    insta::assert_snapshot!(said.join("\n"), @"");
    insta::assert_snapshot!(world.show(&["runs", "prompt", run, "More."]), @"");
    insta::assert_snapshot!(world.json(&["runs", "prompt", "ffffffffffff", "More."]), @"");
    assert_eq!(world.call(&["audit", "verify"]).code, 0);
    assert_eq!(world.call(&["runs", "replay", run]).code, 0);
}
