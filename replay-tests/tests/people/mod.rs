//! What people do to a run beside answering it, end to end: in the process that drives it, in
//! another one, and after the first one died.

mod amending;
mod ending;
mod policy;
mod telling;

use std::future::Future;

use placet_engine::engine::{EngineError, Stopped};
use placet_engine::model::ReplyCall;
use placet_ledger::event::SegmentReason;
use placet_ledger::id::RunId;
use placet_ledger::policy::ApprovalPolicy;
use placet_ledger::run::Phase;
use placet_replay::facts::call;
use placet_replay::script::{self, Script};
use placet_replay::world::{Options, World};
use serde_json::json;

fn set(key: &str, value: &str) -> ReplyCall {
    script::call("set", &json!({"key": key, "value": value}))
}

fn act() -> ReplyCall {
    script::call("act", &json!({"what": "it"}))
}

fn two() -> Script {
    let calls = [set("a", "1"), set("b", "2")];
    Script::new().calls(calls).says("Done.")
}

fn unasked() -> Options {
    Options {
        policy: ApprovalPolicy::HighRisk,
        ..Options::default()
    }
}

async fn phase(world: &World, run: RunId, number: u32) -> Phase {
    let state = world.state(run).await.unwrap();
    state.call(call(number)).unwrap().phase()
}

/// Drives a new run, and does something else once a call of it waits or its model hangs.
async fn driving_while<T>(
    world: &World,
    run: RunId,
    other: impl Future<Output = T>,
) -> (Result<Stopped, EngineError>, T) {
    let drive = Box::pin(world.engine().drive(run, SegmentReason::Start, None));
    let other = Box::pin(async {
        world.tools.reached().notified().await;
        other.await
    });
    tokio::join!(drive, other)
}
