//! Canned runs in which people say more than yes or no.

use std::sync::Arc;

use placet_ledger::approval::Answer;
use placet_ledger::event::{SegmentReason, Settlement};
use placet_ledger::id::CallId;
use placet_ledger::policy::ApprovalPolicy;
use serde_json::json;

use super::{History, Made, act, driven, in_doubt, set, unasked};
use crate::facts;
use crate::people::Impatient;
use crate::script::{Script, call};
use crate::tools::Behaviour;
use crate::world::{Options, World, WorldError, person};

fn ask(question: &str) -> placet_engine::model::ReplyCall {
    call("ask_user", &json!({"question": question}))
}

/// A person gives a pending call other arguments and approves these.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.requested,
/// segment.ended, run.parked, call.proposed, approval.requested, approval.granted,
/// segment.started, execution.started, execution.succeeded, model.called, model.replied,
/// segment.ended, run.finished
pub async fn amended() -> Made {
    let script = Script::new().calls([set("a", "1")]).says("Done.");
    let mut made = driven("amended", script, Options::default()).await?;
    let other = json!({"key": "a", "value": "2"});
    made.world.amend(made.run, CallId::FIRST, &other).await?;
    made.world.approve(made.run).await?;
    made.world.resume(made.run).await?;
    Ok(made)
}

/// A call is amended, the amendment too, and what comes of it is denied; the model repeats that.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.requested,
/// call.proposed, approval.requested, segment.ended, run.parked, call.proposed, approval.requested,
/// call.proposed, approval.requested, approval.granted, approval.denied, segment.started,
/// execution.started, execution.succeeded, model.called, model.replied, call.proposed,
/// call.refused, model.called, model.replied, segment.ended, run.finished
pub async fn amended_twice_then_denied() -> Made {
    let script = Script::new()
        .calls([set("a", "1"), set("b", "2")])
        .calls([set("a", "3")])
        .says("Done.");
    let name = "amended_twice_then_denied";
    let mut made = driven(name, script, Options::default()).await?;
    let mut standing = CallId::FIRST;
    for value in ["2", "3"] {
        let other = json!({"key": "a", "value": value});
        standing = made.world.amend(made.run, standing, &other).await?;
    }
    let verdict = |call| {
        if call == standing {
            (Answer::Deny, Some(String::from("not even so")))
        } else {
            (Answer::Approve, None)
        }
    };
    made.world.answer(made.run, verdict).await?;
    made.world.resume(made.run).await?;
    Ok(made)
}

/// One of two approvals is taken back before anything starts; the model repeats the call.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.requested,
/// call.proposed, approval.requested, segment.ended, run.parked, approval.granted,
/// approval.granted, approval.revoked, segment.started, execution.started, execution.succeeded,
/// model.called, model.replied, call.proposed, call.refused, model.called, model.replied,
/// segment.ended, run.finished
pub async fn revoked() -> Made {
    let script = Script::new()
        .calls([set("a", "1"), set("b", "2")])
        .calls([set("a", "1")])
        .says("Done.");
    let mut made = driven("revoked", script, Options::default()).await?;
    made.world.approve(made.run).await?;
    let note = Some("I was too quick");
    made.world.revoke(made.run, CallId::FIRST, note).await?;
    made.world.resume(made.run).await?;
    Ok(made)
}

/// The agent asks and would change something; the reply approves nothing, so the other call waits
/// on for its own answer.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, question.asked,
/// call.proposed, approval.requested, segment.ended, run.parked, question.answered,
/// approval.granted, segment.started, execution.started, execution.succeeded, model.called,
/// model.replied, segment.ended, run.finished
pub async fn question_answered() -> Made {
    let calls = [ask("Which letter?"), set("a", "1")];
    let script = Script::new().calls(calls).says("Done.");
    let mut made = driven("question_answered", script, Options::default()).await?;
    let text = "Take the first letter.";
    made.world.reply(made.run, CallId::FIRST, text).await?;
    made.world.approve(made.run).await?;
    made.world.resume(made.run).await?;
    Ok(made)
}

/// Nobody replies in time.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, question.asked,
/// segment.ended, run.parked, approval.expired, run.finished
pub async fn question_expired() -> Made {
    let script = Script::new().calls([ask("Which letter?")]);
    let mut made = driven("question_expired", script, Options::default()).await?;
    made.world
        .clock
        .advance_ms(Options::default().park_expiry_ms);
    made.world.resume(made.run).await?;
    Ok(made)
}

/// A run in doubt whose person has looked.
async fn settled(name: &'static str, verdict: Settlement) -> Made {
    let mut made = in_doubt().await?;
    made.name = name;
    let note = Some("I looked myself");
    made.world
        .settle(made.run, CallId::FIRST, verdict, note)
        .await?;
    made.world.resume(made.run).await?;
    Ok(made)
}

/// A call was in doubt, and a person found that it took effect.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.granted,
/// execution.started, segment.ended, segment.started, `execution.in_doubt`, segment.ended,
/// execution.settled, segment.started, model.called, model.replied, segment.ended, run.finished
pub async fn settled_done() -> Made {
    settled("settled_done", Settlement::Done).await
}

/// A call was in doubt, and a person found that it did not take effect: it is not tried again.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.granted,
/// execution.started, segment.ended, segment.started, `execution.in_doubt`, segment.ended,
/// execution.settled, segment.started, model.called, model.replied, segment.ended, run.finished
pub async fn settled_not_done() -> Made {
    settled("settled_not_done", Settlement::NotDone).await
}

