//! Counted tools: four plain ones, two pairs and a question, each of which notes every time its
//! code runs.
//!
//! `look` is read-only, `note` low-risk, `act` high-risk, `shell` declares nothing; `set` and
//! `move` are pairs over a map in memory, changed by compare-and-swap on what the preview was
//! computed against. `ask_user`, `retrieve_result`,
//! `scratchpad` and `memory` are what the engine has itself.

mod change;
mod command;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use placet_engine::classify::Judges;
use placet_engine::engine::{Outfit, OutfitError};
use placet_engine::model::Model;
use placet_engine::record::{ConfigRecord, WorkspaceRecord};
use placet_engine::stop::Halt;
use placet_engine::tool::registry::{Registry, RegistryError};
use placet_engine::tool::retrieve::{self, Results};
use placet_engine::tool::spec::{Defined, Specified, ToolSpec};
use placet_engine::tool::{
    Draft, ExecuteTool, Interrupted, Output, ProposeTool, Reconciled, ToolError, memory, scratchpad,
};
use placet_ledger::containment::Level;
use placet_ledger::content::Text;
use placet_ledger::id::{CallId, Name};
use placet_ledger::permit::Permit;
use placet_ledger::policy::{ASK_USER, EXECUTE_COMMAND};
use placet_ledger::precondition::NodeId;
use placet_ledger::risk::DeclaredRisk;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::script::ScriptModel;
use change::{Change, field, node};
pub use command::SimProgram;

/// The folder that runs of a test work in; nothing on disk is ever touched.
pub const WORKSPACE: &str = "/simulated";

/// The tools: name, declared risk, properties of the arguments.
const TOOLS: [(&str, DeclaredRisk, &[&str]); 7] = [
    ("act", DeclaredRisk::HighRisk, &["what"]),
    (ASK_USER, DeclaredRisk::ReadOnly, &["question"]),
    ("look", DeclaredRisk::ReadOnly, &["key"]),
    ("move", DeclaredRisk::HighRisk, &["from", "to"]),
    ("note", DeclaredRisk::LowRisk, &["text"]),
    ("set", DeclaredRisk::HighRisk, &["key", "value"]),
    ("shell", DeclaredRisk::Unknown, &["command"]),
];

/// The tool that runs commands, which a world has only where a test wants it.
const COMMANDS: (&str, DeclaredRisk, &[&str]) =
    (EXECUTE_COMMAND, DeclaredRisk::Unknown, &["command"]);

/// What an execution does in place of its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Behaviour {
    /// It fails with these words and changes nothing.
    Fails(String),
    /// It finds its target changed.
    Stale,
    /// It may not, whoever approved it.
    Refused,
    /// It cannot tell whether it took effect.
    Doubt,
    /// The driver dies before the effect.
    VanishesBefore,
    /// The driver dies after the effect and before its outcome.
    VanishesAfter,
    /// It works, and its result is this text.
    Says(String),
    /// It tells the test that it has begun, and does its work once the test lets it go on.
    Waits,
}

/// A piece of tool code that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ran {
    /// A proposing half, for these arguments.
    Proposed(String, Value),
    /// An executing half or a plain tool.
    Executed(String, CallId),
    /// A reconciling half.
    Reconciled(String, CallId),
}

#[derive(Debug, Clone)]
struct Inner {
    map: BTreeMap<String, String>,
    behaviours: BTreeMap<CallId, Behaviour>,
    reconciled: BTreeMap<CallId, Reconciled>,
    ran: Vec<Ran>,
    gone: Vec<String>,
    changed: Vec<String>,
    root: NodeId,
    models: BTreeMap<Name, Arc<ScriptModel>>,
    commands: Option<command::Programs>,
    judges: Judges,
}

/// The counted tools of a world, and what there is outside of its ledger.
#[derive(Debug)]
pub struct Tools {
    inner: Mutex<Inner>,
    vanished: Arc<Notify>,
    reached: Arc<Notify>,
    released: Arc<Notify>,
}

