//! The strict reader: a serde visitor that sees duplicate keys, depth and every number.

use std::cell::RefCell;
use std::fmt;

use placet_ledger::limits::INTEGER_MAX;
use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::{ArgumentsError, clip, place};

/// The value in these bytes, nested at most `depth_max` deep.
pub(super) fn value(bytes: &[u8], depth_max: usize) -> Result<Value, ArgumentsError> {
    let path = RefCell::new(Vec::new());
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let seed = Strict {
        path: &path,
        depth_left: depth_max,
    };
    seed.deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|error| ArgumentsError::Wrong {
            place: place(&pointer(&path.borrow())),
            detail: clip(&error.to_string()),
        })
}

/// One step from a value to a value inside it.
enum Step {
    Key(String),
    Index(usize),
}

fn pointer(path: &[Step]) -> String {
    path.iter().fold(String::new(), |mut text, step| {
        text.push('/');
        match step {
            Step::Key(key) => text.push_str(&key.replace('~', "~0").replace('/', "~1")),
            Step::Index(index) => text.push_str(&index.to_string()),
        }
        text
    })
}

/// Reads one value. A step stays on the path when reading fails, so that the path names the place.
#[derive(Clone, Copy)]
struct Strict<'a> {
    path: &'a RefCell<Vec<Step>>,
    depth_left: usize,
}

impl Strict<'_> {
    fn inner<E: de::Error>(self) -> Result<Self, E> {
        match self.depth_left.checked_sub(1) {
            Some(depth_left) => Ok(Self { depth_left, ..self }),
            None => Err(E::custom("nested too deeply: send flatter arguments")),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        integer(value)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        integer(i64::try_from(value).unwrap_or(i64::MAX))
    }

    /// A whole number has one spelling: `1.0` and `1e0` become `1`.
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        if value.is_finite() && value.fract() == 0.0 {
            // The text of a whole float is its exact decimal value.
            return integer(format!("{:.0}", value + 0.0).parse().unwrap_or(i64::MAX));
        }
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("expected a finite number"))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        text(value.to_owned()).map(Value::String)
    }

    fn visit_string<E: de::Error>(self, value: String) -> Result<Value, E> {
        text(value).map(Value::String)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut values = Vec::new();
        loop {
            self.path.borrow_mut().push(Step::Index(values.len()));
            let Some(value) = items.next_element_seed(inner)? else {
                break;
            };
            self.path.borrow_mut().pop();
            values.push(value);
        }
        self.path.borrow_mut().pop();
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut values = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            let key = text(key)?;
            self.path.borrow_mut().push(Step::Key(key.clone()));
            if values.contains_key(&key) {
                return Err(de::Error::custom("duplicate key: send every key once"));
            }
            let value = fields.next_value_seed(inner)?;
            self.path.borrow_mut().pop();
            values.insert(key, value);
        }
        Ok(Value::Object(values))
    }
}

fn integer<E: de::Error>(value: i64) -> Result<Value, E> {
    if (-INTEGER_MAX..=INTEGER_MAX).contains(&value) {
        Ok(Value::from(value))
    } else {
        Err(E::custom(
            "expected an integer within +-(2^53 - 1): send a larger one as a string",
        ))
    }
}

fn text<E: de::Error>(text: String) -> Result<String, E> {
    if text.contains('\0') {
        Err(E::custom("expected text without NUL characters"))
    } else {
        Ok(text)
    }
}
