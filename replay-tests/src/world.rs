//! A whole engine in memory: store, gate, simulated clock, counting stamps, scripted model, counted
//! tools, and one driver that can die and come back as a new process would.

use placet_ledger::policy::ContainmentRule;
use std::collections::BTreeMap;
use std::sync::Arc;

use placet_engine::engine::{Engine, EngineError, Narrowing, NewRun, Stopped};
use placet_engine::policy::Gate;
use placet_engine::record::ConfigRecord;
use placet_engine::stop::Stop;
use placet_ledger::answers::{AnswerSet, CoverageError};
use placet_ledger::approval::{Answer, Assurance, CallAnswer, Channel};
use placet_ledger::budget::Limits;
use placet_ledger::clock::Clock;
use placet_ledger::digest::Digest;
use placet_ledger::envelope::RecordError;
use placet_ledger::error::LedgerError;
use placet_ledger::event::{LedgerCreated, Outcome, PublicKey, SegmentReason};
use placet_ledger::id::{AnswerId, CallId, HostId, IdError, LedgerId, Name, RunId, StreamId};
use placet_ledger::judge::Judge;
use placet_ledger::ledger::{Ledger, NewLedger, local_principal};
use placet_ledger::owner::Parts;
use placet_ledger::policy::{ApprovalPolicy, Attendance};
use placet_ledger::run::{Caller, Rejection, RunState};
use placet_ledger::store::memory::MemoryStore;
use placet_ledger::store::{EventStore, ReadError};
use placet_ledger::time::Timestamp;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::script::{Script, ScriptModel};
use crate::stamps::{CountingStamps, SimClock};
use crate::tools::{SimOutfit, Tools, WORKSPACE};

/// Why a world did not do what a test asked.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The engine refused, or failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The ledger refused, or failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The answers do not cover what is pending.
    #[error(transparent)]
    Coverage(#[from] CoverageError),
    /// A name or an id that is none.
    #[error(transparent)]
    Id(#[from] IdError),
    /// A record that cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The store cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl WorldError {
    /// Why the ledger rejected a command, if it did.
    pub fn rejection(&self) -> Option<&Rejection> {
        match self {
            Self::Engine(EngineError::Ledger(LedgerError::Rejected(why)))
            | Self::Ledger(LedgerError::Rejected(why)) => Some(why),
            Self::Engine(_)
            | Self::Ledger(_)
            | Self::Coverage(_)
            | Self::Id(_)
            | Self::Record(_)
            | Self::Read(_) => None,
        }
    }
}

/// What a run is started with; the default is a parked run under policy `false` with every tool.
#[derive(Debug, Clone)]
pub struct Options {
    /// Up to which tier gated calls run unasked.
    pub policy: ApprovalPolicy,
    /// Who is there.
    pub attendance: Attendance,
    /// The tools it may have; all if absent.
    pub tools: Option<Vec<String>>,
    /// The tools it may not have.
    pub denied: Vec<String>,
    /// Tools that run unasked.
    pub allowlist: Vec<String>,
    /// Its caps.
    pub limits: Limits,
    /// How long an approval may stay unanswered.
    pub park_expiry_ms: u64,
    /// What a person asks for.
    pub prompt: String,
    /// The config in force.
    pub config: ConfigRecord,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            policy: ApprovalPolicy::False,
            attendance: Attendance::Park,
            tools: None,
            denied: Vec::new(),
            allowlist: Vec::new(),
            limits: Limits::default(),
            park_expiry_ms: 86_400_000,
            prompt: String::from("Do it."),
            config: ConfigRecord::default(),
        }
    }
}

/// How driving ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drove {
    /// The run waits.
    Waits,
    /// The run ended.
    Ended(Outcome),
    /// The driver was asked to stop.
    Interrupted,
    /// The driver died; nothing of it is left but what the store holds.
    Vanished,
}

