//! Canned runs, each a way in which runs go, made by a whole engine in memory.
//!
//! The comment of each lists its events; a test holds the lists against what is recorded.

mod commands;
mod models;
mod people;

pub use commands::*;
pub use models::summed_up;
pub use people::*;

use placet_engine::engine::Narrowing;
use placet_engine::model::ReplyCall;
use placet_engine::recording::Recording;
use placet_ledger::approval::Answer;
use placet_ledger::budget::Limits;
use placet_ledger::event::ModelFailure;
use placet_ledger::id::{CallId, RunId};
use placet_ledger::policy::{ApprovalPolicy, Attendance};
use serde_json::json;

use crate::script::{Script, call};
use crate::tools::Behaviour;
use crate::world::{Options, World, WorldError};

/// A canned run in the world that it was made in.
pub struct History {
    /// What kind of run it is: the name of the function that makes it.
    pub name: &'static str,
    /// The world, as it is after the run.
    pub world: World,
    /// The run.
    pub run: RunId,
}

impl History {
    /// The run as a recording.
    pub async fn recording(&self) -> Result<Recording, WorldError> {
        self.world.recording(self.run).await
    }
}

type Made = Result<History, WorldError>;

/// Every canned run.
pub async fn all() -> Result<Vec<History>, WorldError> {
    type Making = std::pin::Pin<Box<dyn Future<Output = Made>>>;
    let making: Vec<Making> = vec![
        Box::pin(finished_without_calls()),
        Box::pin(commands()),
        Box::pin(cleared_by_policy_and_list()),
        Box::pin(approved_pair()),
        Box::pin(mixed_batch_parked()),
        Box::pin(denied()),
        Box::pin(refused_as_nobody()),
        Box::pin(stale()),
        Box::pin(model_failed()),
        Box::pin(budget_ended()),
        Box::pin(expired()),
        Box::pin(expired_before_its_start()),
        Box::pin(cancelled()),
        Box::pin(interrupted()),
        Box::pin(narrowed()),
        Box::pin(crashed_in_model_call()),
        Box::pin(crashed_in_execution()),
        Box::pin(crashed_after_the_effect()),
        Box::pin(crashed_before_the_effect()),
        Box::pin(in_doubt()),
        Box::pin(amended()),
        Box::pin(amended_twice_then_denied()),
        Box::pin(revoked()),
        Box::pin(question_answered()),
        Box::pin(question_expired()),
        Box::pin(settled_done()),
        Box::pin(settled_not_done()),
        Box::pin(prompted_after_an_interruption()),
        Box::pin(policy_raised()),
        Box::pin(policy_tightened_with_a_queued_call()),
        Box::pin(always_this_tool()),
        Box::pin(rule_expiry()),
        Box::pin(asked_for_a_steering_file()),
        Box::pin(cancelled_while_it_reads()),
        Box::pin(summed_up()),
    ];
    let mut made = Vec::with_capacity(making.len());
    for history in making {
        made.push(history.await?);
    }
    Ok(made)
}

fn set(key: &str, value: &str) -> ReplyCall {
    call("set", &json!({"key": key, "value": value}))
}

fn act() -> ReplyCall {
    call("act", &json!({"what": "it"}))
}

/// A run that was driven once.
async fn driven(name: &'static str, script: Script, options: Options) -> Made {
    let mut world = World::new().await?;
    let (run, _) = world.run(script, options).await?;
    Ok(History { name, world, run })
}

fn unasked() -> Options {
    Options {
        policy: ApprovalPolicy::HighRisk,
        ..Options::default()
    }
}

/// The model has nothing to do.
///
/// run.started, segment.started, model.called, model.replied, segment.ended, run.finished
pub async fn finished_without_calls() -> Made {
    let script = Script::new().says("Nothing to do.");
    driven("finished_without_calls", script, Options::default()).await
}

/// A read, a note that the policy clears, and an act that is on the list of the run.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.granted,
/// call.proposed, approval.granted, call.proposed, approval.granted, execution.started,
/// execution.succeeded, execution.started, execution.succeeded, execution.started,
/// execution.succeeded, model.called, model.replied, segment.ended, run.finished
pub async fn cleared_by_policy_and_list() -> Made {
    let calls = [
        call("look", &json!({"key": "a"})),
        call("note", &json!({"text": "b"})),
        act(),
    ];
    let options = Options {
        policy: ApprovalPolicy::LowRisk,
        allowlist: vec![String::from("act")],
        ..Options::default()
    };
    let script = Script::new().calls(calls).says("Done.");
    driven("cleared_by_policy_and_list", script, options).await
}

