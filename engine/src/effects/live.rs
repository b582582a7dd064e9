//! The live handler: asks the model, lets tools propose, executes permits, reconciles.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use placet_ledger::budget::Tokens;
use placet_ledger::canonical;
use placet_ledger::clock::Clock;
use placet_ledger::containment::Containment;
use placet_ledger::content::{Text, Texts};
use placet_ledger::event::{FailureKind, ModelFailure, RefusalKind, Settlement};
use placet_ledger::id::{CallId, Name};
use placet_ledger::limits::{CONTENT_BYTES_MAX, PENDING_CALLS_MAX};
use placet_ledger::permit::Permit;
use placet_ledger::precondition::PreconditionKind;
use placet_ledger::risk::DeclaredRisk;
use placet_ledger::run::{Command, Ended, Ending, Proposal};
use serde::Serialize;

use super::{Act, Brief, EffectHandler};
use crate::context::Provider;
use crate::model::{Model, ModelError, Reply, Request, ToolInfo};
use crate::nearest::nearest;
use crate::record::ScopeTool;
use crate::tool::registry::{Lookup, Registered, Registry};
use crate::tool::{Draft, Interrupted, Reconciled, ToolError};

/// Bytes of text that count as one token in an estimate.
const BYTES_PER_TOKEN: u64 = 4;

/// Tokens set aside for a reply: what replies rarely pass; the true number is settled after it.
const OUTPUT_TOKENS_RESERVED: u64 = 400;

/// Bytes set aside for the note on what was left out of a text.
const NOTE_BYTES: usize = 64;

/// Performs effects for real.
pub struct LiveHandler {
    registry: Arc<Registry>,
    model: Arc<dyn Model>,
    clock: Arc<dyn Clock>,
    since_ms: u64,
}

impl LiveHandler {
    /// A handler for one segment, which begins now.
    pub fn new(registry: Arc<Registry>, model: Arc<dyn Model>, clock: Arc<dyn Clock>) -> Self {
        let since_ms = clock.monotonic_ms();
        Self {
            registry,
            model,
            clock,
            since_ms,
        }
    }

    async fn complete(&self, mut request: Request, tools: &[ScopeTool], next_call: CallId) -> Act {
        let offered = |tool: &&Registered| tools.iter().any(|t| t.name == tool.spec().name);
        request.tools = self
            .registry
            .iter()
            .filter(offered)
            .map(|tool| ToolInfo {
                name: tool.spec().name.to_string(),
                description: tool.spec().description.clone(),
                schema: tool.spec().schema.clone(),
            })
            .collect();
        match self.model.complete(&request).await {
            Ok(reply) => replied(reply, tools, next_call),
            Err(error) => model_failed(error),
        }
    }

    async fn propose(&self, call: CallId, tool: &Registered, arguments: &[u8]) -> Act {
        let arguments = match tool.read_arguments(arguments) {
            Ok(arguments) => arguments,
            Err(error) => return refuse(call, RefusalKind::BadArguments, error.to_string()),
        };
        let Some(proposing) = tool.propose() else {
            return proposal(call, tool, None, &arguments);
        };
        let drafted = timeout(tool.spec().timeout_ms(), proposing.propose(&arguments)).await;
        match drafted {
            Some(Ok(draft)) => proposal(call, tool, Some(&draft), &draft.arguments),
            Some(Err(error)) => refuse(call, RefusalKind::BadArguments, error.to_string()),
            None => {
                let detail = "making the proposal took too long".to_owned();
                refuse(call, RefusalKind::BadArguments, detail)
            }
        }
    }

    /// Why a name that is none of the run's tools is turned down. Only those are suggested.
    fn foreign(&self, call: CallId, name: &str, known: &[ScopeTool]) -> Act {
        let kind = match self.registry.visible(name) {
            Lookup::Tool(_) => RefusalKind::DeniedTool,
            Lookup::HiddenHalf => RefusalKind::HiddenHalf,
            Lookup::Unknown => RefusalKind::UnknownTool,
        };
        let names = known.iter().map(|tool| tool.name.as_str());
        let detail = match (kind, nearest(name, names)) {
            (RefusalKind::UnknownTool, Some(near)) => format!("Did you mean {near}?"),
            (_, _) => String::new(),
        };
        refuse(call, kind, detail)
    }
}

