//! Models that are served: which can be named, what must be there before a run is made of one, what
//! a run records of it, and that a key reaches nobody else.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::World;

const KEY: &str = "sk-test-3141592653589793";

fn configured(text: &str) -> World {
    let mut world = World::new();
    let folder = world.path("person/.config/placet");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), text).unwrap();
    world.var("OPENAI_API_KEY", KEY);
    world
}

fn run<'a>(model: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    let args = [
        "run",
        "--model",
        model,
        "--workspace",
        "ws",
        "--park",
        "Go.",
    ];
    [&args[..], options].concat()
}

#[test]
fn what_a_model_lacks_is_told_before_a_ledger_is_made() {
    let world = configured(
        "[models.local]\napi = 'openai'\nbase_url = 'http://127.0.0.1:1/v1'\nkey_env = 'MINE'\n",
    );
    for (model, options, says) in [
        (
            "anthropic:claude-opus-5",
            &[][..],
            "the variable ANTHROPIC_API_KEY is not set",
        ),
        (
            "local:m",
            &[],
            "the variable MINE is not set: it holds the key of local",
        ),
        ("opnai:m", &[], "did you mean openai?"),
        ("gpt-5.1", &[], "there is no such model"),
        (
            "openai:a b",
            &[],
            "no record can hold the name of the model",
        ),
        (
            "openai:mystery",
            &["--max-cost-usd", "1"],
            "the price of openai:mystery is not known, so that no cap on cost can hold",
        ),
    ] {
        let refused = world.call(&run(model, options));
        assert_eq!(refused.code, 64, "{model}: {}", refused.stderr);
        assert!(refused.stderr.contains(says), "{model}: {}", refused.stderr);
        assert!(!refused.stderr.contains(KEY));
        assert!(!world.path("data").exists(), "{model}");
    }
    let refused = world.call(&run("openai:mystery", &["--max-cost-usd", "1"]));
    let hint = "[prices.\"openai:mystery\"] with input and output, in US dollars for a million";
    assert!(refused.stderr.contains(hint), "{}", refused.stderr);
}

#[test]
fn a_cap_on_cost_needs_the_price_of_the_classifier_too() {
    let judge = "[classifier]\nmodel = 'openai:mystery'\n";
    let capped = |config: &str| {
        let world = configured(config);
        world.call(&run("script:tidy.toml", &["--max-cost-usd", "1"]))
    };
    let refused = capped(judge);
    assert_eq!(refused.code, 64, "{}", refused.stdout);
    let says = "the price of openai:mystery is not known";
    assert!(refused.stderr.contains(says), "{}", refused.stderr);
    let price = "[prices.'openai:mystery']\ninput = '1'\noutput = '2'\n";
    assert_eq!(capped(&format!("{judge}{price}")).code, 2);
    assert_eq!(capped("[classifier]\nmodel = 'ollama:small'\n").code, 2);
}

/// What `run.started` keeps of the config.
fn record(world: &World, run: &str) -> Value {
    let log = world.call(&[
        "--json",
        "audit",
        "log",
        "--run",
        run,
        "--type",
        "run.started",
    ]);
    let log: Value = serde_json::from_str(&log.stdout).unwrap();
    let position = format!("#{}", log["events"][0]["position"]);
    let shown = world.call(&["--json", "audit", "show", &position]);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    shown["content"]["config"].clone()
}

#[test]
fn a_model_never_judges_its_own_calls() {
    let world = configured("[classifier]\nmodel = 'script:judge.toml'\n");
    let folder = world.path("person/.config/placet");
    fs::copy(world.path("tidy.toml"), folder.join("judge.toml")).unwrap();
    let own = folder.join("judge.toml");
    let spec = format!("script:{}", own.display());
    let warning = "the classifier is the model of this run, which never judges its own calls";
    let judged = |model: &str| {
        let run = world.call(&[&["--json"], &run(model, &[])[..]].concat());
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        let told = run.stderr.contains(warning);
        let record = record(&world, report["run"].as_str().unwrap());
        (told, record.to_string().contains("classifier"))
    };
    assert_eq!(judged(&spec), (true, false));
    assert_eq!(judged("script:tidy.toml"), (false, true));
}

/// Everything beneath a folder in which a text stands.
fn holding(folder: &std::path::Path, text: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let kind = fs::symlink_metadata(&path).unwrap().file_type();
        if kind.is_dir() {
            holding(&path, text, found);
        } else if kind.is_file() {
            let bytes = fs::read(&path).unwrap();
            if bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes())
            {
                found.push(path);
            }
        }
    }
}

/// A command of a run sees no key, wherever it looks; nor does anything that is kept or printed.
#[cfg(feature = "system-tests")]
#[test]
fn a_key_reaches_no_command_and_no_file() {
    let look = "env > seen.txt; cat /proc/self/environ /proc/1/environ >> seen.txt; \
                cat /proc/[0-9]*/environ >> seen.txt; true";
    let arguments = serde_json::json!({ "command": look });
    let script = format!(
        "[[turn]]\ncalls = [{{ id = 'p', tool = 'execute_command', args_json = '''{arguments}''' }}]\n\
         [[turn]]\ntext = 'Done.'\n"
    );
    let mut world = configured(
        "[models.mine]\napi = 'openai'\nbase_url = 'http://127.0.0.1:1/v1'\nkey_env = 'MY_API_KEY'\n\
         [classifier]\nmodel = 'mine:m'\n",
    );
    fs::write(world.path("tidy.toml"), script).unwrap();
    world.var("ANTHROPIC_API_KEY", KEY);
    world.var("MY_API_KEY", KEY);
    world.var("PATH", "/usr/local/bin:/usr/bin:/bin");
    let options = [
        "--auto-approve-tools",
        "execute_command",
        "--approval-policy",
        "true",
    ];
    let args = [&["--json"], &run("script:tidy.toml", &options)[..]].concat();
    let output = crate::support::spawn(&world, &args)
        .wait_with_output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let seen = fs::read_to_string(world.path("ws/seen.txt")).unwrap_or_default();
    if seen.is_empty() {
        // Where no process can be shut in the command was not run, and saw nothing.
        assert!(stdout.contains("\"pending\":[{"), "{stdout}");
    } else {
        assert!(seen.contains("TERM=dumb"), "{seen}");
        assert!(!seen.contains("API_KEY"), "{seen}");
    }
    assert!(!stdout.contains(KEY), "{stdout}");
    let mut found = Vec::new();
    holding(world.dir.path(), KEY, &mut found);
    assert_eq!(found, Vec::<PathBuf>::new());
    let log = world.call(&["--json", "audit", "log"]).stdout;
    assert!(!log.contains(KEY) && !log.contains("127.0.0.1:1"), "{log}");
}
