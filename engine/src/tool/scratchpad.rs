//! `scratchpad`: notes that an agent keeps for itself within one run, read back from the ledger.
//!
//! The result of every call is the whole pad, so the newest result is the pad, and there is no
//! other place in which it lies. What the conversation clips or leaves out takes nothing of it.

use std::sync::Arc;

use async_trait::async_trait;
use placet_ledger::content::Text;
use placet_ledger::id::RunId;
use placet_ledger::permit::Permit;
use placet_ledger::risk::DeclaredRisk;
use serde_json::{Value, json};

use super::registry::{Registry, RegistryError};
use super::retrieve::Results;
use super::spec::Known;
use super::{ExecuteTool, Interrupted, Output, Reconciled, ToolError, Words};
use crate::stop::Halt;

/// The visible name.
const NAME: &str = "scratchpad";

/// Bytes of the pad: every call sends all of it to the model again, and the conversation must show
/// it unclipped.
const PAD_BYTES_MAX: usize = 16 * 1024;

/// Registers `scratchpad`.
pub fn register(registry: &mut Registry, results: Arc<dyn Results>) -> Result<(), RegistryError> {
    registry.plain(&SCRATCHPAD, Arc::new(Scratchpad(results)))
}

static SCRATCHPAD: Known = Known::new(|| spec().build());

fn spec() -> Words {
    Words {
        name: NAME,
        description: "Keep notes for yourself during this run: they outlast what the conversation \
                      leaves out. `write` replaces the pad, `append` adds lines to it, `read` \
                      changes nothing; each answers with the whole pad, of at most 16384 bytes.",
        schema: json!({
            "type": "object",
            "properties": {
                "action": {"enum": ["write", "append", "read"]},
                "text": {"type": "string", "maxLength": PAD_BYTES_MAX},
            },
            "required": ["action"],
            "additionalProperties": false,
        }),
        risk: DeclaredRisk::ReadOnly,
    }
}

struct Scratchpad(Arc<dyn Results>);

#[async_trait]
impl ExecuteTool for Scratchpad {
    async fn execute(&self, permit: Permit, _: &Halt) -> Result<Output, ToolError> {
        let granted = permit.spend();
        let pad = match Action::of(&granted.arguments)? {
            Action::Write(text) => text.to_owned(),
            Action::Append(text) => joined(self.pad(granted.run).await?, text),
            Action::Read => self.pad(granted.run).await?,
        };
        Ok(Output::of(Text::plain(bounded(pad)?)))
    }

    /// The pad is its result: without one nothing was written.
    async fn reconcile(&self, _: Interrupted<'_>) -> Result<Reconciled, ToolError> {
        Ok(Reconciled::NotDone)
    }
}

impl Scratchpad {
    /// The pad of a run; empty before anything was written.
    async fn pad(&self, run: RunId) -> Result<String, ToolError> {
        let newest = self.0.newest(run, NAME).await.map_err(|_| {
            ToolError::failed("the pad cannot be read back: begin a new one with `write`")
        })?;
        Ok(newest.unwrap_or_default())
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Action<'a> {
    Write(&'a str),
    Append(&'a str),
    Read,
}

impl<'a> Action<'a> {
    fn of(arguments: &'a Value) -> Result<Self, ToolError> {
        let field = |name| arguments.get(name).and_then(Value::as_str);
        let text = field("text");
        match (field("action").unwrap_or_default(), text) {
            ("write", Some(text)) => Ok(Self::Write(text)),
            ("append", Some(text)) => Ok(Self::Append(text)),
            ("read", None) => Ok(Self::Read),
            ("read", Some(_)) => Err(ToolError::failed(
                "`read` takes no text: leave it out, or use `write` or `append`",
            )),
            (action, _) => Err(ToolError::failed(format!(
                "`{action}` needs `text`: what is to be written"
            ))),
        }
    }
}

/// A pad with a text on lines of its own after it.
fn joined(mut pad: String, text: &str) -> String {
    if !pad.is_empty() && !pad.ends_with('\n') {
        pad.push('\n');
    }
    pad.push_str(text);
    pad
}

fn bounded(pad: String) -> Result<String, ToolError> {
    if pad.len() <= PAD_BYTES_MAX {
        return Ok(pad);
    }
    Err(ToolError::failed(format!(
        "the pad would have {} bytes, of at most {PAD_BYTES_MAX}, and is left as it was: `write` a \
         shorter one in its place",
        pad.len()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_what_their_action_takes() {
        let of = |arguments: Value| Action::of(&arguments).map(|action| format!("{action:?}"));
        for (arguments, expected) in [
            (json!({"action": "write", "text": "a"}), "Write(\"a\")"),
            (json!({"action": "write", "text": ""}), "Write(\"\")"),
            (json!({"action": "append", "text": "b"}), "Append(\"b\")"),
            (json!({"action": "read"}), "Read"),
        ] {
            assert_eq!(
                of(arguments.clone()).as_deref(),
                Ok(expected),
                "{arguments}"
            );
        }
        for (arguments, expected) in [
            (json!({"action": "write"}), "`write` needs `text`"),
            (json!({"action": "append"}), "`append` needs `text`"),
            (
                json!({"action": "read", "text": ""}),
                "`read` takes no text",
            ),
        ] {
            let told = of(arguments.clone()).unwrap_err().to_string();
            assert!(told.starts_with(expected), "{arguments}: {told}");
        }
    }

    #[test]
    fn what_is_appended_stands_on_lines_of_its_own() {
        for (pad, text, expected) in [
            ("", "a", "a"),
            ("a", "b", "a\nb"),
            ("a\n", "b\n", "a\nb\n"),
            ("a", "", "a\n"),
        ] {
            assert_eq!(joined(pad.to_owned(), text), expected, "{pad:?} {text:?}");
        }
    }

    #[test]
    fn the_pad_is_bounded_in_bytes() {
        let full = "\u{e4}".repeat(PAD_BYTES_MAX / 2);
        assert_eq!(bounded(full.clone()), Ok(full.clone()));
        let told = bounded(full + "a").unwrap_err().to_string();
        assert!(
            told.starts_with("the pad would have 16385 bytes, of at most 16384,"),
            "{told}"
        );
    }

    #[test]
    fn the_schema_takes_known_actions_and_no_larger_text() {
        let spec = spec().build().unwrap();
        let schema = crate::tool::arguments::Schema::compile(&spec.schema).unwrap();
        let long = "a".repeat(PAD_BYTES_MAX + 1);
        for (arguments, fits) in [
            (json!({"action": "read"}), true),
            (json!({"action": "write", "text": &long[1..]}), true),
            (json!({"action": "write", "text": long}), false),
            (json!({"action": "erase"}), false),
            (json!({"action": "write", "text": 1}), false),
            (json!({"action": "read", "pad": "x"}), false),
            (json!({}), false),
        ] {
            let read = schema.read(arguments.to_string().as_bytes());
            assert_eq!(read.is_ok(), fits, "{read:?}");
        }
        assert!(spec.description.contains(&PAD_BYTES_MAX.to_string()));
    }
}
