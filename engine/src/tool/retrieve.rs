//! `retrieve_result`: what an earlier call of the run came to, whole, piece by piece.
//!
//! The ledger keeps every result whole; the conversation shows a large one clipped.

use std::sync::Arc;

use async_trait::async_trait;
use placet_ledger::content::Text;
use placet_ledger::id::{CallId, RunId};
use placet_ledger::permit::Permit;
use placet_ledger::risk::DeclaredRisk;
use placet_ledger::time::Timestamp;
use serde_json::{Value, json};

use super::registry::{Registry, RegistryError};
use super::spec::Known;
use super::{ExecuteTool, Interrupted, Output, Reconciled, ToolError, Words};
use crate::stop::Halt;

/// Bytes of one piece: less than the conversation shows unclipped.
pub const PIECE_BYTES_MAX: usize = 24 * 1024;

/// The visible name.
pub const NAME: &str = "retrieve_result";

/// Allowed calls that are looked at for one answer: every run among them is read and folded while
/// somebody waits, and what counts is mostly new.
pub const EARLIER_CALLS_MAX: usize = 1_024;

/// What is recorded cannot be read: its content was taken away, or the ledger cannot be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unread;

/// A call that succeeded earlier.
#[derive(Debug, Clone, PartialEq)]
pub struct Past {
    /// Its run.
    pub run: RunId,
    /// The call.
    pub call: CallId,
    /// When it was over.
    pub at: Timestamp,
    /// Its arguments; `None` where they cannot be read, or whether it belongs here.
    pub arguments: Option<Value>,
}

/// Calls of one tool in this run and earlier ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Earlier {
    /// Those that succeeded, the newest first.
    pub calls: Vec<Past>,
    /// Whether older ones were not looked at.
    pub is_cut: bool,
}

/// Reads back what calls came to from where it is recorded.
#[async_trait]
pub trait Results: Send + Sync {
    /// The whole result of a call; `None` where there is none.
    async fn result(&self, run: RunId, call: CallId) -> Option<String>;

    /// The result of the newest call of a tool in a run that succeeded; `None` where none did.
    async fn newest(&self, run: RunId, tool: &str) -> Result<Option<String>, Unread>;

    /// The calls of a tool that succeeded in runs of the same agent, starter and workspace as this
    /// one, itself among them; of the newest [`EARLIER_CALLS_MAX`] that were allowed.
    async fn earlier(&self, run: RunId, tool: &str) -> Result<Earlier, Unread>;
}

/// Where no run is driven there is nothing to read back.
pub struct NoResults;

#[async_trait]
impl Results for NoResults {
    async fn result(&self, _: RunId, _: CallId) -> Option<String> {
        None
    }

    async fn newest(&self, _: RunId, _: &str) -> Result<Option<String>, Unread> {
        Ok(None)
    }

    async fn earlier(&self, _: RunId, _: &str) -> Result<Earlier, Unread> {
        Ok(Earlier::default())
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
