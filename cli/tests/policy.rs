//! `policy explain`: what each layer of the gate says, and which one decides.

use crate::support::World;

const RM: &str = r#"{"path": "old.log"}"#;

fn json(world: &World, args: &[&str]) -> serde_json::Value {
    let output = world.call(&[&["--json"], args].concat());
    assert_eq!(output.code, 0, "{}", output.stderr);
    serde_json::from_str(&output.stdout).unwrap()
}

/// With the workspace as the current folder.
fn in_workspace() -> World {
    let mut world = World::new();
    world.cwd = world.path("ws");
    world
}

/// What explaining a call comes to: the layer that decides, and the verdict.
fn decided(world: &World, args: &[&str]) -> (String, serde_json::Value) {
    let explained = json(world, &[&["policy", "explain"], args].concat());
    let layer = explained["decided_by"].as_str().unwrap().to_owned();
    let layers = explained["layers"].as_array().unwrap();
    let first = layers
        .iter()
        .find(|layer| !layer["says"].is_null())
        .unwrap();
    assert_eq!(
        (&first["layer"], &first["says"]),
        (&layer.clone().into(), &explained["verdict"])
    );
    (layer, explained["verdict"].clone())
}

#[test]
fn each_layer_says_something_or_leaves_it_to_the_next() {
    let world = in_workspace();
    let explain = ["policy", "explain", "rm", RM, "--park"];
    insta::assert_snapshot!(world.show(&explain), @r"
    rm: ask a person (high-risk), by policy:false
       offered          -
       denied-before    -
       question         -
       deny-rule        -
       plugin           -
       always-asks      -
       ask-rule         -
       containment      -
       plain-read-only  -
       policy           -
       list             -
       grant            -
       allow-rule       -
    >  person           ask a person (high-risk), by policy:false
    sandbox  none needed: it starts no process
    at most  approve (high-risk), by policy:high-risk, under high-risk
    -- stderr --
    -- exit 0 --
    ");
    let listed = [&explain[..], &["--auto-approve-tools", "rm"]].concat();
    insta::assert_snapshot!(world.show(&listed), @r"
    rm: approve (high-risk), by list entry rm
       offered          -
       denied-before    -
       question         -
       deny-rule        -
       plugin           -
       always-asks      -
       ask-rule         -
       containment      -
       plain-read-only  -
       policy           -
    >  list             approve (high-risk), by list entry rm
       grant            not reached
       allow-rule       not reached
       person           not reached
    sandbox  none needed: it starts no process
    at most  approve (high-risk), by policy:high-risk, under high-risk
    -- stderr --
    -- exit 0 --
    ");
    insta::assert_snapshot!(world.json(&listed), @r#"
    {
      "at_most": {
        "kind": "approve",
        "rule": "policy:high-risk",
        "tier": "high-risk"
      },
      "decided_by": "list",
      "layers": [
        {
          "about": "a tool that the run does not have, or no longer has, is turned down",
          "layer": "offered"
        },
        {
          "about": "what a person denied is not asked again",
          "layer": "denied-before"
        },
        {
          "about": "a question of the agent goes to a person",
          "layer": "question"
        },
        {
          "about": "a rule of the user or the workspace may forbid",
          "layer": "deny-rule"
        },
        {
          "about": "a plugin may forbid, or want a person asked",
          "layer": "plugin"
        },
        {
          "about": "files that run or steer programs later ask, whatever policy and list say",
          "layer": "always-asks"
        },
        {
          "about": "a rule of the user or the workspace may want people asked",
          "layer": "ask-rule"
        },
        {
          "about": "a process that is shut in less than was shown, or than the config requires, asks",
          "layer": "containment"
        },
        {
          "about": "a tool that only reads runs under every policy",
          "layer": "plain-read-only"
        },
        {
          "about": "the policy clears tools up to its tier",
          "layer": "policy"
        },
        {
          "about": "the list of the run clears the tools that it names",
          "layer": "list",
          "says": {
            "kind": "approve",
            "list": "rm",
            "tier": "high-risk"
          }
        },
        {
          "about": "an entry of the per-command list clears the commands of its key",
          "layer": "grant"
        },
        {
          "about": "a rule of the user clears what it names",
          "layer": "allow-rule"
        },
        {
          "about": "everything else asks a person",
          "layer": "person",
          "says": {
            "kind": "ask",
            "quorum": 1,
            "rule": "policy:false",
            "tier": "high-risk"
          }
        }
      ],
      "rules": [],
      "sandbox": {
        "containment": "in-process",
        "network": []
      },
      "tool": "rm",
      "verdict": {
        "kind": "approve",
        "list": "rm",
        "tier": "high-risk"
      }
    }
    -- stderr --
    -- exit 0 --
    "#);
    assert!(world.path("ws/old.log").exists());
    assert!(!world.path("data").exists(), "nothing is recorded");
}

#[test]
fn the_first_layer_that_speaks_decides() {
    let mut world = in_workspace();
    world.stdin = br#"{"path": ".git/hooks/post-commit", "content": "x"}"#.to_vec();
    std::fs::create_dir_all(world.path("ws/.git/hooks")).unwrap();
    for (args, layer, verdict) in [
        (&["rm", RM, "--deny-tools", "rm"][..], "offered", "decline"),
        (&["rm", RM, "--tools", "ls"], "offered", "decline"),
        (
            &["ask_user", r#"{"question": "?"}"#, "--park"],
            "question",
            "question",
        ),
        (&["ask_user", r#"{"question": "?"}"#], "question", "decline"),
        (
            &["write_file", "-", "--approval-policy", "true", "--park"],
            "always-asks",
            "ask",
        ),
        (
            &["write_file", "-", "--auto-approve-tools", "write_file"],
            "always-asks",
            "decline",
        ),
        (&["ls", r#"{"path": "."}"#], "plain-read-only", "approve"),
        (
            &["rm", RM, "--approval-policy", "high-risk"],
            "policy",
            "approve",
        ),
        (
            &["rm", RM, "--approval-policy", "low-risk", "--park"],
            "person",
            "ask",
        ),
        (&["rm", RM, "--auto-approve-tools", "rm"], "list", "approve"),
        (&["rm", RM], "person", "decline"),
    ] {
        let (decides, says) = decided(&world, args);
        assert_eq!(
            (decides.as_str(), says["kind"].as_str()),
            (layer, Some(verdict)),
            "{args:?}"
        );
    }
    assert!(!world.path("ws/.git/hooks/post-commit").exists());
}

#[test]
fn the_config_of_user_and_workspace_counts() {
    let world = World::new();
    let config = "[agents.bold]\napproval_policy = true\ndenied_tools = [\"ls\"]\n";
    std::fs::write(world.path("config.toml"), config).unwrap();
    std::fs::write(
        world.path("ws/placet.toml"),
        "denied_tools = [\"edit_file\"]\n",
    )
    .unwrap();
    let bold = [
        "--config",
        "config.toml",
        "--agent",
        "bold",
        "--workspace",
        "ws",
    ];
    let of = |tool, arguments| decided(&world, &[&[tool, arguments], &bold[..]].concat()).0;
    assert_eq!(of("rm", r#"{"path": "old.log"}"#), "policy");
    assert_eq!(of("ls", r#"{"path": "."}"#), "offered");
    let edit = r#"{"path": "notes.txt", "old_text": "milk", "new_text": "tea"}"#;
    assert_eq!(of("edit_file", edit), "offered");
    assert_eq!(
        of("retrieve_result", r#"{"call": "c1"}"#),
        "plain-read-only"
    );
}

#[test]
fn what_no_layer_sees_is_an_error() {
    let world = in_workspace();
    insta::assert_snapshot!(world.show(&["policy", "explain", "rm", "{}"]), @r#"
    -- stderr --
    error: no proposal can be made of these arguments: the arguments do not match the tool's schema: at the top: the property "path" is missing
      hint: such a call is turned down before the gate
      hint: placet tools show rm prints what the tool takes
    -- exit 64 --
    "#);
    insta::assert_snapshot!(world.show(&["policy", "explain", "rm", "old.log"]), @r"
    -- stderr --
    error: no proposal can be made of these arguments: the arguments are wrong at the top: expected value at line 1 column 1
      hint: such a call is turned down before the gate
      hint: placet tools show rm prints what the tool takes
    -- exit 64 --
    ");
    insta::assert_snapshot!(world.show(&["policy", "explain", "rm", r#"{"path":"../x"}"#]), @r"
    -- stderr --
    error: no proposal can be made of these arguments: refused: the path .. leads outside the workspace: only files inside it can be used
      hint: such a call is turned down before the gate
    -- exit 3 --
    ");
    insta::assert_snapshot!(world.show(&["policy", "explain", "write", "{}"]), @r#"
    -- stderr --
    error: there is no tool "write"
      hint: did you mean write_file?
      hint: placet tools list names every tool
    -- exit 4 --
    "#);
    insta::assert_snapshot!(world.show(&["policy", "explain", "rm_execute", "{}"]), @r#"
    -- stderr --
    error: there is no tool "rm_execute"
      hint: placet tools list names every tool
    -- exit 4 --
    "#);
    insta::assert_snapshot!(world.json(&["policy", "explain", "zzz", "{}"]), @r#"
    -- stderr --
    {"error":{"code":"not_found","hints":["placet tools list names every tool"],"message":"there is no tool \"zzz\""}}
    -- exit 4 --
    "#);
    let both = [
        "policy",
        "explain",
        "--run",
        "b3e41f",
        "--approval-policy",
        "true",
        "rm",
        RM,
    ];
    insta::assert_snapshot!(world.show(&both), @r"
    -- stderr --
    error: the argument '--run <R>' cannot be used with:
      --agent <NAME>
      --workspace <DIR>
      --approval-policy <TIER>
      --auto-approve-tools <A,B>
      --tools <A,B>
      --deny-tools <A,B>
      hint: usage: placet policy explain --run <R> <TOOL> <ARGS>...
      hint: --help tells more
    -- exit 64 --
    ");
    assert_eq!(
        world
            .call(&["policy", "explain", "--run", "b3e41f", "rm", RM])
            .code,
        4
    );
    assert_eq!(
        world
            .call(&["policy", "explain", "rm", RM, "--deny-tools", "rn"])
            .code,
        64
    );
}

#[test]
fn each_wrong_question_has_the_exit_code_of_its_kind() {
    let mut world = World::parked();
    world.cwd = world.path("ws");
    let run = world.run();
    let other = if run.starts_with("ffffff") {
        "eeeeee"
    } else {
        "ffffff"
    };
    let gone = world.path("gone").display().to_string();
    for (args, code, says) in [
        // Not there: 4, whatever else is wrong.
        (&["--run", other, "rm", RM][..], 4, "no run"),
        (&["--run", other, "rm", "old.log", "x"], 4, "no run"),
        (&["nosuch", RM], 4, "there is no tool \"nosuch\""),
        (&["nosuch", "[1]"], 4, "there is no tool"),
        (&["nosuch", "a", "b"], 4, "there is no tool"),
        (&["rm_execute", RM], 4, "there is no tool"),
        (&["--run", run, "nosuch", RM], 4, "there is no tool"),
        (&["--run", run, "nosuch", "a", "b"], 4, "there is no tool"),
        (&["rm", RM, "--agent", "nobody"], 4, "there is no agent"),
        (&["rm", RM, "--workspace", &gone], 4, "there is no folder"),
        // Turned down before the gate: 3.
        (&["rm", r#"{"path":"../x"}"#], 3, "outside the workspace"),
        (&["rm", r#"{"path":"none.txt"}"#], 3, "there is no none.txt"),
        (
            &["--run", run, "rm", r#"{"path":"none.txt"}"#],
            3,
            "there is no none.txt",
        ),
        // No question at all: 64.
        (&["--run", "b3", "rm", RM], 64, "run"),
        (&["rm"], 64, "required arguments"),
        (
            &["rm", "a", "b"],
            64,
            "expected the arguments as one JSON object",
        ),
        (&["rm", "old.log"], 64, "expected value"),
        (&["rm", "[1]"], 64, "do not have the form"),
        (&["rm", "{}"], 64, "schema"),
        (&["rm", r#"{"path":1}"#], 64, "schema"),
        (&["rm", r#"{"path":"a","path":"b"}"#], 64, "wrong at"),
        (&["--run", run, "rm", "{}"], 64, "schema"),
        (&["rm", RM, "--deny-tools", "rn"], 64, "there is no tool"),
        (
            &["rm", RM, "--approval-policy", "lowrisk"],
            64,
            "invalid value",
        ),
        (
            &["--run", run, "rm", RM, "--tools", "rm"],
            64,
            "cannot be used with",
        ),
        // Asked about something that it would turn down: that is an answer.
        (&["rm", RM, "--deny-tools", "rm"], 0, ""),
    ] {
        let shown = world.call(&[&["policy", "explain"], args].concat());
        assert_eq!(shown.code, code, "{args:?}: {}", shown.stderr);
        assert!(shown.stderr.contains(says), "{args:?}: {}", shown.stderr);
        assert_eq!(shown.stdout.is_empty(), code != 0, "{args:?}");
    }
}

#[test]
fn a_run_answers_by_its_live_policy_tools_workspace_and_denials() {
    let world = World::parked();
    let run = &world.run()[..8];
    let of = |tool, arguments| decided(&world, &["--run", run, tool, arguments]);
    let write = r#"{"path": "notes.txt", "content": "milk\neggs\n"}"#;
    assert_eq!(of("write_file", write).0, "person");
    assert_eq!(world.call(&["runs", "policy", run, "true"]).code, 0);
    assert_eq!(of("write_file", write).0, "policy");
    let reject = ["runs", "reject", run, "--note", "no", "--no-resume"];
    assert_eq!(world.call(&reject).code, 0);
    let (layer, verdict) = of("write_file", write);
    assert_eq!(layer, "denied-before");
    assert_eq!(
        (&verdict["why"], &verdict["of"]),
        (&"repeat_of".into(), &"c2".into())
    );
    // The same change in other words, and another one of the same tool.
    assert_eq!(
        of(
            "write_file",
            r#"{"content": "milk\neggs\n", "path": "./notes.txt"}"#
        )
        .0,
        layer
    );
    assert_eq!(
        of("write_file", r#"{"path": "notes.txt", "content": "tea\n"}"#).0,
        "policy"
    );
    insta::assert_snapshot!(world.show(&["policy", "explain", "--run", run, "write_file", write]), @r"
    write_file: decline, repeat of c2
       offered          -
    >  denied-before    decline, repeat of c2
       question         not reached
       deny-rule        not reached
       plugin           not reached
       always-asks      not reached
       ask-rule         not reached
       containment      not reached
       plain-read-only  not reached
       policy           not reached
       list             not reached
       grant            not reached
       allow-rule       not reached
       person           not reached
    sandbox  none needed: it starts no process
    at most  decline, repeat of c2, under high-risk
    -- stderr --
    -- exit 0 --
    ");
    let before = world.call(&["--json", "audit", "log"]).stdout;
    assert_eq!(
        world
            .call(&["runs", "resume", run, "--deny-tools", "rm"])
            .code,
        0
    );
    assert_eq!(of("rm", r#"{"path": "notes.txt"}"#).0, "offered");
    let after = world.call(&["--json", "audit", "log"]).stdout;
    assert_eq!(
        before.matches("call.proposed").count(),
        after.matches("call.proposed").count()
    );
}

#[test]
fn three_denials_of_one_target_speak_for_a_fourth() {
    let turn = |content: &str| {
        format!(
            "[[turn]]\nusage = {{ input = 1, output = 1 }}\ncalls = [{{ id = \"p\", tool = \
             \"write_file\", args = {{ path = \"notes.txt\", content = \"{content}\" }} }}]\n"
        )
    };
    let end = "[[turn]]\ntext = \"Done.\"\nusage = { input = 1, output = 1 }\n";
    let script: String = ["a", "b", "c"].map(turn).concat() + end;
    let mut world = World::with_script(&script);
    world.start("Write.");
    let run = &world.run()[..8];
    let write = r#"{"path": "notes.txt", "content": "d"}"#;
    for round in 1..=3 {
        assert_eq!(
            decided(&world, &["--run", run, "write_file", write]).0,
            "person",
            "{round}"
        );
        let reject = world.call(&["runs", "reject", run, "--note", "no"]);
        assert_eq!(
            reject.code,
            if round == 3 { 0 } else { 2 },
            "{}",
            reject.stderr
        );
    }
    let (layer, verdict) = decided(&world, &["--run", run, "write_file", write]);
    assert_eq!(
        (layer.as_str(), &verdict["of"]),
        ("denied-before", &"c3".into())
    );
    let other = r#"{"path": "other.txt", "content": "d"}"#;
    assert_eq!(
        decided(&world, &["--run", run, "write_file", other]).0,
        "person"
    );
}

#[test]
fn a_command_is_judged_as_a_run_would_have_it_judged() {
    let judges = [
        "",
        "[classifier]\nmodel = \"script:judge.toml\"\n",
        "[plugin]\n",
    ];
    for (command, says) in [
        // With nobody, with a model, with a plugin.
        ("ls", ["approve", "approve", "unjudged"]),
        ("awk 1 a", ["ask", "unjudged", "unjudged"]),
        ("rm a", ["ask", "ask", "unjudged"]),
        ("ls > a", ["ask", "ask", "unjudged"]),
        ("{ ls; }", ["ask", "unjudged", "unjudged"]),
        ("{ls,a}", ["ask", "ask", "unjudged"]),
    ] {
        for (config, says) in judges.iter().zip(says) {
            let world = in_workspace();
            let plugin = world.path("judge");
            std::fs::write(&plugin, "#!/bin/sh\necho pass\n").unwrap();
            let config = match *config {
                "[plugin]\n" => format!("[plugin]\ncommand = {plugin:?}\n"),
                config => config.to_owned(),
            };
            std::fs::write(world.path("config.toml"), config).unwrap();
            let at = world.path("config.toml").display().to_string();
            let run = ["--config", &at, "--json", "policy", "explain"];
            let call = [
                "execute_command",
                "--park",
                "--approval-policy",
                "low-risk",
                "--",
                command,
            ];
            let output = world.call(&[&run[..], &call].concat());
            let shown: serde_json::Value = serde_json::from_str(&output.stdout)
                .unwrap_or_else(|_| panic!("{command}: {}", output.stderr));
            assert_eq!(shown["verdict"]["kind"], says, "{command}: {shown}");
        }
    }
}
