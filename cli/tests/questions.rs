//! `runs reply` and `runs prompt`: what a person tells an agent.

use crate::support::{World, without_durations};

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
    insta::assert_snapshot!(cards, @r#"
     waits for c1

    c1 ask_user of run <run1>: the agent asks
      who asks       the agent asks, not placet, which never asks for passwords or secrets here
      expires        <time> (in 23 h)
      question
        | Which list?
        | 1. old
        | 2. new
      request        <digest>

    c1 asks you
      placet runs reply <run1> c1 "your reply"
    -- stderr --
    -- exit 0 --
    "#);
    insta::assert_snapshot!(world.show(&["runs", "list"]), @r"
    RUN     STATE   WAITS  STARTED               AGENT    PROMPT
    <run1>  parked  1      <time>  default  Sort the lists.
    -- stderr --
    -- exit 0 --
    ");
    insta::assert_snapshot!(world.show(&["inbox"]), @r#"
    c1 ask_user of run <run1>: the agent asks
      who asks       the agent asks, not placet, which never asks for passwords or secrets here
      expires        <time> (in 23 h)
      question
        | Which list?
        | 1. old
        | 2. new
      request        <digest>

    c1 asks you
      placet runs reply <run1> c1 "your reply"
    -- stderr --
    -- exit 0 --
    "#);
    insta::assert_snapshot!(world.show(&["runs", "reply", run, "the old\none"]), @"
    run <run1> completed
      last text
        | Thank you.
    -- stderr --
    calls: 1 answered; 2 model calls, 20 tokens in, 20 out, 0 USD, <n> ms active
    -- exit 0 --
    ");
    let shown = world.show(&["runs", "show", run]);
    let said: Vec<_> = shown
        .lines()
        .filter(|line| line.contains("question."))
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r"
    5  <time>  policy    question.asked c1 expires <time>: Which list? (+2 lines, 14 bytes)
    8  <time>  uid:1000  question.answered c1 by uid:1000 (cli, same-user): the old (+1 lines, 4 bytes)
    ");
    let events = json(&world, &["runs", "show", run]);
    let events = events["events"].as_array().unwrap();
    let of = |name: &str| events.iter().find(|event| event["type"] == name).unwrap();
    assert_eq!(of("question.asked")["said"], "Which list?\n1. old\n2. new");
    assert_eq!(of("question.answered")["said"], "the old\none");
    let checks = |name: &str| {
        let at = format!("#{}", of(name)["position"]);
        let shown = world.show(&["audit", "show", &at]);
        let checked = |line: &&str| line.contains("  holds ") || line.contains("  computed ");
        shown.lines().filter(checked).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(checks("question.asked"), @r"
    holds        prev <digest>
    computed     request <digest>
    ");
    insta::assert_snapshot!(checks("question.answered"), @r"
    holds        prev <digest>
    holds        request <digest>
    ");
    world.records_hold();
}

#[test]
fn a_reply_is_refused_where_it_fits_nothing() {
    let world = asking(ASKS_TWICE);
    let run = &world.run()[..8];
    insta::assert_snapshot!(world.show(&["runs", "reply", run, "both"]), @r"
    -- stderr --
    error: several questions wait: c1, c2
      hint: name the one: placet runs reply RUN c1 TEXT
    -- exit 3 --
    ");
    insta::assert_snapshot!(world.show(&["runs", "reply", run, "c3", "yes"]), @r"
    -- stderr --
    error: the call does not ask a question
      hint: placet runs show RUN shows what waits
    -- exit 3 --
    ");
    insta::assert_snapshot!(world.show(&["runs", "reply", run, "c9", "yes"]), @r"
    -- stderr --
    error: the run has no call c9
      hint: placet runs show RUN lists its calls
    -- exit 3 --
    ");
    insta::assert_snapshot!(world.show(&["runs", "reply", run, "c1", " "]), @r"
    -- stderr --
    error: the reply is empty
    -- exit 64 --
    ");
    insta::assert_snapshot!(world.show(&["runs", "reply", run, "the", "old"]), @r#"
    -- stderr --
    error: invalid value 'the' for '[CALL]': expected a call id such as c1, found "the"
      hint: --help tells more
    -- exit 64 --
    "#);
    std::fs::write(world.path("arguments"), r#"{"question": "Which year?"}"#).unwrap();
    let amend = ["runs", "amend", run, "c1", "--args", "arguments"];
    insta::assert_snapshot!(world.show(&amend), @r"
    -- stderr --
    error: a question has no arguments to amend: reply to it
    -- exit 3 --
    ");
    let other = "0".repeat(64);
    let bound = ["runs", "reply", run, "c1", "old", "--request", &other];
    insta::assert_snapshot!(world.show(&bound), @r"
    -- stderr --
    error: the request of c1 is now <digest>, the answer is for <digest>
      hint: placet runs show RUN displays what is asked now
    -- exit 3 --
    ");
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
    insta::assert_snapshot!(world.show(&bound), @r"
    -- stderr --
    error: already answered: c1
      hint: placet runs show RUN tells who answered
    -- exit 5 --
    ");
    assert_eq!(world.call(&["runs", "reply", run, "Monday"]).code, 2);
    insta::assert_snapshot!(world.show(&["runs", "reply", run, "again"]), @r"
    -- stderr --
    error: already answered: c2
      hint: placet runs show RUN tells who answered
    -- exit 5 --
    ");
    insta::assert_snapshot!(world.show(&["runs", "approve", run]), @"
    run <run1> completed
      last text
        | Thank you.
      done         c3 write_file: Create a.txt: 1 line.
    -- stderr --
    calls: 2 answered, 1 succeeded; 2 model calls, 20 tokens in, 20 out, 0 USD, <n> ms active
    -- exit 0 --
    ");
    assert!(world.path("ws/a.txt").exists());
    assert_eq!(world.call(&["runs", "reply", run, "once more"]).code, 5);
}

#[test]
fn a_reply_from_standard_input_may_leave_the_run_to_somebody_else() {
    let mut world = asking(ASKS);
    world.stdin = b"from a pipe\n".to_vec();
    let run = world.run()[..8].to_owned();
    let piped = world.json(&["runs", "reply", &run, "-", "--no-resume"]);
    insta::assert_snapshot!(without_durations(&piped), @r#"
    {
      "calls": {
        "answered": 1
      },
      "declined": [],
      "pending": [],
      "run": "<run1>",
      "state": "waiting",
      "text": "One question first.",
      "tools": {
        "ask_user": {
          "calls": 1,
          "declined": 0,
          "duration_ms": 0,
          "succeeded": 1,
          "unsuccessful": 0
        }
      },
      "unsuccessful": [],
      "usage": {
        "active_ms": 0,
        "cost_usd": "0",
        "iterations": 1,
        "tokens": 20,
        "tokens_in": 10,
        "tokens_out": 10
      }
    }
    -- stderr --
    -- exit 0 --
    "#);
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
    insta::assert_snapshot!(world.show(&["runs", "reply", run, "too late"]), @r"
    -- stderr --
    error: the run has ended (expired)
    -- exit 3 --
    ");
}

#[test]
fn a_message_enters_where_no_call_is_open() {
    let world = asking(ASKS);
    let run = &world.run()[..8];
    insta::assert_snapshot!(world.show(&["runs", "prompt", run, "And hurry."]), @r"
    -- stderr --
    error: calls are open: c1
      hint: answer them first: placet runs show RUN
    -- exit 3 --
    ");
    assert_eq!(
        world
            .call(&["runs", "reply", run, "old", "--no-resume"])
            .code,
        0
    );
    assert_eq!(world.call(&["runs", "prompt", run, " "]).code, 64);
    insta::assert_snapshot!(world.show(&["runs", "prompt", run, "And hurry.", "--no-resume"]), @"
    run <run1> waiting
      last text
        | One question first.
    next: placet runs resume <run1>
    -- stderr --
    -- exit 0 --
    ");
    insta::assert_snapshot!(world.show(&["runs", "prompt", run, "Please."]), @"
    run <run1> completed
      last text
        | Thank you.
    -- stderr --
    calls: 1 answered; 2 model calls, 20 tokens in, 20 out, 0 USD, <n> ms active
    -- exit 0 --
    ");
    let shown = world.show(&["runs", "show", run]);
    let said: Vec<_> = shown
        .lines()
        .filter(|line| line.contains("prompt.added"))
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r"
     9  <time>  uid:1000  prompt.added by uid:1000 (cli, same-user): And hurry.
    10  <time>  uid:1000  prompt.added by uid:1000 (cli, same-user): Please.
    ");
    insta::assert_snapshot!(world.show(&["runs", "prompt", run, "More."]), @r"
    -- stderr --
    error: the run has ended (completed)
      hint: placet run starts a new one
    -- exit 3 --
    ");
    insta::assert_snapshot!(world.json(&["runs", "prompt", "ffffffffffff", "More."]), @r#"
    -- stderr --
    {"error":{"code":"not_found","hints":["placet runs list --all names every run"],"message":"no run begins with ffffffffffff"}}
    -- exit 4 --
    "#);
    world.records_hold();
    assert_eq!(world.call(&["runs", "replay", run]).code, 0);
}

#[test]
fn hostile_questions_and_replies_are_shown_harmless() {
    let texts: Vec<String> = serde_json::from_str(include_str!("fixtures/hostile.json")).unwrap();
    let texts = texts.into_iter().filter(|text| !text.contains('\0'));
    let hostile = texts.collect::<Vec<_>>().join("\n");
    let quoted = serde_json::to_string(&hostile).unwrap();
    let quoted = quoted.replace('\u{7f}', "\\u007f");
    let script = format!(
        "[[turn]]\nusage = {{ input = 1, output = 1 }}\ncalls = [{{ id = \"p1\", tool = \
         \"ask_user\", args = {{ question = {quoted}, options = [{quoted}] }} }}]\n\
         [[turn]]\ntext = \"Done.\"\nusage = {{ input = 1, output = 1 }}\n"
    );
    let world = asking(&script);
    let run = &world.run()[..8];
    let hidden = |c: char| {
        let moves = matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}');
        c != '\n' && (c.is_control() || moves || matches!(c, '\u{2060}'..='\u{206f}'))
    };
    let check = |args: &[&str]| {
        let shown = world.call(args);
        assert!(!shown.stdout.contains(hidden), "{args:?}");
        assert!(!shown.stderr.contains(hidden), "{args:?}");
        shown.code
    };
    for args in [&["runs", "show", run][..], &["inbox"], &["runs", "list"]] {
        assert_eq!(check(args), 0);
    }
    assert_eq!(
        check(&["runs", "reply", run, "c1", &hostile, "--no-resume"]),
        0
    );
    assert_eq!(check(&["runs", "prompt", run, &hostile, "--no-resume"]), 0);
    assert_eq!(
        check(&["runs", "policy", run, "true", "--note", &hostile]),
        0
    );
    assert_eq!(
        check(&["policy", "explain", "--run", run, &hostile, &hostile]),
        4
    );
    assert_eq!(
        check(&["policy", "explain", "--run", run, "rm", &hostile]),
        64
    );
    assert_eq!(check(&["runs", "show", run]), 0);
    assert_eq!(check(&["runs", "resume", run]), 0);
    let shown = json(&world, &["runs", "show", run]);
    let events = shown["events"].as_array().unwrap().iter();
    let said: Vec<_> = events.filter(|event| event["said"] == hostile).collect();
    assert_eq!(said.len(), 3, "kept as it was said");
}