/// A pair is proposed, parked, approved, and executed by the next process.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.requested,
/// segment.ended, run.parked, approval.granted, segment.started, execution.started,
/// execution.succeeded, model.called, model.replied, segment.ended, run.finished
pub async fn approved_pair() -> Made {
    let script = Script::new().calls([set("a", "1")]).says("Done.");
    let mut made = driven("approved_pair", script, Options::default()).await?;
    made.world.approve(made.run).await?;
    made.world.resume(made.run).await?;
    Ok(made)
}

/// A batch of a read, a pair, a tool that nobody knows, a command that nobody judged, and arguments
/// that do not fit: it waits with nothing executed.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.granted,
/// call.proposed, approval.requested, call.refused, call.proposed, approval.requested,
/// call.refused, segment.ended, run.parked
pub async fn mixed_batch_parked() -> Made {
    let calls = [
        call("look", &json!({"key": "a"})),
        set("a", "1"),
        call("lokk", &json!({})),
        call("shell", &json!({"command": "ls"})),
        call("set", &json!({"key": 1})),
    ];
    let script = Script::new().calls(calls).says("Done.");
    driven("mixed_batch_parked", script, Options::default()).await
}

/// One call of two is denied with a note, the other is executed; the denied one is refused when the
/// model repeats it.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.requested,
/// call.proposed, approval.requested, segment.ended, run.parked, approval.granted, approval.denied,
/// segment.started, execution.started, execution.succeeded, model.called, model.replied,
/// call.proposed, call.refused, model.called, model.replied, segment.ended, run.finished
pub async fn denied() -> Made {
    let script = Script::new()
        .calls([set("a", "1"), set("b", "2")])
        .calls([set("b", "2")])
        .says("Done.");
    let mut made = driven("denied", script, Options::default()).await?;
    let verdict = |call| match call {
        CallId::FIRST => (Answer::Approve, Some(String::from("go on"))),
        _ => (Answer::Deny, Some(String::from("leave b alone"))),
    };
    made.world.answer(made.run, verdict).await?;
    made.world.resume(made.run).await?;
    Ok(made)
}

/// Nobody is there and the run does not wait: it ends and says what it could not do.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, call.refused,
/// model.called, model.replied, segment.ended, run.finished
pub async fn refused_as_nobody() -> Made {
    let options = Options {
        attendance: Attendance::Nobody,
        ..Options::default()
    };
    let script = Script::new().calls([set("a", "1")]).says("I could not.");
    driven("refused_as_nobody", script, options).await
}

/// Another program changes the target between proposal and execution: nothing is written, and the
/// model proposes anew.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.requested,
/// segment.ended, run.parked, approval.granted, segment.started, execution.started,
/// execution.stale, model.called, model.replied, segment.ended, run.finished
pub async fn stale() -> Made {
    let script = Script::new().calls([set("a", "1")]).says("It changed.");
    let mut made = driven("stale", script, Options::default()).await?;
    made.world.tools.put("a", "theirs");
    made.world.approve(made.run).await?;
    made.world.resume(made.run).await?;
    Ok(made)
}

/// The provider fails.
///
/// run.started, segment.started, model.called, model.failed, segment.ended, run.finished
pub async fn model_failed() -> Made {
    let script = Script::new().fails(ModelFailure::Network, None);
    driven("model_failed", script, Options::default()).await
}

/// The cap on model calls is spent: the run ends as such in place of the next call.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.granted,
/// execution.started, execution.failed, segment.ended, run.finished
pub async fn budget_ended() -> Made {
    let mut world = World::new().await?;
    let options = Options {
        limits: Limits {
            iterations: Some(1),
            ..Limits::default()
        },
        ..unasked()
    };
    let fails = Behaviour::Fails(String::from("it is locked"));
    world.tools.behave(CallId::FIRST, fails);
    let script = Script::new().calls([act()]).says("Never said.");
    let (run, _) = world.run(script, options).await?;
    let name = "budget_ended";
    Ok(History { name, world, run })
}

/// Nobody answers in time.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.granted,
/// call.proposed, approval.requested, segment.ended, run.parked, approval.expired, run.finished
pub async fn expired() -> Made {
    let script = Script::new().calls([call("look", &json!({"key": "a"})), set("a", "1")]);
    let mut made = driven("expired", script, Options::default()).await?;
    made.world
        .clock
        .advance_ms(Options::default().park_expiry_ms);
    made.world.resume(made.run).await?;
    Ok(made)
}

