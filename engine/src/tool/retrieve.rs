//! `retrieve_result`: what an earlier call of the run came to, whole, piece by piece.
//!
//! The ledger keeps every result whole; the conversation shows a large one clipped.

use std::sync::Arc;

use async_trait::async_trait;
use placet_ledger::content::Text;
use placet_ledger::id::{CallId, RunId};
use placet_ledger::permit::Permit;
use placet_ledger::risk::DeclaredRisk;
use serde_json::{Value, json};

use super::registry::{Registry, RegistryError};
use super::spec::Known;
use super::{ExecuteTool, Interrupted, Output, Reconciled, ToolError, Words};
use crate::stop::Halt;

/// Bytes of one piece: less than the conversation shows unclipped.
pub const PIECE_BYTES_MAX: usize = 24 * 1024;

/// The visible name.
pub const NAME: &str = "retrieve_result";

/// Reads results back from where they are recorded.
#[async_trait]
pub trait Results: Send + Sync {
    /// The whole result of a call; `None` where there is none.
    async fn result(&self, run: RunId, call: CallId) -> Option<String>;
}

/// Where no run is driven there is nothing to read back.
pub struct NoResults;

#[async_trait]
impl Results for NoResults {
    async fn result(&self, _: RunId, _: CallId) -> Option<String> {
        None
    }
}

/// Registers `retrieve_result`.
pub fn register(registry: &mut Registry, results: Arc<dyn Results>) -> Result<(), RegistryError> {
    registry.plain(&RETRIEVE, Arc::new(Retrieve(results)))
}

static RETRIEVE: Known = Known::new(|| spec().build());

fn spec() -> Words {
    Words {
        name: NAME,
        description: "Read the result of an earlier call of this run where it was clipped. `from` \
                      is the byte to begin at.",
        schema: json!({
            "type": "object",
            "properties": {
                "call": {"type": "string", "pattern": "^c[1-9][0-9]{0,8}$"},
                "from": {"type": "integer", "minimum": 0, "default": 0},
            },
            "required": ["call"],
            "additionalProperties": false,
        }),
        risk: DeclaredRisk::ReadOnly,
    }
}

struct Retrieve(Arc<dyn Results>);

#[async_trait]
impl ExecuteTool for Retrieve {
    async fn execute(&self, permit: Permit, _: &Halt) -> Result<Output, ToolError> {
        let granted = permit.spend();
        let call = granted.arguments.get("call").and_then(Value::as_str);
        let call: CallId = call
            .unwrap_or_default()
            .parse()
            .map_err(|_| ToolError::failed("call must be the id of an earlier call, such as c3"))?;
        let from = granted.arguments.get("from").and_then(Value::as_u64);
        let whole = self.0.result(granted.run, call).await.ok_or_else(|| {
            ToolError::failed(format!(
                "{call} has no result: it is none of this run, or not over"
            ))
        })?;
        let from = usize::try_from(from.unwrap_or(0)).unwrap_or(usize::MAX);
        piece(&whole, from).map(|text| Output::of(Text::plain(text)))
    }

    /// Reading has no effect that could be half done.
    async fn reconcile(&self, _: Interrupted<'_>) -> Result<Reconciled, ToolError> {
        Ok(Reconciled::NotDone)
    }
}

/// A piece of a text from a byte on, and how it goes on.
fn piece(whole: &str, from: usize) -> Result<String, ToolError> {
    if from > whole.len() || (from == whole.len() && from > 0) {
        return Err(ToolError::failed(format!(
            "the result has {} bytes: from must be smaller",
            whole.len()
        )));
    }
    let start = whole.floor_char_boundary(from);
    let end = whole.floor_char_boundary(start.saturating_add(PIECE_BYTES_MAX));
    let some = whole.get(start..end).unwrap_or_default();
    Ok(if end < whole.len() {
        format!(
            "{some}\n(bytes {start} to {end} of {}; go on from {end})",
            whole.len()
        )
    } else {
        format!(
            "{some}\n(bytes {start} to {end} of {}; that is the end)",
            whole.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_join_to_the_whole_and_split_no_character() {
        let whole = "a\u{e4}\u{20ac}".repeat(PIECE_BYTES_MAX / 4);
        let (mut from, mut joined) = (0, String::new());
        while from < whole.len() {
            let text = piece(&whole, from).unwrap();
            let (some, note) = text.rsplit_once("\n(").unwrap();
            assert!(some.len() <= PIECE_BYTES_MAX);
            joined.push_str(some);
            from = joined.len();
            assert_eq!(
                note.ends_with("that is the end)"),
                from == whole.len(),
                "{note}"
            );
        }
        assert_eq!(joined, whole);
    }

    #[test]
    fn says_what_the_result_has_where_one_reads_past_it() {
        let error = piece("abc", 3).unwrap_err().to_string();
        assert_eq!(error, "the result has 3 bytes: from must be smaller");
        assert_eq!(
            piece("", 0).unwrap(),
            "\n(bytes 0 to 0 of 0; that is the end)"
        );
    }
}
