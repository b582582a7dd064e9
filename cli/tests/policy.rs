//! `policy explain`: what each layer of the gate says, and which one decides.

use crate::support::World;

const RM: &str = r#"{"path": "ws/old.log"}"#;

fn json(world: &World, args: &[&str]) -> serde_json::Value {
    let output = world.call(&[&["--json"], args].concat());
    assert_eq!(output.code, 0, "{}", output.stderr);
    serde_json::from_str(&output.stdout).unwrap()
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
    let world = World::new();
    let explain = ["policy", "explain", "rm", RM, "--park"];
    insta::assert_snapshot!(world.show(&explain), @"");
    let listed = [&explain[..], &["--auto-approve-tools", "rm"]].concat();
    insta::assert_snapshot!(world.show(&listed), @"");
    insta::assert_snapshot!(world.json(&listed), @"");
    assert!(world.path("ws/old.log").exists());
    assert!(!world.path("data").exists(), "nothing is recorded");
}

#[test]
fn the_first_layer_that_speaks_decides() {
    let mut world = World::new();
    world.stdin = br#"{"path": "ws/.git/hooks/post-commit", "content": "x"}"#.to_vec();
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
        (
            &[
                "rm",
                r#"{"path": "old.log"}"#,
                "--workspace",
                "ws",
                "--park",
            ],
            "person",
            "ask",
        ),
    ] {
        let (decides, says) = decided(&world, args);
        assert_eq!(
            (decides.as_str(), says["verdict"].as_str()),
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
    let world = World::new();
    insta::assert_snapshot!(world.show(&["policy", "explain", "rm", "{}"]), @"");
    insta::assert_snapshot!(world.show(&["policy", "explain", "rm", "old.log"]), @"");
    insta::assert_snapshot!(world.show(&["policy", "explain", "rm", r#"{"path":"../x"}"#]), @"");
    insta::assert_snapshot!(world.show(&["policy", "explain", "write", "{}"]), @"");
    insta::assert_snapshot!(world.show(&["policy", "explain", "rm_execute", "{}"]), @"");
    insta::assert_snapshot!(world.json(&["policy", "explain", "zzz", "{}"]), @"");
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
    insta::assert_snapshot!(world.show(&both), @"");
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
    insta::assert_snapshot!(world.show(&["policy", "explain", "--run", run, "write_file", write]), @"");
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
