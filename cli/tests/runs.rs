//! `runs list`, `runs show`, `inbox`, and where a run stands after it was driven.

use crate::support::{World, without_durations};

#[test]
fn lists_the_runs_that_are_not_finished() {
    let world = World::parked();
    insta::assert_snapshot!(world.show(&["runs", "list"]), @r"
    RUN     STATE   WAITS  STARTED               AGENT    PROMPT
    <run1>  parked  2      <time>  default  Tidy up.
    -- stderr --
    -- exit 0 --
    ");
    insta::assert_snapshot!(world.json(&["runs", "list"]), @r#"
    {
      "runs": [
        {
          "agent": "default",
          "model": "script:tidy.toml",
          "pending": 2,
          "policy": "false",
          "run": "<run1>",
          "started_at": "<time>",
          "state": "parked",
          "updated_at": "<time>"
        }
      ]
    }
    -- stderr --
    -- exit 0 --
    "#);
}

#[test]
fn says_how_many_finished_runs_are_hidden() {
    let world = World::parked();
    let run = &world.run()[..8];
    assert_eq!(world.call(&["runs", "approve", run]).code, 0);
    insta::assert_snapshot!(world.show(&["runs", "list"]), @r"
    -- stderr --
    1 finished run is hidden; --all shows them
    -- exit 0 --
    ");
    insta::assert_snapshot!(world.show(&["runs", "list", "--all"]), @r"
    RUN     STATE      WAITS  STARTED               AGENT    PROMPT
    <run1>  completed         <time>  default  Tidy up.
    -- stderr --
    -- exit 0 --
    ");
    insta::assert_snapshot!(world.show(&["runs", "list", "--state", "finished"]), @r"
    RUN     STATE      WAITS  STARTED               AGENT    PROMPT
    <run1>  completed         <time>  default  Tidy up.
    -- stderr --
    -- exit 0 --
    ");
    insta::assert_snapshot!(world.show(&["runs", "list", "--state", "parked"]), @r"
    -- stderr --
    there are no such runs
    -- exit 0 --
    ");
}

#[test]
fn lists_by_agent_and_by_time() {
    let mut world = World::parked();
    world.start("Tidy up once more,\nand look at \u{1b}[31mall\u{1b}[0m of it: \u{202e}gnol yrev");
    assert_eq!(
        world
            .call(&["--json", "runs", "list", "--agent", "other"])
            .stdout,
        "{\"runs\":[]}\n"
    );
    assert_eq!(
        world
            .call(&["runs", "list", "--since", "1h"])
            .stdout
            .lines()
            .count(),
        3
    );
    let since = ["runs", "list", "--since", "9000-01-01"];
    insta::assert_snapshot!(world.show(&since), @r"
    -- stderr --
    there are no such runs
    -- exit 0 --
    ");
    insta::assert_snapshot!(world.show(&["runs", "list"]), @r"
    RUN     STATE   WAITS  STARTED               AGENT    PROMPT
    <run2>  parked  2      <time>  default  Tidy up once more, (+1 lines, 45 bytes)
    <run1>  parked  2      <time>  default  Tidy up.
    -- stderr --
    -- exit 0 --
    ");
}

#[test]
fn shows_a_run_that_waits() {
    let world = World::parked();
    let run = &world.run()[..8];
    insta::assert_snapshot!(world.show(&["runs", "show", run]), @r#"
    run <run1> parked
      agent        default, model script:tidy.toml
      policy       false, waits for answers
      workspace    "<dir>/ws"
      started      <time>
      budget left  49 of 50 model calls
      so far       calls: 1 not started, 2 waiting; 1 model call, 31 tokens in, 58 out, 0 USD, <n> ms active
      prompt
        | Tidy up.
      last text
        | I add the eggs and drop the log.

    timeline (UTC)
       0  <time>  uid:1000  run.started agent default, script:tidy.toml, policy false, attendance park, 17 tools
       1  <time>  engine    segment.started segment 1, start, attendance park
       2  <time>  engine    model.called script:tidy.toml, attempt 1, 402 tokens reserved
       3  <time>  engine    model.replied tool_calls, calls: c1 ls, c2 write_file, c3 rm, 89 tokens, 0 USD
       4  <time>  engine    call.proposed c1 ls, declared read-only, in-process
       5  <time>  policy    approval.granted c1 read-only by plain-read-only
       6  <time>  engine    call.proposed c2 write_file, declared high-risk, in-process
       7  <time>  policy    approval.requested c2 high-risk by policy:false, expires <time>
       8  <time>  engine    call.proposed c3 rm, declared high-risk, in-process
       9  <time>  policy    approval.requested c3 high-risk by policy:false, expires <time>
      10  <time>  engine    segment.ended segment 1, parked, <n> ms active
      11  <time>  engine    run.parked waits for c2, c3

    c2 write_file of run <run1>: may it run?
      tier           high-risk, asked by policy:false
      containment    in-process
      expires        <time> (in 23 h)
      what would run
        path "notes.txt"
        content
        | milk
        | eggs
        |
      message
        | Write notes.txt: 1 line added.
      diff
        | --- a/notes.txt
        | +++ b/notes.txt
        | @@ -1 +1,2 @@
        |  milk
        | +eggs
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
      placet runs approve <run1> c2 --reject c3 --set <code> --note "why"
    -- stderr --
    -- exit 0 --
    "#);
    let shown = without_durations(&world.json(&["runs", "show", run]));
    insta::assert_snapshot!(shown, @r#"
    {
      "agent": "default",
      "attendance": "park",
      "calls": {
        "not_started": 1,
        "waiting": 2
      },
      "declined": [],
      "events": [
        {
          "actor": "uid:1000",
          "at": "<time>",
          "event": "<id>",
          "position": 2,
          "summary": "run.started agent default, script:tidy.toml, policy false, attendance park, 17 tools",
          "type": "run.started",
          "version": 0
        },
        {
          "actor": "engine",
          "at": "<time>",
          "cause": "<id>",
          "event": "<id>",
          "position": 3,
          "summary": "segment.started segment 1, start, attendance park",
          "type": "segment.started",
          "version": 1
        },
        {
          "actor": "engine",
          "at": "<time>",
          "cause": "<id>",
          "event": "<id>",
          "position": 4,
          "summary": "model.called script:tidy.toml, attempt 1, 402 tokens reserved",
          "type": "model.called",
          "version": 2
        },
        {
          "actor": "engine",
          "at": "<time>",
          "cause": "<id>",
          "event": "<id>",
          "position": 5,
          "summary": "model.replied tool_calls, calls: c1 ls, c2 write_file, c3 rm, 89 tokens, 0 USD",
          "type": "model.replied",
          "version": 3
        },
        {
          "actor": "engine",
          "at": "<time>",
          "call": "c1",
          "cause": "<id>",
          "event": "<id>",
          "position": 6,
          "summary": "call.proposed c1 ls, declared read-only, in-process",
          "type": "call.proposed",
          "version": 4
        },
        {
          "actor": "policy",
          "at": "<time>",
          "call": "c1",
          "cause": "<id>",
          "event": "<id>",
          "position": 7,
          "summary": "approval.granted c1 read-only by plain-read-only",
          "type": "approval.granted",
          "version": 5
        },
        {
          "actor": "engine",
          "at": "<time>",
          "call": "c2",
          "cause": "<id>",
          "event": "<id>",
          "position": 8,
          "summary": "call.proposed c2 write_file, declared high-risk, in-process",
          "type": "call.proposed",
          "version": 6
        },
        {
          "actor": "policy",
          "at": "<time>",
          "call": "c2",
          "cause": "<id>",
          "event": "<id>",
          "position": 9,
          "summary": "approval.requested c2 high-risk by policy:false, expires <time>",
          "type": "approval.requested",
          "version": 7
        },
        {
          "actor": "engine",
          "at": "<time>",
          "call": "c3",
          "cause": "<id>",
          "event": "<id>",
          "position": 10,
          "summary": "call.proposed c3 rm, declared high-risk, in-process",
          "type": "call.proposed",
          "version": 8
        },
        {
          "actor": "policy",
          "at": "<time>",
          "call": "c3",
          "cause": "<id>",
          "event": "<id>",
          "position": 11,
          "summary": "approval.requested c3 high-risk by policy:false, expires <time>",
          "type": "approval.requested",
          "version": 9
        },
        {
          "actor": "engine",
          "at": "<time>",
          "cause": "<id>",
          "event": "<id>",
          "position": 12,
          "summary": "segment.ended segment 1, parked, <n> ms active",
          "type": "segment.ended",
          "version": 10
        },
        {
          "actor": "engine",
          "at": "<time>",
          "cause": "<id>",
          "event": "<id>",
          "position": 13,
          "summary": "run.parked waits for c2, c3",
          "type": "run.parked",
          "version": 11
        }
      ],
      "left": {
        "iterations": 49
      },
      "limits": {
        "iterations": 50
      },
      "model": "script:tidy.toml",
      "pending": [
        {
          "arguments": {
            "content": "milk\neggs\n",
            "path": "notes.txt"
          },
          "call": "c2",
          "containment": "in-process",
          "expires_at": "<time>",
          "kind": "approval",
          "message": "Write notes.txt: 1 line added.",
          "path": [
            "<run1>"
          ],
          "preview": "--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1,2 @@\n milk\n+eggs\n",
          "proposal": "<digest>",
          "quorum": {
            "have": 0,
            "need": 1
          },
          "request": "<digest>",
          "requested_at": "<time>",
          "rule": "policy:false",
          "run": "<run1>",
          "set": "<code>",
          "tier": "high-risk",
          "tool": "write_file"
        },
        {
          "arguments": {
            "path": "old.log",
            "recursive": false
          },
          "call": "c3",
          "containment": "in-process",
          "expires_at": "<time>",
          "kind": "approval",
          "message": "Remove old.log (8 bytes).",
          "path": [
            "<run1>"
          ],
          "preview": "--- a/old.log\n+++ /dev/null\n@@ -1 +0,0 @@\n-debug 1\n",
          "proposal": "<digest>",
          "quorum": {
            "have": 0,
            "need": 1
          },
          "request": "<digest>",
          "requested_at": "<time>",
          "rule": "policy:false",
          "run": "<run1>",
          "set": "<code>",
          "tier": "high-risk",
          "tool": "rm"
        }
      ],
      "policy": "false",
      "prompt": "Tidy up.",
      "run": "<run1>",
      "set": "<code>",
      "started_at": "<time>",
      "state": "parked",
      "text": "I add the eggs and drop the log.",
      "unsuccessful": [],
      "updated_at": "<time>",
      "usage": {
        "active_ms": 0,
        "cost_usd": "0",
        "iterations": 1,
        "tokens": 89,
        "tokens_in": 31,
        "tokens_out": 58
      },
      "workspace": "<dir>/ws"
    }
    -- stderr --
    -- exit 0 --
    "#);
}

#[test]
fn shows_what_was_declined_in_a_finished_run() {
    let world = World::parked();
    let run = &world.run()[..8];
    let note = "keep \u{202e}the\nlog";
    let answer = [
        "runs", "approve", run, "c2", "--reject", "c3", "--note", note,
    ];
    insta::assert_snapshot!(world.show(&answer), @r"
    run <run1> completed
      last text
        | Done.
      done         c2 write_file: Write notes.txt: 1 line added.
      denied       c3 rm: keep \u{202e}the (+1 lines, 4 bytes)
    -- stderr --
    calls: 1 denied, 2 succeeded; 2 model calls, 51 tokens in, 60 out, 0 USD, <n> ms active
    -- exit 0 --
    ");
    let shown = world.show(&["runs", "show", run]);
    let about = shown.split("timeline").next().unwrap();
    insta::assert_snapshot!(about, @r#"
    run <run1> completed
      agent        default, model script:tidy.toml
      policy       false, waits for answers
      workspace    "<dir>/ws"
      started      <time>
      budget left  48 of 50 model calls
      so far       calls: 1 denied, 2 succeeded; 2 model calls, 51 tokens in, 60 out, 0 USD, <n> ms active
      prompt
        | Tidy up.
      last text
        | Done.
      denied       c3 rm
        | keep \u{202e}the
        | log
    "#);
    let json: serde_json::Value =
        serde_json::from_str(&world.call(&["--json", "runs", "show", run]).stdout).unwrap();
    assert_eq!(json["declined"][0]["detail"], note);
    assert_eq!(json["outcome"], "completed");
    assert_eq!(json["pending"], serde_json::json!([]));
}

#[test]
fn shows_what_waits_in_every_run() {
    let mut world = World::parked();
    world.start("Again.");
    insta::assert_snapshot!(world.show(&["inbox"]), @r#"
    c2 write_file of run <run1>: may it run?
      tier           high-risk, asked by policy:false
      containment    in-process
      expires        <time> (in 23 h)
      what would run
        path "notes.txt"
        content
        | milk
        | eggs
        |
      message
        | Write notes.txt: 1 line added.
      diff
        | --- a/notes.txt
        | +++ b/notes.txt
        | @@ -1 +1,2 @@
        |  milk
        | +eggs
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
      placet runs approve <run1> c2 --reject c3 --set <code> --note "why"

    c2 write_file of run <run2>: may it run?
      tier           high-risk, asked by policy:false
      containment    in-process
      expires        <time> (in 23 h)
      what would run
        path "notes.txt"
        content
        | milk
        | eggs
        |
      message
        | Write notes.txt: 1 line added.
      diff
        | --- a/notes.txt
        | +++ b/notes.txt
        | @@ -1 +1,2 @@
        |  milk
        | +eggs
        |
      request        <digest>

    c3 rm of run <run2>: may it run?
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

    set code <code>: it stands for every request of <run2> above
      placet runs approve <run2> --set <code>
      placet runs reject <run2> --set <code> --note "why"
      placet runs approve <run2> c2 --reject c3 --set <code> --note "why"
    -- stderr --
    -- exit 0 --
    "#);
    let shown = world.call(&["--json", "inbox"]).stdout;
    let inbox: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let of: Vec<_> = inbox["pending"].as_array().unwrap().iter().collect();
    let calls: Vec<_> = of
        .iter()
        .map(|card| card["call"].as_str().unwrap())
        .collect();
    assert_eq!(calls, ["c2", "c3", "c2", "c3"]);
    assert_eq!(of[0]["path"][0], world.runs[0]);
    assert_eq!(of[3]["run"], world.runs[1]);
}

#[test]
fn an_empty_inbox_says_so_beside_the_data() {
    let world = World::parked();
    assert_eq!(
        world
            .call(&["runs", "reject", &world.run()[..8], "--note", "no"])
            .code,
        0
    );
    insta::assert_snapshot!(world.show(&["inbox"]), @r"
    -- stderr --
    nothing waits for an answer
    -- exit 0 --
    ");
    assert_eq!(
        world.call(&["--json", "inbox"]).stdout,
        "{\"pending\":[]}\n"
    );
}

#[test]
fn says_what_to_type_after_a_run_has_parked() {
    let mut world = World::new();
    let home = world.path("a home");
    let args = [
        "--home",
        home.to_str().unwrap(),
        "run",
        "--model",
        "script:tidy.toml",
        "--workspace",
        "ws",
        "--park",
        "Tidy up.",
    ];
    let parked = world.call(&args);
    let (_, rest) = parked.stdout.split_once("run ").unwrap();
    world.runs.push(rest[..36].to_owned());
    let again = [
        "--home",
        home.to_str().unwrap(),
        "runs",
        "resume",
        &world.run()[..8],
    ];
    insta::assert_snapshot!(world.show(&again), @"
    run <run1> parked
      last text
        | I add the eggs and drop the log.
      waits        c2 write_file
      waits        c3 rm
    next: placet --home '<dir>/a home' runs show <run1>
    -- stderr --
    calls: 1 not started, 2 waiting; 1 model call, 31 tokens in, 58 out, 0 USD, <n> ms active
    -- exit 2 --
    ");
}

#[test]
fn colour_is_used_where_it_is_wanted() {
    let mut world = World::parked();
    let run = world.run()[..8].to_owned();
    let plain = world.call(&["runs", "show", &run]).stdout;
    assert!(!plain.contains('\u{1b}'));
    let always = world
        .call(&["runs", "show", &run, "--color", "always"])
        .stdout;
    assert!(always.contains("\u{1b}[32m+eggs\u{1b}[0m"));
    world.terminal = true;
    assert!(
        world
            .call(&["runs", "show", &run])
            .stdout
            .contains("\u{1b}[32m")
    );
    let never = world
        .call(&["runs", "show", &run, "--color", "never"])
        .stdout;
    assert!(!never.contains('\u{1b}'));
}

#[test]
fn json_on_a_terminal_hides_nothing() {
    let mut world = World::new();
    world.start("a\u{202e}b\u{9b}c\u{7f}");
    world.terminal = true;
    let shown = world
        .call(&["--json", "runs", "show", &world.run()[..8]])
        .stdout;
    assert!(shown.contains("a\\u202eb\\u009bc\\u007f"));
    let value: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(value["prompt"], "a\u{202e}b\u{9b}c\u{7f}");
}

#[test]
fn what_nobody_answered_in_time_is_said_to_be_expired() {
    let mut world = World::new();
    world.start_with("Tidy up.", &["--park-expiry", "1ms"]);
    let run = &world.run()[..8];
    insta::assert_snapshot!(world.show(&["runs", "list"]), @r"
    RUN     STATE            WAITS  STARTED               AGENT    PROMPT
    <run1>  parked, expired  2      <time>  default  Tidy up.
    -- stderr --
    -- exit 0 --
    ");
    let shown = world.call(&["runs", "show", run]).stdout;
    assert!(shown.contains("(expired: an answer is too late)"));
    assert!(shown.ends_with(
        "nobody answered in time: the next command that moves the run ends it as expired\n"
    ));
    assert!(!world.call(&["inbox"]).stdout.contains("set code"));
    let shown = world.call(&["--json", "inbox"]).stdout;
    assert!(shown.contains("\"expired\":true"));
    let before = world.call(&["--json", "audit", "log"]).stdout;
    assert_eq!(before.matches("\"type\":\"run.parked\"").count(), 1);
}

#[test]
fn hostile_text_is_shown_harmless_by_every_verb_and_written_as_it_was_shown() {
    let texts: Vec<String> = serde_json::from_str(include_str!("fixtures/hostile.json")).unwrap();
    let texts: Vec<_> = texts
        .into_iter()
        .filter(|text| !text.contains('\0'))
        .collect();
    let content = texts.join("\n");
    let quoted = serde_json::to_string(&content)
        .unwrap()
        .replace('\u{7f}', "\\u007f");
    let script = format!(
        "[[turn]]\ntext = {quoted}\nusage = {{ input = 1, output = 1 }}\ncalls = [\n\
         {{ id = \"p1\", tool = \"write_file\", \
         args = {{ path = \"caf\u{e9}.txt\", content = {quoted} }} }}]\n\
         [[turn]]\ntext = \"Done.\"\nusage = {{ input = 1, output = 1 }}\n"
    );
    let mut world = World::with_script(&script);
    world.start(&content);
    let run = world.run()[..8].to_owned();
    let bidi = |c| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}');
    let joiner = |c| matches!(c, '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e01ef}');
    let hidden = |c: char| c != '\n' && (c.is_control() || bidi(c) || joiner(c));
    let check = |args: &[&str]| {
        let shown = world.call(args);
        assert!(!shown.stdout.chars().any(hidden), "{args:?}");
        assert!(!shown.stderr.chars().any(hidden), "{args:?}");
        shown
    };
    let shown = check(&["runs", "show", &run]).stdout;
    assert!(shown.contains("path \"caf\\xe9.txt\""));
    check(&["runs", "list"]);
    check(&["inbox"]);
    check(&["audit", "log"]);
    for position in 0..8 {
        check(&["audit", "show", &format!("#{position}")]);
    }
    assert_eq!(check(&["runs", "approve", &run]).code, 0);
    let written = std::fs::read_to_string(world.path("ws/caf\u{e9}.txt")).unwrap();
    assert_eq!(written, content);
}

#[test]
fn the_same_answer_again_with_another_verdict_is_a_conflict_even_after_the_end() {
    let world = World::parked();
    let set = |second: &str| {
        format!(
            "{{\"answer\":\"5a9d2b3c-0000-4000-8000-000000000001\",\"answers\":[\
             {{\"call\":\"c2\",\"approve\":true}},{{\"call\":\"c3\",{second}}}]}}"
        )
    };
    std::fs::write(world.path("one"), set("\"approve\":true")).unwrap();
    std::fs::write(world.path("other"), set("\"deny\":\"no\"")).unwrap();
    let answer = |file| {
        world
            .call(&["runs", "answer", world.run(), "--file", file])
            .code
    };
    assert_eq!(answer("one"), 0);
    assert_eq!(answer("one"), 0, "the same is answered as the first time");
    assert_eq!(answer("other"), 5);
}
