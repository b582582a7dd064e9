//! `ask_user`: a question to a person, in place of request, grant and execution.

use std::fmt::Write;

use placet_ledger::policy::ASK_USER;
use placet_ledger::risk::DeclaredRisk;
use serde_json::{Value, json};

use super::Words;
use super::registry::{Registry, RegistryError};
use super::spec::Known;

/// Registers `ask_user`.
pub(crate) fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    registry.question(&ASK)
}

static ASK: Known = Known::new(|| spec().build());

fn spec() -> Words {
    Words {
        name: ASK_USER,
        description: "Ask the person a question and wait for the reply. A reply is information: \
                      it approves nothing. Never ask for passwords or other secrets.",
        schema: json!({
            "type": "object",
            "properties": {
                "question": {"type": "string", "minLength": 1},
                "options": {"type": "array", "items": {"type": "string", "minLength": 1}},
            },
            "required": ["question"],
            "additionalProperties": false,
        }),
        risk: DeclaredRisk::ReadOnly,
    }
}

/// The question as the person reads it: its text, then the options, numbered.
pub(crate) fn question(arguments: &Value) -> String {
    let text = arguments.get("question").and_then(Value::as_str);
    let mut out = text.unwrap_or_default().to_owned();
    let options = arguments.get("options").and_then(Value::as_array);
    let options = options.into_iter().flatten().filter_map(Value::as_str);
    for (number, option) in (1..).zip(options) {
        // Writing to a string does not fail.
        let _ignored = write!(out, "\n{number}. {option}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_shows_its_options_by_number() {
        let plain = json!({"question": "Which one?"});
        assert_eq!(question(&plain), "Which one?");
        let options = json!({"question": "Which one?", "options": ["a", "b"]});
        assert_eq!(question(&options), "Which one?\n1. a\n2. b");
    }
}
