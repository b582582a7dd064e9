//! `runs settle`, and what `runs cancel` says of each call: executions that were cut off.

use placet_ledger::approval::{Assurance, Channel};
use placet_ledger::containment::Level;
use placet_ledger::content::{Contents, Text, Texts};
use placet_ledger::event::{SegmentReason, Settlement};
use placet_ledger::id::{CallId, HostId, RunId};
use placet_ledger::ledger::Ledger;
use placet_ledger::policy::Attendance;
use placet_ledger::run::{Caller, Command, Ended, Ending, RunState};

use crate::support::World;

/// An agent that proposes four changes at once.
const FOUR: &str = r#"
[[turn]]
usage = { input = 10, output = 10 }
calls = [
  { id = "p1", tool = "write_file", args = { path = "a.txt", content = "a\n" } },
  { id = "p2", tool = "write_file", args = { path = "b.txt", content = "b\n" } },
  { id = "p3", tool = "rm", args = { path = "old.log" } },
  { id = "p4", tool = "rm", args = { path = "notes.txt" } },
]

[[turn]]
text = "Done."
usage = { input = 10, output = 10 }
"#;

/// What a driver leaves of a call.
enum Left {
    Succeeded,
    Interrupted,
    Stale,
    NotDone,
    InDoubt,
    Executing,
}

/// A run whose calls are approved, and whose driver vanished after it left these as they are.
fn cut_off(left: &[Left]) -> World {
    let mut world = World::with_script(FOUR);
    world.start("Tidy up.");
    assert_eq!(
        world
            .call(&["runs", "approve", world.run(), "--no-resume"])
            .code,
        0
    );
    world.in_ledger(async |ledger, run| drive(&ledger, run, left).await);
    world
}

async fn drive(ledger: &Ledger, run: RunId, left: &[Left]) {
    let handle = async |command, texts| {
        ledger
            .handle(run, &Caller::Driver, command, texts)
            .await
            .unwrap();
    };
    let take_up = Command::TakeUp {
        attendance: Attendance::Park,
        driver: ledger.new_driver().await.unwrap(),
        host: HostId::new(uuid::Uuid::new_v4()),
        reason: SegmentReason::Resumed,
    };
    handle(take_up, Texts::new()).await;
    for (number, left) in (1..).zip(left) {
        let call: CallId = format!("c{number}").parse().unwrap();
        ledger
            .begin_execution(run, call, 0, Level::IN_PROCESS)
            .await
            .unwrap();
        let ended = |ending| {
            Command::RecordOutcome(Ended {
                exit: None,
                call,
                ending,
                duration_ms: 1,
            })
        };
        let result = Texts::from([(String::from("result"), Text::plain("as it was"))]);
        match left {
            Left::Succeeded => handle(ended(Ending::Succeeded), result).await,
            Left::Interrupted => handle(ended(Ending::Interrupted), result).await,
            Left::Stale => handle(ended(Ending::Stale), result).await,
            Left::NotDone => {
                handle(Command::RecordDoubt { call }, Texts::new()).await;
                settle(ledger, run, call).await;
            }
            Left::InDoubt => handle(Command::RecordDoubt { call }, Texts::new()).await,
            Left::Executing => {}
        }
    }
    ledger.commit(run).await.unwrap();
}

async fn settle(ledger: &Ledger, run: RunId, call: CallId) {
    let doubt = |state: &RunState, _: &Contents| state.call(call).unwrap().doubt().unwrap();
    let command = Command::SettleDoubt {
        call,
        request: ledger.look(run, doubt).await.unwrap(),
        verdict: Settlement::NotDone,
    };
    let person = Caller::Person {
        assurance: Assurance::SameUser,
        channel: Channel::Cli,
        principal: "uid:1000".parse().unwrap(),
    };
    let note = Texts::from([(String::from("note"), Text::plain("it is not there"))]);
    ledger.handle(run, &person, command, note).await.unwrap();
}

fn json(world: &World, args: &[&str]) -> serde_json::Value {
    let output = world.call(&[&["--json"], args].concat());
    serde_json::from_str(&output.stdout).unwrap()
}

