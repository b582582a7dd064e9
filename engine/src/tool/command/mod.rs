//! `execute_command`: runs a command in the workspace, shut in as far as the machine can.
//!
//! Proposing reads the command the way the shell will, finds the program that it names and digests
//! that and every file of the workspace that it names. Executing checks all of it again and runs
//! the very words that were shown: without a shell where they are one plain command, else through
//! one fixed `sh`.

mod execute;
mod gitconfig;
mod guard;
mod links;
mod machine;
mod operands;
mod places;
mod program;
mod propose;
mod quoted;
mod report;
mod repository;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use placet_ledger::policy::EXECUTE_COMMAND;
use placet_ledger::risk::DeclaredRisk;
use serde_json::{Value, json};

use super::Words;
use super::registry::{Registry, RegistryError};
use super::spec::{Known, TOOL_TIMEOUT_MS, ToolSpec};
use crate::workspace::Workspace;

pub use machine::{Machine, SYSTEM_PATH};
pub use program::{Found, ProgramError, Search};

/// Seconds that a command may take if it says nothing of it: those of every tool.
const TIMEOUT_S: u64 = TOOL_TIMEOUT_MS / 1000;

/// Seconds that a command may take at most.
const TIMEOUT_S_MAX: u64 = 3_600;

/// How much longer the tool is waited for than any command may take: a command that is ended gets
/// some seconds to end by itself, and its files are looked at before and after.
const GRACE_MS: u64 = 60_000;

/// Ports that one command may want.
const PORTS_MAX: usize = 32;

/// Registers the pair for one workspace.
pub fn register(
    registry: &mut Registry,
    workspace: Arc<Workspace>,
    machine: Arc<Machine>,
) -> Result<(), RegistryError> {
    let commands = Arc::new(Commands { workspace, machine });
    let propose = Arc::new(propose::Proposing(Arc::clone(&commands)));
    registry.pair(&COMMAND, propose, Arc::new(execute::Executing(commands)))
}

static COMMAND: Known = Known::new(|| {
    let timeout_ms = TIMEOUT_S_MAX.saturating_mul(1000).saturating_add(GRACE_MS);
    Ok(ToolSpec {
        timeout_ms: Some(timeout_ms),
        ..spec().build()?
    })
});

fn spec() -> Words {
    Words {
        name: EXECUTE_COMMAND,
        description: "Run a command in the workspace, without input and terminal. It is read as a \
            POSIX shell reads it. It has no network but on the TCP ports that it names and that \
            are approved, writes only in the workspace and its temporary folder, and is ended \
            after `timeout_s` seconds. The result tells exit status, output and errors; of much \
            output, beginning and end.",
        schema: json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "minLength": 1},
                "network": {
                    "type": "array",
                    "items": {"type": "integer", "minimum": 1, "maximum": 65535},
                    "maxItems": PORTS_MAX,
                },
                "timeout_s": {"type": "integer", "minimum": 1, "maximum": TIMEOUT_S_MAX},
            },
            "required": ["command"],
            "additionalProperties": false,
        }),
        risk: DeclaredRisk::Unknown,
    }
}

/// What both halves share.
#[derive(Debug)]
struct Commands {
    workspace: Arc<Workspace>,
    machine: Arc<Machine>,
}

impl Commands {
    fn root(&self) -> &Path {
        Path::new(self.workspace.path())
    }
}

/// The seconds that a command may take, by its arguments.
fn timeout_s(arguments: &Value) -> u64 {
    let given = arguments.get("timeout_s").and_then(Value::as_u64);
    given.unwrap_or(TIMEOUT_S).clamp(1, TIMEOUT_S_MAX)
}
