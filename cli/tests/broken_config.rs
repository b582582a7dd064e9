//! A config that cannot be used: it stops what grants or drives before anything is recorded, and
//! nothing else.

use std::fs;

use serde_json::Value;

use crate::support::{Output, World};

const BROKEN: &str = "[agents.a]\nmodle = \"script:a\"\n";

/// A run that waits, and a config that broke since.
fn world() -> World {
    let world = World::parked();
    fs::write(world.path("config.toml"), BROKEN).unwrap();
    world
}

fn call(world: &World, args: &[&str]) -> Output {
    world.call(&[&["--config", "config.toml"], args].concat())
}

/// What the error of a config says: where, and what was expected.
fn is_told(world: &World, output: &Output) {
    let at = world.path("config.toml").display().to_string();
    let said = format!("{at}:2: unknown field `modle`, expected one of `model`");
    assert!(output.stderr.contains(&said), "{}", output.stderr);
}

fn size(world: &World) -> u64 {
    let verified = world.call(&["--json", "audit", "verify"]);
    let verified: Value = serde_json::from_str(&verified.stdout).unwrap();
    verified["size"].as_u64().unwrap()
}

#[test]
fn what_reads_does_not_need_it() {
    let world = world();
    let run = world.run();
    fs::write(world.path("good.toml"), "[agents.a]\n").unwrap();
    let export = ["audit", "export", "--run", run, "--out", "out.jsonl"];
    for args in [
        &["audit", "log"][..],
        &["audit", "show", "#0"],
        &["audit", "verify"],
        &export,
        &["audit", "verify", "out.jsonl"],
        &["runs", "list"],
        &["runs", "show", run],
        &["runs", "replay", run],
        &["inbox"],
        &["grants", "list"],
        &["shell", "explain", "ls"],
        &["tools", "list"],
        &["tools", "show", "rm"],
        &["policy", "check", "good.toml"],
        &[
            "policy",
            "explain",
            "--run",
            run,
            "rm",
            r#"{"path":"old.log"}"#,
        ],
        &["completions", "bash"],
        &["man", "man"],
    ] {
        let output = call(&world, args);
        assert_eq!(output.code, 0, "{args:?}: {}", output.stderr);
        assert!(!output.stderr.contains("modle"), "{}", output.stderr);
    }
    let doctor = call(&world, &["doctor"]);
    assert_eq!(doctor.code, 1);
    let at = world.path("config.toml").display().to_string();
    let said = format!("fail  config         {at}:2: unknown field `modle`, expected one of");
    assert!(doctor.stdout.contains(&said), "{}", doctor.stdout);
}

#[test]
fn what_turns_down_does_not_need_it() {
    let world = world();
    let run = world.run();
    let approved = world.call(&["runs", "approve", run, "--no-resume"]);
    assert_eq!(approved.code, 0, "{}", approved.stderr);
    let revoked = call(&world, &["runs", "revoke", run, "c2", "--note", "no"]);
    assert_eq!(revoked.code, 0, "{}", revoked.stderr);
    let cancelled = call(&world, &["runs", "cancel", run, "--note", "no"]);
    assert_eq!(cancelled.code, 0, "{}", cancelled.stderr);
    let log = world.call(&["audit", "log"]).stdout;
    for event in ["approval.revoked c2", "run.cancel_requested"] {
        assert!(log.contains(event), "{event}: {log}");
    }
    // It is over, so that a watch comes to an end.
    assert_eq!(call(&world, &["runs", "watch", run]).code, 0);

    let world = self::world();
    let reject = ["runs", "reject", world.run(), "--note", "no", "--no-resume"];
    let rejected = call(&world, &reject);
    assert_eq!(rejected.code, 0, "{}", rejected.stderr);
    let log = world.call(&["audit", "log"]).stdout;
    assert_eq!(log.matches("approval.denied").count(), 2, "{log}");

    let world = self::world();
    let answers = r#"{"answers":[{"call":"c2","deny":"no"},{"call":"c3","deny":"no"}]}"#;
    fs::write(world.path("answers.json"), answers).unwrap();
    let file = ["--file", "answers.json", "--no-resume"];
    let answer = call(
        &world,
        &[&["runs", "answer", world.run()], &file[..]].concat(),
    );
    assert_eq!(answer.code, 0, "{}", answer.stderr);
}

