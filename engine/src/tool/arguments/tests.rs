//! Every way in which arguments can be wrong.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn wrong(bytes: &[u8]) -> (String, String) {
    match read(bytes) {
        Err(ArgumentsError::Wrong { place, detail }) => (place, detail),
        other => panic!("{} gave {other:?}", String::from_utf8_lossy(bytes)),
    }
}

fn schema() -> Schema {
    Schema::compile(&json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
        "required": ["path"],
        "additionalProperties": false,
    }))
    .unwrap()
}

#[test]
fn reads_an_object() {
    let value = read(br#" {"b": [1, -2, 0.5, true, null], "a": {"c": "\u00e9\n"}} "#).unwrap();
    assert_eq!(
        value,
        json!({"a": {"c": "\u{e9}\n"}, "b": [1, -2, 0.5, true, null]})
    );
}

#[test]
fn refuses_what_is_no_object() {
    for bytes in [&b""[..], b" \n", b"\t"] {
        assert_eq!(read(bytes), Err(ArgumentsError::Empty));
    }
    for bytes in [&b"[]"[..], b"1", b"null", b"\"x\"", b"true"] {
        assert_eq!(
            wrong(bytes),
            ("the top".into(), "expected a JSON object".into())
        );
    }
    for bytes in [
        &b"{"[..],
        b"{}x",
        b"{} {}",
        b"{'a':1}",
        b"{\"a\":1,}",
        b"\xff",
        b"{\"a\":\"\xff\"}",
    ] {
        wrong(bytes);
    }
}

#[test]
fn refuses_duplicate_keys_at_any_depth() {
    assert_eq!(wrong(br#"{"a":1,"a":1}"#).0, "/a");
    let (place, detail) = wrong(br#"{"a":[0,{"b/c":{"d":1,"d":2}}]}"#);
    assert_eq!(place, "/a/1/b~1c/d");
    assert!(detail.contains("duplicate key"), "{detail}");
    // The same key in another spelling is the same key.
    assert_eq!(wrong(br#"{"a":1,"\u0061":2}"#).0, "/a");
}

#[test]
fn refuses_numbers_that_readers_disagree_on() {
    for number in [
        "9007199254740992",
        "-9007199254740992",
        "18446744073709551615",
        "18446744073709551616",
        "99999999999999999999999999",
        "1e300",
        "-1e20",
        "9007199254740993.0",
        "1e400",
        "-1e400",
        "NaN",
        "Infinity",
        "01",
        "+1",
        ".5",
    ] {
        let (place, _) = wrong(format!("{{\"n\":{number}}}").as_bytes());
        assert_eq!(place, "/n", "{number}");
    }
    wrong(br#"{"n":0x10}"#);
    for (number, value) in [
        ("9007199254740991", json!(9_007_199_254_740_991_i64)),
        ("-9007199254740991", json!(-9_007_199_254_740_991_i64)),
        ("1.0", json!(1)),
        ("1e3", json!(1000)),
        ("-0.0", json!(0)),
        ("-0", json!(0)),
        ("0.1", json!(0.1)),
        ("1e-400", json!(0)),
    ] {
        let read = read(format!("{{\"n\":{number}}}").as_bytes()).unwrap();
        assert_eq!(read, json!({"n": value}), "{number}");
    }
}

#[test]
fn refuses_lone_surrogates_and_nul() {
    assert_eq!(wrong(br#"{"a":["\ud800"]}"#).0, "/a/0");
    assert_eq!(wrong(br#"{"a":"\udc00x"}"#).0, "/a");
    assert_eq!(wrong(br#"{"a":"x\u0000y"}"#).0, "/a");
    wrong(br#"{"a\u0000":1}"#);
    assert!(read(br#"{"a":"\ud83d\ude00"}"#).is_ok());
}

#[test]
fn refuses_deep_nesting_without_overflowing() {
    let nest = |depth: usize| {
        let inner = depth - 1;
        format!("{{\"a\":{}{}}}", "[".repeat(inner), "]".repeat(inner))
    };
    assert!(read(nest(ARGUMENTS_DEPTH_MAX).as_bytes()).is_ok());
    assert!(
        wrong(nest(ARGUMENTS_DEPTH_MAX + 1).as_bytes())
            .1
            .contains("nested")
    );
    wrong(nest(1_000_000).as_bytes());
    wrong("[".repeat(1_000_000).as_bytes());
    wrong("{\"a\":".repeat(1_000_000).as_bytes());
}

#[test]
fn refuses_more_bytes_than_a_content_may_have() {
    let bytes = format!("{{\"a\":\"{}\"}}", "x".repeat(CONTENT_BYTES_MAX));
    assert_eq!(
        read(bytes.as_bytes()),
        Err(ArgumentsError::TooLarge { bytes: bytes.len() })
    );
}

#[test]
fn names_the_place_where_a_schema_is_not_met() {
    let message = |bytes: &[u8]| schema().read(bytes).unwrap_err().to_string();
    assert!(message(b"{}").contains("the property \"path\" is missing"));
    let unknown = message(br#"{"path":"a","file":"b"}"#);
    assert!(
        unknown.contains("unknown property \"file\", known are \"limit\", \"path\""),
        "{unknown}"
    );
    let kind = message(br#"{"path":1}"#);
    assert!(
        kind.contains("at /path:") && kind.contains("string"),
        "{kind}"
    );
    assert!(message(br#"{"path":"a","limit":0}"#).contains("at /limit:"));
    assert!(schema().read(br#"{"path":"a","limit":1.0}"#).unwrap()["limit"].is_i64());
}

#[test]
fn messages_about_a_schema_stay_short() {
    let long = "x".repeat(100_000);
    for bytes in [
        format!("{{\"path\":\"a\",\"{long}\":1}}"),
        format!("{{\"path\":[\"{long}\"]}}"),
    ] {
        let error = schema().read(bytes.as_bytes()).unwrap_err();
        assert!(error.to_string().len() < 2_000);
    }
    let nested = format!("{{\"{long}\":{{\"a\":1,\"a\":1}}}}");
    assert!(read(nested.as_bytes()).unwrap_err().to_string().len() < 2_000);
}

#[test]
fn a_million_mistakes_are_answered_with_the_first() {
    let schema = Schema::compile(&json!({
        "type": "object",
        "properties": {"list": {"type": "array", "items": {"type": "string"}}},
    }))
    .unwrap();
    let many = format!("{{\"list\":[{}0]}}", "0,".repeat(1_000_000));
    let error = schema.read(many.as_bytes()).unwrap_err().to_string();
    assert!(
        error.contains("at /list/0:") && !error.contains("/list/1:"),
        "{error}"
    );
    let error = schema.read(br#"{"list":[0,0]}"#).unwrap_err().to_string();
    assert!(
        error.contains("at /list/0:") && error.contains("at /list/1:"),
        "{error}"
    );
}

#[test]
fn a_schema_refers_to_nothing_outside() {
    for reference in ["http://127.0.0.1:1/s.json", "file:///etc/passwd"] {
        assert!(Schema::compile(&json!({"$ref": reference})).is_err());
    }
    assert!(Schema::compile(&json!({"type": "nonsense"})).is_err());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_read_is_written_and_read_again_as_the_same(value in any_json()) {
        if let Ok(first) = read(json!({"value": value}).to_string().as_bytes()) {
            let bytes = placet_ledger::canonical::arguments_to_vec(&first).unwrap();
            prop_assert_eq!(read(&bytes).unwrap(), first);
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic(
        bytes in any::<Vec<u8>>(),
        text in "[{}\\[\\]\",:0-9eE.\\\\ud-]{0,60}",
    ) {
        drop(read(&bytes));
        drop(read(text.as_bytes()));
        drop(schema().read(format!("{{\"path\":{text}}}").as_bytes()));
    }
}
