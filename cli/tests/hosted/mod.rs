//! Models that are served: which can be named, what must be there before a run is made of one, what
//! a run records of it, and that a key reaches nobody else.

mod faults;
mod server;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{World, spawn};
use server::{Says, Server};

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
    let text = shown["content"]["config"]["text"].as_str();
    text.map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
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
fn holding(folder: &Path, text: &str, found: &mut Vec<PathBuf>) {
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

/// A config with a server of the name `local`, and one price.
fn served(server: &Server) -> String {
    format!(
        "[models.local]\napi = 'openai'\nbase_url = '{}'\nkey_env = 'MY_API_KEY'\n\
         headers_env = {{ x-token = 'MY_TOKEN' }}\n[prices.'local:m']\ninput = '10'\noutput = '20'\n",
        server.url()
    )
}

#[test]
fn a_served_model_is_asked_calls_a_tool_and_is_told_what_came_of_it() {
    let call = serde_json::json!({ "path": "." });
    let server = Server::with(vec![Says::Call("ls", call), Says::Text("Two files.")]);
    let mut world = configured(&served(&server));
    world.var("MY_API_KEY", KEY);
    world.var("MY_TOKEN", "token-1234567890");
    let args = run("local:m", &["--max-cost-usd", "1"]);
    let mut child = spawn(&world, &[&["--json"], &args[..]].concat());
    let mut stdout = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut stdout).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{stdout}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(report["text"], "Two files.", "{stdout}");
    assert_eq!(report["calls"], serde_json::json!({ "succeeded": 1 }));
    let usage = &report["usage"];
    assert_eq!(
        (&usage["iterations"], &usage["tokens_in"]),
        (&2.into(), &62.into())
    );
    assert_eq!(usage["tokens_out"], 116);
    let asked = server.asked();
    assert_eq!(asked.len(), 2);
    for one in &asked {
        let head = one.head.to_ascii_lowercase();
        assert!(head.starts_with("post /v1/chat/completions "), "{head}");
        assert!(
            head.contains(&format!("authorization: bearer {KEY}")),
            "{head}"
        );
        assert!(head.contains("x-token: token-1234567890"), "{head}");
        assert_eq!(one.body["model"], "m");
        assert!(!one.body.to_string().contains(KEY));
    }
    let told = asked[1].body["messages"].to_string();
    assert!(told.contains("notes.txt"), "{told}");

    // What is kept of it is its name and how its calls are counted.
    let run = report["run"].as_str().unwrap();
    let record = record(&world, run).to_string();
    for kept in ["\"output_tokens\":8192", "\"input\":\"10\""] {
        assert!(record.contains(kept), "{record}");
    }
    let mut found = Vec::new();
    for secret in [KEY, "token-1234567890"] {
        holding(world.dir.path(), secret, &mut found);
        for args in [
            &["--json", "audit", "log"][..],
            &["--json", "runs", "show", run],
        ] {
            assert!(!world.call(args).stdout.contains(secret));
        }
    }
    assert_eq!(found, Vec::<PathBuf>::new());
    assert!(
        !record.contains("127.0.0.1") && !record.contains("x-token"),
        "{record}"
    );
    let shown = world.call(&["runs", "show", run]).stdout;
    let says = "calls: 1 succeeded; 2 model calls, 62 tokens in, 116 out, ";
    assert!(shown.contains(says), "{shown}");
}