impl LiveHandler {
    /// Asks the tool itself what became of an execution that has no outcome.
    async fn reconcile(&self, tool: &Name, interrupted: Interrupted<'_>) -> Act {
        let call = interrupted.call;
        let Lookup::Tool(found) = self.registry.visible(tool.as_str()) else {
            return Act::bare(Command::RecordDoubt { call });
        };
        let asked = found.execute().reconcile(interrupted);
        match timeout(found.spec().timeout_ms(), asked).await {
            Some(Ok(Reconciled::Done(result))) => {
                let command = Command::Settle {
                    call,
                    verdict: Settlement::Done,
                };
                Act {
                    command,
                    texts: result_text(result),
                }
            }
            Some(Ok(Reconciled::NotDone)) => Act::bare(Command::Settle {
                call,
                verdict: Settlement::NotDone,
            }),
            Some(Ok(Reconciled::Unknown) | Err(_)) | None => {
                Act::bare(Command::RecordDoubt { call })
            }
        }
    }
}

#[async_trait]
impl EffectHandler for LiveHandler {
    async fn perform(&self, brief: Brief) -> Act {
        match brief {
            Brief::Prepare { context, bytes } => {
                let reserved = Tokens {
                    input: bytes.div_ceil(BYTES_PER_TOKEN),
                    output: OUTPUT_TOKENS_RESERVED,
                };
                let active_ms = self.active_ms();
                Act::bare(Command::CallModel {
                    context,
                    reserved,
                    active_ms,
                })
            }
            Brief::Complete {
                request,
                tools,
                next_call,
            } => self.complete(request, &tools, next_call).await,
            Brief::Propose {
                call,
                over: Some(over),
                ..
            } => {
                let detail = format!(
                    "A reply may hold at most {} calls; this one and {over} after it were not \
                     looked at.",
                    PENDING_CALLS_MAX.saturating_sub(1)
                );
                refuse(call, RefusalKind::OverLimit, detail)
            }
            Brief::Propose {
                call,
                tool: None,
                foreign,
                known,
                ..
            } => self.foreign(call, &foreign, &known),
            Brief::Propose {
                call,
                tool: Some(tool),
                offered,
                arguments,
                ..
            } => match self.registry.visible(tool.as_str()) {
                Lookup::Tool(found) if offered => self.propose(call, found, &arguments).await,
                Lookup::Tool(_) => refuse(call, RefusalKind::DeniedTool, String::new()),
                Lookup::HiddenHalf | Lookup::Unknown => self.foreign(call, tool.as_str(), &[]),
            },
            Brief::Reconcile {
                run,
                call,
                tool,
                arguments,
                precondition,
            } => {
                let precondition = precondition.as_ref();
                let interrupted = Interrupted {
                    run,
                    call,
                    arguments: &arguments,
                    precondition,
                };
                self.reconcile(&tool, interrupted).await
            }
        }
    }

    async fn execute(&self, permit: Permit) -> Act {
        let call = permit.call();
        let since_ms = self.clock.monotonic_ms();
        let Lookup::Tool(tool) = self.registry.visible(permit.tool().as_str()) else {
            // The registry was compared with the run's scope before it was taken up.
            return Act::bare(Command::RecordDoubt { call });
        };
        let outcome = timeout(tool.spec().timeout_ms(), tool.execute().execute(permit)).await;
        let duration_ms = self.clock.monotonic_ms().saturating_sub(since_ms);
        let (ending, result) = match outcome {
            Some(Ok(output)) => (Ending::Succeeded, output.result),
            Some(Err(ToolError::Stale { detail })) => (Ending::Stale, Text::plain(detail)),
            Some(Err(ToolError::InDoubt { .. })) => {
                return Act::bare(Command::RecordDoubt { call });
            }
            Some(Err(error @ (ToolError::Refused { .. } | ToolError::Failed { .. }))) => (
                Ending::Failed(FailureKind::Tool),
                Text::plain(error.to_string()),
            ),
            None if tool.spec().risk == DeclaredRisk::ReadOnly => {
                let text = Text::plain("it took too long and was stopped");
                (Ending::Failed(FailureKind::Timeout), text)
            }
            // What changes things may still be at it.
            None => return Act::bare(Command::RecordDoubt { call }),
        };
        let command = Command::RecordOutcome(Ended {
            call,
            ending,
            duration_ms,
        });
        Act {
            command,
            texts: result_text(result),
        }
    }

    fn active_ms(&self) -> u64 {
        self.clock.monotonic_ms().saturating_sub(self.since_ms)
    }
}

/// What comes of some work in a time limit.
async fn timeout<T>(limit_ms: u64, work: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(Duration::from_millis(limit_ms), work)
        .await
        .ok()
}

fn result_text(result: Text) -> Texts {
    Texts::from([(String::from("result"), bounded(result))])
}