/// A whole engine in memory.
pub struct World {
    store: Arc<dyn EventStore>,
    /// The time, which stands until a test moves it.
    pub clock: Arc<SimClock>,
    /// The tools, and what they changed.
    pub tools: Arc<Tools>,
    stamps: Arc<CountingStamps>,
    vanished: Arc<Notify>,
    stop: Stop,
    models: BTreeMap<RunId, (Name, Arc<ScriptModel>)>,
    judge: Arc<dyn Judge>,
    engine: Engine,
}

/// The ledger of every world.
pub const fn ledger_id() -> LedgerId {
    LedgerId::new(Uuid::from_u128(0x1ed6_e7ed_0000_4000_8000_0000_0000_0001))
}

/// The person of every world, at the command line.
pub fn person() -> Result<Caller, IdError> {
    Ok(Caller::Person {
        principal: local_principal(1000)?,
        channel: Channel::Cli,
        assurance: Assurance::SameUser,
    })
}

impl World {
    /// A world over a new store in memory.
    pub async fn new() -> Result<Self, WorldError> {
        Self::over(Arc::new(MemoryStore::new(ledger_id()))).await
    }

    /// A world over an empty store, in which a ledger is created.
    pub async fn over(store: Arc<dyn EventStore>) -> Result<Self, WorldError> {
        let clock = Arc::new(SimClock::default());
        let stamps = Arc::new(CountingStamps::new(clock.clone()));
        let new = NewLedger {
            ledger: ledger_id(),
            created: LedgerCreated {
                format: 1,
                journal: StreamId::new(stamps.uuid()),
                key: PublicKey::from_bytes([1; 32]),
                recovery: PublicKey::from_bytes([2; 32]),
            },
            rules: b"{\"rules\":[]}".to_vec(),
            by: local_principal(1000)?,
        };
        Box::pin(Ledger::create(&*store, &*stamps, new)).await?;
        Self::open(store, clock, stamps).await
    }

    /// A world over a store that holds a ledger already.
    pub async fn open(
        store: Arc<dyn EventStore>,
        clock: Arc<SimClock>,
        stamps: Arc<CountingStamps>,
    ) -> Result<Self, WorldError> {
        let vanished = Arc::new(Notify::new());
        let tools = Tools::new(vanished.clone());
        let stop = Stop::default();
        let judge: Arc<dyn Judge> = Arc::new(Gate);
        let ledger = open(&store, &clock, &stamps, &judge).await?;
        let engine = engine(ledger, &clock, (&tools, &stop));
        Ok(Self {
            store,
            clock,
            tools,
            stamps,
            vanished,
            stop,
            models: BTreeMap::new(),
            judge,
            engine,
        })
    }

    /// The same world under another judge than the gate.
    pub async fn judged_by(self, judge: Arc<dyn Judge>) -> Result<Self, WorldError> {
        let mut world = Self { judge, ..self };
        world.restart().await?;
        Ok(world)
    }

    /// Who judges calls in this world.
    pub fn judge(&self) -> &Arc<dyn Judge> {
        &self.judge
    }

    /// What a crash leaves of this world: this store and these tools, with a new process.
    pub async fn left(
        &self,
        store: Arc<dyn EventStore>,
        tools: Arc<Tools>,
    ) -> Result<Self, WorldError> {
        self.left_at(store, tools, self.clock.now()).await
    }

    /// The same for a crash at another time.
    pub async fn left_at(
        &self,
        store: Arc<dyn EventStore>,
        tools: Arc<Tools>,
        at: Timestamp,
    ) -> Result<Self, WorldError> {
        let clock = Arc::new(SimClock::standing_at(at));
        let stamps = Arc::new(self.stamps.with_clock(clock.clone()));
        let stop = Stop::default();
        let ledger = open(&store, &clock, &stamps, &self.judge).await?;
        let engine = engine(ledger, &clock, (&tools, &stop));
        let same = |(name, model): &(Name, Arc<ScriptModel>)| {
            let found = tools.model(name).unwrap_or_else(|| model.clone());
            (name.clone(), found)
        };
        let models = self.models.iter().map(|(run, model)| (*run, same(model)));
        let models = models.collect();
        Ok(Self {
            store,
            clock,
            tools,
            stamps,
            vanished: self.vanished.clone(),
            stop,
            models,
            judge: self.judge.clone(),
            engine,
        })
    }

