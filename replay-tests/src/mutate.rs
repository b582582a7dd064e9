//! Records with one thing changed: every field, one by one, in every way that is still a record.

use std::sync::Arc;

use placet_ledger::envelope::Envelope;
use serde_json::Value;

/// Words that stand somewhere in records; each field is given each of them that fits there.
const WORDS: &[&str] = &[
    "absent",
    "act",
    "c2",
    "cli",
    "clock",
    "engine",
    "file",
    "full",
    "high-risk",
    "in-process",
    "low-risk",
    "none",
    "policy:high-risk",
    "read-only",
    "same-user",
    "set",
    "text/plain",
    "application/json",
    "text/x-diff",
    "uid:0",
    "unknown",
    "2031-01-01T00:00:00.000000Z",
];

/// A record with one thing changed.
#[derive(Debug, Clone)]
pub struct Mutant {
    /// What was changed.
    pub what: String,
    /// The bytes.
    pub bytes: Arc<[u8]>,
}

/// Every record that differs from this one in one field, or lacks one. Digests become those in
/// `digests` too.
pub fn mutants(record: &Envelope, digests: &[String]) -> Vec<Mutant> {
    let Ok(value) = serde_json::from_slice::<Value>(record.bytes()) else {
        return Vec::new();
    };
    let mut paths = Vec::new();
    leaves(&value, &mut String::new(), &mut paths);
    let mut found = Vec::new();
    for path in paths {
        let Some(leaf) = value.pointer(&path) else {
            continue;
        };
        for other in others(leaf, digests) {
            let mut changed = value.clone();
            if let Some(place) = changed.pointer_mut(&path) {
                *place = other.clone();
            }
            add(record, format!("{path} = {other}"), &changed, &mut found);
        }
        let mut lacking = value.clone();
        if let Some((parent, key)) = path.rsplit_once('/')
            && let Some(Value::Object(fields)) = lacking.pointer_mut(parent)
        {
            fields.remove(key);
        }
        add(record, format!("without {path}"), &lacking, &mut found);
    }
    found
}

/// Adds what is still a record, and another one.
fn add(record: &Envelope, what: String, value: &Value, found: &mut Vec<Mutant>) {
    let bytes: Arc<[u8]> = value.to_string().into_bytes().into();
    let differs = bytes != *record.bytes();
    if differs && Envelope::parse(bytes.clone()).is_ok() {
        found.push(Mutant { what, bytes });
    }
}

fn leaves(value: &Value, path: &mut String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if !path.is_empty() {
                found.push(path.clone());
            }
            for (key, field) in fields {
                let length = path.len();
                path.push('/');
                path.push_str(key);
                leaves(field, path, found);
                path.truncate(length);
            }
        }
        Value::Array(_) | Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => {
            found.push(path.clone());
        }
    }
}

/// What else could stand there.
fn others(leaf: &Value, digests: &[String]) -> Vec<Value> {
    match leaf {
        Value::Number(number) => {
            let number = number.as_u64().unwrap_or(0);
            let others = [0, number.saturating_add(1), number.saturating_add(1_000)];
            others.into_iter().map(Value::from).collect()
        }
        Value::String(text) if text.len() >= 36 => {
            let flip = if text.ends_with('0') { "1" } else { "0" };
            let kept = text.get(..text.len().saturating_sub(1)).unwrap_or_default();
            let mut others = vec![Value::from(format!("{kept}{flip}"))];
            others.extend(digests.iter().map(|digest| Value::from(digest.as_str())));
            others
        }
        Value::String(_) => WORDS.iter().map(|word| Value::from(*word)).collect(),
        Value::Object(_) | Value::Array(_) | Value::Bool(_) | Value::Null => Vec::new(),
    }
}
