//! Runs that play from a script to their end, however often the process dies on the way: what
//! crash tests compare.

mod people;

pub use people::spoken;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use placet_engine::engine::EngineError;
use placet_ledger::approval::Answer;
use placet_ledger::clock::Clock;
use placet_ledger::error::LedgerError;
use placet_ledger::event::{Outcome, Settlement};
use placet_ledger::id::{CallId, RunId};
use placet_ledger::policy::ApprovalPolicy;
use placet_ledger::run::{Call, Phase, RunState};
use placet_ledger::store::EventStore;
use placet_ledger::time::Timestamp;
use serde_json::{Value, json};

use crate::facts;
use crate::people::Impatient;
use crate::script::{Script, call, raw_call};
use crate::tools::{Behaviour, Tools};
use crate::world::{Drove, Options, World, WorldError};

/// How often a run is taken up before a test gives up on it.
const TAKEN_UP_MAX: usize = 24;

/// A run with everything that happens around it.
pub struct Play {
    /// What it is called in failures.
    pub name: &'static str,
    script: fn() -> Script,
    policy: ApprovalPolicy,
    /// Who judges; the gate if absent.
    judge: Option<Impatient>,
    /// The calls that are turned down, by number.
    denied: &'static [u32],
    /// The calls whose tools are allowed for good with the approval, by number.
    always: &'static [u32],
    /// What the person of the play has to say at this point, beside answering.
    says: fn(&RunState, Timestamp) -> Option<Word>,
    /// Whether it takes until something expires.
    slow: bool,
    /// The calls whose end depends on how far they were when a person spoke.
    loose: &'static [u32],
    /// What is outside before the run begins.
    prepare: fn(&Tools),
    /// What other programs do once somebody has answered.
    interfere: fn(&Tools),
}

/// What a run came to, ids and times left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// How it ended; none where it waits for somebody who can settle a doubt.
    pub outcome: Option<Outcome>,
    /// How far each call came.
    pub phases: BTreeMap<CallId, Phase>,
    /// What is at the keys that the scripts name.
    pub values: Vec<Option<String>>,
    /// The calls whose tool cannot tell what became of them.
    pub untold: BTreeSet<CallId>,
}

/// What a person of a play says beside answering, or lets pass.
#[derive(Debug, Clone, PartialEq)]
pub enum Word {
    /// Gives a pending call other arguments.
    Amend(CallId, Value),
    /// Takes an approval back.
    Revoke(CallId),
    /// Replies to a question.
    Reply(CallId),
    /// Says what became of a call in doubt.
    Settle(CallId, Settlement),
    /// Adds a message.
    Prompt,
    /// Changes the policy.
    Policy(ApprovalPolicy),
    /// Ends the run.
    Cancel,
    /// Waits until this time.
    Wait(Timestamp),
}

fn nothing(_: &Tools) {}

const fn silent(_: &RunState, _: Timestamp) -> Option<Word> {
    None
}

/// A play in which nothing happens but what its script says, and everything is approved.
fn play(name: &'static str, script: fn() -> Script) -> Play {
    Play {
        name,
        script,
        policy: ApprovalPolicy::False,
        judge: None,
        denied: &[],
        always: &[],
        says: silent,
        slow: false,
        loose: &[],
        prepare: nothing,
        interfere: nothing,
    }
}

fn set(key: &str, value: &str) -> placet_engine::model::ReplyCall {
    call("set", &json!({"key": key, "value": value}))
}

/// Every play.
pub fn plays() -> Vec<Play> {
    let mut plays = answered();
    plays.extend(spoken());
    plays
}

/// The plays in which people approve and deny, and do no more.
pub fn answered() -> Vec<Play> {
    vec![
        Play {
            policy: ApprovalPolicy::ReadOnly,
            ..play("a mixed batch", mixed)
        },
        Play {
            denied: &[2, 3],
            ..play("approvals, denials and a second turn", two_turns)
        },
        Play {
            policy: ApprovalPolicy::HighRisk,
            ..play("nobody is asked", two_turns)
        },
        Play {
            prepare: |tools| tools.behave(facts::call(2), Behaviour::Fails("it broke".into())),
            ..play("a failing tool", mixed)
        },
        Play {
            interfere: |tools| tools.put("a", "theirs"),
            ..play("a target that changes after the answer", || {
                Script::new().calls([set("a", "1")]).says("Done.")
            })
        },
        play("calls that are none", || {
            let calls = [
                set("forbidden", "1"),
                call("telepathy", &json!({})),
                raw_call("set", "{\"key\":"),
                call("set_execute", &json!({"key": "a", "to": "1"})),
                set("b", "2"),
            ];
            Script::new().calls(calls).says("Done.")
        }),
    ]
}

fn mixed() -> Script {
    let calls = [
        call("look", &json!({"key": "a"})),
        call("act", &json!({"what": "it"})),
        set("a", "1"),
        set("b", "2"),
    ];
    Script::new().calls(calls).says("Done.")
}

fn two_turns() -> Script {
    Script::new()
        .calls([set("a", "1"), set("b", "2"), set("c", "3")])
        .calls([set("a", "4"), call("look", &json!({"key": "a"}))])
        .says("Done.")
}

impl Play {
    /// A world for this play over an empty store.
    pub async fn world(&self, store: Arc<dyn EventStore>) -> Result<World, WorldError> {
        let world = World::over(store).await?;
        match self.judge {
            Some(judge) => world.judged_by(Arc::new(judge)).await,
            None => Ok(world),
        }
    }

