//! The hidden half: checks what was shown, runs it shut in, and tells what came of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use placet_ledger::clock::Clock;
use placet_ledger::containment::Part;
use placet_ledger::content::Text;
use placet_ledger::digest::Digest;
use placet_ledger::id::{CallId, RunId};
use placet_ledger::permit::{Granted, Permit};
use placet_ledger::precondition::Precondition;
use placet_ledger::program::Program;
use serde_json::Value;

use super::guard::{Guard, Stamps};
use super::links::leads_elsewhere;
use super::operands::Operands;
use super::program::{SHELL, Search, digest_of, is_systems};
use super::report::{Aside, end, lost, report};
use super::{Commands, timeout_s};
use crate::clock::SystemClock;
use crate::contain::{ContainError, Container, Job, Limits, end_leftovers};
use crate::stop::Halt;
use crate::tool::{End, ExecuteTool, Interrupted, Output, Reconciled, ToolError, reading};
use crate::workspace::visible;

/// Bytes of each output that are kept from its beginning, and as many from its end.
const OUTPUT_BYTES: usize = 256 * 1024;

/// Bytes of memory, and of one file: what compilers of large programs need, and no machine dies of.
const BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;

/// Processes and threads at once: what a parallel build needs.
const PROCESSES_MAX: u64 = 512;

/// The hidden half.
#[derive(Debug)]
pub(super) struct Executing(pub(super) Arc<Commands>);

#[async_trait]
impl ExecuteTool for Executing {
    async fn execute(&self, permit: Permit, halt: &Halt) -> Result<Output, ToolError> {
        let since_ms = SystemClock.monotonic_ms();
        let granted = permit.spend();
        let commands = Arc::clone(&self.0);
        let (mut prepared, commands) = reading(move || {
            let prepared = Prepared::new(&commands, granted)?;
            Ok((prepared, commands))
        })
        .await?;
        let container = commands.machine.container().ok_or_else(unknown_helper)?;
        let missing = prepared.missing(container)?;
        let ran = match container.run(&prepared.job, halt).await {
            Ok(ran) => Some(ran),
            // What the command did until it killed what watched over it stands.
            Err(ContainError::Lost) => None,
            Err(error) => return Err(not_run(error)),
        };
        let mut aside = Aside {
            missing,
            ..Aside::default()
        };
        let output = tokio::task::spawn_blocking(move || {
            prepared.look_after(&mut aside);
            aside.duration_ms = SystemClock.monotonic_ms().saturating_sub(since_ms);
            let (end, text) = match ran {
                Some(ran) => (end(ran.ending), report(&ran, &aside)),
                None => (End::Unknown, lost(&aside)),
            };
            Output {
                result: Text::plain(text),
                end,
                steered: aside.steered,
            }
        });
        let lost = |_| ToolError::in_doubt("the command has run, and what came of it was lost");
        output.await.map_err(lost)
    }

    async fn reconcile(&self, interrupted: Interrupted<'_>) -> Result<Reconciled, ToolError> {
        let mark = self.0.mark(interrupted.run, interrupted.call);
        let ended = reading(move || Ok(end_leftovers(&mark))).await?;
        // Whether a command took effect shows in nothing that can be looked at; nor does it show
        // that it never began, since what tells that it runs is gone once it has run.
        Err(ToolError::in_doubt(match ended {
            Ok(true) => String::from(
                "what the command had started was still running and has been ended; what it did \
                 until then stands",
            ),
            Ok(false) => {
                String::from("nothing of the command runs any more; how far it came cannot be told")
            }
            Err(error) => format!(
                "neither how far the command came nor whether anything of it still runs can be \
                 told: {error}"
            ),
        }))
    }
}

impl Commands {
    /// The file that tells what runs for a call.
    fn mark(&self, run: RunId, call: CallId) -> PathBuf {
        self.machine.marks().join(format!("{run}-{call}"))
    }
}

/// A command of which everything is as it was shown.
struct Prepared {
    job: Job,
    guard: Guard,
    /// How many of its places nothing holds the command to.
    unheld: usize,
    /// What steering files held before: a link can be replaced, and a file reached by another name,
    /// however a command is shut in.
    stamps: Stamps,
    granted_missing: BTreeSet<Part>,
    refused: Vec<u16>,
    timeout_s: u64,
}

impl Prepared {
    fn new(commands: &Commands, granted: Granted) -> Result<Self, ToolError> {
        let root = commands.root();
        let program = granted
            .program
            .ok_or_else(|| ToolError::failed("the record of this call names no program"))?;
        let command = granted.arguments.get("command").and_then(Value::as_str);
        let command =
            command.ok_or_else(|| ToolError::failed("the record of this call has no command"))?;
        unchanged(commands, command, granted.precondition.as_ref())?;
        let (path, digest) = checked(&program)?;
        led(commands, command, &program)?;
        let hidden = commands.workspace.closed_places();
        let mut guard = Guard::of(root, &hidden);
        let stamps = guard.stamps(None, &hidden, root);
        let covered = hidden.into_iter().chain(guard.listening()).collect();
        let (read_only, unheld) = guard.held(root);
        make_folder(commands.machine.marks())?;
        let timeout_s = timeout_s(&granted.arguments);
        let folders = commands.machine.path_beside(root);
        let folders: Vec<_> = folders.iter().filter_map(|at| at.to_str()).collect();
        let wanted = granted.arguments.get("network").and_then(Value::as_array);
        let wanted = wanted.into_iter().flatten().filter_map(Value::as_u64);
        let wanted = wanted.filter_map(|port| u16::try_from(port).ok());
        Ok(Self {
            refused: wanted
                .filter(|port| !granted.network.contains(port))
                .collect(),
            job: Job {
                program: path,
                digest,
                argv: program.argv,
                workspace: root.to_owned(),
                read_only,
                hidden: covered,
                network: granted.network,
                stdin: String::new(),
                env: BTreeMap::from([(String::from("PATH"), folders.join(":"))]),
                limits: Limits {
                    time_ms: timeout_s.saturating_mul(1000),
                    memory_bytes: BYTES_MAX,
                    processes: PROCESSES_MAX,
                    file_bytes: BYTES_MAX,
                    head_bytes: OUTPUT_BYTES,
                    tail_bytes: OUTPUT_BYTES,
                },
                mark: commands.mark(granted.run, granted.call),
            },
            guard,
            unheld,
            stamps,
            granted_missing: granted.missing,
            timeout_s,
        })
    }

