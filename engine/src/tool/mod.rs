//! What a tool is: a half that proposes and mutates nothing, and a half that executes a permit.
//!
//! A gated tool implements both traits and is registered as a pair; a plain tool implements
//! [`ExecuteTool`] alone. Only a [`Permit`] executes, and only the ledger mints one. Work on files
//! blocks, so it runs on threads that may block.

pub mod arguments;
pub(crate) mod ask;
pub mod command;
pub mod fs;
pub mod memory;
pub mod notes;
pub mod registry;
pub mod retrieve;
pub mod scratchpad;
pub mod spec;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use placet_ledger::containment::Level;
use placet_ledger::content::Text;
use placet_ledger::id::{CallId, RunId};
use placet_ledger::permit::Permit;
use placet_ledger::precondition::Precondition;
use placet_ledger::program::{Program, ProgramClass};
use placet_ledger::risk::DeclaredRisk;
use placet_ledger::steered::Steered;
use serde_json::Value;

use registry::RegistryError;
use spec::ToolSpec;

use crate::stop::Halt;
use crate::workspace::PathError;

/// The visible names of all tools of this release, sorted.
pub const NAMES: [&str; 17] = [
    "ask_user",
    "cp",
    "edit_file",
    "execute_command",
    "find",
    "grep",
    "ls",
    "memory",
    "mkdir",
    "mv",
    "read_file",
    "retrieve_result",
    "rm",
    "scratchpad",
    "stat",
    "todo",
    "write_file",
];

/// A spec whose name is still text.
struct Words {
    name: &'static str,
    description: &'static str,
    schema: Value,
    risk: DeclaredRisk,
}

impl Words {
    fn build(self) -> Result<ToolSpec, RegistryError> {
        Ok(ToolSpec {
            name: self.name.parse().map_err(RegistryError::Spelling)?,
            description: self.description.to_owned(),
            schema: self.schema,
            risk: self.risk,
            timeout_ms: None,
        })
    }
}

/// The visible half of a pair: it does the reading and computing, and changes nothing.
#[async_trait]
pub trait ProposeTool: Send + Sync {
    /// Turns arguments that match the schema into what a person is shown.
    async fn propose(&self, arguments: &Value) -> Result<Draft, ToolError>;
}

/// The half that acts: the hidden half of a pair, or a plain tool.
#[async_trait]
pub trait ExecuteTool: Send + Sync {
    /// Does what was permitted, once. What runs a process ends it where somebody wants that; what
    /// changes files by itself comes to its end.
    async fn execute(&self, permit: Permit, halt: &Halt) -> Result<Output, ToolError>;

    /// Says what became of an execution that ended without an outcome.
    async fn reconcile(&self, interrupted: Interrupted<'_>) -> Result<Reconciled, ToolError>;
}

/// What a proposing half worked out.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// Effective arguments: defaults filled in, paths resolved.
    pub arguments: Value,
    /// Arguments of the executing half, which normalises and computes nothing.
    pub execute_arguments: Value,
    /// One sentence for the person who decides.
    pub message: String,
    /// A unified diff, where there is one.
    pub preview: Option<String>,
    /// What the preview was computed against.
    pub precondition: Precondition,
    /// Other names of what would be changed, as far as they steer programs.
    pub known_as: Vec<String>,
    /// The process that would be started, where one would.
    pub process: Option<Process>,
}

/// A process that a call would start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// What it would run.
    pub program: Program,
    /// Whose hands that is in.
    pub class: ProgramClass,
    /// TCP ports that it would have.
    pub network: BTreeSet<u16>,
    /// How it would be shut in.
    pub level: Level,
}

/// What an execution yielded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// What the model is told.
    pub result: Text,
    /// How it came to an end.
    pub end: End,
    /// What it left otherwise of files that steer programs.
    pub steered: Steered,
}

