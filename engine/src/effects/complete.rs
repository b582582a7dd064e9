//! Asking a model: the next turn, or a summary of those before; how what came of it is recorded.

use std::sync::Arc;

use placet_ledger::budget::Tokens;
use placet_ledger::content::{Text, Texts};
use placet_ledger::event::ModelFailure;
use placet_ledger::id::CallId;
use placet_ledger::limits::PENDING_CALLS_MAX;
use placet_ledger::run::Command;

use super::brief::Calling;
use super::propose::{json_text, timeout, too_large};
use super::{Act, EffectHandler, LiveHandler};
use crate::context::Provider;
use crate::model::{Again, Message, ModelError, Reply, Request, Told, retry_ms};
use crate::record::ScopeTool;
use crate::tool::registry::Registered;

/// Bytes of what a provider says about a failure: more tells a reader nothing.
const DETAIL_BYTES_MAX: usize = 64 * 1024;

impl LiveHandler {
    /// The next turn.
    pub(super) async fn complete(
        &self,
        mut request: Request,
        (tools, next_call): (&[ScopeTool], CallId),
        calling: Calling,
    ) -> Act {
        let offered = |tool: &&Registered| tools.iter().any(|t| t.name == tool.spec().name);
        request.tools = self
            .registry
            .iter()
            .filter(offered)
            .map(|tool| Arc::clone(tool.defined()))
            .collect();
        let asked = self.model.complete(&request, &self.heard);
        match self.in_time(calling, asked).await {
            None => over(),
            Some(Ok(reply)) => replied(reply, (tools, next_call), calling),
            Some(Err(error)) => failed(error, calling),
        }
    }

    /// A summary of so many replies.
    pub(super) async fn compact(&self, request: &Request, replies: usize, calling: Calling) -> Act {
        let asked = self.model.summarise(request);
        match self.in_time(calling, asked).await {
            None => over(),
            Some(Err(error)) => failed(error, calling),
            Some(Ok(reply)) if reply.text.trim().is_empty() => {
                let what = "the model was to sum up the conversation, and wrote nothing";
                failed(unfit(what, reply.used), calling)
            }
            // It would take the place of less than it is.
            Some(Ok(reply)) if reply.text.len().saturating_mul(2) > told(request) => {
                let what =
                    "what the model wrote to sum up the conversation is no shorter than half";
                failed(unfit(what, reply.used), calling)
            }
            Some(Ok(reply)) => {
                let texts = Texts::from([(String::from("summary"), Text::plain(reply.text))]);
                match too_large(&texts) {
                    Some(what) => failed(unusable("summary", &what, reply.used), calling),
                    None => Act {
                        command: Command::RecordSummary {
                            replies,
                            used: calling.price.spend(reply.used),
                        },
                        texts,
                    },
                }
            }
        }
    }

    /// Waits for a model as long as the run may be active; nothing where that is over.
    async fn in_time<T>(&self, calling: Calling, asked: impl Future<Output = T>) -> Option<T> {
        let Some(left_ms) = calling.left_ms else {
            return Some(asked.await);
        };
        let left_ms = left_ms.saturating_sub(self.active_ms());
        // Active time is counted in whole milliseconds: one more, and the cap is reached for sure.
        timeout(left_ms.saturating_add(1), asked).await
    }
}

/// The run may be active no longer: it is to be asked again at once, for which the cap has no room.
fn over() -> Act {
    let detail = "the run had been active for as long as it may";
    Act {
        command: Command::RecordModelFailure {
            kind: ModelFailure::Timeout,
            used: None,
            retry_ms: Some(0),
        },
        texts: Texts::from([(String::from("detail"), Text::plain(detail))]),
    }
}

/// Bytes of the conversation that is to be summed up.
fn told(request: &Request) -> usize {
    let texts = request.messages.iter().map(|message| match &**message {
        Message::User(text) => text.len(),
        Message::System(_) | Message::Assistant { .. } | Message::Result { .. } => 0,
    });
    texts.sum()
}

/// A summary that is none; another try may yield one.
fn unfit(what: &str, used: Tokens) -> ModelError {
    ModelError {
        kind: ModelFailure::Provider,
        detail: what.to_owned(),
        used: Some(used),
        again: Some(Again::default()),
    }
}

fn unusable(part: &str, what: &str, used: Tokens) -> ModelError {
    ModelError {
        kind: ModelFailure::Provider,
        detail: format!("the {part} is {what}"),
        used: Some(used),
        again: None,
    }
}

/// No reply, as it is recorded, and whether the same is asked again.
fn failed(error: ModelError, calling: Calling) -> Act {
    let command = Command::RecordModelFailure {
        kind: error.kind,
        used: error.used.map(|used| calling.price.spend(used)),
        retry_ms: retry_ms(&error, calling.attempt, calling.run),
    };
    let mut detail = error.detail;
    let bytes = detail.len();
    if bytes > DETAIL_BYTES_MAX {
        detail.truncate(detail.floor_char_boundary(DETAIL_BYTES_MAX));
        detail = format!("{detail} (+{} bytes)", bytes.saturating_sub(detail.len()));
    }
    Act {
        command,
        texts: Texts::from([(String::from("detail"), Text::plain(detail))]),
    }
}

/// The reply as it is recorded: our own ids for its calls, the provider's beside them.
fn replied(mut reply: Reply, (tools, next_call): (&[ScopeTool], CallId), calling: Calling) -> Act {
    let Told {
        endpoint,
        id,
        model,
        stop,
    } = std::mem::take(&mut reply.told);
    let mut provider = Provider {
        endpoint,
        id,
        model,
        stop,
        ..Provider::default()
    };
    if reply.calls.len() > PENDING_CALLS_MAX {
        provider.over = Some(reply.calls.len().saturating_sub(PENDING_CALLS_MAX));
        reply.calls.truncate(PENDING_CALLS_MAX);
    }
    let mut texts = Texts::new();
    let mut calls = Vec::with_capacity(reply.calls.len());
    for (offset, call) in (0_u32..).zip(reply.calls) {
        let Some(id) = next_call.plus(offset) else {
            let error = ModelError {
                kind: ModelFailure::Provider,
                detail: String::from("the run has no call ids left"),
                used: Some(reply.used),
                again: None,
            };
            return failed(error, calling);
        };
        let tool = tools.iter().find(|tool| tool.name.as_str() == call.name);
        if tool.is_none() {
            provider.names.insert(id, call.name);
        }
        if !call.id.is_empty() {
            provider.ids.insert(id, call.id);
        }
        calls.push(tool.map(|tool| tool.name.clone()));
        texts.insert(format!("arguments.{id}"), Text::json(call.arguments));
    }
    if provider != Provider::default() {
        texts.insert(String::from("provider"), json_text(&provider));
    }
    if !reply.text.is_empty() {
        texts.insert(String::from("reply"), Text::plain(reply.text));
    }
    if let Some(what) = too_large(&texts) {
        return failed(unusable("reply in a part", &what, reply.used), calling);
    }
    Act {
        command: Command::RecordReply {
            calls,
            stop: reply.stop,
            used: calling.price.spend(reply.used),
        },
        texts,
    }
}
