//! The visible half: reads a command, finds its program and looks at the files that it names.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use placet_ledger::precondition::Precondition;
use placet_ledger::program::Program;
use serde_json::{Value, json};

use super::guard::Guard;
use super::links::links;
use super::operands::Operands;
use super::places::outside;
use super::program::{Found, SHELL, Search, is_builtin};
use super::quoted::{listed, quoted, shortened};
use super::repository::configured;
use super::{Commands, timeout_s};
use crate::shell::{COMMAND_BYTES_MAX, Plain, Reading, key, read};
use crate::tool::{Draft, Process, ProposeTool, ToolError, reading};
use crate::workspace::visible;

/// Paths of one kind that are named in a message.
const PATHS_MAX: usize = 3;

/// The visible half.
#[derive(Debug)]
pub(super) struct Proposing(pub(super) Arc<Commands>);

#[async_trait]
impl ProposeTool for Proposing {
    async fn propose(&self, arguments: &Value) -> Result<Draft, ToolError> {
        let commands = Arc::clone(&self.0);
        let arguments = arguments.clone();
        reading(move || draft(&commands, &arguments)).await
    }
}

/// What a person is shown of a command.
pub(super) fn draft(commands: &Commands, arguments: &Value) -> Result<Draft, ToolError> {
    let command = arguments.get("command").and_then(Value::as_str);
    let command =
        command.ok_or_else(|| ToolError::failed("the argument command must be a text"))?;
    readable(command)?;
    let network = ports(arguments)?;
    let plain = match read(command) {
        Reading::Plain(plain) => Some(plain),
        Reading::Hazard(_) | Reading::Neither(_) => None,
    };
    let (program, found) = program(commands, command, plain.as_ref())?;
    let operands = Operands::of(&commands.workspace, command);
    let mut effective = json!({"command": command, "timeout_s": timeout_s(arguments)});
    if let Some(map) = effective.as_object_mut()
        && !network.is_empty()
    {
        map.insert(String::from("network"), json!(network));
    }
    let preview = (!program.shell).then(|| {
        let words = program.argv.iter().map(|word| quoted(word) + "\n");
        words.collect()
    });
    Ok(Draft {
        execute_arguments: effective.clone(),
        arguments: effective,
        message: message(command, &program, &operands) + &unguarded(commands),
        preview,
        precondition: Precondition::Operands {
            files: operands.files,
            root: commands.workspace.root(),
            target: key(command).unwrap_or_else(|| command.to_owned()),
        },
        known_as: Vec::new(),
        process: Some(Process {
            program,
            class: found.class,
            level: commands.machine.level(&network),
            network,
        }),
    })
}

/// Refuses what no card could show and no shell would take.
fn readable(command: &str) -> Result<(), ToolError> {
    let hidden = |c: &char| c.is_control() && !matches!(c, '\n' | '\t');
    if let Some(hidden) = command.chars().find(hidden) {
        return Err(ToolError::failed(format!(
            "the command holds the control character {}: only line feed and tab may stand in one",
            hidden.escape_unicode()
        )));
    }
    if command.len() > COMMAND_BYTES_MAX {
        return Err(ToolError::failed(format!(
            "the command has {} bytes, of at most {COMMAND_BYTES_MAX}: write a script and run that",
            command.len()
        )));
    }
    if command.trim().is_empty() {
        return Err(ToolError::failed("the command is empty"));
    }
    Ok(())
}

/// The ports that a command wants, sorted.
fn ports(arguments: &Value) -> Result<BTreeSet<u16>, ToolError> {
    let Some(wanted) = arguments.get("network").and_then(Value::as_array) else {
        return Ok(BTreeSet::new());
    };
    let port = |value: &Value| {
        let port = value.as_u64().and_then(|port| u16::try_from(port).ok());
        port.filter(|port| *port > 0).ok_or_else(|| {
            ToolError::failed(format!(
                "{value} is no TCP port: send numbers from 1 to 65535"
            ))
        })
    };
    wanted.iter().map(port).collect()
}

