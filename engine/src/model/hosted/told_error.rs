//! Errors as providers write them, read into a kind and a message.

use serde_json::Value;

use super::fault::Fault;

/// Bytes of an error that are looked at.
pub(super) const ERROR_BYTES_MAX: usize = 64 * 1024;

/// What a provider says went wrong.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ToldError {
    /// Its kind, or a status in place of one; may be empty.
    pub(super) kind: String,
    /// Its words.
    pub(super) message: String,
}

impl ToldError {
    /// From a JSON text such as `{"error": {"type": .., "message": ..}}`, in which servers leave
    /// out this or that.
    pub(super) fn of(value: &Value) -> Option<Self> {
        let error = value.get("error").filter(|error| !error.is_null());
        let inner = error.unwrap_or(value);
        if let Some(message) = inner.as_str() {
            return Some(Self {
                kind: String::new(),
                message: message.to_owned(),
            });
        }
        // One server writes `detail`, a text or a list.
        let message = ["message", "detail"]
            .iter()
            .find_map(|name| inner.get(name));
        let kind = ["type", "code", "status"]
            .iter()
            .find_map(|name| word(inner.get(name)?));
        if message.is_none() && error.is_none() {
            return None;
        }
        let message = message.unwrap_or(inner);
        Some(Self {
            kind: kind.unwrap_or_default(),
            message: message
                .as_str()
                .map_or_else(|| message.to_string(), str::to_owned),
        })
    }

    /// From the text of an error in place of a reply.
    pub(super) fn read(text: &str) -> Self {
        if text.len() > ERROR_BYTES_MAX {
            let message = format!("an error of {} bytes", text.len());
            let kind = String::new();
            return Self { kind, message };
        }
        let value = serde_json::from_str(text).ok();
        value.as_ref().and_then(Self::of).unwrap_or_default()
    }
}

impl From<ToldError> for Fault {
    fn from(told: ToldError) -> Self {
        Self::Told {
            kind: told.kind,
            message: told.message,
        }
    }
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_of_all_servers_are_read() {
        for (value, kind, message) in [
            (
                json!({"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}}),
                "overloaded_error",
                "Busy",
            ),
            (
                json!({"error": {"message": "no", "type": null, "code": "invalid_api_key"}}),
                "invalid_api_key",
                "no",
            ),
            (
                json!({"error": {"message": "no", "code": 502}}),
                "502",
                "no",
            ),
            (json!({"error": "model not found"}), "", "model not found"),
            (
                json!({"object": "error", "message": "m", "type": "Bad"}),
                "Bad",
                "m",
            ),
            (json!({"detail": "Not Found"}), "", "Not Found"),
            (json!({"detail": [{"loc": 1}]}), "", "[{\"loc\":1}]"),
            (json!({"error": {"x": 1}}), "", "{\"x\":1}"),
        ] {
            let told = ToldError::of(&value).unwrap();
            assert_eq!((told.kind.as_str(), told.message.as_str()), (kind, message));
        }
        assert_eq!(ToldError::of(&json!({"a": 1})), None);
        assert_eq!(ToldError::of(&json!([1])), None);
    }

    #[test]
    fn a_text_of_any_kind_is_read_as_an_error() {
        let told = ToldError::read("{\"error\":\"no\"}");
        assert_eq!(told.message, "no");
        assert_eq!(ToldError::read("{"), ToldError::default());
        let long = format!("{{\"error\":\"{}\"}}", "x".repeat(ERROR_BYTES_MAX));
        assert_eq!(ToldError::read(&long).message, "an error of 65548 bytes");
    }
}
