//! The tools of a run: halves are registered together, and only visible names leave.
//!
//! The name of an executing half comes from here and from nowhere else, so that no output of a
//! model, a server or a tool can name one.

mod scope;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use placet_ledger::canonical::EncodeError;
use placet_ledger::digest::Digest;
use placet_ledger::id::{IdError, Name};
use placet_ledger::policy::ASK_USER;
use serde_json::Value;

use super::arguments::{ArgumentsError, SchemaError};
use super::spec::{Defined, Specified, ToolSpec};
use super::{ExecuteTool, ProposeTool};

pub use scope::{Scope, ScopeError, ToolRef};

/// What the name of a hidden half ends in.
const HIDDEN_SUFFIX: &str = "_execute";

/// Why a tool is not registered.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// A visible name that looks like a hidden half.
    #[error("the tool name {0} ends in {HIDDEN_SUFFIX}, which is kept for executing halves")]
    Hidden(Name),
    /// A tool that is named like a question and does something, or the other way round.
    #[error("the name {ASK_USER} is kept for questions to a person: {0} cannot be registered so")]
    Question(Name),
    /// A name that is taken.
    #[error("there is a tool named {0} already")]
    Duplicate(Name),
    /// A name that people would confuse with another.
    #[error("the tool name {name} differs from {known} only in case")]
    Case {
        /// The name that is refused.
        name: Name,
        /// The name that is registered.
        known: Name,
    },
    /// A name of ours that is none.
    #[error("cannot name a tool")]
    Spelling(#[source] IdError),
    /// No name for the executing half.
    #[error("cannot name the executing half of {name}")]
    Name {
        /// The visible name.
        name: Name,
        /// Why.
        #[source]
        source: IdError,
    },
    /// The schema cannot be compiled.
    #[error("cannot use the schema of {name}")]
    Schema {
        /// The visible name.
        name: Name,
        /// Why.
        #[source]
        source: SchemaError,
    },
    /// The definition has no canonical form.
    #[error("cannot digest the definition of {name}")]
    Definition {
        /// The visible name.
        name: Name,
        /// Why.
        #[source]
        source: EncodeError,
    },
}

/// Both halves of a pair, the one of a plain tool, or none: a question goes to a person.
enum Halves {
    Question,
    Plain(Arc<dyn ExecuteTool>),
    Pair {
        name: Name,
        propose: Arc<dyn ProposeTool>,
        execute: Arc<dyn ExecuteTool>,
    },
}

/// A tool that is registered.
pub struct Registered {
    defined: Arc<Defined>,
    halves: Halves,
}

impl Registered {
    /// What the tool tells about itself.
    pub fn spec(&self) -> &ToolSpec {
        &self.defined.spec
    }

    /// The same, with what is worked out of it.
    pub fn defined(&self) -> &Arc<Defined> {
        &self.defined
    }

    /// The digest of its definition.
    pub fn definition(&self) -> Digest {
        self.defined.definition
    }

    /// The arguments in these bytes, if they are strict JSON and match the tool's schema.
    pub fn read_arguments(&self, bytes: &[u8]) -> Result<Value, ArgumentsError> {
        self.defined.schema.read(bytes)
    }

    /// The half that proposes; `None` for a plain tool.
    pub fn propose(&self) -> Option<&Arc<dyn ProposeTool>> {
        match &self.halves {
            Halves::Question | Halves::Plain(_) => None,
            Halves::Pair { propose, .. } => Some(propose),
        }
    }

    /// The half that executes; `None` for a question, which a person answers.
    pub fn execute(&self) -> Option<&Arc<dyn ExecuteTool>> {
        match &self.halves {
            Halves::Question => None,
            Halves::Plain(execute) | Halves::Pair { execute, .. } => Some(execute),
        }
    }

    /// Whether its calls put a question to a person and do nothing else.
    pub fn is_question(&self) -> bool {
        matches!(self.halves, Halves::Question)
    }

    /// The name of the hidden half; `None` for a plain tool.
    pub fn execute_name(&self) -> Option<&Name> {
        match &self.halves {
            Halves::Question | Halves::Plain(_) => None,
            Halves::Pair { name, .. } => Some(name),
        }
    }
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered")
            .field("name", &self.spec().name)
            .field("execute", &self.execute_name())
            .finish_non_exhaustive()
    }
}

/// What a name is that a model used.
#[derive(Debug)]
pub enum Lookup<'a> {
    /// A tool.
    Tool(&'a Registered),
    /// An executing half, which nobody may name.
    HiddenHalf,
    /// Nothing.
    Unknown,
}

/// All tools, ordered by name.
#[derive(Debug, Default)]
pub struct Registry {
    tools: BTreeMap<Name, Registered>,
    /// Visible names by their lower-case form.
    folded: BTreeMap<String, Name>,
}

impl Registry {
    /// A registry without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a plain tool.
    pub fn plain(
        &mut self,
        spec: impl Specified,
        execute: Arc<dyn ExecuteTool>,
    ) -> Result<(), RegistryError> {
        self.insert(spec.defined()?, Halves::Plain(execute))
    }

    /// Registers the tool whose calls put a question to a person, which is known by its name.
    pub fn question(&mut self, spec: impl Specified) -> Result<(), RegistryError> {
        self.insert(spec.defined()?, Halves::Question)
    }

    /// Registers both halves of a gated tool.
    pub fn pair(
        &mut self,
        spec: impl Specified,
        propose: Arc<dyn ProposeTool>,
        execute: Arc<dyn ExecuteTool>,
    ) -> Result<(), RegistryError> {
        let defined = spec.defined()?;
        let visible = &defined.spec.name;
        let name = format!("{visible}{HIDDEN_SUFFIX}")
            .parse()
            .map_err(|source| RegistryError::Name {
                name: visible.clone(),
                source,
            })?;
        self.insert(
            defined,
            Halves::Pair {
                name,
                propose,
                execute,
            },
        )
    }

    fn insert(&mut self, defined: Arc<Defined>, halves: Halves) -> Result<(), RegistryError> {
        let name = defined.spec.name.clone();
        let folded = name.as_str().to_ascii_lowercase();
        if folded.ends_with(HIDDEN_SUFFIX) {
            return Err(RegistryError::Hidden(name));
        }
        if matches!(halves, Halves::Question) != (folded == ASK_USER) {
            return Err(RegistryError::Question(name));
        }
        if let Some(known) = self.folded.get(&folded).cloned() {
            return Err(if known == name {
                RegistryError::Duplicate(name)
            } else {
                RegistryError::Case { name, known }
            });
        }
        self.folded.insert(folded, name.clone());
        self.tools.insert(name, Registered { defined, halves });
        Ok(())
    }

    /// What a name is that a model used.
    pub fn visible(&self, name: &str) -> Lookup<'_> {
        if let Some(tool) = self.get(name) {
            return Lookup::Tool(tool);
        }
        let hidden = self
            .iter()
            .filter_map(Registered::execute_name)
            .any(|half| half.as_str() == name);
        if hidden {
            Lookup::HiddenHalf
        } else {
            Lookup::Unknown
        }
    }

    fn get(&self, name: &str) -> Option<&Registered> {
        let name: Name = name.parse().ok()?;
        self.tools.get(&name)
    }

    /// The visible names, ordered.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.tools.keys()
    }

    /// The tools, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = &Registered> {
        self.tools.values()
    }
}
