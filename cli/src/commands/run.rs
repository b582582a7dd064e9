//! `placet run`: start a run and stay with it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use placet_engine::engine::{EngineError, NewRun, Outfit};
use placet_engine::outfit::SCRIPT_PREFIX;
use placet_engine::record::ConfigRecord;
use placet_engine::tool::registry::Scope;
use placet_engine::tool::retrieve::NoResults;
use placet_ledger::budget::{Limits, Usd};
use placet_ledger::event::SegmentReason;
use placet_ledger::id::{Name, RunId};
use placet_ledger::limits::CONTENT_BYTES_MAX;
use placet_ledger::policy::{ApprovalPolicy, Attendance};

use crate::args::{count, duration_ms, expiry_ms};
use crate::commands::runs::{drive, report};
use crate::config::{self, Agent};
use crate::error::{CommandError, Kind};
use crate::exit::ExitStatus;
use crate::wiring::Wiring;

/// The most that a run asks its model if nothing else is said: a loop ends some time.
const ITERATIONS_DEFAULT: u64 = 50;

/// Start a run and stay with it
///
/// Example: placet run --model script:tidy.toml --park "Tidy the notes folder."
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What the agent is asked to do; - reads it from standard input
    prompt: Option<String>,

    /// An agent from the config
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// The model: script:FILE
    #[arg(long, value_name = "SPEC")]
    model: Option<String>,

    /// The folder to work in [default: the current one]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,

    /// Up to which tier gated calls run unasked
    #[arg(long, value_name = "TIER", value_parser = policy())]
    approval_policy: Option<ApprovalPolicy>,

    /// Tools that run unasked in this run
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    auto_approve_tools: Vec<String>,

    /// The tools that the run has [default: all]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    tools: Option<Vec<String>>,

    /// Tools that the run does not have; wins over --tools
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    deny_tools: Vec<String>,

    /// With nobody to ask: wait for an answer (exit 2) instead of declining
    #[arg(long)]
    park: bool,

    /// How long an approval may stay unanswered
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = expiry_ms)]
    park_expiry: u64,

    #[command(flatten)]
    caps: Caps,

    /// Write each event on standard output as it is recorded, one JSON object a line
    #[arg(long)]
    events: bool,

    /// Whether somebody at the terminal is asked; this release asks nobody there
    #[arg(long, value_enum, default_value_t = Attend::Auto, value_name = "WHEN")]
    attend: Attend,
}

/// Whether somebody at the terminal is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Attend {
    /// Where there is a terminal.
    Auto,
    /// Never.
    Never,
}

/// Caps of a run.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_field_names, reason = "they are the options' names")]
pub(crate) struct Caps {
    /// The most its model calls may cost, in US dollars
    #[arg(long, value_name = "N")]
    max_cost_usd: Option<Usd>,

    /// The most tokens it may use
    #[arg(long, value_name = "N", value_parser = count)]
    max_tokens: Option<u64>,

    /// The longest it may be active; waiting does not count
    #[arg(long, value_name = "D", value_parser = duration_ms)]
    max_duration: Option<u64>,

    /// The most times it may call the model
    #[arg(long, value_name = "N", value_parser = count)]
    max_iterations: Option<u64>,
}

impl Caps {
    /// The caps that were given.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            cost_usd: self.max_cost_usd,
            duration_ms: self.max_duration,
            iterations: self.max_iterations,
            tokens: self.max_tokens,
        }
    }
}

fn policy() -> impl TypedValueParser<Value = ApprovalPolicy> {
    PossibleValuesParser::new(ApprovalPolicy::WORDS).try_map(|word| word.parse::<ApprovalPolicy>())
}

/// Starts a run and stays with it.
pub(crate) fn run(args: RunArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let events = args.events;
    let new = new_run(args, wiring)?;
    let caller = wiring.caller()?;
    // Before a ledger is made for it.
    let outfit = wiring.outfit()?;
    let (_, registry) = outfit
        .tools(&new.workspace, Arc::new(NoResults))
        .map_err(EngineError::from)?;
    Scope::new(&registry, new.tools.as_deref(), &new.denied).map_err(EngineError::from)?;
    Scope::new(&registry, Some(&new.tool_allowlist), &[]).map_err(EngineError::from)?;
    outfit
        .model(&new.model, &new.config)
        .map_err(CommandError::usage)?;
    let mut open = wiring.open_or_create(events)?;
    let run = wiring.block_on(open.engine.start(&caller, new))?;
    wiring.printer.note(&format!("run {run}"));
    let Some(told) = open.told.take() else {
        return drive(wiring, &open, run, SegmentReason::Start, None);
    };
    let stopped = wiring.tell_while(told, open.engine.drive(run, SegmentReason::Start, None))?;
    if wiring.printer.json() {
        report(wiring, &open, run)?;
    }
    Ok(stopped?.into())
}

