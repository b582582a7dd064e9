//! Every shape of value, in every order of its fields.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::canonical::{arguments_to_vec, checked, to_vec};

#[derive(Serialize)]
struct Unsorted {
    z: Shape,
    b: Option<u8>,
    #[serde(flatten)]
    rest: BTreeMap<u32, Shape>,
    a: (bool, char, ()),
}

#[derive(Serialize)]
enum Shape {
    Unit,
    New(i64),
    Tuple(i8, i8),
    Struct { y: u8, x: &'static str },
}

#[test]
fn every_shape_is_written_as_serde_json_writes_it_but_sorted() {
    let value = Unsorted {
        z: Shape::Struct { y: 1, x: "\u{7}" },
        b: Some(3),
        rest: BTreeMap::from([
            (10, Shape::Unit),
            (9, Shape::New(-7)),
            (1, Shape::Tuple(1, 2)),
        ]),
        a: (true, '"', ()),
    };
    let text = String::from_utf8(to_vec(&value).unwrap()).unwrap();
    assert_eq!(
        text,
        concat!(
            r#"{"1":{"Tuple":[1,2]},"10":"Unit","9":{"New":-7},"a":[true,"\"",null],"#,
            r#""b":3,"z":{"Struct":{"x":"\u0007","y":1}}}"#
        )
    );
    assert_eq!(text, serde_json::to_value(&value).unwrap().to_string());
}

#[test]
fn a_key_that_comes_twice_is_refused_wherever_it_comes() {
    #[derive(Serialize)]
    struct Twice {
        a: u8,
        #[serde(flatten)]
        rest: BTreeMap<&'static str, u8>,
    }
    for rest in [
        vec![("a", 1)],
        vec![("a", 1), ("b", 2)],
        vec![("0", 0), ("a", 1)],
    ] {
        let rest = rest.into_iter().collect();
        let told = to_vec(&Twice { a: 0, rest }).unwrap_err().to_string();
        assert_eq!(told, "the key \"a\" comes twice in one object");
    }
}

#[test]
fn what_has_no_form_is_refused() {
    let raw: Box<serde_json::value::RawValue> = serde_json::from_str("{\"b\":1}").unwrap();
    assert!(to_vec(&raw).is_err());
    assert!(to_vec(&f64::NAN).is_err());
    assert!(to_vec(&i128::MAX).is_err());
    assert!(to_vec(&BTreeMap::from([(true, 1)])).is_err());
    assert!(to_vec(&BTreeMap::from([([1], 1)])).is_err());
}

/// Any JSON with texts of all kinds of characters. Keys of records are names, without escapes.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-INTEGER_MAX..=INTEGER_MAX).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[^\"\\\\\\x00-\\x1f]{0,3}", inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// A value of one field, in the order in which they are given.
struct Ordered<'a>(Vec<(&'a String, &'a Value)>);

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

proptest! {
    #[test]
    fn fields_come_sorted_in_whatever_order_they_are_given(
        fields in prop::collection::btree_map(any::<String>(), value(), 0..7),
        turn in 0..7_usize,
    ) {
        let mut given: Vec<_> = fields.iter().collect();
        if !given.is_empty() {
            let turn = turn % given.len();
            given.rotate_left(turn);
            given[turn..].reverse();
        }
        let written = to_vec(&Ordered(given)).unwrap();
        let expected = json!(fields).to_string();
        prop_assert_eq!(&written, expected.as_bytes());
    }

    #[test]
    fn what_is_written_without_nulls_is_canonical(value in value()) {
        let written = to_vec(&value).unwrap();
        prop_assert_eq!(&arguments_to_vec(&value).unwrap(), &written);
        let text = value.to_string();
        prop_assert_eq!(&written, text.as_bytes());
        if !text.contains("null") {
            prop_assert!(checked(&written).is_ok());
        }
    }

    #[test]
    fn a_fraction_reads_back_as_itself(number in any::<f64>().prop_filter("", |n| n.is_finite())) {
        let written = arguments_to_vec(&json!(number)).unwrap();
        let expected = json!(number).to_string();
        prop_assert_eq!(&written, expected.as_bytes());
        prop_assert!(to_vec(&json!(number)).is_err());
    }
}
