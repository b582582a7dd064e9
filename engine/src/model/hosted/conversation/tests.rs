//! Conversations of every awkward kind, and the turns that they become.

use std::sync::Arc;

use super::*;

fn call(id: &str, name: &str, arguments: &str) -> MessageCall {
    MessageCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    }
}

fn said(text: &str, calls: Vec<MessageCall>) -> Message {
    let text = text.to_owned();
    Message::Assistant { text, calls }
}

fn user(text: &str) -> Message {
    Message::User(text.to_owned())
}

fn result(id: &str, text: &str) -> Message {
    Message::Result {
        id: id.to_owned(),
        text: text.to_owned(),
    }
}

/// The turns, a line each.
fn turns(messages: Vec<Message>) -> Vec<String> {
    let request = Request {
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: Vec::new(),
        output_tokens: None,
        turn: 0,
    };
    let names = Names::of(&request);
    let conversation = Conversation::of(&request, &names);
    let line = |turn: &Turn<'_>| match turn {
        Turn::User(texts) => format!("user {}", texts.join(" + ")),
        Turn::Assistant { text, calls } => {
            let calls = calls
                .iter()
                .map(|call| format!(" {}:{}{}", call.id, call.name, call.arguments));
            format!("said {text:?}{}", calls.collect::<String>())
        }
        Turn::Results(results) => {
            let results = results.iter().map(|(id, text)| format!(" {id}={text}"));
            format!("results{}", results.collect::<String>())
        }
    };
    conversation.turns.iter().map(line).collect()
}

#[test]
fn users_are_merged_and_blank_texts_left_out() {
    let lines = turns(vec![
        Message::System(String::from("be")),
        user("a"),
        user(" \n"),
        said("", vec![]),
        user("b"),
        said(" ", vec![]),
        said("yes", vec![]),
    ]);
    assert_eq!(lines, ["user a + b", "said \"yes\""]);
}

#[test]
fn results_stand_behind_their_calls_in_the_order_of_these() {
    let lines = turns(vec![
        said("", vec![call("x", "ls", "{}"), call("y", "rm", "{}")]),
        result("y", "two"),
        result("x", "one"),
        user("go on"),
        said("", vec![call("z", "ls", "{}")]),
        user("and?"),
    ]);
    assert_eq!(
        lines,
        [
            "said \"\" x:ls{} y:rm{}",
            "results x=one y=two",
            "user go on",
            "said \"\" z:ls{}",
            "results z=No result is kept.",
            "user and?",
        ]
    );
}

#[test]
fn ids_that_are_missing_repeated_reused_or_odd_become_unique() {
    let lines = turns(vec![
        said(
            "",
            vec![
                call("", "a", "{}"),
                call("", "b", "{}"),
                call("p", "c", "{}"),
            ],
        ),
        result("", "1"),
        result("", "2"),
        result("p", "3"),
        said(
            "",
            vec![call("p", "d", "{}"), call("caf\u{e9} 1", "e", "{}")],
        ),
        result("p", "4"),
        result("caf\u{e9} 1", "5"),
        result("p", "none"),
    ]);
    assert_eq!(
        lines,
        [
            "said \"\" call_1:a{} call_2:b{} p:c{}",
            "results call_1=1 call_2=2 p=3",
            "said \"\" call_4:d{} call_5:e{}",
            "results call_4=4 call_5=5",
            "user Result of an earlier call: none",
        ]
    );
}

#[test]
fn arguments_are_sent_as_an_object_whatever_was_written() {
    for (written, sent) in [
        ("", "{}"),
        (" ", "{}"),
        ("{}", "{}"),
        (
            r#" {"a": 1.0, "n":12345678901234567890123} "#,
            r#"{"a": 1.0, "n":12345678901234567890123}"#,
        ),
        (r#"{"a":1"#, r#"{"malformed":"{\"a\":1"}"#),
        ("[1]", r#"{"malformed":"[1]"}"#),
        ("null", r#"{"malformed":"null"}"#),
        (r#"{"a":1} x"#, r#"{"malformed":"{\"a\":1} x"}"#),
    ] {
        assert_eq!(object(written).get(), sent, "{written:?}");
    }
    let deep = format!("{}1{}", r#"{"a":"#.repeat(500), "}".repeat(500));
    assert!(object(&deep).get().starts_with(r#"{"malformed":"#));
}
