//! What counts as a reply: the fixtures of every server, in any pieces, streamed or whole.

use placet_ledger::budget::Tokens;
use placet_ledger::event::{ModelFailure, Stop};

use super::memory::{Came, read, stream};
use super::server::{Act, CHUNKED, Server, chunk};
use super::{BOTH, PATIENT_MS, asks, assert_sample, hosted, sample, user};
use crate::heard::Heard;
use crate::model::Model;
use crate::model::hosted::Api;

/// Streams that hold the sample reply, each as one server writes it, and what its reply ends with.
const STREAMS: [(Api, &str, &str, &str); 5] = [
    (
        Api::Anthropic,
        "anthropic",
        sample(Api::Anthropic),
        "message_stop\"}",
    ),
    (
        Api::OpenAi,
        "openai",
        sample(Api::OpenAi),
        "\"finish_reason\":\"tool_calls\"",
    ),
    (
        Api::OpenAi,
        "ollama",
        include_str!("../fixtures/ollama.sse"),
        "\"finish_reason\":\"stop\"",
    ),
    (
        Api::OpenAi,
        "vllm",
        include_str!("../fixtures/vllm.sse"),
        "\"finish_reason\":\"tool_calls\"",
    ),
    (
        Api::OpenAi,
        "llama_cpp",
        include_str!("../fixtures/llama_cpp.sse"),
        "\"finish_reason\":\"tool_calls\"",
    ),
];

fn assert_read(what: &str, came: Came) {
    let reply = came
        .result
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_sample(what, &reply);
    assert_eq!(came.heard, reply.text, "{what}");
}

#[test]
fn every_server_says_the_same_wherever_its_stream_is_split() {
    for (api, what, text, _) in STREAMS {
        let bytes = text.as_bytes();
        assert_read(what, stream(api, &[bytes]));
        for at in 1..bytes.len() {
            let (one, two) = bytes.split_at(at);
            assert_read(&format!("{what} at {at}"), stream(api, &[one, two]));
        }
        let bytes: Vec<_> = bytes.chunks(1).collect();
        assert_read(&format!("{what} byte by byte"), stream(api, &bytes));
    }
}

#[test]
fn a_stream_that_ends_before_its_end_is_never_a_reply() {
    for (api, what, text, marker) in STREAMS {
        let begin = text.find(marker).unwrap() + marker.len();
        let blank = ["\n\n", "\r\n\r\n"]
            .iter()
            .filter_map(|blank| Some(begin + text[begin..].find(blank)? + blank.len()));
        let whole = blank.min().unwrap();
        for end in 0..text.len() {
            let came = stream(api, &[&text.as_bytes()[..end]]);
            match came.result {
                // What is counted comes after the end.
                Ok(reply) => {
                    assert!(end > begin, "{what} at {end}");
                    assert_eq!(reply.calls.len(), 2, "{what} at {end}");
                }
                Err(error) => {
                    assert!(end < whole, "{what} at {end}: {error}");
                    assert_eq!(error.kind, ModelFailure::Cut, "{what} at {end}: {error}");
                    // Asked again only where nothing of the reply came.
                    let has_begun = !came.heard.is_empty();
                    assert!(error.again.is_none() || !has_begun, "{what} at {end}");
                }
            }
        }
    }
}

#[test]
fn a_reply_that_came_whole_is_the_same_reply() {
    for (api, what, text) in [
        (
            Api::Anthropic,
            "anthropic",
            include_str!("../fixtures/anthropic.json"),
        ),
        (
            Api::OpenAi,
            "openai",
            include_str!("../fixtures/openai.json"),
        ),
    ] {
        for kind in [Some("application/json; charset=utf-8"), None] {
            let chunks = text.as_bytes().chunks(7).map(|chunk| Ok(chunk.to_vec()));
            assert_read(what, read(api, kind, chunks.collect()));
        }
        let cut = &text.as_bytes()[..text.len() / 2];
        let came = read(api, Some("application/json"), vec![Ok(cut.to_vec())]);
        assert_eq!(came.result.unwrap_err().kind, ModelFailure::Cut, "{what}");
    }
}