fn new_run(args: RunArgs, wiring: &mut Wiring<'_>) -> Result<NewRun, CommandError> {
    let (name, agent) = agent(args.agent.as_deref(), wiring)?;
    // A file that the config names lies beside the config, wherever it is used from.
    let (spec, base) = match (&args.model, &agent.model) {
        (Some(given), _) => (given, wiring.printer.io().cwd.clone()),
        (None, Some(configured)) => (configured, wiring.config_folder()),
        (None, None) => {
            return Err(
                CommandError::usage("no model was named").hint("name one with --model script:FILE")
            );
        }
    };
    let (model, config) = model(spec, &base)?;
    let folder = args.workspace.clone().unwrap_or_default();
    let workspace = wiring.printer.io().path(&folder);
    if !workspace.is_dir() {
        let what = format!("there is no folder {} to work in", workspace.display());
        return Err(CommandError::new(Kind::NotFound, what).hint("--workspace DIR names another"));
    }
    let mut denied = args.deny_tools.clone();
    denied.extend(agent.denied_tools.iter().cloned());
    denied.extend(config::workspace(&workspace)?.denied_tools);
    let mut limits = args.caps.limits();
    limits.iterations = limits.iterations.or(Some(ITERATIONS_DEFAULT));
    let configured = agent.approval_policy.map(|policy| policy.0);
    let policy = args
        .approval_policy
        .or(configured)
        .unwrap_or(ApprovalPolicy::False);
    let attendance = if args.park {
        Attendance::Park
    } else {
        Attendance::Nobody
    };
    if args.attend == Attend::Auto && !args.park && policy == ApprovalPolicy::False {
        wiring
            .printer
            .note("nobody is asked: calls that need an approval are declined (--park waits)");
    }
    let binary = env!("CARGO_PKG_VERSION").parse();
    Ok(NewRun {
        run: RunId::new(uuid::Uuid::new_v4()),
        prompt: prompt(args.prompt, wiring)?,
        system: agent.system,
        agent: name,
        model,
        config,
        workspace,
        tools: args.tools,
        denied,
        policy,
        tool_allowlist: args.auto_approve_tools,
        limits,
        attendance,
        park_expiry_ms: args.park_expiry,
        binary: binary.map_err(|error| CommandError::new(Kind::Failed, error))?,
    })
}

fn agent(named: Option<&str>, wiring: &Wiring<'_>) -> Result<(Name, Agent), CommandError> {
    let text = named.unwrap_or("default");
    let name: Name = text.parse().map_err(CommandError::usage)?;
    match (wiring.config.agents.get(text), named) {
        (Some(agent), _) => Ok((name, agent.clone())),
        (None, None) => Ok((name, Agent::default())),
        (None, Some(_)) => {
            let known: Vec<_> = wiring.config.agents.keys().map(String::as_str).collect();
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            let names = wiring.config.agents.keys().map(String::as_str);
            let error = CommandError::unknown(Kind::NotFound, "agent", text, names);
            Err(error.hint(format!("agents of the config: {known}")))
        }
    }
}

/// The model as records name it, and what is kept to find it again.
fn model(spec: &str, cwd: &Path) -> Result<(Name, ConfigRecord), CommandError> {
    let Some(file) = spec.strip_prefix(SCRIPT_PREFIX) else {
        let what = format!("cannot use the model {spec:?}: expected script:FILE");
        return Err(CommandError::usage(what));
    };
    let path = cwd.join(file);
    let path = path.canonicalize().map_err(|error| {
        let what = format!("cannot read the script {}: {error}", path.display());
        CommandError::new(Kind::NotFound, what)
    })?;
    let base = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let name = format!("{SCRIPT_PREFIX}{base}").parse().map_err(|error| {
        CommandError::usage(error).hint("the name of the script file is kept in the ledger")
    })?;
    let script = path.to_str().map(str::to_owned);
    if script.is_none() {
        return Err(CommandError::usage("the path of the script is not UTF-8"));
    }
    Ok((name, ConfigRecord { script }))
}

fn prompt(given: Option<String>, wiring: &mut Wiring<'_>) -> Result<String, CommandError> {
    let text = match given {
        Some(dash) if dash == "-" => {
            let limit = u64::try_from(CONTENT_BYTES_MAX).unwrap_or(u64::MAX);
            let bytes = wiring.printer.io().stdin_up_to(limit)?.ok_or_else(|| {
                CommandError::usage(format!("the prompt has more than {limit} bytes"))
            })?;
            String::from_utf8(bytes)
                .map_err(|_| CommandError::usage("the prompt on standard input is not UTF-8"))?
        }
        Some(text) => text,
        None => {
            return Err(CommandError::usage("no prompt was given")
                .hint("placet run \"what to do\", or - to read it from standard input"));
        }
    };
    if text.trim().is_empty() {
        return Err(CommandError::usage("the prompt is empty"));
    }
    Ok(text)
}
