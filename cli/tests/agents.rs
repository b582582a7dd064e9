//! What an agent can try: the same change in other words, and more than a record can hold.

use placet_ledger::limits::CONTENT_BYTES_MAX;

use crate::support::World;

/// A script with one call a turn, of these tools and arguments.
fn script(calls: &[(&str, &str)]) -> String {
    let mut script = String::new();
    let turn = "[[turn]]\ntext = \"t\"\nusage = { input = 1, output = 1 }\n";
    for (tool, arguments) in calls {
        let call = format!("{{ id = \"p\", tool = \"{tool}\", args_json = '''{arguments}''' }}");
        script.push_str(turn);
        script.push_str("calls = [");
        script.push_str(&call);
        script.push_str("]\n");
    }
    script + turn
}

#[test]
fn a_denied_edit_in_other_words_is_refused_without_asking() {
    let edit = |old: &str, new: &str, all: bool| {
        format!(
            r#"{{"path":"notes.txt","old_text":"{old}","new_text":"{new}","replace_all":{all}}}"#
        )
    };
    let calls = [
        edit("milk", "eggs", false),
        edit("milk", "eggs", true),
        edit("milk\\n", "eggs\\n", false),
    ];
    let calls: Vec<_> = calls
        .iter()
        .map(|call| ("edit_file", call.as_str()))
        .collect();
    let mut world = World::with_script(&script(&calls));
    world.start("Tidy up.");
    let run = &world.run()[..8];
    let denied = world.call(&["runs", "reject", run, "--note", "no"]);
    assert_eq!(denied.code, 0, "{}", denied.stdout);
    let log = world.call(&["audit", "log"]).stdout;
    assert_eq!(log.matches("approval.requested").count(), 1, "{log}");
    assert_eq!(log.matches("repeat_of").count(), 2, "{log}");
    insta::assert_snapshot!(denied.stdout.split_once('\n').unwrap().1, @"
    last text
      | t
    denied       c1 edit_file: no
    refused      c2 edit_file: the same was denied before (c1)
    refused      c3 edit_file: the same was denied before (c1)
    ");
}

#[test]
fn a_report_says_what_was_done_and_who_allowed_it() {
    let write = r#"{"path":"a.txt","content":"a"}"#;
    let calls = [
        ("ls", r#"{"path":"."}"#),
        ("write_file", write),
        ("rm", r#"{"path":"old.log"}"#),
        ("edit_file", "{}"),
        ("fly", "{}"),
    ];
    let run = |options: &[&str]| {
        let world = World::with_script(&script(&calls));
        let run = ["run", "--model", "script:tidy.toml", "--workspace", "ws"];
        let shown = world.show(&[&run[..], options, &["Tidy up."]].concat());
        let world = World::with_script(&script(&calls));
        let json = world.call(&[&["--json"], &run[..], options, &["Tidy up."]].concat());
        let report: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
        (shown, report["done"].clone())
    };
    let (shown, done) = run(&[
        "--auto-approve-tools",
        "write_file",
        "--deny-tools",
        "edit_file",
    ]);
    insta::assert_snapshot!(shown, @"
    run <id> completed
      last text
        | t
      done         c2 write_file: Create a.txt: 1 line.
      declined     c3 rm: nobody was there to ask
      refused      c4 edit_file: not a tool of this run
      refused      c5 fly: there is no such tool
    -- stderr --
    nobody is asked: calls that need an approval are declined (--park waits)
    made a new ledger at <dir>/data/placet
      hint: move <dir>/data/placet/recovery.key to a safe place offline; it alone can replace a stolen ledger key
    run <id>
    calls: 1 declined, 2 refused, 2 succeeded; 6 model calls, 6 tokens in, 6 out, 0 USD, <n> ms active
    -- exit 0 --
    ");
    let by_list = serde_json::json!([{ "call": "c2", "tool": "write_file", "by": "list" }]);
    assert_eq!(done, by_list);
    let (_, done) = run(&["--approval-policy", "true", "--deny-tools", "rm"]);
    let by_policy =
        serde_json::json!([{ "call": "c2", "tool": "write_file", "by": "policy:high-risk" }]);
    assert_eq!(done, by_policy);
    let (_, done) = run(&["--deny-tools", "write_file"]);
    assert!(done.is_null(), "what only reads changes nothing: {done}");
}

#[test]
fn a_change_that_no_record_can_hold_is_turned_down_and_the_run_goes_on() {
    // As JSON each of these characters takes six bytes.
    let lines = "\u{1}".repeat(CONTENT_BYTES_MAX / 6) + "milk";
    let edit = r#"{"path":"long.txt","old_text":"milk","new_text":"eggs, more than fit"}"#;
    let world = World::with_script(&script(&[("edit_file", edit)]));
    std::fs::write(world.path("ws/long.txt"), &lines).unwrap();
    let run = [
        "run",
        "--model",
        "script:tidy.toml",
        "--workspace",
        "ws",
        "--park",
        "Edit.",
    ];
    let done = world.call(&run);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let row = "  refused      c1 edit_file: the arguments do not fit: ";
    assert!(done.stdout.contains(row), "{}", done.stdout);
}

#[test]
fn a_reply_that_no_record_can_hold_fails_the_run() {
    let long = format!(
        r#"{{"path":"new.txt","content":"{}"}}"#,
        "x".repeat(CONTENT_BYTES_MAX)
    );
    let world = World::with_script(&script(&[("write_file", &long)]));
    let run = [
        "run",
        "--model",
        "script:tidy.toml",
        "--workspace",
        "ws",
        "--park",
        "Write.",
    ];
    let done = world.call(&run);
    assert_eq!(done.code, 1, "{}", done.stderr);
    assert!(!world.path("ws/new.txt").exists());
    assert_eq!(world.call(&["audit", "verify"]).code, 0);
}
