//! Deltas as servers write them, and the calls that they make.

use serde_json::{Value, json};

use super::*;

/// The calls that deltas make, a line each.
fn calls(deltas: &[Value]) -> Result<Vec<String>, String> {
    let (mut calls, mut draft) = (Calls::default(), Draft::default());
    for delta in deltas {
        let data = json!({"choices": [{"delta": {"tool_calls": [delta]}}]}).to_string();
        calls
            .chunk(&data, &mut draft)
            .map_err(|fault| fault.to_string())?;
    }
    let line = |call: &super::super::super::draft::DraftCall| {
        format!("{}:{}:{}", call.id, call.name, call.arguments)
    };
    Ok(draft.calls.iter().map(line).collect())
}

fn delta(index: Option<u64>, id: &str, name: &str, arguments: &str) -> Value {
    let mut delta = json!({"function": {"arguments": arguments}});
    if let Some(index) = index {
        delta["index"] = json!(index);
    }
    if !id.is_empty() {
        delta["id"] = json!(id);
    }
    if !name.is_empty() {
        delta["function"]["name"] = json!(name);
    }
    delta
}

/// What a server does, the deltas it sends, and the calls that they are.
type Case = (&'static str, Vec<Value>, &'static [&'static str]);

/// Servers that send each call in one delta.
fn whole() -> Vec<Case> {
    vec![
        (
            "whole, without an index",
            vec![delta(None, "a", "ls", "{}"), delta(None, "b", "ls", "{}")],
            &["a:ls:{}", "b:ls:{}"],
        ),
        (
            "whole, all of index 0",
            vec![
                delta(Some(0), "a", "ls", "{}"),
                delta(Some(0), "b", "rm", "{}"),
            ],
            &["a:ls:{}", "b:rm:{}"],
        ),
        (
            "whole, all of index 0, without ids",
            vec![
                delta(Some(0), "", "ls", "{}"),
                delta(Some(0), "", "ls", "{}"),
            ],
            &[":ls:{}", ":ls:{}"],
        ),
        (
            "whole, one id twice",
            vec![delta(None, "a", "ls", "{}"), delta(None, "a", "rm", "{}")],
            &["a:ls:{}", "a:rm:{}"],
        ),
    ]
}

/// Servers that send calls in pieces.
fn pieces() -> Vec<Case> {
    vec![
        (
            "as defined, interleaved",
            vec![
                delta(Some(0), "a", "ls", ""),
                delta(Some(1), "b", "rm", ""),
                delta(Some(0), "", "", "{\"x\""),
                delta(Some(1), "", "", "{}"),
                delta(Some(0), "", "", ":1}"),
            ],
            &["a:ls:{\"x\":1}", "b:rm:{}"],
        ),
        (
            "id and name with every piece",
            vec![
                delta(Some(0), "a", "ls", "{\"x\":"),
                delta(Some(0), "a", "ls", "\"}\""),
                delta(Some(0), "a", "ls", "}"),
                delta(Some(0), "a", "ls", ""),
            ],
            &["a:ls:{\"x\":\"}\"}"],
        ),
        (
            "pieces without an index",
            vec![
                delta(None, "a", "ls", "{"),
                delta(None, "", "", "}"),
                delta(None, "b", "rm", ""),
            ],
            &["a:ls:{}", "b:rm:"],
        ),
        (
            "indices that do not begin with 0 nor follow",
            vec![
                delta(Some(7), "a", "ls", "{}"),
                delta(Some(3), "b", "rm", "{}"),
            ],
            &["a:ls:{}", "b:rm:{}"],
        ),
        (
            "the name later",
            vec![delta(Some(0), "a", "", ""), delta(Some(0), "", "ls", "{}")],
            &["a:ls:{}"],
        ),
        (
            "broken arguments stay as they are",
            vec![
                delta(Some(0), "a", "ls", "{\"x\":[1,}"),
                delta(Some(0), "", "", "\n"),
            ],
            &["a:ls:{\"x\":[1,}\n"],
        ),
    ]
}

#[test]
fn servers_cut_calls_as_they_like() {
    for (what, deltas, expected) in whole().into_iter().chain(pieces()) {
        assert_eq!(calls(&deltas).unwrap(), expected, "{what}");
    }
}

#[test]
fn arguments_may_be_json_itself_and_keep_their_bytes() {
    let delta = "{\"function\":{\"name\":\"ls\",\"arguments\":{\"b\": 1.0,\"a\":1}}}";
    let data = format!("{{\"choices\":[{{\"delta\":{{\"tool_calls\":[{delta}]}}}}]}}");
    let (mut calls, mut draft) = (Calls::default(), Draft::default());
    calls.chunk(&data, &mut draft).unwrap();
    assert_eq!(draft.calls[0].arguments, "{\"b\": 1.0,\"a\":1}");
}

#[test]
fn a_piece_of_no_call_is_refused() {
    for first in [delta(None, "", "", "{}"), delta(Some(1), "", "", "{}")] {
        let error = calls(&[first]).unwrap_err();
        assert!(error.contains("did not begin"), "{error}");
    }
}