    /// The engine of the present process.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The ledger of the present process.
    pub fn ledger(&self) -> &Ledger {
        self.engine.ledger()
    }

    /// The ids and salts of this world.
    pub fn stamps(&self) -> &Arc<CountingStamps> {
        &self.stamps
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn EventStore> {
        &self.store
    }

    /// The ledger as another process has it, over the same store and with nothing else in common.
    pub async fn another_ledger(&self) -> Result<Ledger, WorldError> {
        open(&self.store, &self.clock, &self.stamps, &self.judge).await
    }

    /// Ends this process and begins another: engine and ledger are new, the store is the same.
    pub async fn restart(&mut self) -> Result<(), WorldError> {
        self.stop = Stop::default();
        let ledger = self.another_ledger().await?;
        self.engine = engine(ledger, &self.clock, (&self.tools, &self.stop));
        Ok(())
    }

    /// Starts a run; nothing is driven yet.
    pub async fn start(&mut self, script: Script, options: Options) -> Result<RunId, WorldError> {
        let run = RunId::new(self.stamps.uuid());
        let model: Name = format!("script-{}", self.models.len()).parse()?;
        let reached = self.tools.reached().clone();
        let scripted = Arc::new(ScriptModel::new(script, self.vanished.clone(), reached));
        self.tools.add_model(model.clone(), scripted.clone());
        self.models.insert(run, (model.clone(), scripted));
        let new = NewRun {
            containment: ContainmentRule::Prefer,
            narrowing: None,
            run,
            prompt: options.prompt,
            system: String::from("You are tested."),
            agent: "default".parse()?,
            model,
            config: options.config,
            workspace: WORKSPACE.into(),
            tools: options.tools,
            denied: options.denied,
            policy: options.policy,
            tool_allowlist: options.allowlist,
            limits: options.limits,
            attendance: options.attendance,
            park_expiry_ms: options.park_expiry_ms,
            binary: "0.1.0".parse()?,
        };
        Ok(self.engine.start(&person()?, new).await?)
    }

    /// Drives a run until it waits, ends, or the driver dies. After a death, the process is a new
    /// one.
    pub async fn drive(&mut self, run: RunId) -> Result<Drove, WorldError> {
        self.drive_as(run, None).await
    }

    /// As [`Self::drive`], with somebody or nobody there, whatever was so at the start.
    pub async fn drive_as(
        &mut self,
        run: RunId,
        attendance: Option<Attendance>,
    ) -> Result<Drove, WorldError> {
        let first = |state: &RunState| state.epoch() == 0;
        let is_new = self.ledger().look(run, |state, _| first(state)).await?;
        let reason = if is_new {
            SegmentReason::Start
        } else {
            SegmentReason::Resumed
        };
        let stopped = tokio::select! {
            stopped = Box::pin(self.engine.drive(run, reason, attendance)) => Some(stopped?),
            () = self.vanished.notified() => None,
        };
        Ok(match stopped {
            Some(Stopped::Waits) => Drove::Waits,
            Some(Stopped::Ended(outcome)) => Drove::Ended(outcome),
            Some(Stopped::Interrupted) => Drove::Interrupted,
            None => {
                self.restart().await?;
                Drove::Vanished
            }
        })
    }

    /// Starts a run and drives it.
    pub async fn run(
        &mut self,
        script: Script,
        options: Options,
    ) -> Result<(RunId, Drove), WorldError> {
        let run = self.start(script, options).await?;
        let drove = self.drive(run).await?;
        Ok((run, drove))
    }

    /// Takes a run up again as a new process.
    pub async fn resume(&mut self, run: RunId) -> Result<Drove, WorldError> {
        self.restart().await?;
        self.drive(run).await
    }

    /// Makes a run stricter and then takes it up again, as a new process.
    pub async fn resume_narrowed(
        &mut self,
        run: RunId,
        narrowing: Narrowing,
    ) -> Result<Drove, WorldError> {
        self.restart().await?;
        self.engine.narrow(run, &person()?, narrowing).await?;
        self.drive(run).await
    }

    /// Cancels a run.
    pub async fn cancel(&self, run: RunId, note: &str) -> Result<Drove, WorldError> {
        let note = Some(note.to_owned());
        Ok(match self.engine.cancel(run, &person()?, note).await? {
            Stopped::Waits => Drove::Waits,
            Stopped::Ended(outcome) => Drove::Ended(outcome),
            Stopped::Interrupted => Drove::Interrupted,
        })
    }

    /// Asks whoever drives to stop; a new process is not asked any more.
    pub fn stop(&self) {
        self.stop.raise();
    }

    /// A fresh id for a set of answers.
    pub fn answer_id(&self) -> AnswerId {
        AnswerId::new(self.stamps.uuid())
    }

    /// The answers to everything that is pending now, as `verdict` says call by call.
    pub async fn answers(
        &self,
        run: RunId,
        verdict: impl Fn(CallId) -> (Answer, Option<String>),
    ) -> Result<AnswerSet, WorldError> {
        let pending = self.pending(run).await?;
        let line = |(&call, &request): (&CallId, &Digest)| {
            let (answer, note) = verdict(call);
            CallAnswer {
                call,
                request,
                answer,
                note,
            }
        };
        let lines: Vec<_> = pending.iter().map(line).collect();
        Ok(AnswerSet::covering(self.answer_id(), &pending, lines)?)
    }

    /// Records answers to all pending calls; nothing is driven.
    pub async fn answer(
        &self,
        run: RunId,
        verdict: impl Fn(CallId) -> (Answer, Option<String>),
    ) -> Result<(), WorldError> {
        let set = self.answers(run, verdict).await?;
        Ok(self.engine.answer(run, &person()?, set).await?)
    }

    /// Approves everything that is pending.
    pub async fn approve(&self, run: RunId) -> Result<(), WorldError> {
        self.answer(run, |_| (Answer::Approve, None)).await
    }

    /// Denies everything that is pending, with a note.
    pub async fn deny(&self, run: RunId, note: &str) -> Result<(), WorldError> {
        let note = Some(note.to_owned());
        self.answer(run, |_| (Answer::Deny, note.clone())).await
    }

    /// What waits for an answer, with the digests of its requests.
    pub async fn pending(&self, run: RunId) -> Result<BTreeMap<CallId, Digest>, WorldError> {
        let ledger = self.ledger();
        Ok(ledger.look(run, |state, _| state.pending()).await?)
    }

    /// The folded state of a run, as a new process reads it from the store.
    pub async fn state(&self, run: RunId) -> Result<RunState, WorldError> {
        let ledger = self.another_ledger().await?;
        Ok(ledger.look(run, |state, _| state.clone()).await?)
    }

    /// The model of a run: what it was sent, and what it was told.
    pub fn model(&self, run: RunId) -> Option<&Arc<ScriptModel>> {
        self.models.get(&run).map(|(_, model)| model)
    }

    /// What the model was told came of the calls so far, in its newest request.
    pub fn told(&self, run: RunId) -> Vec<String> {
        self.model(run)
            .map(|model| model.told())
            .unwrap_or_default()
    }
}

async fn open(
    store: &Arc<dyn EventStore>,
    clock: &Arc<SimClock>,
    stamps: &Arc<CountingStamps>,
    judge: &Arc<dyn Judge>,
) -> Result<Ledger, WorldError> {
    let parts = Parts {
        store: store.clone(),
        judge: judge.clone(),
        clock: clock.clone(),
        stamps: stamps.clone(),
        rows: None,
    };
    Ok(Ledger::open(parts).await?)
}

fn engine(ledger: Ledger, clock: &Arc<SimClock>, (tools, stop): (&Arc<Tools>, &Stop)) -> Engine {
    let outfit = Arc::new(SimOutfit(tools.clone()));
    let host = HostId::new(Uuid::from_u128(0x405));
    Engine::new(ledger, outfit, clock.clone(), host, stop.clone())
}
