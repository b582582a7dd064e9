//! The one canonical encoding: every hashed byte of JSON is written here, and checked here.
//!
//! Canonical JSON is UTF-8 without white space, with keys sorted by their bytes and never twice,
//! integers within +-(2^53 - 1) alone, the shortest string escapes, and no null. Append, fold,
//! import and every verify run [`checked`] over stored bytes, since two readers that disagree on a
//! duplicate key are two truths under one hash. There is no lax mode.

mod check;
mod write;

pub use check::{CanonicalError, Cursor, check_fields, checked};

use serde::Serialize;
use serde_json::Value;

use self::write::{Numbers, Writer};

/// Why a value has no canonical form.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// The value cannot be turned into JSON at all.
    #[error("cannot encode the value as JSON")]
    Json(#[from] serde_json::Error),
    /// A fraction, or an integer beyond 2^53 - 1.
    #[error("the number {0} is not an integer within +-(2^53 - 1)")]
    Number(String),
    /// A key that two readers would understand differently.
    #[error("the key {0:?} comes twice in one object")]
    Twice(String),
}

/// The canonical bytes of a value. Absent fields are left out by the value itself.
pub fn to_vec<T: Serialize>(value: &T) -> Result<Vec<u8>, EncodeError> {
    written(value, Numbers::Integers)
}

/// The canonical bytes of arguments, which may hold fractions and nulls: those are written in the
/// shortest form that reads back as the same number.
pub fn arguments_to_vec(value: &Value) -> Result<Vec<u8>, EncodeError> {
    written(value, Numbers::Any)
}

fn written<T: Serialize>(value: &T, numbers: Numbers) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::with_capacity(1024);
    let writer = &mut Writer {
        out: &mut out,
        numbers,
    };
    value.serialize(writer)?;
    Ok(out)
}

/// Writes a string with its quotes.
pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    // serde_json writes the shortest escapes: two characters where JSON has them, \u00xx for other
    // controls, everything else as it is.
    serde_json::to_writer(out, text)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::limits::INTEGER_MAX;

    #[test]
    fn sorts_keys_and_writes_no_white_space() {
        let value = json!({"b": [1, true, "x\n\u{1}\u{e9}"], "a": {"z": 0, "A": -1}});
        let bytes = to_vec(&value).unwrap();
        assert_eq!(
            String::from_utf8(bytes.clone()).unwrap(),
            "{\"a\":{\"A\":-1,\"z\":0},\"b\":[1,true,\"x\\n\\u0001\u{e9}\"]}"
        );
        assert_eq!(checked(&bytes).map(str::as_bytes), Ok(&bytes[..]));
    }

    #[test]
    fn refuses_numbers_that_readers_disagree_on() {
        for wrong in [
            json!(1.5),
            json!(9_007_199_254_740_992_i64),
            json!(u64::MAX),
            json!(-1e300),
        ] {
            assert!(to_vec(&wrong).is_err(), "{wrong}");
        }
        assert!(to_vec(&json!(INTEGER_MAX)).is_ok());
        assert!(to_vec(&json!(-INTEGER_MAX)).is_ok());
        assert!(arguments_to_vec(&json!(1.5)).is_ok());
        assert!(arguments_to_vec(&json!(u64::MAX)).is_err());
    }

    #[test]
    fn serde_json_keeps_maps_sorted() {
        // `preserve_order`, turned on by any crate of the build, would change what views print.
        let value = json!({"b": 1, "a": 2});
        assert_eq!(value.to_string(), r#"{"a":2,"b":1}"#);
    }
}
