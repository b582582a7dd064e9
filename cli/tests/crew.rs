//! Agents of the config: `agents list`, `show` and `check`, and what an agent brings to a run.

use std::fs;

use serde_json::Value;

use crate::support::World;

const CONFIG: &str = r#"
[agents.reader]
model = "ollama:qwen3"
description = "Reads, and changes nothing."
system = "You read.\nYou say what you read."
tools = ["ls", "read_file"]
denied_tools = ["rm"]
approval_policy = "read-only"
max_tokens = 5000
max_duration = "10m"
max_iterations = 7
max_cost_usd = "0.5"

[agents.tidy]
model = "script:tidy.toml"
"#;

fn world(config: &str) -> World {
    let world = World::new();
    let folder = world.path("person/.config/placet");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), config).unwrap();
    fs::copy(world.path("tidy.toml"), folder.join("tidy.toml")).unwrap();
    world
}

fn report(stdout: &str) -> Value {
    serde_json::from_str(stdout).unwrap()
}

#[test]
fn agents_are_listed_and_shown() {
    let world = world(CONFIG);
    insta::assert_snapshot!(world.show(&["agents", "list"]), @"
    AGENT   MODEL             POLICY     DESCRIPTION
    reader  ollama:qwen3      read-only  Reads, and changes nothing.
    tidy    script:tidy.toml  false
    -- stderr --
    -- exit 0 --
    ");
    insta::assert_snapshot!(world.json(&["agents", "list"]), @r#"
    {
      "agents": [
        {
          "agent": "reader",
          "approval_policy": "read-only",
          "denied_tools": [
            "rm"
          ],
          "description": "Reads, and changes nothing.",
          "limits": {
            "cost_usd": "0.5",
            "duration_ms": 600000,
            "iterations": 7,
            "tokens": 5000
          },
          "model": "ollama:qwen3",
          "tools": [
            "ls",
            "read_file"
          ]
        },
        {
          "agent": "tidy",
          "approval_policy": "false",
          "limits": {},
          "model": "script:tidy.toml"
        }
      ]
    }
    -- stderr --
    -- exit 0 --
    "#);
    insta::assert_snapshot!(world.show(&["agents", "show", "reader"]), @"
    reader
      model        ollama:qwen3
      policy       read-only
      tools        ls, read_file
      never        rm
      caps         7 model calls, 5000 tokens, 0.5 USD, 600 active seconds
      description
        | Reads, and changes nothing.
      system
        | You read.
        | You say what you read.
    -- stderr --
    -- exit 0 --
    ");
    insta::assert_snapshot!(world.json(&["agents", "show", "tidy"]), @r#"
    {
      "agent": "tidy",
      "approval_policy": "false",
      "limits": {},
      "model": "script:tidy.toml"
    }
    -- stderr --
    -- exit 0 --
    "#);
    insta::assert_snapshot!(world.show(&["agents", "show", "raeder"]), @r#"
    -- stderr --
    error: there is no agent "raeder"
      hint: did you mean reader?
      hint: agents of the config: reader, tidy
    -- exit 4 --
    "#);
    assert!(
        !world.path("data").exists(),
        "no ledger is made to look at agents"
    );
}

#[test]
fn where_there_are_no_agents_it_is_said_how_to_add_one() {
    let world = World::new();
    insta::assert_snapshot!(world.show(&["agents", "list"]), @r#"
    -- stderr --
    no agents in <dir>/person/.config/placet/config.toml
      hint: [agents.reader] with model = "ollama:qwen3" adds one, and placet run --agent reader uses it
    -- exit 0 --
    "#);
    assert_eq!(
        world.call(&["--json", "agents", "list"]).stdout,
        "{\"agents\":[]}\n"
    );
    assert_eq!(world.call(&["agents", "check"]).code, 0);
}

#[test]
fn all_that_is_wrong_with_agents_is_listed() {
    assert_eq!(world(CONFIG).call(&["agents", "check"]).code, 0);
    let mut world = world(
        r#"
[agents.broke]
model = "openai:mystery"
max_cost_usd = "1"

[agents.far]
model = "anthropic:claude-opus-5"

[agents.lost]
model = "script:none.toml"
tools = ["ls", "mr"]
denied_tools = ["fly"]

[agents.near]
model = "olama:qwen3"

[agents.'no name']

[agents.fine]
model = "openai:gpt-5.1"
max_cost_usd = "1"

[classifier]
model = "anthropic:claude-haiku-4-5"
"#,
    );
    world.var("OPENAI_API_KEY", "sk-very-secret");
    insta::assert_snapshot!(world.show(&["agents", "check"]), @r#"
    fail  broke: the price of openai:mystery is not known, so that no cap on cost can hold
          hint: state it in the config: [prices."openai:mystery"] with input and output, in US dollars for a million tokens
    fail  far: cannot use the model anthropic:claude-opus-5: the variable ANTHROPIC_API_KEY is not set: it holds the key of anthropic
          hint: export ANTHROPIC_API_KEY=..., or name key_env or key_file in [models.anthropic]
    ok    fine
    fail  lost: there is no tool "mr"
          hint: placet tools list names every tool
    fail  lost: there is no tool "fly"
          hint: placet tools list names every tool
    fail  lost: cannot read the script <dir>/person/.config/placet/none.toml: No such file or directory (os error 2)
    fail  near: there is no such model: nobody serves "olama"
          hint: did you mean ollama?
          hint: a model is NAME:ID with NAME one of anthropic, ollama, openai, or script:FILE; [models.NAME] in the config adds another
    fail  no name: expected a name of 1 to 128 of the characters A-Z a-z 0-9 . _ : / @ + - that begins with a letter or digit, found "no name"
    fail  every run: cannot use the model anthropic:claude-haiku-4-5: the variable ANTHROPIC_API_KEY is not set: it holds the key of anthropic
          hint: export ANTHROPIC_API_KEY=..., or name key_env or key_file in [models.anthropic]
    -- stderr --
    -- exit 1 --
    "#);
    let json = world.call(&["--json", "agents", "check"]);
    assert_eq!(json.code, 1);
    let checked = report(&json.stdout);
    assert_eq!(checked["ok"], false);
    let problems = |name: &str| {
        let agents = checked["agents"].as_array().unwrap().iter();
        let agent = agents.clone().find(|agent| agent["agent"] == name).unwrap();
        agent["problems"].as_array().unwrap().len()
    };
    let names = ["broke", "far", "fine", "lost", "near", "no name"];
    assert_eq!(names.map(problems), [1, 1, 0, 3, 1, 1]);
    assert_eq!(checked["problems"].as_array().unwrap().len(), 1);
    assert!(!json.stdout.contains("sk-very-secret"));
    let doctor = world.call(&["doctor"]).stdout;
    for says in [
        "warn  models         anthropic: asked at https://api.anthropic.com, key in \
         ANTHROPIC_API_KEY, which is not set",
        "ok    models         openai: asked at https://api.openai.com/v1, key in OPENAI_API_KEY, \
         which is set",
        "agent near: there is no such model",
    ] {
        assert!(doctor.contains(says), "{says}: {doctor}");
    }
    assert!(!doctor.contains("sk-very-secret"));
}

#[test]
fn a_run_has_the_stricter_caps_and_the_tools_of_both_lists() {
    let agent = "
[agents.tidy]
model = 'script:tidy.toml'
tools = ['ls', 'write_file']
max_tokens = 1000
max_iterations = 9
max_cost_usd = '2'
";
    let world = world(agent);
    let start = |options: &[&str]| {
        let args = [
            "--json",
            "run",
            "--agent",
            "tidy",
            "--workspace",
            "ws",
            "--park",
            "Go.",
        ];
        world.call(&[&args[..], options].concat())
    };
    let facts = |options: &[&str]| {
        let run = report(&start(options).stdout)["run"]
            .as_str()
            .unwrap()
            .to_owned();
        report(&world.call(&["--json", "runs", "show", &run]).stdout)
    };
    let shown = facts(&[]);
    let caps = serde_json::json!({ "cost_usd": "2", "iterations": 9, "tokens": 1000 });
    assert_eq!(shown["limits"], caps);
    // `rm` is none of its tools.
    assert_eq!(shown["declined"][0]["why"], "denied_tool");
    let shown = facts(&[
        "--max-tokens",
        "5000",
        "--max-iterations",
        "3",
        "--max-duration",
        "1h",
    ]);
    let caps = serde_json::json!({
        "cost_usd": "2", "duration_ms": 3_600_000, "iterations": 3, "tokens": 1000,
    });
    assert_eq!(shown["limits"], caps);
    let shown = facts(&["--tools", "ls,rm"]);
    let declined = shown["declined"].as_array().unwrap();
    let why: Vec<_> = declined
        .iter()
        .map(|call| call["why"].as_str().unwrap())
        .collect();
    assert_eq!(why, ["denied_tool", "denied_tool"]);
    let wrong = start(&["--tools", "lss"]);
    assert_eq!(wrong.code, 64, "{}", wrong.stdout);
    assert!(
        wrong.stderr.contains("did you mean ls?"),
        "{}",
        wrong.stderr
    );
}
