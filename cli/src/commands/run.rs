//! `placet run`: start a run and stay with it.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use placet_engine::engine::{EngineError, NewRun, Outfit};
use placet_engine::outfit::LocalOutfit;
use placet_engine::record::ConfigRecord;
use placet_engine::tool::retrieve::NoResults;
use placet_ledger::budget::{Limits, Usd};
use placet_ledger::event::SegmentReason;
use placet_ledger::id::{Name, RunId};
use placet_ledger::policy::{ApprovalPolicy, Attendance, EXECUTE_COMMAND};

use crate::args::{count, duration_ms, expiry_ms};
use crate::commands::attend::{self, Drive};
use crate::commands::ready;
use crate::commands::start::GateArgs;
use crate::commands::words;
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

    /// The model: NAME:ID of anthropic, openai, ollama or a server of the config, or script:FILE
    #[arg(long, value_name = "SPEC")]
    model: Option<String>,

    #[command(flatten)]
    gated: GateArgs,

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

    /// Whether somebody at the terminal is asked
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

/// Who is there to be asked; `person` is whether one sits at the terminal.
pub(crate) const fn attendance(park: bool, attend: Attend, person: bool) -> Attendance {
    match (attend, person, park) {
        (Attend::Auto, true, _) => Attendance::Person,
        (Attend::Auto | Attend::Never, _, true) => Attendance::Park,
        (Attend::Auto | Attend::Never, _, false) => Attendance::Nobody,
    }
}

/// Starts a run and stays with it.
pub(crate) fn run(args: RunArgs, wiring: &mut Wiring<'_>) -> Result<ExitStatus, CommandError> {
    let events = args.events;
    // What it cannot have is told before a ledger is made for it, and first what is wrong with the
    // config.
    wiring.config()?;
    let outfit = wiring.outfit()?;
    let new = new_run(args, &outfit, wiring)?;
    let attendance = new.attendance;
    let caller = wiring.caller()?;
    let (_, registry) = outfit
        .tools(&new.workspace, Arc::new(NoResults))
        .map_err(EngineError::from)?;
    let tools = new.tools.as_deref();
    ready::tools(&registry, tools, &new.denied, &new.tool_allowlist)?;
    let mut open = wiring.open_or_create(events)?;
    let run = wiring.block_on(open.engine.start(&caller, new))?;
    wiring.printer.note(&format!("run {run}"));
    let how = Drive {
        reason: SegmentReason::Start,
        attendance: Some(attendance),
        events,
        said: false,
    };
    attend::drive(wiring, &mut open, run, how)
}

fn new_run(
    args: RunArgs,
    outfit: &LocalOutfit,
    wiring: &mut Wiring<'_>,
) -> Result<NewRun, CommandError> {
    let gated = args.gated.resolve(wiring)?;
    // A file that the config names lies beside the config, wherever it is used from.
    let (spec, base) = match (&args.model, &gated.agent.model) {
        (Some(given), _) => (given, wiring.printer.io().cwd.clone()),
        (None, Some(configured)) => (configured, wiring.config_folder()),
        (None, None) => {
            return Err(CommandError::usage("no model was named").hint(
                "name one with --model, such as ollama:qwen3, anthropic:claude-opus-5 or script:FILE",
            ));
        }
    };
    let (model, config) = chosen(spec, &base, &gated.workspace, outfit, wiring)?;
    let mut limits = args.caps.limits().strictest(gated.agent.limits());
    ready::priced(&limits, &model, &config)?;
    limits.iterations = limits.iterations.or(Some(ITERATIONS_DEFAULT));
    let attendance = attendance(args.park, args.attend, wiring.attended());
    let nobody = attendance == Attendance::Nobody;
    if nobody && gated.policy < ApprovalPolicy::HighRisk {
        wiring
            .printer
            .note("nobody is asked: calls that need an approval are declined (--park waits)");
    }
    if args
        .gated
        .auto_approve_tools
        .iter()
        .any(|tool| tool == EXECUTE_COMMAND)
    {
        wiring.printer.warn(
            "every command runs unasked in this run, but for those that do more than their words \
             say: a command allowed by its key is safer",
        );
    }
    let binary = env!("CARGO_PKG_VERSION").parse();
    Ok(NewRun {
        containment: gated.containment,
        narrowing: gated.narrowing,
        run: RunId::new(uuid::Uuid::new_v4()),
        prompt: prompt(args.prompt, wiring)?,
        system: gated.agent.system,
        agent: gated.name,
        model,
        config,
        workspace: gated.workspace,
        tools: gated.tools,
        denied: gated.denied,
        policy: gated.policy,
        tool_allowlist: args.gated.auto_approve_tools,
        limits,
        attendance,
        park_expiry_ms: args.park_expiry,
        binary: binary.map_err(|error| CommandError::new(Kind::Failed, error))?,
    })
}

/// The model of the run, and what is kept of it and of who judges its calls.
fn chosen(
    spec: &str,
    base: &Path,
    workspace: &Path,
    outfit: &LocalOutfit,
    wiring: &mut Wiring<'_>,
) -> Result<(Name, ConfigRecord), CommandError> {
    let (models, beside) = (wiring.models(), wiring.config_folder());
    let config = wiring.config()?;
    let with = ready::With {
        outfit,
        models: &models,
        config,
        beside: &beside,
    };
    let (model, record) = ready::model(with, spec, base)?;
    let record = ready::judges(with, workspace, (Some(&model), record))?;
    if config.classifier.is_some() && record.classifier.is_none() {
        wiring.printer.warn(
            "the classifier is the model of this run, which never judges its own calls: commands \
             that no rule knows are high-risk",
        );
    }
    Ok((model, record))
}

fn prompt(given: Option<String>, wiring: &mut Wiring<'_>) -> Result<String, CommandError> {
    let given = given.ok_or_else(|| {
        CommandError::usage("no prompt was given")
            .hint("placet run \"what to do\", or - to read it from standard input")
    })?;
    words::text(given, "the prompt", wiring)
}
