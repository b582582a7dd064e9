//! Runs that play from a script to their end, however often the process dies on the way: what
//! crash tests compare.

use std::collections::BTreeMap;

use placet_engine::engine::EngineError;
use placet_ledger::approval::Answer;
use placet_ledger::error::LedgerError;
use placet_ledger::event::Outcome;
use placet_ledger::id::{CallId, RunId};
use placet_ledger::policy::ApprovalPolicy;
use placet_ledger::run::{Phase, RunState};
use serde_json::json;

use crate::facts;
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
    /// The calls that are turned down, by number.
    denied: &'static [u32],
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
}

fn nothing(_: &Tools) {}

fn set(key: &str, value: &str) -> placet_engine::model::ReplyCall {
    call("set", &json!({"key": key, "value": value}))
}

/// Every play.
pub fn plays() -> Vec<Play> {
    let play = |name, script| Play {
        name,
        script,
        policy: ApprovalPolicy::False,
        denied: &[],
        prepare: nothing,
        interfere: nothing,
    };
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
        if self
            .denied
            .iter()
            .any(|number| facts::call(*number) == call)
        {
            (Answer::Deny, Some(String::from("Leave it.")))
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

    /// Plays the run on to its end, or until nobody can help it any more.
    ///
    /// # Panics
    ///
    /// If an answer that was acknowledged is not there, or the run does not come to an end.
    pub async fn on(&self, world: &mut World, run: RunId) -> Result<End, WorldError> {
        for _ in 0..TAKEN_UP_MAX {
            match self.drive(world, run).await? {
                Drove::Ended(_) => return self.end(world, run).await,
                Drove::Vanished | Drove::Interrupted => {}
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
        Ok(End {
            outcome: state.outcome(),
            phases: phases(&state),
            values: ["a", "b", "c"].map(|key| world.tools.value(key)).into(),
        })
    }
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
