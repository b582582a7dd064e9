//! The engine: start, answer, resume, cancel; the one facade for every surface.

mod driving;
mod ending;
mod equip;
mod explain;
mod people;
mod results;
mod segment;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

use placet_ledger::answers::AnswerSet;
use placet_ledger::budget::Limits;
use placet_ledger::canonical;
use placet_ledger::clock::Clock;
use placet_ledger::containment::Level;
use placet_ledger::content::{Contents, Text, Texts};
use placet_ledger::error::LedgerError;
use placet_ledger::event::Outcome;
use placet_ledger::id::{Name, RunId};
use placet_ledger::ledger::Ledger;
use placet_ledger::policy::{ApprovalPolicy, Attendance, ContainmentRule, HttpApproval};
use placet_ledger::run::{Caller, Command, RunState, Start};
use serde::Serialize;

use crate::classify::Judges;
use crate::context::Conversation;
use crate::effects::BriefError;
use crate::heard::Heard;
use crate::leases::{Claimed, LeaseError, Leases, MemoryLeases};
use crate::model::Model;
use crate::nearest::nearest;
use crate::record::{ConfigRecord, ScopeRecord, ScopeTool, Terms, WorkspaceRecord};
use crate::runner::RunnerError;
use crate::stop::Stop;
use crate::tool::registry::{Registry, Scope, ScopeError};
use crate::tool::retrieve::Results;
use driving::Driven;

pub use driving::{Elsewhere, Place};
pub use explain::{Explained, Setup, explain, nearly, over};