#[test]
fn a_run_whose_driver_vanished_says_so_and_how_it_goes_on() {
    let world = cut_off(&[Left::Succeeded]);
    let run = &world.run()[..8];
    insta::assert_snapshot!(world.show(&["runs", "list"]), @"
    RUN     STATE                WAITS  STARTED               AGENT    PROMPT
    <run1>  running, not driven         <time>  default  Tidy up.
    -- stderr --
    a run that is not driven goes on with: placet runs resume RUN
    -- exit 0 --
    ");
    let shown = world.show(&["runs", "show", run]);
    let last = shown.lines().rev().nth(2).unwrap();
    insta::assert_snapshot!(last, @"nobody drives it: placet runs resume <run1> goes on with it");
    assert_eq!(json(&world, &["runs", "show", run])["undriven"], true);
    let listed = json(&world, &["runs", "list"]);
    assert_eq!(listed["runs"][0]["undriven"], true);
    // One that was left in order has no driver to miss.
    let mut world = World::with_script(FOUR);
    world.start("Tidy up.");
    let run = &world.run()[..8];
    world.call(&["runs", "approve", run, "--no-resume"]);
    let shown = world.show(&["runs", "show", run]);
    let last = shown.lines().rev().nth(2).unwrap();
    insta::assert_snapshot!(last, @"next: placet runs resume <run1>");
    assert!(json(&world, &["runs", "show", run])["undriven"].is_null());
}

#[test]
fn a_call_in_doubt_is_shown_with_what_settles_it() {
    let world = cut_off(&[Left::Succeeded, Left::InDoubt]);
    let run = &world.run()[..8];
    let shown = world.show(&["runs", "show", run]);
    let (_, card) = shown.split_once("\n\nc2 ").unwrap();
    insta::assert_snapshot!(card, @r#"
    write_file of run <run1>: in doubt: it was started, and nobody knows whether it took effect
      tier           high-risk, asked by policy:false
      containment    in-process
      what would run
        path "b.txt"
        content
        | b
        |
      message
        | Create b.txt: 1 line.
      diff
        | --- /dev/null
        | +++ b/b.txt
        | @@ -0,0 +1 @@
        | +b
        |
      request        <digest>

    c2 is in doubt: look at what it would have changed, then say what became of it
      placet runs settle <run1> c2 --as done --note "how you know"
      placet runs settle <run1> c2 --as not-done --note "how you know"
    -- stderr --
    -- exit 0 --
    "#);
    insta::assert_snapshot!(world.show(&["runs", "list"]), @r"
    RUN     STATE     WAITS  STARTED               AGENT    PROMPT
    <run1>  in_doubt  1      <time>  default  Tidy up.
    -- stderr --
    -- exit 0 --
    ");
    insta::assert_snapshot!(world.show(&["runs", "resume", run]), @"
    run <run1> in_doubt
      done         c1 write_file: Create a.txt: 1 line.
      in doubt     c2 write_file
    next: placet runs show <run1>
    -- stderr --
    calls: 1 in doubt, 2 not started, 1 succeeded; 1 model call, 10 tokens in, 10 out, 0 USD, <n> ms active
    -- exit 2 --
    ");
    let inbox = world.call(&["inbox"]).stdout;
    assert!(
        inbox.contains(&format!("runs settle {} c2 --as done", &run[..6])),
        "{inbox}"
    );
}

#[test]
fn a_cancelled_run_names_no_call_twice_and_none_completed_that_changed_nothing() {
    let cancelled = |world: &World| {
        let report = json(world, &["runs", "cancel", world.run(), "--note", "enough"]);
        let states = |key: &str, word: &str| {
            let calls = report[key].as_array().cloned().unwrap_or_default();
            let said = |call: &serde_json::Value| format!("{} {}", call["call"], call[word]);
            let said: Vec<_> = calls.iter().map(said).collect();
            said.join(", ").replace('"', "")
        };
        (
            states("left", "state"),
            states("declined", "why"),
            states("unsuccessful", "why"),
        )
    };
    let world = cut_off(&[Left::Succeeded, Left::Stale, Left::NotDone]);
    assert_eq!(
        cancelled(&world),
        (
            "c1 completed, c2 interrupted, c3 interrupted, c4 not_started".into(),
            String::new(),
            "c2 stale, c3 not_done".into(),
        )
    );
    let world = cut_off(&[Left::Succeeded, Left::Stale, Left::NotDone]);
    let cancel = ["runs", "cancel", world.run(), "--note", "enough"];
    insta::assert_snapshot!(world.show(&cancel), @"
    run <run1> cancelled
      done         c1 write_file: Create a.txt: 1 line.
      stale        c2 write_file: as it was
      not done     c3 rm: it is not there
      not started  c4 rm
    -- stderr --
    -- exit 0 --
    ");
    let mut world = World::with_script(FOUR);
    world.start("Tidy up.");
    let run = world.run();
    let deny = ["runs", "reject", run, "--note", "no", "--no-resume"];
    assert_eq!(world.call(&deny).code, 0);
    let denied = "c1 denied, c2 denied, c3 denied, c4 denied";
    assert_eq!(
        cancelled(&world),
        (String::new(), denied.into(), String::new())
    );
}

#[test]
fn a_doubt_is_settled_as_done_and_the_run_goes_on() {
    let world = cut_off(&[Left::Succeeded, Left::InDoubt]);
    let run = &world.run()[..8];
    let settle = [
        "runs",
        "settle",
        run,
        "c2",
        "--as",
        "done",
        "--note",
        "it is there",
    ];
    insta::assert_snapshot!(world.show(&settle), @"
    run <run1> completed
      last text
        | Done.
      done         c1 write_file: Create a.txt: 1 line.
      settled      c2 write_file: it took effect: it is there
      done         c3 rm: Remove old.log (8 bytes).
      done         c4 rm: Remove notes.txt (5 bytes).
    -- stderr --
    calls: 4 succeeded; 2 model calls, 20 tokens in, 20 out, 0 USD, <n> ms active
    -- exit 0 --
    ");
    insta::assert_snapshot!(world.show(&settle), @r"
    -- stderr --
    error: already answered: c2
      hint: placet runs show RUN tells who answered
    -- exit 5 --
    ");
    assert!(!world.path("ws/b.txt").exists(), "nothing runs twice");
    assert!(!world.path("ws/old.log").exists());
    let event = json(&world, &["audit", "log", "--type", "execution.settled"]);
    let at = format!("#{}", event["events"][0]["position"]);
    let shown = world.show(&["audit", "show", &at]);
    let checks: Vec<_> = shown
        .lines()
        .filter(|line| line.contains("holds"))
        .collect();
    insta::assert_snapshot!(checks.join("\n"), @r"
    holds        prev <digest>
    holds        request <digest>
    ");
    world.records_hold();
}

#[test]
fn a_doubt_is_settled_as_not_done_and_left_to_somebody_else() {
    let world = cut_off(&[Left::Succeeded, Left::InDoubt]);
    let run = &world.run()[..8];
    let request = json(&world, &["inbox"])["pending"][0]["request"].clone();
    let request = request.as_str().unwrap();
    let settle = [
        "runs", "settle", run, "c2", "--as", "not-done", "--note", "I looked",
    ];
    let other = "0".repeat(64);
    let bound = [&settle[..], &["--request", &other]].concat();
    insta::assert_snapshot!(world.show(&bound), @r"
    -- stderr --
    error: the request of c2 is now <digest>, the answer is for <digest>
      hint: placet runs show RUN displays what is asked now
    -- exit 3 --
    ");
    let bound = [&settle[..], &["--request", request, "--no-resume"]].concat();
    let settled = crate::support::without_durations(&world.json(&bound));
    insta::assert_snapshot!(settled, @r#"
    {
      "calls": {
        "not_done": 1,
        "not_started": 2,
        "succeeded": 1
      },
      "declined": [],
      "done": [
        {
          "by": "person",
          "call": "c1",
          "tool": "write_file"
        }
      ],
      "pending": [],
      "run": "<run1>",
      "state": "running",
      "tools": {
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
          "succeeded": 1,
          "unsuccessful": 1
        }
      },
      "unsuccessful": [
        {
          "call": "c2",
          "detail": "I looked",
          "tool": "write_file",
          "why": "not_done"
        }
      ],
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
    insta::assert_snapshot!(world.show(&["runs", "resume", run]), @"
    run <run1> completed
      last text
        | Done.
      done         c1 write_file: Create a.txt: 1 line.
      done         c3 rm: Remove old.log (8 bytes).
      done         c4 rm: Remove notes.txt (5 bytes).
      not done     c2 write_file: I looked
    -- stderr --
    calls: 1 not done, 3 succeeded; 2 model calls, 20 tokens in, 20 out, 0 USD, <n> ms active
    -- exit 0 --
    ");
}

#[test]
fn what_is_not_in_doubt_is_not_settled() {
    let world = World::parked();
    let run = &world.run()[..8];
    let settle = |call| {
        [
            "runs", "settle", run, call, "--as", "done", "--note", "I looked",
        ]
    };
    insta::assert_snapshot!(world.show(&settle("c2")), @r"
    -- stderr --
    error: the call is not in doubt
      hint: placet runs show RUN shows what waits
    -- exit 3 --
    ");
    insta::assert_snapshot!(world.json(&settle("c9")), @r#"
    -- stderr --
    {"error":{"code":"refused","hints":["placet runs show RUN lists its calls"],"message":"the run has no call c9"}}
    -- exit 3 --
    "#);
    insta::assert_snapshot!(world.show(&["runs", "settle", run, "c2", "--as", "maybe"]), @"
    -- stderr --
    error: invalid value 'maybe' for '--as <WHAT>'
      [possible values: done, not-done]
      hint: --help tells more
    -- exit 64 --
    ");
}

#[test]
fn a_cancelled_run_says_what_became_of_each_call() {
    let world = cut_off(&[Left::Succeeded, Left::Interrupted, Left::Executing]);
    let run = &world.run()[..8];
    // Where the workspace is gone, nobody can tell what became of a call that had started.
    std::fs::rename(world.path("ws"), world.path("elsewhere")).unwrap();
    let cancel = ["runs", "cancel", run, "--note", "enough"];
    insta::assert_snapshot!(world.show(&cancel), @"
    run <run1> cancelled
      done         c1 write_file: Create a.txt: 1 line.
      interrupted  c2 write_file: as it was
      in doubt     c3 rm
      not started  c4 rm
    -- stderr --
    -- exit 0 --
    ");
    let world = cut_off(&[Left::Succeeded, Left::Interrupted, Left::Executing]);
    let report = json(&world, &["runs", "cancel", world.run(), "--note", "enough"]);
    let left = report["left"].as_array().unwrap().iter();
    let left: Vec<_> = left.map(|call| call["state"].as_str().unwrap()).collect();
    assert_eq!(
        left,
        ["completed", "interrupted", "not_started", "not_started"]
    );
}
