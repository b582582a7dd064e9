//! The simulated `execute_command`: a test says what is known of a command's program, and nothing
//! is ever started.

use std::collections::{BTreeMap, BTreeSet};

use placet_engine::shell;
use placet_engine::tool::{Draft, Process};
use placet_ledger::containment::Level;
use placet_ledger::digest::{Purpose, digest};
use placet_ledger::precondition::Precondition;
use placet_ledger::program::{Program, ProgramClass};
use serde_json::{Value, json};

use super::change::{field, node};

/// What a proposal tells of a command beside its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimProgram {
    /// Whose hands the program is in.
    pub class: ProgramClass,
    /// Where it lies; beneath `/usr/bin` if absent.
    pub path: Option<String>,
    /// Words that lead to programs of another name, and the paths of these.
    pub links: BTreeMap<String, String>,
    /// Words that name places neither in the workspace nor in the system.
    pub outside: Vec<String>,
    /// What the configuration of a repository can make it run.
    pub repository: Vec<String>,
    /// TCP ports that it wants.
    pub network: BTreeSet<u16>,
    /// How it would be shut in.
    pub level: Level,
}

/// A program of the system that is fully shut in.
impl Default for SimProgram {
    fn default() -> Self {
        Self {
            class: ProgramClass::System,
            path: None,
            links: BTreeMap::new(),
            outside: Vec::new(),
            repository: Vec::new(),
            network: BTreeSet::new(),
            level: Level::of(BTreeSet::new()),
        }
    }
}

/// What is known of commands, by their text.
pub(super) type Programs = BTreeMap<String, SimProgram>;

/// The proposal of a command.
pub(super) fn draft(arguments: &Value, programs: &Programs) -> Draft {
    let text = field(arguments, "command");
    let known = programs.get(&text).cloned().unwrap_or_default();
    let first = text.split_whitespace().next().unwrap_or("sh");
    let name = first.rsplit('/').next().unwrap_or(first);
    let path = known.path.unwrap_or_else(|| format!("/usr/bin/{name}"));
    let shell_argv = ["sh", "-c", text.as_str()];
    let program = Program {
        argv: shell_argv.map(str::to_owned).to_vec(),
        digest: digest(Purpose::File, path.as_bytes()),
        links: known.links,
        outside: known.outside,
        path,
        repository: known.repository,
        shell: true,
    };
    Draft {
        arguments: json!({"command": text}),
        execute_arguments: json!({"command": text}),
        message: String::from("Run a command."),
        preview: None,
        precondition: Precondition::Operands {
            files: Vec::new(),
            root: node(2),
            target: shell::key(&text).unwrap_or_else(|| text.clone()),
        },
        known_as: Vec::new(),
        process: Some(Process {
            program,
            class: known.class,
            network: known.network,
            level: known.level,
        }),
    }
}
