//! Both forms against one suite: what is sent, what counts as a reply, and every way to fail.

mod failures;
mod hostile;
mod memory;
mod replies;
mod requests;
mod server;

use std::sync::Arc;

use placet_ledger::budget::Tokens;
use placet_ledger::event::Stop;
use placet_ledger::risk::DeclaredRisk;
use serde_json::json;

use super::{Api, Endpoint, Hosted};
use crate::model::{Message, MessageCall, Reply, Request};
use crate::secret::Secret;
use crate::tool::spec::{Defined, Specified, ToolSpec};

const BOTH: [Api; 2] = [Api::Anthropic, Api::OpenAi];

/// The key, long enough to be found wherever it turns up.
const KEY: &str = "sk-test-0123456789";

/// How long a server may be silent here: longer than any of them takes, on a slow machine too.
const PATIENT_MS: u64 = 60_000;

fn endpoint(api: Api, base_url: &str, silence_ms: u64) -> Endpoint {
    Endpoint {
        api,
        base_url: base_url.to_owned(),
        key: Some(Secret::new(KEY.to_owned())),
        headers: vec![(
            String::from("x-gate"),
            Secret::new(String::from("gate-pass")),
        )],
        silence_ms,
    }
}

fn hosted(api: Api, base_url: &str, silence_ms: u64) -> Hosted {
    Hosted::new(endpoint(api, base_url, silence_ms), String::from("model-x")).unwrap()
}

fn tool(name: &str) -> Arc<Defined> {
    let spec = ToolSpec {
        name: name.parse().unwrap(),
        description: format!("About {name}."),
        schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        risk: DeclaredRisk::ReadOnly,
        timeout_ms: None,
    };
    spec.defined().unwrap()
}

fn asks(messages: Vec<Message>) -> Request {
    Request {
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: vec![tool("ls"), tool("fs.read")],
        output_tokens: Some(512),
        turn: 0,
    }
}

fn user(text: &str) -> Message {
    Message::User(text.to_owned())
}

fn call(id: &str, name: &str, arguments: &str) -> MessageCall {
    MessageCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    }
}

/// The reply that every fixture holds.
fn assert_sample(what: &str, reply: &Reply) {
    assert_eq!(reply.text, "Looking at \u{e9}. \u{1f600}", "{what}");
    let calls: Vec<_> = reply
        .calls
        .iter()
        .map(|call| {
            let arguments = String::from_utf8(call.arguments.clone()).unwrap();
            (call.name.clone(), arguments)
        })
        .collect();
    let expected = [
        ("ls", r#"{"path": "."}"#),
        ("fs.read", r#"{"path": "a b.txt"}"#),
    ];
    let expected = expected.map(|(name, arguments)| (name.to_owned(), arguments.to_owned()));
    assert_eq!(calls, expected, "{what}");
    let ids: Vec<_> = reply.calls.iter().map(|call| call.id.as_str()).collect();
    let anthropic = what.starts_with("anthropic");
    let expected = if anthropic {
        ["toolu_01", "toolu_02"]
    } else {
        ["call_1", "call_2"]
    };
    assert_eq!(ids, expected, "{what}");
    assert_eq!(reply.stop, Stop::ToolCalls, "{what}");
    let used = Tokens {
        cache_read: 60,
        cache_write: if anthropic { 10 } else { 0 },
        input: 100,
        output: 20,
    };
    assert_eq!(reply.used, used, "{what}");
    let told = &reply.told;
    let model = if anthropic { "claude-x" } else { "gpt-x" };
    assert_eq!(told.model.as_deref(), Some(model), "{what}");
    let id = if anthropic { "msg_01" } else { "chatcmpl-1" };
    assert_eq!(told.id.as_deref(), Some(id), "{what}");
}

/// A stream of the sample reply.
const fn sample(api: Api) -> &'static str {
    match api {
        Api::Anthropic => include_str!("../fixtures/anthropic.sse"),
        Api::OpenAi => include_str!("../fixtures/openai.sse"),
    }
}
