//! `runs policy`, and what `runs show` says of a policy or list that changed on the way.

use placet_ledger::answers::AnswerSet;
use placet_ledger::approval::{Answer, Assurance, CallAnswer, Channel};
use placet_ledger::id::AnswerId;
use placet_ledger::run::Caller;

use crate::support::World;

fn json(world: &World, args: &[&str]) -> serde_json::Value {
    let output = world.call(&[&["--json"], args].concat());
    serde_json::from_str(&output.stdout).unwrap()
}

#[test]
fn a_policy_counts_from_then_on_and_answers_nothing() {
    let world = World::parked();
    let run = &world.run()[..8];
    let raise = ["runs", "policy", run, "true", "--note", "I look on"];
    insta::assert_snapshot!(world.show(&raise), @r"
    run <run1> policy high-risk (before: false)
      2 calls still need an answer: placet runs show <run1>
    -- stderr --
    -- exit 0 --
    ");
    insta::assert_snapshot!(world.show(&raise), @r"
    run <run1> policy high-risk (as before)
      2 calls still need an answer: placet runs show <run1>
    -- stderr --
    -- exit 0 --
    ");
    let shown = world.show(&["runs", "show", run]);
    let about: Vec<_> = shown
        .lines()
        .filter(|line| line.contains("polic"))
        .collect();
    insta::assert_snapshot!(about.join("\n"), @r"
    policy       high-risk (started with false), waits for answers
     0  <time>  uid:1000  run.started agent default, script:tidy.toml, policy false, attendance park, 17 tools
     5  <time>  policy    approval.granted c1 read-only by plain-read-only
     7  <time>  policy    approval.requested c2 high-risk by policy:false, expires <time>
     9  <time>  policy    approval.requested c3 high-risk by policy:false, expires <time>
    12  <time>  uid:1000  policy.changed high-risk, by uid:1000 (cli, same-user): I look on
    tier           high-risk, asked by policy:false
    tier           high-risk, asked by policy:false
    ");
    let shown = json(&world, &["runs", "show", run]);
    assert_eq!(
        (&shown["policy"], &shown["policy_at_start"]),
        (&"high-risk".into(), &"false".into())
    );
    insta::assert_snapshot!(world.json(&["runs", "policy", run, "low-risk"]), @r#"
    {
      "before": "high-risk",
      "pending": [
        {
          "call": "c2",
          "kind": "approval",
          "request": "<digest>",
          "tool": "write_file"
        },
        {
          "call": "c3",
          "kind": "approval",
          "request": "<digest>",
          "tool": "rm"
        }
      ],
      "policy": "low-risk",
      "run": "<run1>"
    }
    -- stderr --
    -- exit 0 --
    "#);
    insta::assert_snapshot!(world.show(&["runs", "policy", run, "some"]), @"
    -- stderr --
    error: invalid value 'some' for '<TIER>'
      [possible values: false, read-only, low-risk, high-risk, true]
      hint: --help tells more
    -- exit 64 --
    ");
    assert_eq!(world.call(&["runs", "reject", run, "--note", "no"]).code, 0);
    insta::assert_snapshot!(world.show(&["runs", "policy", run, "false"]), @r"
    -- stderr --
    error: the run has ended (completed)
    -- exit 3 --
    ");
}

#[test]
fn a_tool_that_was_added_to_the_list_is_shown_to_run_unasked() {
    let mut world = World::new();
    world.start_with("Tidy up.", &["--auto-approve-tools", "edit_file"]);
    let run = &world.run()[..8];
    assert!(
        !world
            .call(&["runs", "show", run])
            .stdout
            .contains("run unasked")
    );
    world.in_ledger(async |ledger, run| {
        let caller = Caller::Person {
            principal: "uid:1000".parse().unwrap(),
            channel: Channel::Cli,
            assurance: Assurance::SameUser,
        };
        let pending = ledger.look(run, |state, _| state.pending()).await.unwrap();
        let always = pending.iter().map(|(call, request)| CallAnswer {
            call: *call,
            request: *request,
            answer: Answer::ApproveAlways,
            note: None,
        });
        let id = AnswerId::new(uuid::Uuid::new_v4());
        let set = AnswerSet::covering(id, &pending, always).unwrap();
        ledger.answer(run, &caller, set).await.unwrap();
    });
    let shown = world.show(&["runs", "show", run]);
    let of = |what| {
        shown
            .lines()
            .filter(|line| line.contains(what))
            .collect::<Vec<_>>()
            .join("\n")
    };
    insta::assert_snapshot!(of("run unasked"), @"  run unasked  edit_file, rm, write_file (since the start: rm, write_file)");
    insta::assert_snapshot!(of("tool.allowed"), @r"
    14  <time>  uid:1000  tool.allowed rm, by uid:1000 (cli, same-user)
    15  <time>  uid:1000  tool.allowed write_file, by uid:1000 (cli, same-user)
    ");
    let shown = json(&world, &["runs", "show", run]);
    assert_eq!(
        shown["allowed_later"],
        serde_json::json!(["rm", "write_file"])
    );
    assert_eq!(shown["allowed_tools"].as_array().unwrap().len(), 3);
    world.records_hold();
}

#[test]
fn a_denied_call_is_known_whatever_flags_it_is_given_that_change_nothing() {
    let edit = r#"path = "notes.txt", old_text = "milk", new_text = "eggs""#;
    for (tool, args, flags) in [
        ("rm", r#"path = "old.log""#, "recursive = true"),
        ("mkdir", r#"path = "new""#, "parents = true"),
        ("mv", r#"from = "old.log", to = "new""#, "recursive = true"),
        ("mv", r#"from = "old.log", to = "new""#, "overwrite = true"),
        ("cp", r#"from = "old.log", to = "new""#, "recursive = true"),
        ("cp", r#"from = "old.log", to = "new""#, "overwrite = true"),
        ("edit_file", edit, "replace_all = true"),
    ] {
        let (bare, flagged) = (args.to_owned(), format!("{args}, {flags}"));
        for (denied, repeated) in [(&bare, &flagged), (&flagged, &bare)] {
            let turn = |args: &str| {
                format!("[[turn]]\ncalls = [ {{ tool = \"{tool}\", args = {{ {args} }} }} ]\n")
            };
            let script = turn(denied) + &turn(repeated) + "[[turn]]\ntext = \"Done.\"\n";
            let mut world = World::with_script(&script);
            world.start("Tidy up.");
            let run = world.run();
            assert_eq!(world.call(&["runs", "policy", run, "high-risk"]).code, 0);
            let report = json(&world, &["runs", "reject", run, "--note", "never"]);
            let why: Vec<_> = report["declined"].as_array().unwrap().iter().collect();
            let why: Vec<_> = why
                .iter()
                .map(|call| (&call["call"], &call["why"]))
                .collect();
            assert_eq!(
                why,
                [
                    (&"c1".into(), &"denied".into()),
                    (&"c2".into(), &"repeat_of".into())
                ],
                "{tool} {denied} / {repeated}: {report}"
            );
        }
    }
}