/// The answer comes in time and the start does not: the call is closed, and the run goes on.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.requested,
/// segment.ended, run.parked, approval.granted, segment.started, execution.refused,
/// approval.expired, model.called, model.replied, segment.ended, run.finished
pub async fn expired_before_its_start() -> Made {
    let script = Script::new().calls([set("a", "1")]).says("Too late.");
    let mut made = driven("expired_before_its_start", script, Options::default()).await?;
    made.world.approve(made.run).await?;
    made.world
        .clock
        .advance_ms(Options::default().park_expiry_ms);
    made.world.resume(made.run).await?;
    Ok(made)
}

/// A person cancels what waits.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.requested,
/// segment.ended, run.parked, `run.cancel_requested`, run.finished
pub async fn cancelled() -> Made {
    let script = Script::new().calls([set("a", "1")]);
    let made = driven("cancelled", script, Options::default()).await?;
    made.world.cancel(made.run, "not needed").await?;
    Ok(made)
}

/// The driver is asked to stop before its first step, and the next one goes on.
///
/// run.started, segment.started, segment.ended, segment.started, model.called, model.replied,
/// segment.ended, run.finished
pub async fn interrupted() -> Made {
    let mut world = World::new().await?;
    world.stop();
    let script = Script::new().says("Done.");
    let (run, _) = world.run(script, Options::default()).await?;
    world.restart().await?;
    world.resume(run).await?;
    let name = "interrupted";
    Ok(History { name, world, run })
}

/// What was approved is narrowed away before it starts: the grant is void, the call refused.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.requested,
/// segment.ended, run.parked, approval.granted, limits.tightened, tools.narrowed, segment.started,
/// execution.refused, call.refused, model.called, model.replied, segment.ended, run.finished
pub async fn narrowed() -> Made {
    let script = Script::new().calls([set("a", "1")]).says("Gone.");
    let mut made = driven("narrowed", script, Options::default()).await?;
    made.world.approve(made.run).await?;
    let narrowing = Narrowing {
        limits: Limits {
            iterations: Some(5),
            ..Limits::default()
        },
        tools: None,
        denied: vec![String::from("set")],
    };
    made.world.resume_narrowed(made.run, narrowing).await?;
    Ok(made)
}

/// The driver dies while the model thinks; the next one asks again.
///
/// run.started, segment.started, model.called, segment.ended, segment.started, model.called,
/// model.replied, segment.ended, run.finished
pub async fn crashed_in_model_call() -> Made {
    let script = Script::new().vanishes().says("Done.");
    let mut made = driven("crashed_in_model_call", script, Options::default()).await?;
    made.world.clock.advance_ms(1_000);
    made.world.resume(made.run).await?;
    Ok(made)
}

/// A run whose first call dies in this way.
async fn dying(name: &'static str, first: ReplyCall, behaviour: Behaviour) -> Made {
    let mut world = World::new().await?;
    world.tools.behave(CallId::FIRST, behaviour);
    let script = Script::new().calls([first]).says("Done.");
    let (run, _) = world.run(script, unasked()).await?;
    Ok(History { name, world, run })
}

/// The driver dies in an execution, and nobody has come back yet.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.granted,
/// execution.started
pub async fn crashed_in_execution() -> Made {
    dying(
        "crashed_in_execution",
        set("a", "1"),
        Behaviour::VanishesAfter,
    )
    .await
}

/// The driver dies after the effect; the tool finds that it was done.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.granted,
/// execution.started, segment.ended, segment.started, execution.settled, model.called,
/// model.replied, segment.ended, run.finished
pub async fn crashed_after_the_effect() -> Made {
    let behaviour = Behaviour::VanishesAfter;
    let mut made = dying("crashed_after_the_effect", set("a", "1"), behaviour).await?;
    made.world.resume(made.run).await?;
    Ok(made)
}

/// The driver dies before the effect; the tool finds that it was not done, and it is tried again.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.granted,
/// execution.started, segment.ended, segment.started, execution.settled, execution.started,
/// execution.succeeded, model.called, model.replied, segment.ended, run.finished
pub async fn crashed_before_the_effect() -> Made {
    let behaviour = Behaviour::VanishesBefore;
    let mut made = dying("crashed_before_the_effect", set("a", "1"), behaviour).await?;
    made.world.resume(made.run).await?;
    Ok(made)
}

/// The driver dies, and the tool cannot tell: the call waits for a person, never for a second try.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.granted,
/// execution.started, segment.ended, segment.started, `execution.in_doubt`, segment.ended
pub async fn in_doubt() -> Made {
    let mut made = dying("in_doubt", act(), Behaviour::VanishesAfter).await?;
    made.world.resume(made.run).await?;
    Ok(made)
}