    /// What is missing of the containment profile, which is no more than was granted.
    fn missing(&self, container: &Container) -> Result<BTreeSet<Part>, ToolError> {
        let level = container.level_with(&self.job.network);
        let missing = level.missing().clone();
        // Whoever allowed ports knew that they are on the machine's own network.
        let by_ports = |part: &Part| *part == Part::Network && !self.job.network.is_empty();
        let more = missing
            .iter()
            .find(|part| !self.granted_missing.contains(part) && !by_ports(part));
        match more {
            None => Ok(missing),
            Some(part) => Err(ToolError::failed(format!(
                "the command could be shut in less than was shown ({} is missing): nothing was run",
                part.as_str()
            ))),
        }
    }

    /// Looks what the command left that steers other programs.
    fn look_after(&mut self, aside: &mut Aside) {
        let (root, hidden) = (&self.job.workspace, &self.job.hidden);
        let mut after = Guard::of(root, hidden);
        let stamps = after.stamps(Some(&self.guard), hidden, root);
        aside.steered = stamps.changes_since(&self.stamps, root);
        aside.unheld = self.unheld;
        aside.unseen = self.guard.unseen(root);
        aside.unseen.extend(after.unseen(root));
        aside.refused.clone_from(&self.refused);
        aside.timeout_s = self.timeout_s;
    }
}

/// Whether workspace and operands are as they were shown.
fn unchanged(
    commands: &Commands,
    command: &str,
    precondition: Option<&Precondition>,
) -> Result<(), ToolError> {
    let Some(Precondition::Operands { files, root, .. }) = precondition else {
        return Err(ToolError::failed(
            "the record of this call does not tell its operands",
        ));
    };
    let workspace = &commands.workspace;
    if workspace.root() != *root || !workspace.is_in_place() {
        return Err(ToolError::stale(
            "the workspace is another folder than before.",
        ));
    }
    match Operands::of(workspace, command).differ_from(files) {
        None => Ok(()),
        Some(what) => Err(ToolError::stale(format!(
            "{what} since the command was proposed."
        ))),
    }
}

/// Whether the names in the command lead to the programs by which it was judged.
fn led(commands: &Commands, command: &str, program: &Program) -> Result<(), ToolError> {
    let search = Search {
        workspace: commands.root(),
        path: &commands.machine.path_beside(commands.root()),
    };
    match leads_elsewhere(&search, command, &program.links) {
        None => Ok(()),
        Some(name) => Err(ToolError::stale(format!(
            "{} leads to another program than when the command was proposed.",
            visible(&name)
        ))),
    }
}

/// What is started, whose file is the one that was shown; with its digest where the user can
/// change it.
fn checked(program: &Program) -> Result<(PathBuf, Option<Digest>), ToolError> {
    let named = PathBuf::from(&program.path);
    let found = digest_of(&named);
    if found.ok() != Some(program.digest) {
        return Err(ToolError::stale(format!(
            "the program {} is another file than when the command was proposed.",
            visible(&program.path)
        )));
    }
    let started = if program.shell {
        let shell = Path::new(SHELL).canonicalize();
        shell.map_err(|error| ToolError::failed(format!("there is no {SHELL}: {error}")))?
    } else {
        named.clone()
    };
    if is_systems(&started) {
        return Ok((started, None));
    }
    let digest = if started == named {
        program.digest
    } else {
        let shell = digest_of(&started);
        shell.map_err(|error| ToolError::failed(format!("cannot read {SHELL}: {error}")))?
    };
    Ok((started, Some(digest)))
}

/// Makes the folder of marks where an older home has none.
fn make_folder(folder: &Path) -> Result<(), ToolError> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            let folder = folder.display();
            Err(ToolError::failed(format!(
                "cannot make the folder {folder}, which tells what runs: {error}"
            )))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn unknown_helper() -> ToolError {
    ToolError::failed("this placet does not know its own program, so it can shut nothing in")
}

/// Why a command has no outcome of its own.
fn not_run(error: ContainError) -> ToolError {
    match error {
        ContainError::Setup(why) => ToolError::failed(format!(
            "the command could not be shut in, and nothing was run: {why}"
        )),
        ContainError::ProgramChanged(path) => ToolError::stale(format!(
            "the program {} is another file than when the command was proposed.",
            visible(&path)
        )),
        ContainError::Lost => ToolError::in_doubt("how far the command came cannot be told"),
        ContainError::Start(error) => match error.kind() {
            // The helper itself is not there, or may not be started.
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
                ToolError::failed(format!("the command could not be started: {error}"))
            }
            _ => ToolError::in_doubt(format!(
                "nobody heard what became of the command, which may have run: {error}"
            )),
        },
    }
}
