//! A model as a judge: asked about one command, in a request of its own.

use std::sync::Arc;
use std::time::Duration;

use placet_ledger::event::{RiskSource, Stop};
use placet_ledger::id::Name;
use placet_ledger::risk::RiskTier;

use super::prompt::{PROMPT_VERSION, prompt};
use super::verdict::{clipped, tier};
use super::{Asked, Judgement, Question};
use crate::model::Model;

/// How long a model may think about a command.
pub const MODEL_LIMIT_MS: u64 = 8_000;

/// A model that judges, and what records call it.
#[derive(Clone)]
pub struct Classifier {
    /// The model.
    pub model: Arc<dyn Model>,
    /// Its name.
    pub name: Name,
    /// Where it is asked.
    pub endpoint: String,
}

/// What a model says of a command.
pub(super) async fn ask(question: &Question, command: &str, classifier: &Classifier) -> Judgement {
    let conversation: Vec<_> = question
        .conversation
        .iter()
        .map(|said| said.text.as_str())
        .collect();
    let request = prompt(command, &conversation, question.judged_before);
    let limit = Duration::from_millis(MODEL_LIMIT_MS);
    let reply = tokio::time::timeout(limit, classifier.model.classify(&request)).await;
    let judged = match reply {
        Err(_) => Err(format!(
            "the model gave no answer within {MODEL_LIMIT_MS} ms"
        )),
        Ok(Err(error)) => Err(format!("the model failed: {}", clipped(&error.detail))),
        Ok(Ok(reply)) if reply.stop != Stop::End || !reply.calls.is_empty() => {
            Err(String::from("the model did more, or less, than reply"))
        }
        Ok(Ok(reply)) => tier(&reply.text).ok_or_else(|| unclear(&reply.text)),
    };
    let (tier, reason) = match judged {
        Ok(tier) => (tier, String::from("as the model says")),
        Err(reason) => (RiskTier::HighRisk, reason),
    };
    Judgement {
        source: RiskSource::Model,
        tier,
        demand: None,
        reason,
        model: Some(Asked {
            model: classifier.name.clone(),
            prompt: PROMPT_VERSION,
            endpoint: classifier.endpoint.clone(),
        }),
    }
}

fn unclear(reply: &str) -> String {
    if reply.trim_ascii().is_empty() {
        String::from("the model said nothing")
    } else {
        format!(
            "the model did not reply with one of the words: {}",
            clipped(reply)
        )
    }
}
