//! What people can get wrong: what, where, and what to do.

use placet_ledger::store::sled::SledStore;

use crate::support::World;

#[test]
fn a_home_without_a_ledger_is_named() {
    let world = World::new();
    for args in [
        &["runs", "list"][..],
        &["runs", "show", "b3e41f"],
        &["inbox"],
        &["audit", "log"],
        &["audit", "show", "#0"],
        &["audit", "verify"],
        &["audit", "export"],
    ] {
        assert_eq!(world.call(args).code, 4, "{args:?}");
    }
    insta::assert_snapshot!(world.show(&["runs", "list"]), @r"
    -- stderr --
    error: there is no ledger at <dir>/data/placet
      hint: placet run makes one; --home DIR or PLACET_HOME names another place
    -- exit 4 --
    ");
    insta::assert_snapshot!(world.json(&["audit", "verify"]), @r#"
    -- stderr --
    {"error":{"code":"not_found","hints":["placet run makes one; --home DIR or PLACET_HOME names another place"],"message":"there is no ledger at <dir>/data/placet"}}
    -- exit 4 --
    "#);
    std::fs::create_dir_all(world.path("data/placet/other")).unwrap();
    insta::assert_snapshot!(world.show(&["inbox"]), @r"
    -- stderr --
    error: what lies at <dir>/data/placet is no ledger, or only a part of one
      hint: name another place with --home DIR
    -- exit 6 --
    ");
}

#[test]
fn a_ledger_in_use_names_who_has_it() {
    let world = World::parked();
    let home = world.path("data/placet");
    let ledger = SledStore::ledger_at(&home).unwrap();
    let head_dir = world.path("state/placet").join(ledger.to_string());
    let store = SledStore::open(&home, &head_dir).unwrap();
    let pid = format!("process {}", std::process::id());
    let shown = world.show(&["runs", "list"]).replace(&pid, "process <pid>");
    insta::assert_snapshot!(shown, @r"
    -- stderr --
    error: the store is in use by process <pid>
      hint: one process at a time holds a ledger; try again when it is done
    -- exit 5 --
    ");
    assert_eq!(world.call(&["audit", "verify"]).code, 5);
    drop(store);
    assert_eq!(world.call(&["runs", "list"]).code, 0);
}

#[test]
fn an_export_that_is_not_there_is_named() {
    let world = World::new();
    insta::assert_snapshot!(world.show(&["audit", "verify", "none.jsonl"]), @r"
    -- stderr --
    error: cannot read the export <dir>/none.jsonl: No such file or directory (os error 2)
    -- exit 4 --
    ");
    assert_eq!(world.call(&["audit", "verify", "ws"]).code, 64);
    let world = World::parked();
    insta::assert_snapshot!(world.show(&["audit", "export", "--out", "no/such/file"]), @r"
    -- stderr --
    error: cannot write <dir>/no/such/file: No such file or directory (os error 2)
      hint: --out names a new file in a folder that exists
    -- exit 1 --
    ");
}

/// A call of the script: its tool and its arguments as they are.
fn script_of(tool: &str, arguments: &str) -> String {
    format!(
        "[[turn]]\ncalls = [{{ id = 'p1', tool = '{tool}', args_json = '{arguments}' }}]\n\
         [[turn]]\ntext = 'Done.'\n"
    )
}

/// A run of that script, to its end; what it said.
fn run_to_its_end(world: &World, options: &[&str]) -> (u8, serde_json::Value) {
    let args = ["--json", "run", "--model", "script:tidy.toml"];
    let args = [&args[..], &["--workspace", "ws", "--park", "go"], options].concat();
    let done = world.call(&args);
    let report = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(world.call(&["audit", "verify"]).code, 0);
    (done.code, report)
}

#[test]
fn a_reply_too_large_to_be_recorded_ends_the_run() {
    let most = placet_ledger::limits::CONTENT_BYTES_MAX;
    let arguments = format!("{{\"path\":\"{}\"}}", "x".repeat(most));
    for script in [
        script_of("ls", &arguments),
        script_of(&"x".repeat(most), "{}"),
        format!("[[turn]]\ntext = '{}'", "x".repeat(most + 1)),
    ] {
        let (code, report) = run_to_its_end(&World::with_script(&script), &[]);
        assert_eq!((code, &report["outcome"]), (1, &"failed".into()));
        let said = report["error"].as_str().unwrap();
        assert!(said.contains("too large to be recorded"), "{said}");
    }
    let script = format!("[[turn]]\nerror = '{}'", "x".repeat(most + 1));
    let (code, report) = run_to_its_end(&World::with_script(&script), &[]);
    assert_eq!((code, &report["outcome"]), (1, &"failed".into()));
    assert!(report["error"].as_str().unwrap().ends_with(" bytes)"));
}

#[test]
fn a_proposal_too_large_to_be_recorded_is_refused() {
    let edit = r#"{"path":"notes.txt","old_text":"A","new_text":"B"}"#;
    let world = World::with_script(&script_of("edit_file", edit));
    // Each line break has two bytes where it is written as JSON.
    let lines = "\n".repeat(placet_ledger::limits::CONTENT_BYTES_MAX / 2);
    std::fs::write(world.path("ws/notes.txt"), format!("A{lines}")).unwrap();
    let (code, report) = run_to_its_end(&world, &[]);
    assert_eq!((code, &report["outcome"]), (0, &"completed".into()));
    assert_eq!(report["declined"][0]["why"], "bad_arguments");
}

#[test]
fn a_provider_may_claim_more_tokens_than_a_record_can_hold() {
    let most = i64::MAX;
    let script = format!("[[turn]]\ntext = 'a'\nusage = {{ input = {most}, output = 1 }}");
    let (code, report) = run_to_its_end(&World::with_script(&script), &[]);
    assert_eq!((code, &report["outcome"]), (0, &"completed".into()));
}

#[test]
fn a_part_of_an_input_is_never_taken_for_all_of_it() {
    let mut world = World::parked();
    world.stdin = vec![b'x'; placet_ledger::limits::CONTENT_BYTES_MAX + 1];
    insta::assert_snapshot!(world.show(&["run", "--model", "script:tidy.toml", "-"]), @r"
    -- stderr --
    nobody is asked: calls that need an approval are declined (--park waits)
    error: the prompt may have at most 16777216 bytes
    -- exit 64 --
    ");
    let answer = ["runs", "answer", world.run(), "--file", "-"];
    insta::assert_snapshot!(world.show(&answer), @r"
    -- stderr --
    error: the answers may have at most 1048576 bytes
    -- exit 64 --
    ");
}

#[test]
fn it_is_said_where_nobody_is_asked_and_not_all_runs_unasked() {
    let world = World::with_script("[[turn]]\ntext = 'Done.'");
    let run = [
        "run",
        "--model",
        "script:tidy.toml",
        "--workspace",
        "ws",
        "Go.",
    ];
    let never = ["--attend", "never"];
    for (policy, options, told) in [
        ("false", &[][..], true),
        ("read-only", &[], true),
        ("low-risk", &[], true),
        ("low-risk", &never, true),
        ("high-risk", &[], false),
        ("true", &never, false),
        ("read-only", &["--park"], false),
    ] {
        let policy = ["--approval-policy", policy];
        let output = world.call(&[&run[..], &policy, options].concat());
        let said = output.stderr.contains("nobody is asked: ");
        assert_eq!((output.code, said), (0, told), "{policy:?} {options:?}");
    }
}

#[test]
fn a_number_that_no_record_can_hold_is_named() {
    let world = World::new();
    for option in [
        &["--max-tokens", "9007199254740992"][..],
        &["--max-iterations", "18446744073709551615"],
        &["--max-duration", "1000000y"],
        &["--park-expiry", "1000000y"],
    ] {
        let args = [
            &[
                "run",
                "--model",
                "script:tidy.toml",
                "--workspace",
                "ws",
                "go",
            ],
            option,
        ]
        .concat();
        assert_eq!(world.call(&args).code, 64, "{option:?}");
    }
    assert!(!world.path("data").exists());
    insta::assert_snapshot!(world.show(&["run", "--max-tokens", "9007199254740992", "go"]), @r"
    -- stderr --
    error: invalid value '9007199254740992' for '--max-tokens <N>': expected a whole number of at most 9007199254740991
      hint: --help tells more
    -- exit 64 --
    ");
}

#[test]
fn a_variable_that_names_the_home_is_not_passed_over() {
    let mut world = World::parked();
    world.env_not_utf8.insert(String::from("PLACET_HOME"));
    insta::assert_snapshot!(world.show(&["runs", "list"]), @r"
    -- stderr --
    error: the environment variable PLACET_HOME is not UTF-8
      hint: name a folder whose path is UTF-8
    -- exit 64 --
    ");
}

#[test]
fn what_is_no_folder_is_no_place_for_a_home() {
    let world = World::new();
    let run = [
        "run",
        "--model",
        "script:tidy.toml",
        "--workspace",
        "ws",
        "--park",
        "go",
    ];
    let run = |home| [&["--home", home], &run[..]].concat();
    std::fs::write(world.path("file"), "").unwrap();
    std::os::unix::fs::symlink("nowhere", world.path("link")).unwrap();
    insta::assert_snapshot!(world.show(&run("file")), @r"
    -- stderr --
    error: what lies at <dir>/file is no ledger, or only a part of one
      hint: name another place with --home DIR
    -- exit 6 --
    ");
    insta::assert_snapshot!(world.show(&run("link")), @r"
    -- stderr --
    error: what lies at <dir>/link is no ledger, or only a part of one
      hint: name another place with --home DIR
    -- exit 6 --
    ");
    insta::assert_snapshot!(world.show(&["--home", "file", "runs", "list"]), @r"
    -- stderr --
    error: what lies at <dir>/file is no ledger, or only a part of one
      hint: name another place with --home DIR
    -- exit 6 --
    ");
}

#[test]
fn an_answer_is_said_to_be_recorded_where_the_run_cannot_go_on() {
    let world = World::parked();
    std::fs::rename(world.path("ws"), world.path("elsewhere")).unwrap();
    let answered = world.call(&["runs", "approve", world.run()]);
    assert_eq!(answered.code, 3, "{}", answered.stderr);
    let said = "hint: what you said is recorded; placet runs resume RUN goes on with it";
    assert!(answered.stderr.contains(said), "{}", answered.stderr);
    std::fs::rename(world.path("elsewhere"), world.path("ws")).unwrap();
    assert_eq!(world.call(&["runs", "resume", world.run()]).code, 0);
}

#[test]
fn a_home_that_is_gone_is_no_first_start() {
    let world = World::parked();
    std::fs::remove_dir_all(world.path("data")).unwrap();
    let run = ["run", "--model", "script:tidy.toml", "--workspace", "ws"];
    let shown = world.call(&[&run[..], &["--park", "go"]].concat());
    assert_eq!(shown.code, 6);
    let told = "there was a ledger at";
    assert!(shown.stderr.contains(told), "{}", shown.stderr);
    assert!(!world.path("data/placet").exists());
}

#[test]
fn a_run_that_cannot_start_leaves_no_ledger_behind() {
    let world = World::new();
    for (model, workspace, code) in [
        ("script:tidy.toml", "nowhere", 4),
        ("script:nothing.toml", "ws", 4),
        ("script:ws/notes.txt", "ws", 64),
    ] {
        let run = ["run", "--model", model, "--workspace", workspace, "go"];
        let shown = world.call(&run);
        assert_eq!(shown.code, code, "{}", shown.stderr);
        assert!(!world.path("data/placet").exists(), "{}", shown.stderr);
    }
}

#[test]
fn a_run_does_not_start_where_its_tools_could_reach_the_config() {
    let world = World::new();
    std::fs::write(world.path("ws/config.toml"), "").unwrap();
    std::os::unix::fs::symlink("ws/config.toml", world.path("link.toml")).unwrap();
    for config in ["ws/config.toml", "link.toml"] {
        let run = ["--config", config, "run", "--model", "script:tidy.toml"];
        let shown = world.call(&[&run[..], &["--workspace", "ws", "go"]].concat());
        assert_eq!(shown.code, 3, "{}", shown.stderr);
        let told = "contains <dir>/ws/config.toml, which belongs to placet";
        let told = told.replace(
            "<dir>",
            world.path("").to_str().unwrap().trim_end_matches('/'),
        );
        assert!(shown.stderr.contains(&told), "{}", shown.stderr);
        assert!(!world.path("data/placet").exists(), "{}", shown.stderr);
    }
}

#[test]
fn a_late_answer_is_no_second_answer() {
    let mut world = World::new();
    world.start_with("Tidy up.", &["--park-expiry", "1ms"]);
    let run = world.run()[..8].to_owned();
    let shown = world.call(&["runs", "approve", &run]);
    assert_eq!(shown.code, 3, "{}", shown.stderr);
}

#[test]
fn a_script_that_the_config_names_lies_beside_the_config() {
    let world = World::new();
    std::fs::create_dir(world.path("conf")).unwrap();
    std::fs::rename(world.path("tidy.toml"), world.path("conf/tidy.toml")).unwrap();
    let config = "[agents.tidy]\nmodel = \"script:tidy.toml\"\n";
    std::fs::write(world.path("conf/config.toml"), config).unwrap();
    let run = [
        "run",
        "--agent",
        "tidy",
        "--workspace",
        "ws",
        "--park",
        "go",
    ];
    let shown = world.call(&[&["--config", "conf/config.toml"], &run[..]].concat());
    assert_eq!(shown.code, 2, "{}", shown.stderr);
}

#[test]
fn an_answer_by_file_to_what_ended_unanswered_is_told_how_it_ended() {
    let text =
        "{\"answers\":[{\"call\":\"c2\",\"approve\":true},{\"call\":\"c3\",\"deny\":\"no\"}]}";
    let mut world = World::new();
    world.start_with("Tidy up.", &["--park-expiry", "1ms"]);
    world.start("Tidy up.");
    std::fs::write(world.path("answers"), text).unwrap();
    let (late, cancelled) = (world.runs[0].clone(), world.runs[1].clone());
    let ended = world.call(&["runs", "cancel", &cancelled, "--note", "no need"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let answer = |run: &str| world.call(&["runs", "answer", run, "--file", "answers"]);
    for run in [&late, &late, &cancelled] {
        assert_eq!(answer(run).code, 3, "{}", answer(run).stderr);
    }
}

#[test]
fn what_cannot_be_replayed_is_named() {
    let world = World::parked();
    for (out, options) in [("whole", &[][..]), ("facts", &["--facts-only"])] {
        let mut args = vec!["audit", "export", "--out", out];
        args.extend(options);
        if out == "facts" {
            args.extend(["--run", world.run()]);
        }
        assert_eq!(world.call(&args).code, 0);
    }
    std::fs::write(world.path("text"), "no export\n").unwrap();
    insta::assert_snapshot!(world.show(&["runs", "replay", "whole"]), @r"
    -- stderr --
    error: the recording is of no single run
      hint: placet audit export --run RUN
    -- exit 64 --
    ");
    insta::assert_snapshot!(world.show(&["runs", "replay", "facts"]), @r"
    -- stderr --
    error: the export holds facts alone; a replay needs the contents
      hint: placet audit export --run RUN
    -- exit 64 --
    ");
    let text = world.call(&["runs", "replay", "text"]);
    let what = "error: cannot read the recording: line 1 of the export is wrong: ";
    assert!(text.stderr.starts_with(what), "{}", text.stderr);
    assert_eq!(text.code, 6);
    insta::assert_snapshot!(world.show(&["runs", "replay", "./none"]), @r"
    -- stderr --
    error: there is no file <dir>/./none
    -- exit 4 --
    ");
}

#[test]
fn what_a_person_writes_as_json_is_an_object_and_no_list_in_its_place() {
    let world = World::parked();
    let run = world.run();
    let answer = ["runs", "answer", run, "--file", "given"];
    for given in [
        r#"[[{"call":"c2","approve":true},{"call":"c3","approve":true}]]"#,
        r#"{"answers":[["c2",null,true,null,null],["c3",null,true,null,null]]}"#,
        r#"{"answers":{"call":"c2","approve":true}}"#,
        r#""answers""#,
        "null",
    ] {
        std::fs::write(world.path("given"), given).unwrap();
        let output = world.call(&answer);
        assert_eq!(output.code, 64, "{given}");
        let form = r#"does not have the form {"answers":[{"call":"c1","approve":true},..]}"#;
        assert!(output.stderr.contains(form), "{}", output.stderr);
    }
    let amend = ["runs", "amend", run, "c3", "--args", "given"];
    let explain = |given| vec!["policy", "explain", "rm", given, "--workspace", "ws"];
    for given in [r#"["old.log"]"#, r#""old.log""#, "null", "1"] {
        std::fs::write(world.path("given"), given).unwrap();
        let of_run = [&explain(given)[..4], &["--run", run]].concat();
        for args in [amend.to_vec(), explain(given), of_run] {
            let output = world.call(&args);
            assert_eq!(output.code, 64, "{args:?} {given}");
            let form =
                r#"the arguments do not have the form {"path":"notes.txt",..}: invalid type"#;
            assert!(output.stderr.contains(form), "{}", output.stderr);
        }
    }
    assert_eq!(world.call(&["inbox"]).code, 0);
    assert_eq!(world.call(&["runs", "approve", run, "c2", "c3"]).code, 0);
}

#[test]
fn a_set_id_that_was_used_names_what_was_answered_under_it() {
    let world = World::parked();
    let run = &world.run()[..8];
    let id = "1f0e2d3c-4b5a-4968-8776-655443322110";
    let answer = |answers: &str| {
        let file = format!(r#"{{"answer":"{id}","answers":[{answers}]}}"#);
        std::fs::write(world.path("given"), file).unwrap();
        world.call(&["runs", "answer", run, "--file", "given", "--no-resume"])
    };
    let both = r#"{"call":"c2","approve":true},{"call":"c3","deny":"no"}"#;
    assert_eq!(answer(both).code, 0);
    assert_eq!(answer(both).code, 0, "the same again");
    for other in [
        "",
        r#"{"call":"c2","approve":true}"#,
        r#"{"call":"c9","approve":true}"#,
    ] {
        let output = answer(other);
        assert_eq!(output.code, 5, "{other}");
        let named = "already answered: c2, c3\n";
        assert!(output.stderr.contains(named), "{}", output.stderr);
    }
}

#[test]
fn a_reason_that_must_be_given_says_something() {
    let world = World::parked();
    let run = world.run();
    for args in [
        vec!["runs", "reject", run],
        vec!["runs", "reject", run, "c2"],
        vec!["runs", "cancel", run],
        vec!["runs", "revoke", run, "c2"],
        vec!["runs", "settle", run, "c2", "--as", "done"],
    ] {
        let output = world.call(&[&args[..], &["--note", ""]].concat());
        assert_eq!(output.code, 64, "{args:?}");
        assert!(output.stderr.contains("--note <WHY>"), "{}", output.stderr);
    }
    assert_eq!(world.call(&["runs", "approve", run]).code, 0);
}