#[test]
fn a_run_goes_on_where_config_and_environment_say_by_then() {
    let first = Server::with(vec![Says::Call(
        "rm",
        serde_json::json!({ "path": "old.log" }),
    )]);
    let mut world = configured(&served(&first));
    world.var("MY_API_KEY", KEY);
    world.var("MY_TOKEN", "token-1");
    let started = world.call(&[&["--json"], &run("local:m", &[])[..]].concat());
    assert_eq!(started.code, 2, "{}{}", started.stdout, started.stderr);
    let report: Value = serde_json::from_str(&started.stdout).unwrap();
    assert_eq!(report["calls"], serde_json::json!({ "waiting": 1 }));
    let run = report["run"].as_str().unwrap();
    let second = Server::with(vec![Says::Text("Gone.")]);
    let config = world.path("person/.config/placet/config.toml");
    fs::write(&config, served(&second)).unwrap();
    world.vars.remove("MY_API_KEY");
    let refused = world.call(&["runs", "approve", run]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    let says = "the variable MY_API_KEY is not set: it holds the key of local";
    assert!(refused.stderr.contains(says), "{}", refused.stderr);
    world.var("MY_API_KEY", "sk-other");
    let resumed = world.call(&["runs", "resume", run]);
    assert_eq!(resumed.code, 0, "{}{}", resumed.stdout, resumed.stderr);
    let says = "calls: 1 succeeded; 2 model calls, 62 tokens in, 116 out, ";
    assert!(resumed.stderr.contains(says), "{}", resumed.stderr);
    let asked = second.asked();
    assert!(asked[0].head.contains("sk-other"), "{}", asked[0].head);
    assert!(!world.path("ws/old.log").exists());
}

#[test]
fn a_cap_on_cost_is_not_added_where_the_price_is_unknown() {
    let call = serde_json::json!({ "path": "old.log" });
    let server = Server::with(vec![Says::Call("rm", call)]);
    let config = served(&server);
    let (config, _) = config.split_once("[prices").unwrap();
    let mut world = configured(config);
    world.var("MY_API_KEY", KEY);
    world.var("MY_TOKEN", "token-1");
    let started = world.call(&[&["--json"], &run("local:m", &[])[..]].concat());
    let report: Value = serde_json::from_str(&started.stdout).unwrap();
    let run = report["run"].as_str().unwrap();
    let refused = world.call(&["runs", "resume", run, "--max-cost-usd", "1"]);
    assert_eq!(refused.code, 64, "{}", refused.stderr);
    let says = "the price of local:m is not known";
    assert!(refused.stderr.contains(says), "{}", refused.stderr);
    let shown = world.call(&["--json", "runs", "show", run]).stdout;
    assert!(!shown.contains("limits.tightened"), "{shown}");
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
    let output = spawn(&world, &args).wait_with_output().unwrap();
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

/// A command that no rule knows is judged by a served model, which is recorded before it is asked
/// and paid for by the run.
#[cfg(feature = "system-tests")]
#[test]
fn a_served_classifier_is_an_intent_a_verdict_and_a_cost() {
    let server = Server::with(vec![Says::Text("low-risk")]);
    let arguments = serde_json::json!({ "command": "date; date" });
    let script = format!(
        "[[turn]]\ncalls = [{{ id = 'p', tool = 'execute_command', args_json = '''{arguments}''' }}]\n\
         [[turn]]\ntext = 'Done.'\n"
    );
    let config = served(&server) + "[classifier]\nmodel = 'local:m'\n";
    let mut world = configured(&config);
    fs::write(world.path("tidy.toml"), script).unwrap();
    world.var("MY_API_KEY", KEY);
    world.var("MY_TOKEN", "token-1");
    world.var("PATH", "/usr/local/bin:/usr/bin:/bin");
    let options = ["--approval-policy", "low-risk", "--max-cost-usd", "1"];
    let args = [&["--json"], &run("script:tidy.toml", &options)[..]].concat();
    let output = spawn(&world, &args).wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let id = report["run"].as_str().unwrap();
    let of = |name: &str| -> Vec<Value> {
        let log = world.call(&["--json", "audit", "log", "--run", id, "--type", name]);
        let log: Value = serde_json::from_str(&log.stdout).unwrap();
        let events = log["events"].as_array().unwrap();
        let bodies = events.iter().map(|event| event["record"]["body"].clone());
        bodies.collect()
    };
    let called = of("model.called");
    let asked: Vec<_> = called
        .iter()
        .filter(|body| !body["task"].is_null())
        .collect();
    assert_eq!(asked.len(), 1, "{called:?}");
    assert_eq!(asked[0]["task"], serde_json::json!({ "classify": "c1" }));
    assert_eq!(asked[0]["model"], "local:m");
    let judged = &of("risk.assessed")[0];
    assert_eq!(
        (&judged["source"], &judged["tier"]),
        (&"model".into(), &"low-risk".into())
    );
    // 31 tokens in at 10, 58 out at 20 dollars for a million.
    assert_eq!(judged["cost_usd"], "0.00147");
    assert_eq!(report["usage"]["cost_usd"], "0.00147");
    let sent = server.asked();
    assert_eq!(sent.len(), 1);
    assert!(sent[0].body["tools"].is_null());
    assert!(sent[0].body["messages"].to_string().contains("date; date"));
    let replayed = world.call(&["runs", "replay", id]);
    assert_eq!(replayed.code, 0, "{}", replayed.stderr);
}