#[test]
fn a_grant_is_taken_back_without_it() {
    let mut world = world();
    world.search = String::from("/usr/bin:/bin");
    let added = world.call(&["grants", "add", "ls"]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    let revoked = call(&world, &["grants", "revoke", added.stdout.trim()]);
    assert_eq!(revoked.code, 0, "{}", revoked.stderr);
}

#[test]
fn a_denial_is_recorded_before_what_drives_on_fails() {
    let world = world();
    let run = world.run();
    let rejected = call(&world, &["runs", "reject", run, "--note", "no"]);
    assert_eq!((rejected.code, rejected.stdout.as_str()), (64, ""));
    is_told(&world, &rejected);
    let on = "what you said is recorded; once that is put right, placet runs resume RUN goes on";
    assert!(rejected.stderr.contains(on), "{}", rejected.stderr);
    let log = world.call(&["audit", "log"]).stdout;
    assert_eq!(log.matches("approval.denied").count(), 2, "{log}");
    fs::write(world.path("config.toml"), "[agents.a]\n").unwrap();
    let resumed = call(&world, &["runs", "resume", run]);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
}

#[test]
fn what_grants_or_drives_is_refused_before_anything_is_recorded() {
    let mut world = world();
    world.search = String::from("/usr/bin:/bin");
    let run = world.run();
    let mixed = r#"{"answers":[{"call":"c2","approve":true},{"call":"c3","deny":"no"}]}"#;
    fs::write(world.path("mixed.json"), mixed).unwrap();
    fs::write(world.path("args.json"), r#"{"path":"old.log"}"#).unwrap();
    let before = size(&world);
    for args in [
        &[
            "run",
            "--model",
            "script:tidy.toml",
            "--workspace",
            "ws",
            "Go.",
        ][..],
        &["runs", "approve", run],
        &["runs", "approve", run, "--no-resume"],
        &[
            "runs",
            "approve",
            run,
            "c2",
            "--reject",
            "c3",
            "--no-resume",
        ],
        &[
            "runs",
            "reject",
            run,
            "c2",
            "--approve",
            "c3",
            "--note",
            "no",
        ],
        &["runs", "answer", run, "--file", "mixed.json", "--no-resume"],
        &["runs", "amend", run, "c3", "--args", "args.json"],
        &["runs", "policy", run, "true"],
        &["runs", "resume", run],
        &["runs", "prompt", run, "Go on."],
        &["runs", "reply", run, "c2", "yes"],
        &[
            "runs", "settle", run, "c2", "--as", "done", "--note", "seen",
        ],
        &["grants", "add", "ls"],
        &["policy", "explain", "ls", r#"{"path":"."}"#],
    ] {
        let output = call(&world, args);
        assert_eq!((output.code, output.stdout.as_str()), (64, ""), "{args:?}");
        is_told(&world, &output);
        assert_eq!(size(&world), before, "{args:?}");
    }
    // Nor is a ledger made for it.
    let mut fresh = World::new();
    fresh.search = String::from("/usr/bin:/bin");
    fs::write(fresh.path("config.toml"), BROKEN).unwrap();
    for args in [
        &[
            "run",
            "--model",
            "script:tidy.toml",
            "--workspace",
            "ws",
            "Go.",
        ][..],
        &["grants", "add", "sh", "--force"],
    ] {
        let output = call(&fresh, args);
        assert_eq!(output.code, 64, "{args:?}: {}", output.stderr);
        is_told(&fresh, &output);
        assert!(!fresh.path("data").exists(), "{args:?}");
    }
}

#[test]
fn every_kind_of_broken_config_is_the_same() {
    let world = world();
    let approve = ["runs", "approve", world.run()];
    for (text, says) in [
        ("agents = [", "config.toml:1: "),
        ("[agent.a]\n", "config.toml:1: unknown field `agent`"),
        (
            "[agents.a]\napproval_policy = 3\n",
            "config.toml:2: unknown policy",
        ),
        (
            "[[rules]]\ntool = 'mr'\neffect = 'deny'\n",
            "no tool has the name `mr`",
        ),
        (
            "[[rules]]\ncommand = 'git push'\neffect = 'deny'\nmatch = ['git pull']\n",
            "config.toml:1: rule 1 (git push)",
        ),
    ] {
        fs::write(world.path("config.toml"), text).unwrap();
        assert_eq!(call(&world, &["runs", "list"]).code, 0, "{text}");
        let approved = call(&world, &approve);
        assert_eq!(approved.code, 64, "{text}");
        assert!(approved.stderr.contains(says), "{}", approved.stderr);
    }
    fs::remove_file(world.path("config.toml")).unwrap();
    assert_eq!(call(&world, &["runs", "list"]).code, 0);
    let approved = call(&world, &approve);
    assert_eq!(approved.code, 64);
    let says = "cannot read the config";
    assert!(approved.stderr.contains(says), "{}", approved.stderr);
    let reject = ["runs", "reject", world.run(), "--note", "no", "--no-resume"];
    let rejected = call(&world, &reject);
    assert_eq!(rejected.code, 0, "{}", rejected.stderr);
    // The one that nobody names is the same as the one that somebody does.
    let folder = world.path("person/.config/placet");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), BROKEN).unwrap();
    assert_eq!(world.call(&["runs", "list"]).code, 0);
    assert_eq!(world.call(&approve).code, 64);
}

#[test]
fn rules_are_checked_whatever_is_in_force() {
    let world = world();
    let rules = "[[rules]]\ntool = 'rm'\neffect = 'deny'\n";
    fs::write(world.path("rules.toml"), rules).unwrap();
    fs::write(world.path("wrong.toml"), "[[rules]]\ntool = 'mr'\n").unwrap();
    let checked = call(&world, &["policy", "check", "rules.toml"]);
    assert_eq!(checked.code, 0, "{}", checked.stderr);
    assert!(checked.stdout.contains("rule:rm"), "{}", checked.stdout);
    let checked = call(&world, &["policy", "check", "wrong.toml"]);
    assert_eq!(checked.code, 64, "{}", checked.stderr);
    assert!(
        checked.stderr.contains("wrong.toml:1: "),
        "{}",
        checked.stderr
    );
    let own = call(&world, &["policy", "check", "config.toml"]);
    assert_eq!(own.code, 64);
    is_told(&world, &own);
}
