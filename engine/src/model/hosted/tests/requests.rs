//! What is sent, byte for byte where it matters.

use serde_json::Value;

use super::server::{Act, Server, http};
use super::{BOTH, KEY, PATIENT_MS, asks, call, endpoint, hosted, user};
use crate::heard::Heard;
use crate::model::hosted::names::Names;
use crate::model::hosted::{Api, EndpointError, Hosted};
use crate::model::{Message, Model, Request};
use crate::secret::Secret;

fn conversation() -> Request {
    let result = |id: &str, text: &str| Message::Result {
        id: id.to_owned(),
        text: text.to_owned(),
    };
    asks(vec![
        Message::System(String::from("Be of use.")),
        user("Look around."),
        user("Be quick."),
        Message::Assistant {
            text: String::from("Looking."),
            calls: vec![
                call("toolu_01", "ls", "{\"path\": \".\", \"n\": 1.0}"),
                call("", "fs.read", "{\"path\": "),
                call("toolu_01", "fs/none", ""),
            ],
        },
        result("toolu_01", "a\nb"),
        result("", "Error: the arguments are no JSON."),
        result("toolu_01", ""),
        user("And now?"),
        Message::Assistant {
            text: String::from("  "),
            calls: vec![call("toolu_02", "ls", "[]")],
        },
        result("toolu_02", "done"),
    ])
}

fn body(api: Api, base: &str, request: &Request) -> Value {
    let body = hosted(api, base, PATIENT_MS).body(request, &Names::of(request));
    serde_json::from_slice(&body.unwrap()).unwrap()
}

#[test]
fn a_conversation_has_the_form_of_each_provider() {
    for (api, golden) in [
        (
            Api::Anthropic,
            include_str!("../fixtures/anthropic.request.json"),
        ),
        (Api::OpenAi, include_str!("../fixtures/openai.request.json")),
    ] {
        let body = body(api, "http://localhost:1/v1", &conversation());
        let golden: Value = serde_json::from_str(golden).unwrap();
        let shown = serde_json::to_string_pretty(&body).unwrap();
        assert_eq!(body, golden, "{shown}");
    }
}

#[test]
fn the_same_conversation_is_sent_the_same_and_only_grows() {
    for api in BOTH {
        let whole = conversation();
        let mut before = conversation();
        before.messages.truncate(8);
        let [whole, before] =
            [whole, before].map(|request| body(api, "http://localhost:1", &request));
        // But for the mark up to which the provider may keep it.
        let messages = |body: &Value| {
            let text = serde_json::to_string(&body["messages"]).unwrap();
            let text = text.replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "");
            let text = text.replace("\"cache_control\":{\"type\":\"ephemeral\"},", "");
            text.trim_end_matches(']').to_owned()
        };
        assert!(messages(&whole).starts_with(&messages(&before)), "{api:?}");
        assert_eq!(whole["tools"], before["tools"]);
    }
}

#[test]
fn the_limit_of_a_reply_has_the_word_of_its_server() {
    let mut request = asks(vec![user("go")]);
    for (api, base, word) in [
        (Api::Anthropic, "http://localhost:1", "max_tokens"),
        (
            Api::OpenAi,
            "http://api.openai.com/v1",
            "max_completion_tokens",
        ),
        (Api::OpenAi, "http://localhost:1/v1", "max_tokens"),
    ] {
        request.output_tokens = Some(512);
        let limited = body(api, base, &request);
        assert_eq!(limited[word], 512, "{base}");
        request.output_tokens = None;
        let free = body(api, base, &request);
        let expected = match api {
            Api::Anthropic => Value::from(32_000),
            Api::OpenAi => Value::Null,
        };
        assert_eq!(free[word], expected, "{base}");
    }
}

#[tokio::test]
async fn the_key_and_the_headers_go_along_and_nothing_else_of_ours() {
    for api in BOTH {
        let server = Server::of(vec![Act::send(http("400 No", &[], "{}"))]).await;
        let base = format!("{}/base?version=7", server.url);
        let model = hosted(api, &base, PATIENT_MS);
        let request = conversation();
        drop(model.complete(&request, &Heard::default()).await);
        let sent = server.requests().remove(0);
        let (head, sent_body) = sent.split_once("\r\n\r\n").unwrap();
        let mut lines: Vec<_> = head.lines().map(str::to_owned).collect();
        lines.sort();
        let length = format!("content-length: {}", sent_body.len());
        let host = format!("host: {}", server.url.trim_start_matches("http://"));
        let agent = concat!("user-agent: placet/", env!("CARGO_PKG_VERSION"));
        let (path, key, version) = match api {
            Api::Anthropic => (
                "/base/v1/messages",
                "x-api-key: ",
                Some("anthropic-version: 2023-06-01"),
            ),
            Api::OpenAi => ("/base/chat/completions", "authorization: Bearer ", None),
        };
        let mut expected = vec![
            format!("POST {path}?version=7 HTTP/1.1"),
            String::from("accept: text/event-stream, application/json"),
            String::from("content-type: application/json"),
            String::from("x-gate: gate-pass"),
            format!("{key}{KEY}"),
            agent.to_owned(),
            host,
            length,
        ];
        expected.extend(version.map(str::to_owned));
        expected.sort();
        assert_eq!(lines, expected);
        let sent_body: Value = serde_json::from_str(sent_body).unwrap();
        assert_eq!(sent_body, body(api, &base, &request));
    }
}

#[tokio::test]
async fn without_a_key_none_is_sent_and_a_header_replaces_ours() {
    for api in BOTH {
        let server = Server::of(vec![Act::send(http("401 No", &[], "{}"))]).await;
        let mut endpoint = endpoint(api, &server.url, PATIENT_MS);
        endpoint.key = None;
        let other = Secret::new(String::from("other/1"));
        endpoint.headers = vec![(String::from("User-Agent"), other)];
        let model = Hosted::new(endpoint, String::from("m")).unwrap();
        let error = model
            .complete(&asks(vec![]), &Heard::default())
            .await
            .unwrap_err();
        assert!(error.detail.contains("no key was sent"), "{error}");
        let sent = server.requests().remove(0);
        assert!(sent.contains("user-agent: other/1\r\n"), "{sent}");
        for absent in ["authorization", "x-api-key", "placet/"] {
            assert!(!sent.contains(absent), "{sent}");
        }
    }
}

#[test]
fn what_cannot_be_sent_is_refused_at_once_and_not_shown() {
    for api in BOTH {
        let mut wrong = endpoint(api, "http://localhost:1", PATIENT_MS);
        wrong.key = Some(Secret::new(String::from("geheim\n")));
        let error = Hosted::new(wrong, String::from("m")).unwrap_err();
        assert!(matches!(error, EndpointError::Key), "{error}");
        for (name, value) in [("a b", "x"), ("x-a", "geheim\r\nx-b: 1"), ("", "x")] {
            let mut wrong = endpoint(api, "http://localhost:1", PATIENT_MS);
            wrong.headers = vec![(name.to_owned(), Secret::new(value.to_owned()))];
            let error = Hosted::new(wrong, String::from("m")).unwrap_err();
            assert!(matches!(&error, EndpointError::Header(header) if header == name));
            assert!(!format!("{error} {error:?}").contains("geheim"));
        }
        let model = hosted(api, "http://localhost:1", PATIENT_MS);
        assert!(!format!("{model:?}").contains(KEY));
    }
}
