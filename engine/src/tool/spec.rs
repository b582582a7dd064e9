//! What a tool tells about itself, and the digest that stands for it in the ledger.

use std::sync::{Arc, OnceLock};

use placet_ledger::canonical::{self, EncodeError};
use placet_ledger::digest::{Digest, Purpose, digest};
use placet_ledger::id::Name;
use placet_ledger::risk::DeclaredRisk;
use serde_json::{Value, json};

use super::arguments::Schema;
use super::registry::RegistryError;

/// Time limit of a tool without one of its own: no answer for 3 minutes means that it hangs.
pub const TOOL_TIMEOUT_MS: u64 = 180_000;

/// What the model is told of a tool, and what the gate knows of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// The visible name.
    pub name: Name,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments.
    pub schema: Value,
    /// What it may do at worst.
    pub risk: DeclaredRisk,
    /// Its own time limit.
    pub timeout_ms: Option<u64>,
}

impl ToolSpec {
    /// The digest of what the model is told, so that a tool which changes is another tool.
    pub fn definition(&self) -> Result<Digest, EncodeError> {
        // A schema may hold fractions and nulls, which records may not: it is written as arguments.
        let bytes = canonical::arguments_to_vec(&json!({
            "description": self.description,
            "name": self.name,
            "schema": self.schema,
        }))?;
        Ok(digest(Purpose::Tool, &bytes))
    }

    /// The time limit that holds.
    pub fn timeout_ms(&self) -> u64 {
        self.timeout_ms.unwrap_or(TOOL_TIMEOUT_MS)
    }
}

/// A spec with what is worked out of it, which all registries share that have the tool.
#[derive(Debug)]
pub struct Defined {
    /// The spec.
    pub spec: ToolSpec,
    /// Its digest.
    pub definition: Digest,
    /// Its schema, compiled.
    pub(super) schema: Schema,
}

/// Two with one digest tell the same about themselves.
impl PartialEq for Defined {
    fn eq(&self, other: &Self) -> bool {
        self.definition == other.definition
    }
}

/// What a tool is registered by.
pub trait Specified {
    /// The spec, defined.
    fn defined(self) -> Result<Arc<Defined>, RegistryError>;
}

impl Specified for Arc<Defined> {
    fn defined(self) -> Result<Arc<Defined>, RegistryError> {
        Ok(self)
    }
}

impl Specified for ToolSpec {
    fn defined(self) -> Result<Arc<Defined>, RegistryError> {
        let schema = Schema::compile(&self.schema).map_err(|source| RegistryError::Schema {
            name: self.name.clone(),
            source,
        })?;
        let definition = self
            .definition()
            .map_err(|source| RegistryError::Definition {
                name: self.name.clone(),
                source,
            })?;
        Ok(Arc::new(Defined {
            spec: self,
            definition,
            schema,
        }))
    }
}

/// A tool of this release. Every segment of every run has the same ones, and to define them costs
/// more than all else that taking it up needs of the processor: it is done once a process.
pub(super) struct Known {
    spec: fn() -> Result<ToolSpec, RegistryError>,
    defined: OnceLock<Arc<Defined>>,
}

impl Known {
    pub(super) const fn new(spec: fn() -> Result<ToolSpec, RegistryError>) -> Self {
        Self {
            spec,
            defined: OnceLock::new(),
        }
    }
}

impl Specified for &Known {
    fn defined(self) -> Result<Arc<Defined>, RegistryError> {
        if let Some(defined) = self.defined.get() {
            return Ok(Arc::clone(defined));
        }
        let defined = (self.spec)()?.defined()?;
        Ok(Arc::clone(self.defined.get_or_init(|| defined)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_the_definition_of_the_worked_example() {
        let spec = ToolSpec {
            name: "rm".parse().unwrap(),
            description: "Remove a file.".into(),
            schema: json!({
                "type": "object",
                "properties": {"path": {"type": "string"}},
                "required": ["path"],
                "additionalProperties": false,
            }),
            risk: DeclaredRisk::HighRisk,
            timeout_ms: None,
        };
        assert_eq!(
            spec.definition().unwrap().to_string(),
            "8e548751d495b7313f5ffe9653048c4497df2bfe6ef00c4a50de05ba7cf76166"
        );
        assert_eq!(spec.timeout_ms(), 180_000);
    }

    #[test]
    fn risk_and_time_limit_are_no_part_of_the_definition() {
        let mut spec = ToolSpec {
            name: "x".parse().unwrap(),
            description: String::new(),
            schema: json!({"type": "object"}),
            risk: DeclaredRisk::ReadOnly,
            timeout_ms: Some(5),
        };
        let before = spec.definition().unwrap();
        spec.risk = DeclaredRisk::Unknown;
        spec.timeout_ms = None;
        assert_eq!(spec.definition().unwrap(), before);
        spec.description = "other".into();
        assert_ne!(spec.definition().unwrap(), before);
    }

    #[test]
    fn a_tool_of_this_release_is_defined_once() {
        fn spec() -> ToolSpec {
            ToolSpec {
                name: "x".parse().unwrap(),
                description: String::new(),
                schema: json!({"type": "object"}),
                risk: DeclaredRisk::ReadOnly,
                timeout_ms: None,
            }
        }
        let known = Known::new(|| Ok(spec()));
        let [one, two] = [(); 2].map(|()| known.defined().unwrap());
        assert!(Arc::ptr_eq(&one, &two));
        assert_eq!(one.spec, spec());
        assert_eq!(one.definition, spec().definition().unwrap());
        let wrong = Known::new(|| {
            let schema = json!({"type": 5});
            Ok(ToolSpec { schema, ..spec() })
        });
        for _ in 0..2 {
            let told = wrong.defined();
            assert!(
                matches!(told, Err(RegistryError::Schema { .. })),
                "{told:?}"
            );
        }
    }
}