impl Tools {
    /// Tools over an empty map; `vanished` is told when the driver is to die.
    pub fn new(vanished: Arc<Notify>) -> Arc<Self> {
        let inner = Inner {
            map: BTreeMap::new(),
            behaviours: BTreeMap::new(),
            reconciled: BTreeMap::new(),
            ran: Vec::new(),
            gone: Vec::new(),
            changed: Vec::new(),
            root: node(2),
            models: BTreeMap::new(),
            commands: None,
            judges: Judges::default(),
        };
        Arc::new(Self {
            inner: Mutex::new(inner),
            vanished,
            reached: Arc::default(),
            released: Arc::default(),
        })
    }

    /// The same tools over a copy of everything outside, as they are at this moment.
    pub fn copy(&self) -> Arc<Self> {
        let mut inner = self.lock().clone();
        for model in inner.models.values_mut() {
            *model = Arc::new(model.copy());
        }
        Arc::new(Self {
            inner: Mutex::new(inner),
            vanished: self.vanished.clone(),
            reached: self.reached.clone(),
            released: self.released.clone(),
        })
    }

    /// Told when a call that waits has begun, or a model that hangs is being asked.
    pub fn reached(&self) -> &Arc<Notify> {
        &self.reached
    }

    /// Lets a call that waits go on.
    pub fn release(&self) {
        self.released.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What `set` has put at a key.
    pub fn value(&self, key: &str) -> Option<String> {
        self.lock().map.get(key).cloned()
    }

    /// Puts something at a key, past every gate, as another program would.
    pub fn put(&self, key: &str, value: &str) {
        self.lock().map.insert(key.to_owned(), value.to_owned());
    }

    /// What the next execution of this call does in place of its work.
    pub fn behave(&self, call: CallId, behaviour: Behaviour) {
        self.lock().behaviours.insert(call, behaviour);
    }

    /// What reconciling this call answers in place of looking.
    pub fn reconcile_as(&self, call: CallId, answer: Reconciled) {
        self.lock().reconciled.insert(call, answer);
    }

    /// Takes a tool away, as an update does.
    pub fn remove(&self, tool: &str) {
        self.lock().gone.push(tool.to_owned());
    }

    /// Gives a tool another description, as an update does.
    pub fn redefine(&self, tool: &str) {
        self.lock().changed.push(tool.to_owned());
    }

    /// Has calls judged by these.
    pub fn judge_by(&self, judges: Judges) {
        self.lock().judges = judges;
    }

    /// Offers `execute_command` to runs that start from now on.
    pub fn offer_commands(&self) {
        self.lock().commands.get_or_insert_default();
    }

    /// What a proposal of this very command tells of its program; a shut-in one of the system, if a
    /// test says nothing. Offers `execute_command`.
    pub fn describe_command(&self, command: &str, program: SimProgram) {
        let mut inner = self.lock();
        let programs = inner.commands.get_or_insert_default();
        programs.insert(command.to_owned(), program);
    }

    /// Puts another folder where the workspace was.
    pub fn replace_workspace(&self) {
        self.lock().root = node(77);
    }

    /// Gives runs a model by this name.
    pub fn add_model(&self, name: Name, model: Arc<ScriptModel>) {
        self.lock().models.insert(name, model);
    }

    /// The model of that name.
    pub fn model(&self, name: &Name) -> Option<Arc<ScriptModel>> {
        self.lock().models.get(name).cloned()
    }

    /// Every piece of tool code that ran, in order.
    pub fn ran(&self) -> Vec<Ran> {
        self.lock().ran.clone()
    }

    /// How often a call was executed.
    pub fn executions(&self, call: CallId) -> usize {
        let executed = |ran: &&Ran| matches!(ran, Ran::Executed(_, of) if *of == call);
        self.lock().ran.iter().filter(executed).count()
    }

    /// How often anything was executed.
    pub fn executed(&self) -> usize {
        let executed = |ran: &&Ran| matches!(ran, Ran::Executed(..));
        self.lock().ran.iter().filter(executed).count()
    }

    /// How often a proposing half ran.
    pub fn proposals(&self) -> usize {
        let proposed = |ran: &&Ran| matches!(ran, Ran::Proposed(..));
        self.lock().ran.iter().filter(proposed).count()
    }

    fn registry(self: &Arc<Self>, results: Arc<dyn Results>) -> Result<Registry, RegistryError> {
        let (gone, changed, commands) = {
            let inner = self.lock();
            let commands = inner.commands.as_ref().map(|_| COMMANDS);
            (inner.gone.clone(), inner.changed.clone(), commands)
        };
        let mut registry = Registry::new();
        for (name, risk, properties) in TOOLS.into_iter().chain(commands) {
            if gone.iter().any(|tool| tool == name) {
                continue;
            }
            let has_changed = changed.iter().any(|tool| tool == name);
            let described = if has_changed { "Changed." } else { "Counted." };
            let spec = spec(name, described, risk, properties)?;
            let half = Arc::new(Counted {
                name,
                tools: self.clone(),
            });
            match name {
                ASK_USER => registry.question(spec)?,
                "set" | "move" | EXECUTE_COMMAND => registry.pair(spec, half.clone(), half)?,
                _ => registry.plain(spec, half)?,
            }
        }
        scratchpad::register(&mut registry, Arc::clone(&results))?;
        memory::register(&mut registry, Arc::clone(&results))?;
        retrieve::register(&mut registry, results)?;
        Ok(registry)
    }
}

/// A tool's spec, defined once a process: there are thousands of worlds in it.
fn spec(
    name: &'static str,
    description: &'static str,
    risk: DeclaredRisk,
    properties: &[&str],
) -> Result<Arc<Defined>, RegistryError> {
    static DEFINED: Mutex<BTreeMap<[&str; 2], Arc<Defined>>> = Mutex::new(BTreeMap::new());
    let mut defined = DEFINED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(defined) = defined.get(&[name, description]) {
        return Ok(Arc::clone(defined));
    }
    let fields: BTreeMap<_, _> = properties
        .iter()
        .map(|property| (*property, json!({"type": "string"})))
        .collect();
    let spec = ToolSpec {
        name: name.parse().map_err(RegistryError::Spelling)?,
        description: description.to_owned(),
        schema: json!({
            "type": "object",
            "properties": fields,
            "required": properties,
            "additionalProperties": false,
        }),
        risk,
        timeout_ms: None,
    };
    let spec = spec.defined()?;
    defined.insert([name, description], Arc::clone(&spec));
    Ok(spec)
}

/// The outfit of a world, as the engine takes it.
#[derive(Debug, Clone)]
pub struct SimOutfit(pub Arc<Tools>);

impl Outfit for SimOutfit {
    fn tools(
        &self,
        workspace: &Path,
        results: Arc<dyn Results>,
    ) -> Result<(WorkspaceRecord, Registry), OutfitError> {
        let path = workspace.display().to_string();
        let registry = self.0.registry(results);
        let registry = registry.map_err(|source| OutfitError::Workspace {
            path: path.clone(),
            source: Box::new(source),
        })?;
        let root = self.0.lock().root;
        Ok((WorkspaceRecord { path, root }, registry))
    }

