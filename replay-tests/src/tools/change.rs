//! What calls of the counted pairs change: what is at a key of the map, and where it came from.

use std::collections::BTreeMap;

use placet_ledger::digest::{Purpose, digest};
use placet_ledger::precondition::{NodeId, Precondition};
use serde_json::{Value, json};

pub(super) const fn node(inode: u64) -> NodeId {
    NodeId { device: 1, inode }
}

pub(super) fn field(arguments: &Value, name: &str) -> String {
    let text = arguments.get(name).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

/// What a call of a pair would do: where, from which place if from any, and what is put there.
pub(super) struct Change {
    pub(super) key: String,
    pub(super) from: Option<String>,
    pub(super) to: String,
}

impl Change {
    pub(super) fn of(tool: &str, arguments: &Value, map: &BTreeMap<String, String>) -> Self {
        match tool {
            "move" => {
                let from = field(arguments, "from");
                Self {
                    key: field(arguments, "to"),
                    to: map.get(&from).cloned().unwrap_or_default(),
                    from: Some(from),
                }
            }
            _ => Self {
                key: field(arguments, "key"),
                from: None,
                to: field(arguments, "value"),
            },
        }
    }

    pub(super) fn precondition(&self, map: &BTreeMap<String, String>) -> Precondition {
        let target = precondition(map, &self.key);
        match &self.from {
            None => target,
            Some(from) => Precondition::Transfer {
                source: Box::new(precondition(map, from)),
                target: Box::new(target),
            },
        }
    }

    /// As the executing half is told of it.
    pub(super) fn arguments(&self) -> Value {
        match &self.from {
            None => json!({"key": self.key, "to": self.to}),
            Some(from) => json!({"from": from, "key": self.key, "to": self.to}),
        }
    }

    /// As the executing half reads it.
    pub(super) fn told(arguments: &Value) -> Self {
        let from = arguments.get("from").and_then(Value::as_str);
        Self {
            key: field(arguments, "key"),
            from: from.map(str::to_owned),
            to: field(arguments, "to"),
        }
    }
}

/// What the map holds at a key, as a precondition.
fn precondition(map: &BTreeMap<String, String>, key: &str) -> Precondition {
    let (path, parent, root) = (key.to_owned(), node(2), node(2));
    match map.get(key) {
        None => Precondition::Absent {
            missing: 0,
            parent,
            path,
            root,
        },
        Some(value) => Precondition::File {
            digest: digest(Purpose::File, value.as_bytes()),
            links: 1,
            mode: 0o644,
            node: node(9),
            parent,
            path,
            root,
        },
    }
}
