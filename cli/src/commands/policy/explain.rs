//! `placet policy explain`: what would become of a call, and which layer of the gate decides.

use std::sync::Arc;

use clap::Args;
use placet_engine::engine::{EngineError, Explained, Outfit, Setup, explain, over};
use placet_engine::nearest::nearest;
use placet_engine::policy::OverEntry;
use placet_engine::tool::NAMES;
use placet_engine::tool::registry::Scope;
use placet_engine::tool::retrieve::NoResults;
use placet_ledger::id::GrantId;
use placet_ledger::policy::EXECUTE_COMMAND;

use crate::commands::run::{Attend, attendance};
use crate::commands::runs::find;
use crate::commands::start::GateArgs;
use crate::commands::words;
use crate::error::{CommandError, Kind, NAME_CHARS_MAX};
use crate::exit::ExitStatus;
use crate::in_force;
use crate::reading;
use crate::ui::explained;
use crate::wire::policy::ExplainedOut;
use crate::wiring::Wiring;

/// Tell what the gate would say of a call, layer by layer
///
/// Without --run: as the first call of a run that is started here. The tool looks at what it would
/// change, and changes nothing. Exit 0 whatever the verdict.
///
/// Example: placet policy explain rm '{"path":"old.log"}' --auto-approve-tools rm
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// As if this run made the call now, by the first digits of its id
    #[arg(long, value_name = "R", conflicts_with_all = ["GateArgs", "park", "attend"])]
    run: Option<String>,

    /// The tool
    tool: String,

    /// The arguments of the call, as JSON; - reads standard input. Where the tool runs commands,
    /// also the command itself, behind --
    #[arg(value_name = "ARGS", required = true)]
    arguments: Vec<String>,

    #[command(flatten)]
    gated: GateArgs,

    /// As with nobody to ask now, and somebody later
    #[arg(long)]
    park: bool,

    /// Whether somebody at the terminal is asked
    #[arg(long, value_enum, default_value_t = Attend::Auto, value_name = "WHEN")]
    attend: Attend,
}

/// Explains a call.
pub(crate) fn run(args: &ExplainArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let explained = match &args.run {
        Some(prefix) => {
            let open = wiring.open_as_it_is()?;
            let run = find(wiring, &open, prefix)?;
            let arguments = arguments(args, wiring)?;
            let explained = open.engine.explain(run, &args.tool, arguments.as_bytes());
            wiring.block_on(explained)
        }
        None => of_new_run(args, wiring)?,
    };
    let explained = explained.map_err(|error| unexplained(error, &args.tool))?;
    if wiring.printer.json() {
        wiring.printer.value(&ExplainedOut::of(&explained))?;
    } else {
        let page = explained::page(&explained, &reading::look(wiring));
        wiring.printer.data(&page)?;
    }
    Ok(ExitStatus::Done)
}

/// What would become of it in a run that is started now.
fn of_new_run(
    args: &ExplainArgs,
    wiring: &mut Wiring<'_>,
) -> Result<Result<Explained, EngineError>, CommandError> {
    let arguments = arguments(args, wiring)?;
    let gated = args.gated.resolve(wiring)?;
    let (grants, over) = granted(wiring)?;
    let outfit = wiring.outfit()?;
    let (_, registry) = outfit
        .tools(&gated.workspace, Arc::new(NoResults))
        .map_err(EngineError::from)?;
    let scope = |tools: Option<&[String]>, denied: &[String]| {
        Scope::new(&registry, tools, denied).map_err(EngineError::from)
    };
    let allowed = scope(Some(&args.gated.auto_approve_tools), &[])?;
    let allowed = allowed.available().iter().map(|tool| tool.name.clone());
    let setup = Setup {
        scope: scope(gated.tools.as_deref(), &gated.denied)?,
        allowlist: allowed.collect(),
        policy: gated.policy,
        attendance: attendance(args.park, args.attend, wiring.attended()),
        containment: gated.containment,
        plugin: wiring.config()?.plugin.is_some(),
        classifier: wiring.config()?.classifier.is_some(),
        rules: in_force::text(&in_force::rules(wiring.config()?)?)?,
        narrowing: gated.narrowing,
        grants,
        over,
    };
    let explained = explain(&registry, &setup, &args.tool, arguments.as_bytes());
    Ok(wiring.block_on(explained))
}

/// What the ledger grants to every run, and what it granted before; nothing where there is none.
fn granted(wiring: &mut Wiring<'_>) -> Result<(Granted, Vec<OverEntry>), CommandError> {
    if wiring.home.is_free() {
        return Ok((Vec::new(), Vec::new()));
    }
    let open = wiring.open_as_it_is()?;
    Ok(open.ledger.look_at_authority(|bench| {
        let held = bench.grants();
        let held = held.iter().map(|held| (held.grant, held.entry.to_vec()));
        (held.collect(), over(bench))
    }))
}

/// Grants, each with its entry as its record keeps it.
type Granted = Vec<(GrantId, Vec<u8>)>;

/// The arguments of the call, which are an object. What is asked about must be there before its
/// arguments can be wrong.
fn arguments(args: &ExplainArgs, wiring: &mut Wiring<'_>) -> Result<String, CommandError> {
    let tool = &args.tool;
    if !NAMES.contains(&tool.as_str()) {
        let error = EngineError::UnknownTool {
            name: tool.chars().take(NAME_CHARS_MAX).collect(),
            nearest: nearest(tool, NAMES.into_iter()).map(str::to_owned),
        };
        return Err(error.into());
    }
    let arguments = given(args, wiring)?;
    words::is_object(arguments.as_bytes(), "the arguments")?;
    Ok(arguments)
}

/// The arguments as they were given, and their JSON where the words of a command stand for them.
fn given(args: &ExplainArgs, wiring: &mut Wiring<'_>) -> Result<String, CommandError> {
    match (&args.arguments[..], args.tool == EXECUTE_COMMAND) {
        ([one], _) if one == "-" || is_json(one) => {
            words::text(one.clone(), "the text of the arguments", wiring)
        }
        ([], true) | (_, false) if args.arguments.len() != 1 => Err(CommandError::usage(
            "expected the arguments as one JSON object",
        )),
        ([one], false) => words::text(one.clone(), "the text of the arguments", wiring),
        (words, _) => {
            let command = words.join(" ");
            Ok(serde_json::json!({ "command": command }).to_string())
        }
    }
}

/// Whether a word is an object rather than a group of commands, after whose brace no quote stands.
fn is_json(word: &str) -> bool {
    let within = word.trim_start().strip_prefix('{').map(str::trim_start);
    within.is_some_and(|within| within.is_empty() || within.starts_with(['"', '}']))
}

/// Arguments that the tool does not take are a wrong input; others it may still turn down. No layer
/// sees such a call.
fn unexplained(error: EngineError, tool: &str) -> CommandError {
    let before = "such a call is turned down before the gate";
    match error {
        error @ EngineError::NoProposal(_) => CommandError::new(Kind::Refused, error).hint(before),
        error @ EngineError::Arguments(_) => CommandError::usage(error).hint(before).hint(format!(
            "placet tools show {tool} prints what the tool takes"
        )),
        error => error.into(),
    }
}