    fn judges(&self, _: &ConfigRecord) -> Result<Judges, OutfitError> {
        Ok(self.0.lock().judges.clone())
    }

    fn level(&self, _: &BTreeSet<u16>) -> Level {
        Level::of(BTreeSet::new())
    }

    fn model(&self, name: &Name, _: &ConfigRecord) -> Result<Arc<dyn Model>, OutfitError> {
        let found = self.0.model(name);
        let model = found.ok_or_else(|| OutfitError::Model {
            name: name.clone(),
            source: "no script of that name".into(),
        })?;
        Ok(model)
    }
}

/// One counted tool.
struct Counted {
    name: &'static str,
    tools: Arc<Tools>,
}

#[async_trait]
impl ProposeTool for Counted {
    async fn propose(&self, arguments: &Value) -> Result<Draft, ToolError> {
        let mut inner = self.tools.lock();
        inner
            .ran
            .push(Ran::Proposed(self.name.to_owned(), arguments.clone()));
        if let Some(programs) = inner
            .commands
            .as_ref()
            .filter(|_| self.name == EXECUTE_COMMAND)
        {
            return Ok(command::draft(arguments, programs));
        }
        let change = Change::of(self.name, arguments, &inner.map);
        let (key, value) = (&change.key, &change.to);
        if key == "forbidden" {
            let detail = String::from("nobody may change it");
            return Err(ToolError::Refused { detail });
        }
        let before = inner.map.get(key).cloned().unwrap_or_default();
        Ok(Draft {
            arguments: arguments.clone(),
            execute_arguments: change.arguments(),
            message: format!("Set {key}."),
            preview: Some(format!("--- {key}\n+++ {key}\n-{before}\n+{value}\n")),
            precondition: change.precondition(&inner.map),
            known_as: Vec::new(),
            process: None,
        })
    }
}

impl Counted {
    /// Does the work of the tool.
    fn work(&self, permitted: &placet_ledger::permit::Granted) -> Result<Text, ToolError> {
        let mut inner = self.tools.lock();
        match self.name {
            "set" | "move" => {
                let change = Change::told(&permitted.arguments);
                let expected = change.precondition(&inner.map);
                let Change { key, from, to } = change;
                if permitted.precondition.as_ref() != Some(&expected) {
                    let detail = format!("{key} has changed since.");
                    return Err(ToolError::Stale { detail });
                }
                if let Some(from) = from {
                    inner.map.remove(&from);
                }
                inner.map.insert(key.clone(), to);
                Ok(Text::plain(format!("{key} is set.")))
            }
            "look" => {
                let key = field(&permitted.arguments, "key");
                let value = inner.map.get(&key).cloned();
                Ok(Text::plain(value.unwrap_or_else(|| "nothing".to_owned())))
            }
            name => Ok(Text::plain(format!("{name} is done."))),
        }
    }

