//! A conversation as Anthropic Messages wants it.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::model::Request;
use crate::model::hosted::conversation::{Conversation, Turn};
use crate::model::hosted::names::Names;

/// Tokens of a reply where nothing else is said, as the provider wants a number: less than any of
/// its models allows that is offered today.
const OUTPUT_TOKENS: u64 = 32_000;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u64,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
struct Block<'a> {
    #[serde(flatten)]
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Cache>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text {
        #[serde(rename = "type")]
        kind: &'static str,
        text: &'a str,
    },
    Call {
        #[serde(rename = "type")]
        kind: &'static str,
        id: &'a str,
        name: &'a str,
        input: &'a RawValue,
    },
    Result {
        #[serde(rename = "type")]
        kind: &'static str,
        tool_use_id: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        content: &'a str,
    },
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Cache>,
}

/// Up to here the provider may keep what it read for the next request.
#[derive(Serialize)]
struct Cache {
    #[serde(rename = "type")]
    kind: &'static str,
}

const CACHE: Cache = Cache { kind: "ephemeral" };

impl<'a> From<Content<'a>> for Block<'a> {
    fn from(content: Content<'a>) -> Self {
        let cache_control = None;
        Self {
            content,
            cache_control,
        }
    }
}

fn text(text: &str) -> Block<'_> {
    Content::Text { kind: "text", text }.into()
}

/// The body of a request.
pub(in crate::model::hosted) fn body(
    model: &str,
    request: &Request,
    names: &Names,
) -> serde_json::Result<Vec<u8>> {
    let conversation = Conversation::of(request, names);
    let mut system: Vec<_> = conversation.system.iter().map(|part| text(part)).collect();
    let mut messages = messages(&conversation);
    let mut tools: Vec<_> = request
        .tools
        .iter()
        .map(|tool| Tool {
            name: names.sent(tool.spec.name.as_str()),
            description: &tool.spec.description,
            input_schema: &tool.spec.schema,
            cache_control: None,
        })
        .collect();
    // What stays the same from request to request ends here, and here, and here.
    if let Some(last) = tools.last_mut() {
        last.cache_control = Some(CACHE);
    }
    let last = messages
        .last_mut()
        .and_then(|message| message.content.last_mut());
    for block in system.last_mut().into_iter().chain(last) {
        block.cache_control = Some(CACHE);
    }
    serde_json::to_vec(&Body {
        model,
        max_tokens: request.output_tokens.unwrap_or(OUTPUT_TOKENS),
        stream: true,
        system,
        messages,
        tools,
    })
}

/// The turns as messages: results are told by the user, before what the user says.
fn messages<'a>(conversation: &'a Conversation<'a>) -> Vec<Message<'a>> {
    let mut messages: Vec<Message<'a>> = Vec::new();
    for turn in &conversation.turns {
        let (role, blocks) = blocks(turn);
        match messages.last_mut() {
            Some(last) if last.role == role => last.content.extend(blocks),
            Some(_) | None => messages.push(Message {
                role,
                content: blocks,
            }),
        }
    }
    messages
}

fn blocks<'a>(turn: &'a Turn<'a>) -> (&'static str, Vec<Block<'a>>) {
    match turn {
        Turn::User(texts) => ("user", texts.iter().map(|part| text(part)).collect()),
        Turn::Assistant { text: said, calls } => {
            let said = (!said.is_empty()).then(|| text(said));
            let calls = calls.iter().map(|call| {
                Content::Call {
                    kind: "tool_use",
                    id: &call.id,
                    name: &call.name,
                    input: &call.arguments,
                }
                .into()
            });
            ("assistant", said.into_iter().chain(calls).collect())
        }
        Turn::Results(results) => {
            let results = results.iter().map(|(id, result)| {
                Content::Result {
                    kind: "tool_result",
                    tool_use_id: id,
                    content: if result.trim().is_empty() { "" } else { result },
                }
                .into()
            });
            ("user", results.collect())
        }
    }
}
