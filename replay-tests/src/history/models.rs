//! Canned runs in which talking to the model is the story: attempts, a conversation made shorter.

use placet_engine::model::{Again, ModelError, Reply, Told};
use placet_engine::record::{ConfigRecord, Terms};
use placet_ledger::budget::Tokens;
use placet_ledger::event::{ModelFailure, Stop};
use placet_ledger::policy::ApprovalPolicy;
use serde_json::json;

use super::{Made, driven};
use crate::script::{Script, call};
use crate::world::Options;

/// Nobody answers at first; then two long notes make the conversation too long, and the model says
/// in fewer words what it came to before it goes on.
///
/// run.started, segment.started, model.called, model.failed, model.called, model.replied,
/// call.proposed, approval.granted, execution.started, execution.succeeded, model.called,
/// model.replied, call.proposed, approval.granted, execution.started, execution.succeeded,
/// model.called, context.compacted, model.called, model.replied, segment.ended, run.finished
pub async fn summed_up() -> Made {
    let nobody = ModelError {
        kind: ModelFailure::Network,
        detail: String::from("connection refused"),
        used: Some(Tokens::default()),
        again: Some(Again::default()),
    };
    let note = || Reply {
        text: String::new(),
        calls: vec![call("note", &json!({"text": "n".repeat(1_000)}))],
        stop: Stop::ToolCalls,
        used: Tokens::default(),
        told: Told::default(),
    };
    let summary = Reply {
        text: String::from("Two notes were made; nothing is left to do."),
        calls: Vec::new(),
        stop: Stop::End,
        used: Tokens::new(700, 12),
        told: Told::default(),
    };
    let script = Script::new()
        .error(nobody)
        .reply(note())
        .reply(note())
        .sums_up(Ok(summary))
        .says("Done.");
    let options = Options {
        policy: ApprovalPolicy::LowRisk,
        tools: Some(vec![String::from("note")]),
        config: ConfigRecord {
            terms: Some(Terms {
                context_tokens: Some(1_000),
                output_tokens: Some(200),
                price: None,
            }),
            ..ConfigRecord::default()
        },
        ..Options::default()
    };
    driven("summed_up", script, options).await
}