    /// Whether the play takes until something expires.
    pub const fn is_slow(&self) -> bool {
        self.slow
    }

    /// Whether the end of this call depends on how far it was when a person spoke.
    pub fn is_loose(&self, call: CallId) -> bool {
        is_among(self.loose, call)
    }

    /// Starts the run; nothing is driven yet.
    pub async fn start(&self, world: &mut World) -> Result<RunId, WorldError> {
        (self.prepare)(&world.tools);
        let options = Options {
            policy: self.policy,
            ..Options::default()
        };
        world.start((self.script)(), options).await
    }

    /// What the person of the play says.
    pub fn verdict(&self, call: CallId) -> (Answer, Option<String>) {
        if is_among(self.denied, call) {
            (Answer::Deny, Some(String::from("Leave it.")))
        } else if is_among(self.always, call) {
            (Answer::ApproveAlways, None)
        } else {
            (Answer::Approve, None)
        }
    }

    /// Drives the run once, with nobody answering.
    pub async fn drive(&self, world: &mut World, run: RunId) -> Result<Drove, WorldError> {
        let answered = |state: &RunState| state.calls().any(|call| call.grant().is_some());
        if world.ledger().look(run, |state, _| answered(state)).await? {
            (self.interfere)(&world.tools);
        }
        world.drive(run).await
    }

    /// What the person of the play has to say now, if anything.
    async fn word(&self, world: &World, run: RunId) -> Result<Option<Word>, WorldError> {
        let now = world.clock.now();
        let says = |state: &RunState| {
            state
                .outcome()
                .map_or_else(|| (self.says)(state, now), |_| None)
        };
        Ok(world.ledger().look(run, |state, _| says(state)).await?)
    }

    /// Says all that the person of the play has to say now.
    ///
    /// # Panics
    ///
    /// If the person does not come to an end.
    async fn speak(&self, world: &World, run: RunId) -> Result<(), WorldError> {
        for _ in 0..TAKEN_UP_MAX {
            let Some(word) = self.word(world, run).await? else {
                return Ok(());
            };
            match word {
                Word::Amend(call, arguments) => {
                    world.amend(run, call, &arguments).await?;
                }
                Word::Revoke(call) => world.revoke(run, call, Some("No.")).await?,
                Word::Reply(call) => world.reply(run, call, "Either.").await?,
                Word::Settle(call, verdict) => world.settle(run, call, verdict, None).await?,
                Word::Prompt => world.prompt(run, "And be quick.").await?,
                Word::Policy(policy) => world.change_policy(run, policy, None).await?,
                Word::Cancel => {
                    world.cancel(run, "enough").await?;
                }
                Word::Wait(until) => {
                    let ms = until.ms_since(world.clock.now());
                    world.clock.advance_ms(ms);
                }
            }
        }
        panic!("{}: the person does not come to an end", self.name)
    }

    /// Plays the run on to its end, or until nobody can help it any more.
    ///
    /// # Panics
    ///
    /// If an answer that was acknowledged is not there, or the run does not come to an end.
    pub async fn on(&self, world: &mut World, run: RunId) -> Result<End, WorldError> {
        for _ in 0..TAKEN_UP_MAX {
            self.speak(world, run).await?;
            match self.drive(world, run).await? {
                Drove::Ended(_) => return self.end(world, run).await,
                Drove::Vanished | Drove::Interrupted => {}
                Drove::Waits if self.word(world, run).await?.is_some() => {}
                // Too late to answer: the next driver closes it.
                Drove::Waits if is_late(world, run).await? => {}
                Drove::Waits if world.pending(run).await?.is_empty() => {
                    return self.end(world, run).await;
                }
                Drove::Waits => {
                    world.answer(run, |call| self.verdict(call)).await?;
                    let pending = world.state(run).await?.pending();
                    assert!(
                        pending.is_empty(),
                        "{}: a lost answer: {pending:?}",
                        self.name
                    );
                }
            }
        }
        panic!("{}: the run does not come to its end", self.name)
    }

    async fn end(&self, world: &World, run: RunId) -> Result<End, WorldError> {
        let state = world.state(run).await?;
        let is_untold = |call: &&Call| call.tool().is_some_and(|tool| tool.as_str() == "act");
        Ok(End {
            untold: state.calls().filter(is_untold).map(Call::id).collect(),
            outcome: state.outcome(),
            phases: phases(&state),
            values: ["a", "b", "c"].map(|key| world.tools.value(key)).into(),
        })
    }
}

/// Whether something that waits for an answer may have none any more.
async fn is_late(world: &World, run: RunId) -> Result<bool, WorldError> {
    let now = world.clock.now();
    let late = |state: &RunState| state.expires_at().is_some_and(|at| now >= at);
    Ok(world.ledger().look(run, |state, _| late(state)).await?)
}

fn is_among(numbers: &[u32], call: CallId) -> bool {
    numbers.iter().any(|number| facts::call(*number) == call)
}

/// How far each call came.
pub fn phases(state: &RunState) -> BTreeMap<CallId, Phase> {
    state
        .calls()
        .map(|call| (call.id(), call.phase()))
        .collect()
}

/// Whether a process that ends of this may simply be started again.
pub fn is_passing(error: &WorldError) -> bool {
    matches!(
        error,
        WorldError::Engine(
            EngineError::Ledger(
                LedgerError::Conflict
                    | LedgerError::Busy
                    | LedgerError::Unknown(_)
                    | LedgerError::Closed(_)
            ) | EngineError::Runner(_)
        )
    )
}
