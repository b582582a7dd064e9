//! A real model on a real llama.cpp server: text turns, what they used, and what a cap leaves of
//! them. Calls of tools are not asked for: the weights know no form for them.
//!
//! `.ci/llama` gets server and weights and runs this; nothing else does.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::World;

/// The server; it ends with its standard input.
struct Server {
    child: Child,
    base_url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the server is no process of a run, and .ci/llama says where it is"
)]
fn server() -> Server {
    let at = std::env::var("PLACET_LLAMA").unwrap();
    let mut child = Command::new(format!("{at}/venv/bin/python"))
        .args([
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/llama/serve.py"),
            &at,
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut base_url = String::new();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    said.read_line(&mut base_url).unwrap();
    Server {
        child,
        base_url: base_url.trim().to_owned(),
    }
}

/// A world in which `local` is the server.
fn configured(server: &Server) -> World {
    let world = World::new();
    let folder = world.path("person/.config/placet");
    std::fs::create_dir_all(&folder).unwrap();
    let config = format!(
        "[models.local]\napi = 'openai'\nbase_url = '{}'\ncontext_tokens = 4096\n\
         output_tokens = 48\n\n[prices.'local:gemma']\ninput = '1'\noutput = '2'\n",
        server.base_url
    );
    std::fs::write(folder.join("config.toml"), config).unwrap();
    world
}

fn run(world: &World, options: &[&str]) -> Value {
    let args = [
        "--json",
        "run",
        "--model",
        "local:gemma",
        "--workspace",
        "ws",
        "--tools",
        "ls",
        "--attend",
        "never",
    ];
    let output = world.call(&[&args[..], options, &["Tell me about cheese."]].concat());
    serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{}", output.stderr))
}

/// The record of this type, with what is kept beside it.
fn record(world: &World, run: &str, name: &str) -> Value {
    let log = world.call(&["--json", "audit", "log", "--run", run, "--type", name]);
    let log: Value = serde_json::from_str(&log.stdout).unwrap();
    let position = format!("#{}", log["events"][0]["position"]);
    let shown = world.call(&["--json", "audit", "show", &position]);
    serde_json::from_str(&shown.stdout).unwrap()
}

#[test]
fn a_real_model_says_something_that_is_recorded_and_paid_for() {
    let server = server();
    let world = configured(&server);
    let report = run(&world, &[]);
    let id = report["run"].as_str().unwrap();
    let replied = record(&world, id, "model.replied");
    let body = &replied["record"]["body"];
    let (input, output) = (&body["used"]["input"], &body["used"]["output"]);
    let (input, output) = (input.as_u64().unwrap(), output.as_u64().unwrap());
    assert!(input > 20, "{body}");
    assert!((1..=48).contains(&output), "{body}");
    assert!(["end", "length"].contains(&body["stop"].as_str().unwrap()));
    let micros = input + 2 * output;
    assert_eq!(
        body["cost_usd"],
        format!("0.{micros:06}").trim_end_matches('0')
    );
    let content = &replied["content"];
    assert!(!content["reply"]["text"].as_str().unwrap().trim().is_empty());
    let told = content["provider"]["text"].to_string();
    assert!(
        told.contains("gemma-3-270m") && told.contains(&server.base_url),
        "{told}"
    );
    // It replays from the record, with no server to ask.
    drop(server);
    let replayed = world.call(&["runs", "replay", id]);
    assert_eq!(replayed.code, 0, "{}", replayed.stderr);
}

#[test]
fn a_cap_binds_a_real_model() {
    let server = server();
    let world = configured(&server);
    let report = run(&world, &["--max-tokens", "100"]);
    assert_eq!(report["outcome"], "budget");
    assert_eq!(report["cap"], "max-tokens");
    assert_eq!(report["usage"]["tokens"], 0);
}

#[test]
fn a_server_that_went_away_is_said_to_be_away() {
    let server = server();
    let world = configured(&server);
    drop(server);
    let report = run(&world, &["--max-duration", "1s"]);
    assert!(["failed", "budget"].contains(&report["outcome"].as_str().unwrap()));
    assert_eq!(report["usage"]["tokens"], 0);
}