    async fn vanish(&self) -> ! {
        self.tools.vanished.notify_one();
        std::future::pending().await
    }
}

#[async_trait]
impl ExecuteTool for Counted {
    async fn execute(&self, permit: Permit, _: &Halt) -> Result<Output, ToolError> {
        let call = permit.call();
        let behaviour = {
            let mut inner = self.tools.lock();
            inner.ran.push(Ran::Executed(self.name.to_owned(), call));
            inner.behaviours.remove(&call)
        };
        let permitted = permit.spend();
        // A driver can be dropped just before and just after the effect.
        tokio::task::yield_now().await;
        let result = match behaviour {
            None => self.work(&permitted)?,
            Some(Behaviour::Says(text)) => {
                self.work(&permitted)?;
                Text::plain(text)
            }
            Some(Behaviour::Fails(detail)) => return Err(ToolError::Failed { detail }),
            Some(Behaviour::Refused) => {
                let detail = String::from("it may not be done");
                return Err(ToolError::Refused { detail });
            }
            Some(Behaviour::Stale) => {
                let detail = String::from("the target has changed.");
                return Err(ToolError::Stale { detail });
            }
            Some(Behaviour::Doubt) => {
                let detail = String::from("it broke off");
                return Err(ToolError::InDoubt { detail });
            }
            Some(Behaviour::Waits) => {
                self.tools.reached.notify_one();
                self.tools.released.notified().await;
                self.work(&permitted)?
            }
            Some(Behaviour::VanishesBefore) => self.vanish().await,
            Some(Behaviour::VanishesAfter) => {
                self.work(&permitted)?;
                self.vanish().await
            }
        };
        tokio::task::yield_now().await;
        Ok(Output::of(result))
    }

    async fn reconcile(&self, interrupted: Interrupted<'_>) -> Result<Reconciled, ToolError> {
        let mut inner = self.tools.lock();
        let call = interrupted.call;
        inner.ran.push(Ran::Reconciled(self.name.to_owned(), call));
        if let Some(answer) = inner.reconciled.get(&call) {
            return Ok(answer.clone());
        }
        if self.name == "look" {
            return Ok(Reconciled::NotDone);
        }
        if !["set", "move"].contains(&self.name) {
            return Ok(Reconciled::Unknown);
        }
        let change = Change::told(interrupted.arguments);
        let before = change.precondition(&inner.map);
        if inner.map.get(&change.key) == Some(&change.to) {
            let done = format!("{} is set.", change.key);
            Ok(Reconciled::Done(Text::plain(done)))
        } else if interrupted.precondition == Some(&before) {
            Ok(Reconciled::NotDone)
        } else {
            Ok(Reconciled::Unknown)
        }
    }
}
