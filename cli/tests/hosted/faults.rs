//! Servers that fail in every way that was thought of: no run hangs, nothing is asked twice unseen,
//! nothing is paid for twice, and every such run replays.

use std::thread;

use serde_json::Value;

use super::configured;
use super::server::{Says, Server};
use crate::support::World;

/// How a run ends whose model failed in one way and then, if it was asked again, said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    /// It was asked again, and what failed cost nothing.
    AgainForNothing,
    /// It was asked again, and what was set aside for the attempt that failed stays spent.
    AgainAndSpent,
    /// The run failed, and nothing was spent.
    FailedForNothing,
    /// The run failed, and what was set aside stays spent.
    FailedAndSpent,
    /// The reply was one, and the run went on.
    Completed,
}

fn status(line: &str, headers: &str, body: &str) -> Says {
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {line}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}"
    );
    Says::Raw(text.into_bytes())
}

fn stream(events: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{events}"
    )
    .into_bytes()
}

fn text_delta() -> &'static str {
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half a\"}}]}\n\n"
}

/// A reply with two calls of `ls` under these ids, with these arguments.
fn calls(ids: [&str; 2], arguments: &str) -> Says {
    let call = |index: usize, id: &str| {
        let function = serde_json::json!({ "name": "ls", "arguments": arguments });
        serde_json::json!({ "index": index, "id": id, "type": "function", "function": function })
    };
    let calls = [call(0, ids[0]), call(1, ids[1])];
    let delta = serde_json::json!({
        "choices": [{ "index": 0, "delta": { "tool_calls": calls } }],
    });
    let stop = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}";
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":31,\"completion_tokens\":58}}";
    Says::Raw(stream(&format!(
        "data: {delta}\n\n{stop}\n\n{usage}\n\ndata: [DONE]\n\n"
    )))
}

fn faults() -> Vec<(&'static str, Says, Ends)> {
    let html = "content-type: text/html\r\n";
    vec![
        ("503", status("503 Busy", "", "{}"), Ends::AgainForNothing),
        (
            "429 with a wait",
            status("429 Slow", "retry-after: 0\r\n", "{}"),
            Ends::AgainForNothing,
        ),
        ("500", status("500 Oh", "", "no"), Ends::AgainAndSpent),
        ("closed at once", Says::Raw(Vec::new()), Ends::AgainAndSpent),
        (
            "401",
            status("401 No", "", "{\"error\":{\"message\":\"no such key\"}}"),
            Ends::FailedForNothing,
        ),
        (
            "elsewhere",
            status("302 Found", "location: http://127.0.0.1:1/\r\n", ""),
            Ends::FailedAndSpent,
        ),
        (
            "a page",
            status("200 OK", html, "<html>hello</html>"),
            Ends::FailedAndSpent,
        ),
        (
            "half a stream",
            Says::Raw(stream(text_delta())),
            Ends::FailedAndSpent,
        ),
        (
            "half a stream and silence",
            Says::Silent(stream(text_delta())),
            Ends::FailedAndSpent,
        ),
        ("silence", Says::Silent(Vec::new()), Ends::FailedAndSpent),
        (
            "what is no JSON",
            Says::Raw(stream("data: {oh\n\n")),
            Ends::FailedAndSpent,
        ),
        (
            "malformed arguments",
            calls(["a", "b"], "{\"path\": "),
            Ends::Completed,
        ),
        (
            "one id for two",
            calls(["a", "a"], "{\"path\": \".\"}"),
            Ends::Completed,
        ),
        (
            "no ids",
            calls(["", ""], "{\"path\": \".\"}"),
            Ends::Completed,
        ),
    ]
}

fn json(world: &World, args: &[&str]) -> Value {
    let output = world.call(&[&["--json"], args].concat());
    serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{}", output.stderr))
}

/// What a run came to whose model failed in this way once.
fn came_to(name: &str, fault: Says) -> Ends {
    let server = Server::with(vec![fault, Says::Text("Done.")]);
    let world = configured(&format!(
        "[models.local]\napi = 'openai'\nbase_url = '{}'\nsilence = '300ms'\n",
        server.url()
    ));
    let args = super::run("local:m", &["--attend", "never"]);
    let report = json(&world, &args);
    let run = report["run"].as_str().unwrap();
    let called = json(
        &world,
        &["audit", "log", "--run", run, "--type", "model.called"],
    );
    let called = called["events"].as_array().unwrap().len();
    assert_eq!(server.asked().len(), called, "{name}: asked unseen");
    let replayed = world.call(&["runs", "replay", run]);
    assert_eq!(replayed.code, 0, "{name}: {}", replayed.stderr);
    let verified = world.call(&["audit", "verify"]);
    assert_eq!(verified.code, 0, "{name}: {}", verified.stderr);
    // A reply has used 89 tokens.
    let spent = report["usage"]["tokens"].as_u64().unwrap();
    match (report["outcome"].as_str().unwrap(), called, spent) {
        ("completed", 2, 89) => Ends::AgainForNothing,
        ("completed", 2, 178) => Ends::Completed,
        ("completed", 2, _) => Ends::AgainAndSpent,
        ("failed", 1, 0) => Ends::FailedForNothing,
        ("failed", 1, _) => Ends::FailedAndSpent,
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn no_fault_of_a_server_leaves_a_run_stuck_or_is_paid_for_twice() {
    // Beside each other: some wait a second before they ask again.
    let found: Vec<_> = faults()
        .into_iter()
        .map(|(name, fault, ends)| (name, ends, thread::spawn(move || came_to(name, fault))))
        .collect();
    for (name, ends, came) in found {
        assert_eq!(came.join().unwrap(), ends, "{name}");
    }
}

#[test]
fn a_run_that_ends_on_a_cap_says_what_is_left_undone() {
    let arguments = serde_json::json!({ "path": "." });
    let server = Server::with(vec![Says::Call("ls", arguments)]);
    let world = configured(&format!(
        "[models.local]\napi = 'openai'\nbase_url = '{}'\n",
        server.url()
    ));
    let options = ["--attend", "never", "--max-iterations", "1"];
    let report = json(&world, &super::run("local:m", &options));
    assert_eq!(report["cap"], "max-iterations");
    assert_eq!(report["unheard"], serde_json::json!(["c1"]));
    let shown = world.call(&["runs", "show", report["run"].as_str().unwrap()]);
    assert!(shown.stdout.contains("max-iterations"), "{}", shown.stdout);
}

#[test]
fn a_cap_on_time_ends_a_run_whose_model_says_nothing() {
    let server = Server::with(vec![Says::Silent(Vec::new())]);
    let world = configured(&format!(
        "[models.local]\napi = 'openai'\nbase_url = '{}'\nsilence = '5m'\n",
        server.url()
    ));
    let options = ["--attend", "never", "--max-duration", "300ms"];
    let report = json(&world, &super::run("local:m", &options));
    assert_eq!(report["outcome"], "budget");
    assert_eq!(report["cap"], "max-duration");
    assert_eq!(server.asked().len(), 1);
}
