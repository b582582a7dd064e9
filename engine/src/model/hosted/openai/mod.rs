//! Chat Completions, as `OpenAI` defined them and most other servers speak them, each in its way:
//! how a conversation is sent, and how its stream is read.

mod calls;
mod request;

pub(super) use calls::Calls;
pub(super) use request::{Limit, body};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::draft::Draft;
use super::fault::Fault;
use super::loose::{Few, Raw, number, word};
use super::reader::{Progress, misshapen};

/// Choices of one chunk: one is asked for.
const CHOICES_MAX: usize = 128;

/// Pieces of one delta: a server that sends calls whole sends all of them in one.
const PIECES_MAX: usize = 4_096;

/// A chunk of a stream, or a whole completion.
#[derive(Deserialize)]
struct Chunk {
    id: Raw,
    model: Raw,
    choices: Option<Few<Choice, CHOICES_MAX>>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Usage {
    prompt_tokens: Raw,
    completion_tokens: Raw,
    prompt_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Raw,
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
    content: Raw,
    refusal: Option<String>,
    reasoning_content: Raw,
    reasoning: Raw,
    tool_calls: Option<Few<CallDelta, PIECES_MAX>>,
    function_call: Option<Function>,
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
        let mut choices = chunk.choices.iter().flat_map(|choices| &choices.0);
        if !choices.any(|choice| choice.message.is_some()) {
            return Err(Fault::form(
                "expected a completion, found JSON without a message",
            ));
        }
        draft.counted.is_last = true;
        self.take(chunk, draft)
    }

    fn take(&mut self, chunk: Chunk, draft: &mut Draft) -> Result<(), Fault> {
        draft.id = draft.id.take().or_else(|| word(&chunk.id));
        draft.model = draft.model.take().or_else(|| word(&chunk.model));
        for choice in chunk.choices.into_iter().flat_map(|choices| choices.0) {
            // One is asked for; a server that sends more is not followed.
            if choice.index.unwrap_or(0) == 0 {
                for delta in choice.delta.into_iter().chain(choice.message) {
                    self.add(delta, draft)?;
                }
                let stop = choice.finish_reason.filter(|stop| !stop.is_empty());
                draft.stop = stop.or(draft.stop.take());
            }
        }
        count(chunk.usage.as_ref(), draft);
        Ok(())
    }

    fn add(&mut self, delta: Delta, draft: &mut Draft) -> Result<(), Fault> {
        if let Some(content) = delta.content {
            say(&content, draft)?;
        }
        if let Some(refusal) = delta.refusal.filter(|refusal| !refusal.is_empty()) {
            draft.is_refusal = true;
            draft.say(&refusal);
        }
        // Servers call it one or the other, and some both: it is the same text.
        let reasoning = word(&delta.reasoning_content.or(delta.reasoning));
        draft.think(reasoning.as_deref().unwrap_or_default());
        if let Some(function) = delta.function_call {
            self.one(function, draft)?;
        }
        for call in delta.tool_calls.into_iter().flat_map(|calls| calls.0) {
            self.delta(call, draft)?;
        }
        Ok(())
    }
}

/// Content is a text or, at some servers, a list of parts.
fn say(content: &RawValue, draft: &mut Draft) -> Result<(), Fault> {
    let shaped = |error: serde_json::Error| misshapen(&error);
    if content.get().starts_with('"') {
        draft.say(&serde_json::from_str::<String>(content.get()).map_err(shaped)?);
        return Ok(());
    }
    let parts: Few<Part, PIECES_MAX> = serde_json::from_str(content.get()).map_err(shaped)?;
    for part in parts.0 {
        let text = part.text.as_deref().unwrap_or_default();
        if part.kind == "text" {
            draft.say(text);
        } else {
            draft.think(text);
        }
    }
    Ok(())
}

/// Takes over what is counted. Servers tell it once, at the end, or with every chunk so far.
fn count(usage: Option<&Usage>, draft: &mut Draft) {
    let Some(usage) = usage else {
        return;
    };
    let counted = &mut draft.counted;
    if let Some(input) = number(&usage.prompt_tokens) {
        counted.input = Some(input);
        let details = usage.prompt_tokens_details.as_ref();
        let cached = details.and_then(|details| number(&details.cached_tokens));
        counted.cache_read = cached.unwrap_or(counted.cache_read);
    }
    if let Some(output) = number(&usage.completion_tokens) {
        counted.output = Some(output);
        counted.is_last |= draft.stop.is_some();
    }
}
