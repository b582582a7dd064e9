//! Chat Completions, as `OpenAI` defined them and most other servers speak them, each in its way:
//! how a conversation is sent, and how its stream is read.

mod calls;
mod request;

pub(super) use calls::Calls;
pub(super) use request::{Limit, body};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::draft::Draft;
use super::fault::Fault;
use super::reader::{Progress, misshapen};

/// A chunk of a stream, or a whole completion.
#[derive(Deserialize)]
struct Chunk {
    id: Option<Value>,
    model: Option<Value>,
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Value,
}

#[derive(Deserialize)]
struct Choice {
    index: Option<u64>,
    delta: Option<Delta>,
    message: Option<Delta>,
    finish_reason: Option<String>,
}

/// What is added to a message, or a whole one.
#[derive(Deserialize)]
struct Delta {
    content: Option<Content>,
    refusal: Option<String>,
    reasoning_content: Option<Value>,
    reasoning: Option<Value>,
    tool_calls: Option<Vec<CallDelta>>,
    function_call: Option<Function>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type", default)]
    kind: String,
    text: Option<String>,
}

/// What is added to a call.
#[derive(Deserialize)]
struct CallDelta {
    index: Option<u64>,
    id: Option<String>,
    function: Option<Function>,
}

#[derive(Deserialize, Default)]
struct Function {
    name: Option<String>,
    arguments: Option<Box<RawValue>>,
}

impl Calls {
    /// Reads one chunk of a stream.
    pub(super) fn chunk(&mut self, data: &str, draft: &mut Draft) -> Result<Progress, Fault> {
        let chunk: Chunk = serde_json::from_str(data).map_err(|error| misshapen(&error))?;
        self.take(chunk, draft)?;
        Ok(if draft.stop.is_some() {
            Progress::Complete
        } else {
            Progress::Open
        })
    }

    /// Reads a completion that came in one piece.
    pub(super) fn whole(&mut self, text: &str, draft: &mut Draft) -> Result<(), Fault> {
        let chunk: Chunk = serde_json::from_str(text).map_err(|error| misshapen(&error))?;
        let choices = chunk.choices.as_deref().unwrap_or_default();
        if !choices.iter().any(|choice| choice.message.is_some()) {
            return Err(Fault::form(
                "expected a completion, found JSON without a message",
            ));
        }
        draft.counted.is_last = true;
        self.take(chunk, draft)
    }

    fn take(&mut self, chunk: Chunk, draft: &mut Draft) -> Result<(), Fault> {
        let word = |value: Option<Value>| {
            let word = value?.as_str()?.to_owned();
            (!word.is_empty()).then_some(word)
        };
        draft.id = draft.id.take().or_else(|| word(chunk.id));
        draft.model = draft.model.take().or_else(|| word(chunk.model));
        for choice in chunk.choices.into_iter().flatten() {
            // One is asked for; a server that sends more is not followed.
            if choice.index.unwrap_or(0) == 0 {
                for delta in choice.delta.into_iter().chain(choice.message) {
                    self.add(delta, draft)?;
                }
                let stop = choice.finish_reason.filter(|stop| !stop.is_empty());
                draft.stop = stop.or(draft.stop.take());
            }
        }
        count(&chunk.usage, draft);
        Ok(())
    }

    fn add(&mut self, delta: Delta, draft: &mut Draft) -> Result<(), Fault> {
        match delta.content {
            Some(Content::Text(text)) => draft.say(&text),
            Some(Content::Parts(parts)) => {
                for part in parts {
                    let text = part.text.as_deref().unwrap_or_default();
                    if part.kind == "text" {
                        draft.say(text);
                    } else {
                        draft.think(text);
                    }
                }
            }
            None => {}
        }
        if let Some(refusal) = delta.refusal.filter(|refusal| !refusal.is_empty()) {
            draft.is_refusal = true;
            draft.say(&refusal);
        }
        // Servers call it one or the other, and some both: it is the same text.
        let reasoning = delta.reasoning_content.or(delta.reasoning);
        draft.think(
            reasoning
                .as_ref()
                .and_then(Value::as_str)
                .unwrap_or_default(),
        );
        if let Some(function) = delta.function_call {
            self.one(function, draft)?;
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.delta(call, draft)?;
        }
        Ok(())
    }
}

/// Takes over what is counted. Servers tell it once, at the end, or with every chunk so far.
fn count(usage: &Value, draft: &mut Draft) {
    let number = |name: &str| usage.get(name).and_then(Value::as_u64);
    let counted = &mut draft.counted;
    if let Some(input) = number("prompt_tokens") {
        counted.input = Some(input);
        let details = usage.get("prompt_tokens_details");
        let cached = details.and_then(|details| details.get("cached_tokens")?.as_u64());
        counted.cache_read = cached.unwrap_or(counted.cache_read);
    }
    if let Some(output) = number("completion_tokens") {
        counted.output = Some(output);
        counted.is_last |= draft.stop.is_some();
    }
}
