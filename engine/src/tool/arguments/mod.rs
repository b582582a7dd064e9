//! Reads the arguments that a model sent: strict JSON, then the tool's schema, before any tool.
//!
//! Two readers that disagree on a duplicate key or a large number would be shown one thing and
//! run another, so whatever JSON readers disagree on is refused, with the place as a JSON pointer.

mod read;
#[cfg(test)]
mod tests;

use placet_ledger::limits::{ARGUMENTS_DEPTH_MAX, CONTENT_BYTES_MAX};
use serde_json::Value;

/// Characters of one message about a schema: a model's own text may come back in it.
const MESSAGE_CHARS_MAX: usize = 300;

/// Messages about one set of arguments: more do not help to correct them.
const MESSAGES_MAX: usize = 5;

/// Bytes of arguments beyond which only the first mistake is told: the validator would hold all of
/// them at once, and there may be millions.
const EXPLAINED_BYTES_MAX: usize = 64 * 1024;

/// Why arguments do not reach a tool; worded for the model that sent them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentsError {
    /// No bytes at all.
    #[error("the arguments are empty: send a JSON object, `{{}}` if there is nothing to say")]
    Empty,
    /// More bytes than a content may have.
    #[error("the arguments have {bytes} bytes, of at most {CONTENT_BYTES_MAX}: send less at once")]
    TooLarge {
        /// How many.
        bytes: usize,
    },
    /// Not JSON, or JSON that readers understand differently.
    #[error("the arguments are wrong at {place}: {detail}")]
    Wrong {
        /// JSON pointer, or "the top".
        place: String,
        /// What was expected.
        detail: String,
    },
    /// Not what the tool's schema asks for.
    #[error("the arguments do not match the tool's schema: {0}")]
    Schema(String),
}

/// Why a tool's schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the schema of a tool's arguments is wrong: {0}")]
pub struct SchemaError(String);

/// A tool's JSON Schema, compiled once.
#[derive(Debug)]
pub struct Schema {
    validator: jsonschema::Validator,
    properties: Vec<String>,
}

impl Schema {
    /// Compiles a schema, which may refer to nothing outside itself.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        let validator = jsonschema::options()
            .offline()
            .build(schema)
            .map_err(|error| SchemaError(clip(&error.masked().to_string())))?;
        let properties = schema
            .get("properties")
            .and_then(Value::as_object)
            .map(|known| known.keys().cloned().collect())
            .unwrap_or_default();
        Ok(Self {
            validator,
            properties,
        })
    }

    /// The arguments in these bytes, if they are strict JSON and match.
    pub fn read(&self, bytes: &[u8]) -> Result<Value, ArgumentsError> {
        let value = read(bytes)?;
        self.check(&value, bytes.len())?;
        Ok(value)
    }

    fn check(&self, value: &Value, bytes: usize) -> Result<(), ArgumentsError> {
        if bytes > EXPLAINED_BYTES_MAX {
            let checked = self.validator.validate(value);
            return checked.map_err(|error| ArgumentsError::Schema(self.message(&error)));
        }
        let messages: Vec<_> = self
            .validator
            .iter_errors(value)
            .take(MESSAGES_MAX)
            .map(|error| self.message(&error))
            .collect();
        if messages.is_empty() {
            Ok(())
        } else {
            Err(ArgumentsError::Schema(messages.join("; ")))
        }
    }

    fn message(&self, error: &jsonschema::ValidationError<'_>) -> String {
        use jsonschema::error::ValidationErrorKind as Kind;

        let pointer = error.instance_path().as_str();
        let what = match error.kind() {
            Kind::AdditionalProperties { unexpected } if pointer.is_empty() => format!(
                "unknown property {}, known are {}",
                quoted(unexpected),
                quoted(&self.properties)
            ),
            Kind::Required { property } => format!("the property {property} is missing"),
            _ => error.masked().to_string(),
        };
        clip(&format!("at {}: {what}", place(pointer)))
    }
}

/// The object in these bytes, if they are strict JSON.
pub fn read(bytes: &[u8]) -> Result<Value, ArgumentsError> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(ArgumentsError::Empty);
    }
    if bytes.len() > CONTENT_BYTES_MAX {
        return Err(ArgumentsError::TooLarge { bytes: bytes.len() });
    }
    match read::value(bytes, ARGUMENTS_DEPTH_MAX)? {
        value @ Value::Object(_) => Ok(value),
        _ => Err(ArgumentsError::Wrong {
            place: place(""),
            detail: "expected a JSON object".into(),
        }),
    }
}

fn place(pointer: &str) -> String {
    if pointer.is_empty() {
        "the top".into()
    } else {
        clip(pointer)
    }
}

fn quoted(names: &[String]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
    names.join(", ")
}

fn clip(text: &str) -> String {
    let mut clipped: String = text.chars().take(MESSAGE_CHARS_MAX).collect();
    if clipped.len() < text.len() {
        clipped.push_str(" ...");
    }
    clipped
}
