//! Anthropic Messages: how a conversation is sent, and how its stream is read.

mod request;

pub(super) use request::body;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::draft::Draft;
use super::fault::Fault;
use super::loose::{Few, Raw, number, word};
use super::reader::{Progress, misshapen};

/// The version of the form that is spoken.
pub(super) const VERSION: &str = "2023-06-01";

/// Blocks of a message that came in one piece: far more than anybody sends.
const BLOCKS_MAX: usize = 4_096;

/// The blocks of a message that have begun, by their index.
#[derive(Debug, Default)]
pub(super) struct Blocks(BTreeMap<u64, Block>);

#[derive(Debug)]
enum Block {
    /// Text; also anything that is neither said to people nor a call.
    Other,
    /// A call: its place among the calls, and what stood in its beginning.
    Call {
        place: usize,
        input: String,
        has_deltas: bool,
    },
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type", default)]
    kind: String,
}

#[derive(Deserialize)]
struct Started {
    message: Head,
}

/// What a message tells of itself before there is anything in it.
#[derive(Deserialize)]
struct Head {
    id: Raw,
    model: Raw,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(rename = "input_tokens")]
    input: Raw,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read: Raw,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_write: Raw,
    #[serde(rename = "output_tokens")]
    output: Raw,
}

#[derive(Deserialize)]
struct BlockStarted {
    index: Option<u64>,
    content_block: Content,
}

/// A block of content.
#[derive(Deserialize)]
struct Content {
    #[serde(rename = "type", default)]
    kind: String,
    text: Option<String>,
    thinking: Option<String>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct BlockDelta {
    index: Option<u64>,
    delta: Delta,
}

#[derive(Deserialize)]
struct Delta {
    #[serde(rename = "type", default)]
    kind: String,
    text: Option<String>,
    thinking: Option<String>,
    partial_json: Option<String>,
}

#[derive(Deserialize)]
struct MessageDelta {
    delta: Stopped,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Stopped {
    stop_reason: Option<String>,
}

/// A whole message.
#[derive(Deserialize)]
struct Message {
    id: Raw,
    model: Raw,
    usage: Option<Usage>,
    content: Few<Content, BLOCKS_MAX>,
    stop_reason: Option<String>,
}

impl Blocks {
    /// Reads one event of a stream. Kinds that are not known are left out, as the provider asks.
    pub(super) fn event(&mut self, data: &str, draft: &mut Draft) -> Result<Progress, Fault> {
        let event: Event = read(data)?;
        match event.kind.as_str() {
            "message_start" => {
                let Started { message } = read(data)?;
                draft.id = word(&message.id);
                draft.model = word(&message.model);
                count(message.usage.as_ref(), false, draft);
            }
            "content_block_start" => {
                let started: BlockStarted = read(data)?;
                self.start(started.index.unwrap_or(0), started.content_block, draft);
            }
            "content_block_delta" => {
                let delta: BlockDelta = read(data)?;
                self.delta(delta.index.unwrap_or(0), &delta.delta, draft)?;
            }
            "message_delta" => {
                let delta: MessageDelta = read(data)?;
                draft.stop = delta.delta.stop_reason.or(draft.stop.take());
                count(delta.usage.as_ref(), true, draft);
            }
            "message_stop" => {
                self.end(draft);
                return Ok(Progress::Over);
            }
            _ => {}
        }
        Ok(Progress::Open)
    }

    fn start(&mut self, index: u64, content: Content, draft: &mut Draft) {
        let block = match content.kind.as_str() {
            "text" => {
                draft.say(content.text.as_deref().unwrap_or_default());
                Block::Other
            }
            "tool_use" => {
                let (id, name) = (content.id.unwrap_or_default(), content.name);
                Block::Call {
                    place: draft.begin_call(id, name.unwrap_or_default()),
                    input: content
                        .input
                        .map_or_else(String::new, |input| written(&input)),
                    has_deltas: false,
                }
            }
            _ => {
                draft.think(content.thinking.as_deref().unwrap_or_default());
                Block::Other
            }
        };
        if let Some(before) = self.0.insert(index, block) {
            settle(before, draft);
        }
    }

    fn delta(&mut self, index: u64, delta: &Delta, draft: &mut Draft) -> Result<(), Fault> {
        match delta.kind.as_str() {
            "text_delta" => draft.say(delta.text.as_deref().unwrap_or_default()),
            "input_json_delta" => {
                let piece = delta.partial_json.as_deref().unwrap_or_default();
                match self.0.get_mut(&index) {
                    Some(Block::Call {
                        place, has_deltas, ..
                    }) => {
                        *has_deltas |= !piece.is_empty();
                        draft.argue(*place, piece);
                    }
                    // Of a call that the provider makes itself.
                    Some(Block::Other) => draft.think(piece),
                    None => return Err(Fault::form("arguments of a call that did not begin")),
                }
            }
            _ => draft.think(delta.thinking.as_deref().unwrap_or_default()),
        }
        Ok(())
    }

    fn end(&mut self, draft: &mut Draft) {
        for block in std::mem::take(&mut self.0).into_values() {
            settle(block, draft);
        }
    }

    /// Reads a message that came in one piece.
    pub(super) fn whole(&mut self, text: &str, draft: &mut Draft) -> Result<(), Fault> {
        let message: Message = read(text)?;
        draft.id = word(&message.id);
        draft.model = word(&message.model);
        count(message.usage.as_ref(), true, draft);
        draft.stop = message.stop_reason;
        for (index, content) in (0..).zip(message.content.0) {
            self.start(index, content, draft);
        }
        self.end(draft);
        Ok(())
    }
}

/// Arguments that came with the beginning of a call count where none followed.
fn settle(block: Block, draft: &mut Draft) {
    match block {
        Block::Call {
            place,
            input,
            has_deltas: false,
        } => draft.argue(place, &input),
        Block::Call {
            has_deltas: true, ..
        }
        | Block::Other => {}
    }
}

/// Arguments in one piece; an object without anything is how a stream begins them.
fn written(input: &RawValue) -> String {
    let is_empty = input
        .get()
        .chars()
        .all(|letter| "{} \t\r\n".contains(letter));
    let text = if is_empty || input.get() == "null" {
        ""
    } else {
        input.get()
    };
    text.to_owned()
}

/// Takes over what is counted; later numbers stand for all so far.
fn count(usage: Option<&Usage>, is_last: bool, draft: &mut Draft) {
    let Some(usage) = usage else {
        return;
    };
    let counted = &mut draft.counted;
    if let Some(output) = number(&usage.output) {
        counted.output = Some(output);
        counted.is_last = is_last;
    }
    let read = number(&usage.cache_read);
    let write = number(&usage.cache_write);
    if let Some(past_cache) = number(&usage.input) {
        counted.cache_read = read.unwrap_or(counted.cache_read);
        counted.cache_write = write.unwrap_or(counted.cache_write);
        let cached = counted.cache_read.saturating_add(counted.cache_write);
        // The provider counts what is past the cache apart from what is in it.
        counted.input = Some(past_cache.saturating_add(cached));
    }
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|error| misshapen(&error))
}
