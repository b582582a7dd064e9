//! `runs amend` and `runs revoke`: calls that a person changes, or takes back.

use crate::support::{World, without_durations};

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
    insta::assert_snapshot!(world.show(&amend(run, "c2")), @"
    run <run1> parked
      last text
        | I add the eggs and drop the log.
      amended      c2 write_file: c4 stands in its place
      waits        c4 write_file
      waits        c3 rm
    next: placet runs show <run1>
    -- stderr --
    -- exit 2 --
    ");
    let shown = world.show(&["runs", "show", run]);
    let (_, cards) = shown.split_once("\n\nc4 write_file").unwrap();
    insta::assert_snapshot!(cards, @r#"
     of run <run1>: may it run?
      tier           high-risk, asked by policy:false
      in place of    c2, to which a person gave these arguments
      containment    in-process
      expires        <time> (in 23 h)
      what would run
        path "notes.txt"
        content
        | milk
        | tea
        |
      message
        | Write notes.txt: 1 line added.
      diff
        | --- a/notes.txt
        | +++ b/notes.txt
        | @@ -1 +1,2 @@
        |  milk
        | +tea
        |
      request        <digest>

    c3 rm of run <run1>: may it run?
      tier           high-risk, asked by policy:false
      containment    in-process
      expires        <time> (in 23 h)
      what would run
        path "old.log"
        recursive false
      message
        | Remove old.log (8 bytes).
      diff
        | --- a/old.log
        | +++ /dev/null
        | @@ -1 +0,0 @@
        | -debug 1
        |
      request        <digest>

    set code <code>: it stands for every request of <run1> above
      placet runs approve <run1> --set <code>
      placet runs reject <run1> --set <code> --note "why"
      placet runs approve <run1> c4 --reject c3 --set <code> --note "why"
    -- stderr --
    -- exit 0 --
    "#);
    let inbox = json(&world, &["inbox"]);
    let cards = inbox["pending"].as_array().unwrap();
    let amended = cards.iter().find(|card| card["call"] == "c4").unwrap();
    assert_eq!(amended["supersedes"], "c2");
    insta::assert_snapshot!(world.show(&["runs", "approve", run, "c2", "c3"]), @r"
    -- stderr --
    error: c2 was amended: c4 stands in its place
      hint: placet runs show RUN shows what stands in its place
    -- exit 5 --
    ");
    insta::assert_snapshot!(world.show(&amend(run, "c2")), @r"
    -- stderr --
    error: c2 was amended: c4 stands in its place
      hint: placet runs show RUN shows what stands in its place
    -- exit 5 --
    ");
    insta::assert_snapshot!(world.show(&["runs", "approve", run, "c4", "c3"]), @"
    run <run1> completed
      last text
        | Done.
      amended      c2 write_file: c4 stands in its place
      done         c3 rm: Remove old.log (8 bytes).
      done         c4 write_file: Write notes.txt: 1 line added.
    -- stderr --
    calls: 1 amended, 3 succeeded; 2 model calls, 51 tokens in, 60 out, 0 USD, <n> ms active
    -- exit 0 --
    ");
    assert_eq!(
        std::fs::read_to_string(world.path("ws/notes.txt")).unwrap(),
        "milk\ntea\n"
    );
    world.records_hold();
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
    insta::assert_snapshot!(world.show(&["runs", "answer", run, "--file", "old"]), @r"
    -- stderr --
    error: c2 was amended: c4 stands in its place
      hint: placet runs show RUN shows what stands in its place
    -- exit 5 --
    ");
    assert_eq!(world.call(&["runs", "approve", run, "--set", &set]).code, 3);
    let both = ["runs", "amend", run, "c3", "--args", "arguments.json"];
    with_arguments(&world, r#"{"path": "notes.txt"}"#);
    insta::assert_snapshot!(without_durations(&world.json(&both)), @r#"
    {
      "amended": [
        {
          "call": "c2",
          "superseded_by": "c4",
          "tool": "write_file"
        },
        {
          "call": "c3",
          "superseded_by": "c5",
          "tool": "rm"
        }
      ],
      "calls": {
        "amended": 2,
        "not_started": 1,
        "waiting": 2
      },
      "declined": [],
      "pending": [
        {
          "call": "c4",
          "kind": "approval",
          "request": "<digest>",
          "tool": "write_file"
        },
        {
          "call": "c5",
          "kind": "approval",
          "request": "<digest>",
          "tool": "rm"
        }
      ],
      "run": "<run1>",
      "state": "parked",
      "text": "I add the eggs and drop the log.",
      "tools": {
        "ls": {
          "calls": 1,
          "declined": 0,
          "duration_ms": 0,
          "succeeded": 0,
          "unsuccessful": 0
        },
        "rm": {
          "calls": 2,
          "declined": 0,
          "duration_ms": 0,
          "succeeded": 0,
          "unsuccessful": 0
        },
        "write_file": {
          "calls": 2,
          "declined": 0,
          "duration_ms": 0,
          "succeeded": 0,
          "unsuccessful": 0
        }
      },
      "unsuccessful": [],
      "usage": {
        "active_ms": 0,
        "cost_usd": "0",
        "iterations": 1,
        "tokens": 89,
        "tokens_in": 31,
        "tokens_out": 58
      }
    }
    -- stderr --
    -- exit 2 --
    "#);
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
    insta::assert_snapshot!(world.show(&amend(&run, "c3")), @r"
    -- stderr --
    error: no proposal can be made of these arguments: there is no gone.log: did you mean old.log?
      hint: nothing was changed: placet runs show RUN shows the arguments as they are
    -- exit 3 --
    ");
    insta::assert_snapshot!(world.show(&amend(&run, "c1")), @r"
    -- stderr --
    error: c1 is not waiting for an approval
      hint: name every pending call once: placet runs show RUN lists them
    -- exit 3 --
    ");
    insta::assert_snapshot!(world.show(&amend(&run, "c9")), @r"
    -- stderr --
    error: the run has no call c9
      hint: placet runs show RUN lists its calls
    -- exit 3 --
    ");
    std::fs::remove_file(world.path("arguments.json")).unwrap();
    insta::assert_snapshot!(world.show(&amend(&run, "c2")), @r"
    -- stderr --
    error: cannot read the arguments in <dir>/arguments.json: No such file or directory (os error 2)
    -- exit 4 --
    ");
    world.stdin = vec![b' '; placet_ledger::limits::CONTENT_BYTES_MAX + 1];
    insta::assert_snapshot!(world.show(&["runs", "amend", &run, "c2", "--args", "-"]), @r"
    -- stderr --
    error: the arguments may have at most 16777216 bytes
    -- exit 64 --
    ");
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
    insta::assert_snapshot!(world.show(&["runs", "amend", &run, "c2", "--args", "-"]), @"
    run <run1> parked
      last text
        | I add the eggs and drop the log.
      amended      c2 write_file: c4 stands in its place
      waits        c3 rm
    next: placet runs show <run1>
    -- stderr --
    -- exit 2 --
    ");
    assert_eq!(
        std::fs::read_to_string(world.path("ws/notes.txt")).unwrap(),
        "milk\n"
    );
    world.stdin = br#"{"path": "old.log"}"#.to_vec();
    let last = ["runs", "amend", &run, "c3", "--args", "-", "--no-resume"];
    insta::assert_snapshot!(world.show(&last), @"
    run <run1> waiting
      last text
        | I add the eggs and drop the log.
      amended      c2 write_file: c4 stands in its place
      amended      c3 rm: c5 stands in its place
    next: placet runs resume <run1>
    -- stderr --
    -- exit 0 --
    ");
    insta::assert_snapshot!(world.show(&["runs", "resume", &run]), @"
    run <run1> completed
      last text
        | Done.
      amended      c2 write_file: c4 stands in its place
      amended      c3 rm: c5 stands in its place
      done         c4 write_file: Write notes.txt: 1 line added.
      done         c5 rm: Remove old.log (8 bytes).
    -- stderr --
    calls: 2 amended, 3 succeeded; 2 model calls, 51 tokens in, 60 out, 0 USD, <n> ms active
    -- exit 0 --
    ");
}

#[test]
fn an_approval_is_taken_back_before_it_is_used() {
    let world = World::parked();
    let run = &world.run()[..8];
    let revoke = |call| ["runs", "revoke", run, call, "--note", "the wrong file"];
    insta::assert_snapshot!(world.show(&revoke("c2")), @r"
    -- stderr --
    error: it is not approved yet: deny it instead
    -- exit 3 --
    ");
    assert_eq!(world.call(&["runs", "approve", run, "--no-resume"]).code, 0);
    insta::assert_snapshot!(world.show(&["runs", "prompt", run, "Wait."]), @r"
    -- stderr --
    error: calls are open: c1, c2, c3
      hint: answer them first: placet runs show RUN
    -- exit 3 --
    ");
    insta::assert_snapshot!(world.show(&revoke("c1")), @r"
    -- stderr --
    error: no person approved it: tighten the policy instead
    -- exit 3 --
    ");
    insta::assert_snapshot!(world.show(&revoke("c2")), @"
    run <run1> waiting
      last text
        | I add the eggs and drop the log.
      revoked      c2 write_file: the wrong file
    next: placet runs resume <run1>
    -- stderr --
    -- exit 0 --
    ");
    insta::assert_snapshot!(world.show(&revoke("c2")), @r"
    -- stderr --
    error: the call is over
    -- exit 3 --
    ");
    insta::assert_snapshot!(world.show(&revoke("c9")), @r"
    -- stderr --
    error: the run has no call c9
      hint: placet runs show RUN lists its calls
    -- exit 3 --
    ");
    assert_eq!(world.call(&["runs", "resume", run]).code, 0);
    assert_eq!(
        std::fs::read_to_string(world.path("ws/notes.txt")).unwrap(),
        "milk\n"
    );
    assert!(!world.path("ws/old.log").exists());
    insta::assert_snapshot!(world.show(&["audit", "log", "--verdict", "revoked"]), @r"
    #16  <run1>@14  <time>  uid:1000  approval.revoked c2 by uid:1000 (cli, same-user)
    -- stderr --
    -- exit 0 --
    ");
    let event = json(&world, &["audit", "log", "--type", "approval.revoked"]);
    let at = format!("#{}", event["events"][0]["position"]);
    let shown = world.show(&["audit", "show", &at]);
    let checks: Vec<_> = shown
        .lines()
        .filter(|line| line.contains("holds"))
        .collect();
    insta::assert_snapshot!(checks.join("\n"), @r"
    holds        prev <digest>
    holds        request <digest>
    holds        proposal <digest>
    ");
    insta::assert_snapshot!(world.json(&revoke("c2")), @r#"
    -- stderr --
    {"error":{"code":"refused","hints":[],"message":"the run has ended (completed)"}}
    -- exit 3 --
    "#);
}