/// How an execution came to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It did what it was to do.
    Done,
    /// It was a process with this exit status; another one than 0 is a failure.
    Exited(i32),
    /// It took too long and was ended; what it did until then stands.
    TimedOut,
    /// It was stopped because somebody wanted that; what it did until then stands.
    Stopped,
    /// Nobody can tell how far it came.
    Unknown,
}

impl Output {
    /// What a tool without a process yields.
    pub fn of(result: Text) -> Self {
        Self {
            result,
            end: End::Done,
            steered: Steered::default(),
        }
    }
}

/// An execution that was started and has no outcome. Its run and call are part of it because the
/// names of temporary files derive from them.
#[derive(Debug, Clone, Copy)]
pub struct Interrupted<'a> {
    /// The run.
    pub run: RunId,
    /// The call.
    pub call: CallId,
    /// Arguments of the executing half.
    pub arguments: &'a Value,
    /// What had to be so when it started.
    pub precondition: Option<&'a Precondition>,
}

/// What became of an interrupted execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reconciled {
    /// It took effect; this is its result.
    Done(Text),
    /// It had no effect, or its effect was taken back.
    NotDone,
    /// Nothing that can be seen tells.
    Unknown,
}

/// Why a tool did not do what was asked. The text is for the model: what was expected, where, and
/// what it can do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// What the preview was computed against has changed.
    #[error("stale: {detail}")]
    Stale {
        /// What changed.
        detail: String,
    },
    /// It is not allowed, whoever approves it.
    #[error("refused: {detail}")]
    Refused {
        /// What is not allowed.
        detail: String,
    },
    /// It cannot be done as asked; nothing was changed.
    #[error("{detail}")]
    Failed {
        /// What stood in the way.
        detail: String,
    },
    /// It may have taken effect, and nobody can tell.
    #[error("in doubt: {detail}")]
    InDoubt {
        /// What is known.
        detail: String,
    },
}

impl ToolError {
    pub(crate) fn failed(detail: impl Into<String>) -> Self {
        Self::Failed {
            detail: detail.into(),
        }
    }

    pub(crate) fn refused(detail: impl Into<String>) -> Self {
        Self::Refused {
            detail: detail.into(),
        }
    }

    pub(crate) fn stale(detail: impl Into<String>) -> Self {
        Self::Stale {
            detail: detail.into(),
        }
    }

    pub(crate) fn in_doubt(detail: impl Into<String>) -> Self {
        Self::InDoubt {
            detail: detail.into(),
        }
    }
}

impl From<PathError> for ToolError {
    fn from(error: PathError) -> Self {
        let detail = error.to_string();
        if error.is_refusal() {
            Self::Refused { detail }
        } else {
            Self::Failed { detail }
        }
    }
}

/// Runs work that only reads on a thread that may block.
pub(crate) async fn reading<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(ToolError::failed("the tool stopped before it had a result")))
}

/// Whether somebody still waits for what some work will yield.
#[derive(Debug, Clone)]
pub(crate) struct Awaited(Arc<AtomicBool>);

impl Awaited {
    /// As long as `waited_for` is true.
    #[cfg(test)]
    pub(crate) fn given(waited_for: bool) -> Self {
        Self(Arc::new(AtomicBool::new(waited_for)))
    }

    /// False from the moment that the waiting future was dropped.
    pub(crate) fn holds(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Held by the waiting future, and dropped with it.
struct Waiting(Awaited);

impl Default for Waiting {
    fn default() -> Self {
        Self(Awaited(Arc::new(AtomicBool::new(true))))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::Relaxed);
    }
}

/// Runs work that only reads and may take long. It is told when nobody waits for it any more, and
/// ends then by itself.
pub(crate) async fn searching<T: Send + 'static>(
    work: impl FnOnce(&Awaited) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let waiting = Waiting::default();
    let awaited = waiting.0.clone();
    reading(move || work(&awaited)).await
}

/// Runs work that writes on a thread that may block; if it is lost, nobody knows how far it came.
/// Nor does it stop when the future is dropped: a call that ran out of time is reconciled.
pub(crate) async fn writing<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(ToolError::in_doubt("the tool stopped while it was writing")))
}
