//! Answers that are too large, too deep or no text at all: never a panic, never a reply.

use std::io;

use placet_ledger::event::ModelFailure;
use proptest::prelude::*;

use super::memory::{read, stream};
use super::{BOTH, sample};
use crate::model::ModelError;
use crate::model::hosted::Api;

const MIB: usize = 1024 * 1024;

fn refused(api: Api, chunks: &[&[u8]]) -> ModelError {
    let error = stream(api, chunks).result.unwrap_err();
    assert_eq!(error.kind, ModelFailure::Provider, "{error}");
    assert_eq!(error.again, None, "{error}");
    error
}

#[test]
fn what_is_not_of_the_form_is_refused_and_says_what_was_expected() {
    let deep = format!("data: {}\n\n", "[".repeat(100_000));
    for api in BOTH {
        for (bytes, says) in [
            (b"data: {\"a\":\"\xff\"}\n\n".as_slice(), "UTF-8"),
            (b"data: {\n\n", "expected JSON"),
            (b"data: hello\n\n", "expected JSON"),
            (deep.as_bytes(), "expected"),
            (b"<html>\n\n", "none of an event"),
            (
                b"data: {\"choices\":5,\"type\":\"content_block_delta\"}\n\n",
                "a part of a reply",
            ),
        ] {
            let error = refused(api, &[bytes]);
            assert!(error.detail.contains(says), "{api:?}: {error}");
        }
        let json = |bytes: &[u8]| {
            let came = read(api, Some("application/json"), vec![Ok(bytes.to_vec())]);
            let error = came.result.unwrap_err();
            assert_eq!(error.kind, ModelFailure::Provider, "{error}");
            error.detail
        };
        for (bytes, says) in [
            (b"\xff\xfe".as_slice(), "UTF-8"),
            (b"hello", "expected JSON"),
            (b"[]", "expected an object"),
            (b"{\"choices\":[]}", "expected"),
        ] {
            let detail = json(bytes);
            assert!(detail.contains(says), "{api:?}: {detail}");
        }
    }
}

#[test]
fn what_is_larger_than_a_reply_is_not_read_to_its_end() {
    let line = vec![b'x'; MIB];
    let mut comment = vec![b' '; MIB];
    comment[0] = b':';
    comment[MIB - 1] = b'\n';
    for api in BOTH {
        let error = refused(api, &[line.as_slice(); 9]);
        assert!(error.detail.contains("a line of the stream"), "{error}");
        let error = refused(api, &[comment.as_slice(); 65]);
        assert!(error.detail.contains("the answer has more"), "{error}");
        let chunks = (0..9).map(|_| Ok(vec![b'{'; MIB])).collect();
        let came = read(api, Some("application/json"), chunks);
        let error = came.result.unwrap_err();
        assert!(error.detail.contains("answer in JSON has more"), "{error}");
    }
}

#[test]
fn a_list_that_is_short_to_send_and_long_in_memory_is_refused() {
    let many = vec!["{}"; 5_000].join(",");
    let message =
        |field: &str| format!("{{\"choices\":[{{\"message\":{{\"{field}\":[{many}]}}}}]}}");
    for (api, text) in [
        (Api::OpenAi, format!("{{\"choices\":[{many}]}}")),
        (Api::OpenAi, message("tool_calls")),
        (Api::OpenAi, message("content")),
        (Api::Anthropic, format!("{{\"content\":[{many}]}}")),
    ] {
        let came = read(api, Some("application/json"), vec![Ok(text.into_bytes())]);
        let error = came.result.unwrap_err();
        assert!(error.detail.contains("a list of at most"), "{error}");
    }
}

#[test]
fn a_call_that_never_began_has_no_arguments() {
    let lone = b"data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":\
        {\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}\n\n";
    assert!(
        refused(Api::Anthropic, &[lone])
            .detail
            .contains("did not begin")
    );
    let lone = b"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"function\":\
        {\"arguments\":\"{}\"}}]}}]}\n\n";
    assert!(
        refused(Api::OpenAi, &[lone])
            .detail
            .contains("did not begin")
    );
}

#[test]
fn a_transport_that_breaks_after_the_end_of_a_reply_breaks_no_reply() {
    let text = sample(Api::OpenAi);
    let end = text.find("data: [DONE]").unwrap();
    let broken = || Err(io::Error::from(io::ErrorKind::ConnectionReset));
    let kind = Some("text/event-stream");
    let chunks = vec![Ok(text.as_bytes()[..end].to_vec()), broken()];
    super::assert_sample("openai", &read(Api::OpenAi, kind, chunks).result.unwrap());
    let text = sample(Api::Anthropic);
    let end = text.find("event: message_stop").unwrap();
    let chunks = vec![Ok(text.as_bytes()[..end].to_vec()), broken()];
    let error = read(Api::Anthropic, kind, chunks).result.unwrap_err();
    assert_eq!((error.kind, error.again), (ModelFailure::Cut, None));
    // All of it was counted by then.
    assert_eq!(
        error.used.map(|used| (used.input, used.output)),
        Some((100, 20))
    );
}

/// Pieces of streams, and what has no place in one.
fn pieces() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let lines: Vec<Vec<u8>> = BOTH
        .iter()
        .flat_map(|api| sample(*api).split_inclusive('\n'))
        .filter(|line| {
            !["message_stop", "[DONE]", "\"finish_reason\":\"tool"]
                .iter()
                .any(|end| line.contains(end))
        })
        .map(|line| line.as_bytes().to_vec())
        .collect();
    let piece = prop_oneof![
        4 => prop::sample::select(lines),
        2 => Just(b"\n".to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..40),
        1 => "data: \\PC{0,30}\n\n".prop_map(String::into_bytes),
        1 => "data: \\{\"(type|choices|error|delta)\":(1|null|\"ping\"|\\[\\{\\}\\])\\}\n\n"
            .prop_map(String::into_bytes),
    ];
    prop::collection::vec(piece, 0..40)
}

proptest! {
    #[test]
    fn without_an_end_nothing_is_a_reply(pieces in pieces()) {
        for api in BOTH {
            let chunks: Vec<_> = pieces.iter().map(Vec::as_slice).collect();
            let came = stream(api, &chunks);
            prop_assert!(came.result.is_err(), "{:?}", came.result);
        }
    }

    #[test]
    fn bytes_of_any_kind_are_read_without_harm(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        kind in prop::sample::select(vec![None, Some("application/json"), Some("text/event-stream")]),
    ) {
        for api in BOTH {
            prop_assert!(read(api, kind, vec![Ok(bytes.clone())]).result.is_err());
        }
    }

    #[test]
    fn a_byte_more_or_less_is_read_the_same_however_it_comes(
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        size in 1_usize..50,
    ) {
        for api in BOTH {
            let mut bytes = sample(api).as_bytes().to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let whole = stream(api, &[&bytes]);
            let chunks: Vec<_> = bytes.chunks(size).collect();
            let cut = stream(api, &chunks);
            prop_assert_eq!(whole.result, cut.result);
            prop_assert_eq!(whole.heard, cut.heard);
        }
    }
}