#[test]
fn a_stream_is_known_without_a_type() {
    for api in BOTH {
        let chunks = sample(api)
            .as_bytes()
            .chunks(3)
            .map(|chunk| Ok(chunk.to_vec()));
        assert_read(api.as_str(), read(api, None, chunks.collect()));
    }
}

#[test]
fn what_nobody_counts_is_counted_by_bytes() {
    for (api, text) in [
        (
            Api::Anthropic,
            "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\
             \"text\":\"12345678\"}}\n\ndata: {\"type\":\"message_delta\",\"delta\":\
             {\"stop_reason\":\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
        ),
        (
            Api::OpenAi,
            "data: {\"choices\":[{\"delta\":{\"content\":\"12345678\"},\
             \"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        ),
    ] {
        let reply = stream(api, &[text.as_bytes()]).result.unwrap();
        assert_eq!(reply.stop, Stop::End);
        // The request has 400 bytes.
        assert_eq!(reply.used, Tokens::new(100, 2), "{api:?}");
    }
}

#[test]
fn a_refusal_is_text_and_says_so() {
    for (api, text) in [
        (
            Api::Anthropic,
            "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":\
             {\"type\":\"text\",\"text\":\"No.\"}}\n\ndata: {\"type\":\"message_delta\",\"delta\":\
             {\"stop_reason\":\"refusal\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
        ),
        (
            Api::OpenAi,
            "data: {\"choices\":[{\"delta\":{\"refusal\":\"No\"}}]}\n\n\
             data: {\"choices\":[{\"delta\":{\"refusal\":\".\"}}]}\n\n\
             data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        ),
    ] {
        let reply = stream(api, &[text.as_bytes()]).result.unwrap();
        assert_eq!((reply.text.as_str(), reply.stop), ("No.", Stop::Refusal));
    }
}

#[test]
fn arguments_are_handed_on_as_they_were_written() {
    let written = "{\"a\": [1, }\u{e9}\n";
    let quoted = serde_json::to_string(written).unwrap();
    for (api, text) in [
        (
            Api::Anthropic,
            format!(
                "data: {{\"type\":\"content_block_start\",\"index\":4,\"content_block\":\
                 {{\"type\":\"tool_use\",\"id\":\"\",\"name\":\"no.such\"}}}}\n\n\
                 data: {{\"type\":\"content_block_delta\",\"index\":4,\"delta\":\
                 {{\"type\":\"input_json_delta\",\"partial_json\":{quoted}}}}}\n\n\
                 data: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"end_turn\"}}}}\n\n\
                 data: {{\"type\":\"message_stop\"}}\n\n"
            ),
        ),
        (
            Api::OpenAi,
            format!(
                "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"function\":\
                 {{\"name\":\"no.such\",\"arguments\":{quoted}}}}}]}},\
                 \"finish_reason\":\"stop\"}}]}}\n\n"
            ),
        ),
    ] {
        let reply = stream(api, &[text.as_bytes()]).result.unwrap();
        assert_eq!(reply.calls.len(), 1, "{api:?}");
        let call = &reply.calls[0];
        assert_eq!(call.arguments, written.as_bytes(), "{api:?}");
        assert_eq!((call.id.as_str(), call.name.as_str()), ("", "no.such"));
        assert_eq!(reply.stop, Stop::ToolCalls, "{api:?}");
    }
}

#[tokio::test]
async fn a_reply_ends_with_its_marker_and_not_with_the_connection() {
    for api in BOTH {
        let acts = vec![
            Act::send(CHUNKED),
            Act::send(chunk(sample(api))),
            // A server that keeps the connection open.
            Act::Hold,
        ];
        let server = Server::of(acts).await;
        let model = hosted(api, &server.url, PATIENT_MS);
        let reply = model
            .complete(&asks(vec![user("go")]), &Heard::default())
            .await;
        let reply = reply.unwrap();
        assert_sample(api.as_str(), &reply);
        assert_eq!(reply.told.endpoint.as_deref(), Some(server.url.as_str()));
        assert_eq!(server.requests().len(), 1);
    }
}
