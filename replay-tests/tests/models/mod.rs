//! Talking to models: attempts and when there is another one, caps that are never passed, and
//! conversations that become shorter while the record stays whole.

mod attempts;
mod decided;
mod spending;
mod summaries;

use placet_engine::model::{Again, ModelError, Reply, ReplyCall, Told};
use placet_engine::price::Price;
use placet_engine::record::{ConfigRecord, Terms};
use placet_ledger::budget::Tokens;
use placet_ledger::event::{Event, ModelFailure, Stop};
use placet_ledger::id::RunId;
use placet_ledger::policy::{ApprovalPolicy, Attendance};
use placet_replay::script;
use placet_replay::world::{Options, World};
use serde_json::json;

/// A reply that used this.
fn reply(calls: Vec<ReplyCall>, used: Tokens) -> Reply {
    Reply {
        text: String::from("I go on."),
        stop: if calls.is_empty() {
            Stop::End
        } else {
            Stop::ToolCalls
        },
        calls,
        used,
        told: Told::default(),
    }
}

fn note(text: &str) -> ReplyCall {
    script::call("note", &json!({"text": text}))
}

/// A failure after which the same may be asked again, where `again` says so.
fn failure(kind: ModelFailure, used: Option<Tokens>, again: Option<Again>) -> ModelError {
    ModelError {
        kind,
        detail: String::from("the provider is not well"),
        used,
        again,
    }
}

/// Whatever it costs, and as much as it takes.
fn terms() -> Terms {
    Terms {
        context_tokens: None,
        output_tokens: Some(1_000),
        price: Some(Price {
            input: "1".parse().unwrap(),
            output: "5".parse().unwrap(),
            ..Price::FREE
        }),
    }
}

fn options(terms: Terms) -> Options {
    Options {
        policy: ApprovalPolicy::HighRisk,
        attendance: Attendance::Nobody,
        tools: Some(vec![String::from("note"), String::from("set")]),
        config: ConfigRecord {
            terms: Some(terms),
            ..ConfigRecord::default()
        },
        ..Options::default()
    }
}

/// The events of a run.
async fn events(world: &World, run: RunId) -> Vec<Event> {
    let records = world.records(run).await.unwrap();
    records
        .iter()
        .map(|record| record.event().clone())
        .collect()
}