/// The driver is asked to stop before its first step, and a person has something to add.
///
/// run.started, segment.started, segment.ended, prompt.added, segment.started, model.called,
/// model.replied, segment.ended, run.finished
pub async fn prompted_after_an_interruption() -> Made {
    let mut world = World::new().await?;
    world.stop();
    let script = Script::new().says("Done.");
    let (run, _) = world.run(script, Options::default()).await?;
    world.prompt(run, "And be quick.").await?;
    world.resume(run).await?;
    let name = "prompted_after_an_interruption";
    Ok(History { name, world, run })
}

/// The policy is raised while a call waits: that one still waits, the next one runs unasked.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.requested,
/// segment.ended, run.parked, policy.changed, approval.granted, segment.started,
/// execution.started, execution.succeeded, model.called, model.replied, call.proposed,
/// approval.granted, execution.started, execution.succeeded, model.called, model.replied,
/// segment.ended, run.finished
pub async fn policy_raised() -> Made {
    let script = Script::new()
        .calls([set("a", "1")])
        .calls([set("b", "2")])
        .says("Done.");
    let mut made = driven("policy_raised", script, Options::default()).await?;
    let raise = ApprovalPolicy::HighRisk;
    let reason = Some("I have seen enough");
    made.world.change_policy(made.run, raise, reason).await?;
    made.world.approve(made.run).await?;
    made.world.resume(made.run).await?;
    Ok(made)
}

/// The policy is tightened while one call is executed and another one, cleared by it, is queued:
/// that one asks after all.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.granted,
/// call.proposed, approval.granted, execution.started, policy.changed, segment.ended,
/// segment.started, execution.settled, execution.refused, approval.requested, segment.ended,
/// run.parked, approval.granted, segment.started, execution.started, execution.succeeded,
/// model.called, model.replied, segment.ended, run.finished
pub async fn policy_tightened_with_a_queued_call() -> Made {
    let mut world = World::new().await?;
    world.tools.behave(CallId::FIRST, Behaviour::VanishesAfter);
    let calls = [set("a", "1"), set("b", "2")];
    let script = Script::new().calls(calls).says("Done.");
    let (run, _) = world.run(script, unasked()).await?;
    world
        .change_policy(run, ApprovalPolicy::False, None)
        .await?;
    world.resume(run).await?;
    world.approve(run).await?;
    world.resume(run).await?;
    let name = "policy_tightened_with_a_queued_call";
    Ok(History { name, world, run })
}

/// With one of two approvals the tool is allowed for good: its next call runs unasked.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.requested,
/// call.proposed, approval.requested, segment.ended, run.parked, approval.granted,
/// approval.granted, tool.allowed, segment.started, execution.started, execution.succeeded,
/// execution.started, execution.succeeded, model.called, model.replied, call.proposed,
/// approval.granted, execution.started, execution.succeeded, model.called, model.replied,
/// segment.ended, run.finished
pub async fn always_this_tool() -> Made {
    let script = Script::new()
        .calls([act(), set("a", "1")])
        .calls([act()])
        .says("Done.");
    let mut made = driven("always_this_tool", script, Options::default()).await?;
    let verdict = |call| match call {
        CallId::FIRST => (Answer::ApproveAlways, None),
        _ => (Answer::Approve, None),
    };
    made.world.answer(made.run, verdict).await?;
    made.world.resume(made.run).await?;
    Ok(made)
}

/// A row lets one of two calls wait for a second: that one expires by itself and the run goes on.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.requested,
/// call.proposed, approval.requested, segment.ended, run.parked, approval.expired,
/// approval.granted, segment.started, execution.started, execution.succeeded, model.called,
/// model.replied, segment.ended, run.finished
pub async fn rule_expiry() -> Made {
    let judge = Impatient {
        tool: "act",
        expires_ms: 1_000,
    };
    let mut world = World::new().await?.judged_by(Arc::new(judge)).await?;
    let script = Script::new().calls([act(), set("a", "1")]).says("Done.");
    let (run, _) = world.run(script, Options::default()).await?;
    world.clock.advance_ms(judge.expires_ms);
    world.resume(run).await?;
    world.approve(run).await?;
    world.resume(run).await?;
    let name = "rule_expiry";
    Ok(History { name, world, run })
}

/// A file that steers other programs asks under the widest policy.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.requested,
/// call.proposed, approval.granted, segment.ended, run.parked, approval.granted, segment.started,
/// execution.started, execution.succeeded, execution.started, execution.succeeded, model.called,
/// model.replied, segment.ended, run.finished
pub async fn asked_for_a_steering_file() -> Made {
    let calls = [set("AGENTS.md", "1"), set("a", "1")];
    let script = Script::new().calls(calls).says("Done.");
    let mut made = driven("asked_for_a_steering_file", script, unasked()).await?;
    made.world.approve(made.run).await?;
    made.world.resume(made.run).await?;
    Ok(made)
}

/// A person cancels while a call that only reads is at it: it is stopped.
///
/// run.started, segment.started, model.called, model.replied, call.proposed, approval.granted,
/// execution.started, `run.cancel_requested`, execution.interrupted, segment.ended, run.finished
pub async fn cancelled_while_it_reads() -> Made {
    let mut world = World::new().await?;
    world.tools.behave(facts::call(1), Behaviour::Waits);
    let script = Script::new().calls([call("look", &json!({"key": "a"}))]);
    let run = world.start(script, Options::default()).await?;
    let somebody = person()?;
    let cancel = async {
        world.tools.reached().notified().await;
        world.engine().cancel(run, &somebody, None).await
    };
    let drive = world.engine().drive(run, SegmentReason::Start, None);
    let (drove, cancelled) = tokio::join!(drive, cancel);
    drove.and(cancelled).map_err(WorldError::from)?;
    let name = "cancelled_while_it_reads";
    Ok(History { name, world, run })
}
