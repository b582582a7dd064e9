//! A model as a judge: asked about one command, in a request of its own.

use std::sync::Arc;
use std::time::Duration;

use placet_ledger::budget::{Limits, Usage};
use placet_ledger::event::{RiskSource, Stop};
use placet_ledger::id::Name;
use placet_ledger::risk::RiskTier;

use super::prompt::{PROMPT_VERSION, prompt};
use super::verdict::{clipped, tier};
use super::{Asked, Assessed, Judgement, Question};
use crate::model::estimate::{Size, input_tokens, reserve};
use crate::model::{Classify, Model};
use crate::price::Price;
use crate::record::Terms;

/// Tokens of a judgement: one word, and what a model that reasons first spends on the way to it.
const OUTPUT_TOKENS_MAX: u64 = 2_048;

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
    /// How its calls are counted, where that is known.
    pub terms: Option<Terms>,
}

/// The request for a command.
fn request(question: &Question, command: &str, classifier: &Classifier) -> Classify {
    let conversation: Vec<_> = question
        .conversation
        .iter()
        .map(|said| said.text.as_str())
        .collect();
    Classify {
        output_tokens: terms(classifier).and_then(|terms| terms.output_tokens),
        ..prompt(command, &conversation, question.judged_before)
    }
}

/// How a judgement is counted: it needs less output than a turn may have.
fn terms(classifier: &Classifier) -> Option<Terms> {
    let terms = classifier.terms?;
    let most = terms.output_tokens.unwrap_or(OUTPUT_TOKENS_MAX);
    Some(Terms {
        output_tokens: Some(most.min(OUTPUT_TOKENS_MAX)),
        ..terms
    })
}

/// That the model is to be asked, where the caps have room for it: a command that nobody may judge
/// any more is high-risk.
pub(super) fn intent(question: &Question, command: &str, classifier: &Classifier) -> Assessed {
    let request = request(question, command, classifier);
    let size = Size {
        bytes: request.system.len().saturating_add(request.text.len()) as u64,
        tools: 0,
        counted: None,
    };
    let terms = terms(classifier);
    let input = input_tokens(size, terms.as_ref());
    let reserved = reserve(terms.as_ref(), input, &Limits::default());
    match Usage::default().blocks_spending(&question.left, reserved) {
        None => Assessed::Ask {
            model: classifier.name.clone(),
            inputs: question.inputs(Some(PROMPT_VERSION), RiskSource::Model),
            reserved,
        },
        Some(_) => Assessed::Judged(question.unsaid()),
    }
}

/// The judgement where a model was to be asked that is not there any more.
pub(super) fn nobody() -> Judgement {
    Judgement {
        source: RiskSource::Model,
        tier: RiskTier::HighRisk,
        demand: None,
        reason: String::from("the model that was to be asked is not there"),
        model: None,
        used: None,
    }
}

/// What a model says of a command.
pub(super) async fn ask(question: &Question, command: &str, classifier: &Classifier) -> Judgement {
    let request = request(question, command, classifier);
    let limit = Duration::from_millis(MODEL_LIMIT_MS);
    let reply = tokio::time::timeout(limit, classifier.model.classify(&request)).await;
    let price = classifier.terms.and_then(|terms| terms.price);
    let price = price.unwrap_or(Price::FREE);
    let used = match &reply {
        Ok(Ok(reply)) => Some(reply.used),
        Ok(Err(error)) => error.used,
        Err(_) => None,
    };
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
        used: used.map(|tokens| price.spend(tokens)),
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