/// The first text that no content can hold, and its bytes. Such a record would be turned down, and
/// the run would come to the same place again whenever it is resumed.
fn too_large(texts: &Texts) -> Option<(&str, usize)> {
    let mut sizes = texts
        .iter()
        .map(|(role, text)| (role.as_str(), text.bytes.len()));
    sizes.find(|(_, bytes)| *bytes > CONTENT_BYTES_MAX)
}

/// A text that tells what came of something already: as much of it as a content can hold.
fn bounded(text: Text) -> Text {
    let bytes = text.bytes.len();
    if bytes <= CONTENT_BYTES_MAX {
        return text;
    }
    let whole = String::from_utf8_lossy(&text.bytes);
    let end = whole.floor_char_boundary(CONTENT_BYTES_MAX.saturating_sub(NOTE_BYTES));
    let head: &str = whole.get(..end).unwrap_or_default();
    let left = bytes.saturating_sub(end);
    Text::plain(format!("{head}\n({left} bytes left out)"))
}

fn refuse(call: CallId, kind: RefusalKind, detail: String) -> Act {
    let mut texts = Texts::new();
    if !detail.is_empty() {
        texts.insert(String::from("detail"), bounded(Text::plain(detail)));
    }
    Act {
        command: Command::Refuse { call, kind },
        texts,
    }
}

/// Canonical bytes of a value of ours; such values always have some.
fn json_text(value: &impl Serialize) -> Text {
    let value = serde_json::to_value(value).unwrap_or_default();
    Text::json(canonical::arguments_to_vec(&value).unwrap_or_default())
}

fn proposal(
    call: CallId,
    tool: &Registered,
    draft: Option<&Draft>,
    arguments: &serde_json::Value,
) -> Act {
    let mut texts = Texts::from([(String::from("arguments"), json_text(arguments))]);
    let mut precondition = PreconditionKind::None;
    if let Some(draft) = draft {
        precondition = draft.precondition.kind();
        texts.insert(
            String::from("execute_arguments"),
            json_text(&draft.execute_arguments),
        );
        texts.insert(String::from("precondition"), json_text(&draft.precondition));
        texts.insert(String::from("message"), Text::plain(draft.message.clone()));
        if let Some(preview) = &draft.preview {
            texts.insert(String::from("preview"), Text::diff(preview.clone()));
        }
    }
    if let Some((role, bytes)) = too_large(&texts) {
        let detail = format!(
            "the {role} of this call have {bytes} bytes as JSON, of at most {CONTENT_BYTES_MAX} that \
             a record can hold: change a smaller file, or less of it"
        );
        return refuse(call, RefusalKind::BadArguments, detail);
    }
    let command = Command::Propose(Proposal {
        call,
        containment: Containment::InProcess,
        definition: tool.definition(),
        execute: tool.execute_name().cloned(),
        precondition,
        risk: tool.spec().risk,
        tool: tool.spec().name.clone(),
    });
    Act { command, texts }
}

fn model_failed(error: ModelError) -> Act {
    let command = Command::RecordModelFailure {
        kind: error.kind,
        used: error.used,
    };
    Act {
        command,
        texts: Texts::from([(String::from("detail"), bounded(Text::plain(error.detail)))]),
    }
}

/// The reply as it is recorded: our own ids for its calls, the provider's beside them.
fn replied(mut reply: Reply, tools: &[ScopeTool], next_call: CallId) -> Act {
    let mut provider = Provider::default();
    if reply.calls.len() > PENDING_CALLS_MAX {
        provider.over = Some(reply.calls.len().saturating_sub(PENDING_CALLS_MAX));
        reply.calls.truncate(PENDING_CALLS_MAX);
    }
    let mut texts = Texts::new();
    let mut calls = Vec::with_capacity(reply.calls.len());
    for (offset, call) in (0_u32..).zip(reply.calls) {
        let Some(id) = next_call.plus(offset) else {
            return model_failed(ModelError {
                kind: ModelFailure::Provider,
                detail: String::from("the run has no call ids left"),
                used: Some(reply.used),
            });
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
    if let Some((role, bytes)) = too_large(&texts) {
        let detail = format!(
            "the reply has {bytes} bytes of {role}, of at most {CONTENT_BYTES_MAX} that a record can \
             hold"
        );
        return model_failed(ModelError {
            kind: ModelFailure::Provider,
            detail,
            used: Some(reply.used),
        });
    }
    let Reply {
        cost_usd,
        stop,
        used,
        ..
    } = reply;
    Act {
        command: Command::RecordReply {
            calls,
            cost_usd,
            stop,
            used,
        },
        texts,
    }
}