/// Why the engine did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The ledger refused, or failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The run cannot be driven on.
    #[error(transparent)]
    Runner(RunnerError),
    /// What a run needs is not there.
    #[error(transparent)]
    Outfit(#[from] OutfitError),
    /// A list of tools cannot be used.
    #[error(transparent)]
    Scope(#[from] ScopeError),
    /// A tool that a run may not have.
    #[error("the run does not have the tool {name:?}")]
    NoSuchTool {
        /// The name that was given.
        name: String,
        /// The tool of the run whose name is most like it.
        nearest: Option<Name>,
    },
    /// A name that no tool has.
    #[error("there is no tool {name:?}")]
    UnknownTool {
        /// The name.
        name: String,
        /// The known name that is most like it.
        nearest: Option<String>,
    },
    /// A tool is no longer what it was when the run started.
    #[error("the tool {0} has changed or gone since the run was started")]
    ToolChanged(Name),
    /// The workspace is another folder.
    #[error("the workspace {path} is no longer the folder in which the run was started")]
    WorkspaceReplaced {
        /// Its path.
        path: String,
    },
    /// It goes on, but not here.
    #[error("the run {run} is {why}")]
    Elsewhere {
        /// The run.
        run: RunId,
        /// Why not here.
        why: Elsewhere,
    },
    /// It cannot be claimed.
    #[error("cannot drive the run {run}")]
    Lease {
        /// The run.
        run: RunId,
        /// Why not.
        #[source]
        source: LeaseError,
    },
    /// The arguments are none that the tool takes.
    #[error("no proposal can be made of these arguments: {0}")]
    Arguments(String),
    /// The tool makes no proposal of these arguments.
    #[error("no proposal can be made of these arguments: {0}")]
    NoProposal(String),
    /// A content of the run cannot be read.
    #[error("the {0} of the run cannot be read")]
    Content(&'static str),
    /// A cap on cost where nobody knows what a model costs.
    #[error("the price of the model {0} is not known, so that no cap on its cost could hold")]
    UnknownPrice(String),
}

impl From<RunnerError> for EngineError {
    fn from(error: RunnerError) -> Self {
        match error {
            RunnerError::Ledger(error) => Self::Ledger(error),
            RunnerError::Brief(BriefError::Content(what)) => Self::Content(what),
            error @ (RunnerError::Brief(BriefError::Encode(_)) | RunnerError::TakenOver) => {
                Self::Runner(error)
            }
        }
    }
}

/// Why a run cannot be equipped; the source says what is wrong.
#[derive(Debug, thiserror::Error)]
pub enum OutfitError {
    /// The workspace.
    #[error("cannot work in {path}")]
    Workspace {
        /// The folder.
        path: String,
        /// Why not.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The model that judges commands.
    #[error("cannot use the classifier {spec}")]
    Classifier {
        /// The model, as the config names it.
        spec: String,
        /// Why not.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The model.
    #[error("cannot use the model {name}")]
    Model {
        /// The model.
        name: Name,
        /// Why not.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Equips runs: opens their workspace with its tools, and their model.
pub trait Outfit: Send + Sync {
    /// The tools for a workspace, and how the run's record tells of it. What they read back of a
    /// run comes from `results`.
    fn tools(
        &self,
        workspace: &Path,
        results: Arc<dyn Results>,
    ) -> Result<(WorkspaceRecord, Registry), OutfitError>;

    /// Who judges calls, as the config that was in force says.
    fn judges(&self, config: &ConfigRecord) -> Result<Judges, OutfitError>;

    /// How far this machine can shut in a process with these ports.
    fn level(&self, ports: &BTreeSet<u16>) -> Level;

    /// The model of that name, as the config that was in force says.
    fn model(&self, name: &Name, config: &ConfigRecord) -> Result<Arc<dyn Model>, OutfitError>;
}

/// What a new run is started with.
#[derive(Debug, Clone)]
pub struct NewRun {
    /// Its id.
    pub run: RunId,
    /// What a person asks for.
    pub prompt: String,
    /// What the agent is told to be.
    pub system: String,
    /// The agent.
    pub agent: Name,
    /// The model.
    pub model: Name,
    /// The config in force.
    pub config: ConfigRecord,
    /// The folder it works in.
    pub workspace: std::path::PathBuf,
    /// The tools it may have; all if absent.
    pub tools: Option<Vec<String>>,
    /// The tools it may not have.
    pub denied: Vec<String>,
    /// What becomes of calls that cannot be shut in by the whole profile.
    pub containment: ContainmentRule,
    /// What the workspace's own rules take away, as JSON.
    pub narrowing: Option<Vec<u8>>,
    /// Up to which tier gated calls run unasked.
    pub policy: ApprovalPolicy,
    /// Tools that run unasked.
    pub tool_allowlist: Vec<String>,
    /// Its caps.
    pub limits: Limits,
    /// Who is there.
    pub attendance: Attendance,
    /// How long an approval may stay unanswered.
    pub park_expiry_ms: u64,
    /// The release that starts it.
    pub binary: Name,
}

/// What may be made stricter when a run is resumed.
#[derive(Debug, Clone, Default)]
pub struct Narrowing {
    /// Caps.
    pub limits: Limits,
    /// The tools it may keep; all if absent.
    pub tools: Option<Vec<String>>,
    /// The tools it loses.
    pub denied: Vec<String>,
}

/// How driving a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// It waits: parked, or in doubt.
    Waits,
    /// It ended.
    Ended(Outcome),
    /// The driver was asked to stop.
    Interrupted,
}

/// The facade.
pub struct Engine {
    ledger: Ledger,
    outfit: Arc<dyn Outfit>,
    clock: Arc<dyn Clock>,
    place: Place,
    stop: Stop,
    heard: Heard,
    leases: Arc<dyn Leases>,
    conversations: Mutex<BTreeMap<RunId, Conversation>>,
    driving: Mutex<BTreeMap<RunId, Driven>>,
    taken: Mutex<BTreeMap<RunId, Claimed>>,
}

impl Engine {
    /// An engine over a ledger, which alone drives its runs.
    pub fn new(
        ledger: Ledger,
        outfit: Arc<dyn Outfit>,
        clock: Arc<dyn Clock>,
        place: Place,
        stop: Stop,
    ) -> Self {
        Self {
            ledger,
            outfit,
            clock,
            place,
            stop,
            heard: Heard::default(),
            leases: Arc::new(MemoryLeases::default()),
            conversations: Mutex::default(),
            driving: Mutex::default(),
            taken: Mutex::default(),
        }
    }

    /// The same beside others that drive runs of the ledger, each under one of these leases.
    #[must_use]
    pub fn leased_by(self, leases: Arc<dyn Leases>) -> Self {
        Self { leases, ..self }
    }

    /// The same, with somebody who hears what models say while they speak.
    #[must_use]
    pub fn heard_by(self, heard: Heard) -> Self {
        Self { heard, ..self }
    }

    /// The ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Starts a run; nothing is driven yet.
    pub async fn start(&self, caller: &Caller, new: NewRun) -> Result<RunId, EngineError> {
        let (workspace, registry) = self.outfit.tools(&new.workspace, self.results())?;
        self.outfit.model(&new.model, &new.config)?;
        self.outfit.judges(&new.config)?;
        affordable(&new.limits, &new.model, &new.config)?;
        let scope = Scope::new(&registry, new.tools.as_deref(), &new.denied)?;
        let allowed = Scope::new(&registry, Some(&new.tool_allowlist), &[])?;
        let tool = |tool: &crate::tool::registry::ToolRef| ScopeTool {
            definition: tool.definition,
            name: tool.name.clone(),
        };
        let record = ScopeRecord {
            http: Vec::new(),
            tools: scope.available().iter().map(tool).collect(),
            withheld: scope.withheld().to_vec(),
        };
        let mut texts = Texts::from([
            (String::from("prompt"), Text::plain(new.prompt)),
            (String::from("system"), Text::plain(new.system)),
            (
                String::from("workspace"),
                json_text(&workspace, "workspace")?,
            ),
            (String::from("scope"), json_text(&record, "scope")?),
        ]);
        if new.config != ConfigRecord::default() {
            texts.insert(String::from("config"), json_text(&new.config, "config")?);
        }
        if let Some(narrowing) = new.narrowing {
            texts.insert(String::from("narrowing"), Text::json(narrowing));
        }
        let command = Command::Start(Start {
            agent: new.agent,
            attendance: new.attendance,
            binary: new.binary,
            containment: new.containment,
            plugin: new.config.plugin.as_ref().map(|plugin| plugin.digest),
            http_approval: HttpApproval::Allow,
            limits: new.limits,
            model: new.model,
            park_expiry_ms: new.park_expiry_ms,
            policy: new.policy,
            tool_allowlist: allowed
                .available()
                .iter()
                .map(|tool| tool.name.clone())
                .collect(),
            tools: u32::try_from(record.tools.len()).unwrap_or(u32::MAX),
        });
        self.ledger.handle(new.run, caller, command, texts).await?;
        Ok(new.run)
    }

    /// Records answers to all pending calls.
    pub async fn answer(
        &self,
        run: RunId,
        caller: &Caller,
        set: AnswerSet,
    ) -> Result<(), EngineError> {
        Ok(self.ledger.answer(run, caller, set).await?)
    }

    /// Makes caps and tools of a run stricter: all of it, or nothing where a part is refused.
    pub async fn narrow(
        &self,
        run: RunId,
        caller: &Caller,
        narrowing: Narrowing,
    ) -> Result<(), EngineError> {
        let kept = self.kept_tools(run, &narrowing).await?;
        let recorded = |state: &RunState, contents: &Contents| {
            let config = equip::read(state, contents, "config").unwrap_or_default();
            affordable(&narrowing.limits, &state.started().model, &config)
        };
        self.ledger.look(run, recorded).await??;
        let mut commands = Vec::new();
        if narrowing.limits != Limits::default() {
            commands.push(Command::Tighten(narrowing.limits));
        }
        commands.extend(kept.map(Command::Narrow));
        for command in commands {
            let texts = Texts::new();
            self.ledger.handle(run, caller, command, texts).await?;
        }
        Ok(self.ledger.commit(run).await?)
    }

    /// The tools that are left of a run's, if any are taken away.
    async fn kept_tools(
        &self,
        run: RunId,
        narrowing: &Narrowing,
    ) -> Result<Option<Vec<Name>>, EngineError> {
        if narrowing.tools.is_none() && narrowing.denied.is_empty() {
            return Ok(None);
        }
        let has: Vec<Name> = self
            .ledger
            .look(run, |state, contents| {
                crate::effects::tools(state, contents)
            })
            .await?
            .map_err(|error| EngineError::from(RunnerError::from(error)))?
            .into_iter()
            .map(|tool| tool.name)
            .collect();
        let mut named = narrowing.tools.iter().flatten().chain(&narrowing.denied);
        let known = |text: &&String| has.iter().any(|name| name.as_str() == text.as_str());
        if let Some(unknown) = named.find(|text| !known(text)) {
            let near = nearest(unknown, has.iter().map(Name::as_str));
            return Err(EngineError::NoSuchTool {
                name: unknown.chars().take(160).collect(),
                nearest: near.and_then(|name| name.parse().ok()),
            });
        }
        let listed = |name: &Name, list: &[String]| list.iter().any(|t| t == name.as_str());
        let keep = |name: &&Name| {
            let tools = narrowing.tools.as_ref();
            tools.is_none_or(|tools| listed(name, tools)) && !listed(name, &narrowing.denied)
        };
        let kept: Vec<Name> = has.iter().filter(keep).cloned().collect();
        Ok((kept != has).then_some(kept))
    }
}

/// Whether a cap on cost can hold: whatever is asked has a price.
fn affordable(limits: &Limits, model: &Name, config: &ConfigRecord) -> Result<(), EngineError> {
    if limits.cost_usd.is_none() {
        return Ok(());
    }
    let unknown = |terms: &Option<Terms>| terms.is_some_and(|terms| terms.price.is_none());
    if unknown(&config.terms) {
        return Err(EngineError::UnknownPrice(model.to_string()));
    }
    match &config.classifier {
        Some(classifier) if unknown(&config.classifier_terms) => {
            Err(EngineError::UnknownPrice(classifier.clone()))
        }
        Some(_) | None => Ok(()),
    }
}

fn json_text(value: &impl Serialize, what: &'static str) -> Result<Text, EngineError> {
    canonical::to_vec(value)
        .map(Text::json)
        .map_err(|_| EngineError::Content(what))
}