/// What a command runs, and the file of the program that it names.
fn program(
    commands: &Commands,
    command: &str,
    plain: Option<&Plain>,
) -> Result<(Program, Found), ToolError> {
    let path = commands.machine.path_beside(commands.root());
    let search = Search {
        workspace: commands.root(),
        path: &path,
    };
    let named = plain.filter(|plain| !is_builtin(plain.program()));
    let name = named.map_or(SHELL, Plain::program);
    let found = search.find(name).map_err(|error| failed(&error))?;
    if commands.workspace.is_closed_place(found.path.as_ref()) {
        return Err(ToolError::refused(format!(
            "{} belongs to placet, and no command may run it",
            visible(&found.path)
        )));
    }
    let words = named.and_then(Plain::argv);
    let shell = words.is_none();
    let argv = match words {
        Some(words) => words.into_iter().map(str::to_owned).collect(),
        // A command may begin with a dash.
        None => [SHELL, "-c", "--", command].map(str::to_owned).into(),
    };
    let workspace = &commands.workspace;
    let program = Program {
        argv,
        digest: found.digest,
        links: links(&search, command),
        outside: plain.map_or_else(Vec::new, |plain| outside(workspace, plain)),
        path: found.path.clone(),
        repository: plain.map_or_else(Vec::new, |plain| configured(workspace, plain)),
        shell,
    };
    Ok((program, found))
}

/// An error with its causes, on one line.
fn failed(error: &dyn std::error::Error) -> ToolError {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    ToolError::failed(text)
}

/// One sentence that begins with the command itself, so that a list of calls tells them apart.
fn message(command: &str, program: &Program, operands: &Operands) -> String {
    let command = shown(command);
    let path = shown(&program.path);
    let names_none = program
        .argv
        .first()
        .is_some_and(|at| is_same(at, &program.path));
    let mut said = vec![if !program.shell {
        format!("Run {command} ({path}).")
    } else if names_none {
        format!("Run {command} (through {path}).")
    } else {
        format!("Run {command} ({path}, through {SHELL}).")
    }];
    let shown_all = |names: &[String]| {
        let names: Vec<_> = names.iter().map(|name| shown(name)).collect();
        names.join(", ")
    };
    if !program.outside.is_empty() {
        let words = shown_all(&program.outside);
        said.push(format!("It names what is outside the workspace: {words}."));
    }
    if !program.repository.is_empty() {
        let keys = shown_all(&program.repository);
        said.push(format!("The repository configures {keys}."));
    }
    match operands.left_out {
        0 => {}
        1 => said.push(String::from(
            "A file that it names is not compared when it runs.",
        )),
        some => said.push(format!(
            "{some} files that it names are not compared when it runs."
        )),
    }
    said.join(" ")
}

/// What of the files that steer programs nothing can keep the command from changing, in words that
/// end a message.
fn unguarded(commands: &Commands) -> String {
    let root = commands.root();
    let closed = commands.workspace.closed_places();
    let mut guard = Guard::of(root, &closed);
    let linked = guard.linked(&closed, root);
    let (_, rest) = guard.held(root);
    let rest = (rest > 0).then(|| {
        format!(
            " Not all files that steer programs can be held as they are: {rest} more are only \
             compared before and after."
        )
    });
    let unseen = guard.unseen(root);
    let unseen = (!unseen.is_empty()).then(|| {
        let places = listed(&unseen, PATHS_MAX);
        format!(
            " What lies in {places} cannot be looked at: files that steer programs may be changed \
             there."
        )
    });
    let linked = (!linked.is_empty()).then(|| {
        let files = listed(&linked, PATHS_MAX);
        format!(
            " Files that steer programs have other names, by which they can be changed: {files}."
        )
    });
    let all = [rest, unseen, linked];
    all.into_iter().flatten().collect()
}

/// Whether the path of a program is that of the shell, through symbolic links.
fn is_same(shell: &str, path: &str) -> bool {
    let real = std::path::Path::new(shell).canonicalize();
    real.is_ok_and(|real| real == std::path::Path::new(path))
}

/// A name in a message.
fn shown(name: &str) -> String {
    shortened(&visible(name))
}
