//! `todo`: the agent's own list of what is to be done, kept by the conversation that it is in.

use std::fmt::Write;
use std::sync::Arc;

use async_trait::async_trait;
use placet_ledger::content::Text;
use placet_ledger::permit::Permit;
use placet_ledger::risk::DeclaredRisk;
use serde_json::{Value, json};

use super::registry::{Registry, RegistryError};
use super::spec::Known;
use super::{ExecuteTool, Interrupted, Output, Reconciled, ToolError, Words};
use crate::stop::Halt;

/// Items of a list: more are not read, neither by a model nor by a person.
const ITEMS_MAX: u64 = 200;

/// Registers `todo`.
pub fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    registry.plain(&TODO, Arc::new(Todo))
}

static TODO: Known = Known::new(|| spec().build());

fn spec() -> Words {
    Words {
        name: "todo",
        description: "Write down your list of what is to be done; each call replaces the whole \
                      list. It is kept in the conversation and changes nothing else.",
        schema: json!({
            "type": "object",
            "properties": {"items": {
                "type": "array",
                "maxItems": ITEMS_MAX,
                "items": {
                    "type": "object",
                    "properties": {
                        "text": {"type": "string", "minLength": 1},
                        "state": {"enum": ["open", "doing", "done"]},
                    },
                    "required": ["state", "text"],
                    "additionalProperties": false,
                },
            }},
            "required": ["items"],
            "additionalProperties": false,
        }),
        risk: DeclaredRisk::ReadOnly,
    }
}

struct Todo;

#[async_trait]
impl ExecuteTool for Todo {
    async fn execute(&self, permit: Permit, _: &Halt) -> Result<Output, ToolError> {
        let result = Text::plain(list(&permit.spend().arguments));
        Ok(Output::of(result))
    }

    /// The list is its result: without one there is none.
    async fn reconcile(&self, _: Interrupted<'_>) -> Result<Reconciled, ToolError> {
        Ok(Reconciled::NotDone)
    }
}

/// The list as the model sees it again.
fn list(arguments: &Value) -> String {
    let items = arguments.get("items").and_then(Value::as_array);
    let items: Vec<_> = items.into_iter().flatten().collect();
    let field = |item: &Value, name| item.get(name).and_then(Value::as_str).map(str::to_owned);
    let state = |item: &Value| field(item, "state").unwrap_or_default();
    let done = items.iter().filter(|item| state(item) == "done").count();
    let mut out = format!("{done} of {} done\n", items.len());
    for item in items {
        let mark = match state(item).as_str() {
            "done" => 'x',
            "doing" => '>',
            _ => ' ',
        };
        let text = field(item, "text").unwrap_or_default();
        // Writing to a string does not fail.
        let _ignored = writeln!(out, "[{mark}] {}", text.replace('\n', " "));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_told_with_its_marks() {
        let items = json!({"items": [
            {"text": "read", "state": "done"},
            {"text": "write\nit", "state": "doing"},
            {"text": "test", "state": "open"},
        ]});
        assert_eq!(
            list(&items),
            "1 of 3 done\n[x] read\n[>] write it\n[ ] test\n"
        );
        assert_eq!(list(&json!({"items": []})), "0 of 0 done\n");
    }
}
