//! The conversation as the model sees it: rendered from the folded run and its contents, pure.
//!
//! It grows by appending and is rendered once: what was rendered for one call of the model is kept
//! for the next, and so is the hash over it. Where it was made shorter it is rendered anew, from
//! the summary on.

mod render;
mod summary;

use std::sync::Arc;

use placet_ledger::canonical::{self, EncodeError};
use placet_ledger::content::{Blob, Contents};
use placet_ledger::digest::{Digest, Hasher, Purpose};
use placet_ledger::id::{Name, Version};
use placet_ledger::run::{Call, Later, Reply, RunState};
use serde::Serialize;
use serde_json::{Value, json};

use crate::model::estimate::{Size, bytes_kept, input_tokens, is_too_long};
use crate::model::{Message, MessageCall, Request};
use crate::record::{ConfigRecord, ScopeRecord, ScopeTool, Terms};
use crate::tool::retrieve;

pub use render::{Provider, Say};

/// A conversation that grows.
#[derive(Debug, Clone)]
pub struct Conversation {
    /// Apart, since it is large and a conversation is handed on often.
    hasher: Box<Hasher>,
    messages: Vec<Arc<Message>>,
    replies: usize,
    later: usize,
    /// What the run was started with, if it can be read.
    scope: Option<Arc<ScopeRecord>>,
    /// The config that was in force at its start, if it can be read.
    config: Option<Box<ConfigRecord>>,
    bytes: u64,
    /// The record of the summary that it begins with.
    compacted: Option<Version>,
    /// Where each reply begins that is told: how many messages and bytes came before it.
    marks: Vec<Mark>,
    /// How many bytes there were when the provider counted last, and how many tokens that was.
    counted: Option<(u64, u64)>,
}

/// Where a reply begins.
#[derive(Debug, Clone, Copy)]
struct Mark {
    messages: usize,
    bytes: u64,
}

impl Conversation {
    /// The beginning of a run's conversation: system and prompt.
    pub fn new(state: &RunState, contents: &Contents) -> Result<Self, EncodeError> {
        let mut hasher = Box::new(Hasher::new(Purpose::Context));
        hasher.update(br#"{"messages":["#);
        let mut new = Self {
            hasher,
            messages: Vec::new(),
            replies: 0,
            later: 0,
            scope: scope(state, contents).map(Arc::new),
            config: config(state, contents).map(Box::new),
            bytes: 0,
            compacted: None,
            marks: Vec::new(),
            counted: None,
        };
        for (role, name) in [("system", "system"), ("user", "prompt")] {
            let Some(blob) = state.texts().get(name) else {
                continue;
            };
            let text = render::text(contents, Some(blob));
            let message = match role {
                "system" => Message::System(text),
                _ => Message::User(text),
            };
            new.push(&json!({"blob": blob.commitment, "role": role}), message)?;
        }
        new.shorten(state, contents)?;
        Ok(new)
    }

    /// Puts the summary in the place of what it stands for. What a person said meanwhile is said
    /// again before it, word for word.
    fn shorten(&mut self, state: &RunState, contents: &Contents) -> Result<(), EncodeError> {
        let Some(compacted) = state.compacted() else {
            return Ok(());
        };
        self.compacted = Some(compacted.version);
        self.replies = compacted.replies;
        while let Some(later) = state.later().get(self.later) {
            if later.after >= compacted.replies {
                break;
            }
            self.push_later(contents, *later)?;
        }
        let mut hashed = json!({"role": "assistant"});
        if let (Some(blob), Some(fields)) = (&compacted.summary, hashed.as_object_mut()) {
            fields.insert(String::from("summary"), json!(blob.commitment));
        }
        let text = render::text(contents, compacted.summary.as_ref());
        let calls = Vec::new();
        self.push(&hashed, Message::Assistant { text, calls })?;
        let told = if self.retrieves() {
            summary::SHORTENED_RETRIEVES
        } else {
            summary::SHORTENED
        };
        let hashed = json!({"role": "user", "say": "shortened"});
        self.push(&hashed, Message::User(told.to_owned()))
    }

    /// Whether it still is what the state comes to: not once it was made shorter.
    pub fn is_of(&self, state: &RunState) -> bool {
        self.compacted == state.compacted().map(|compacted| compacted.version)
    }

    /// Appends every reply since, with what came of its calls, and every message of a person. All
    /// calls must be closed.
    pub fn extend(&mut self, state: &RunState, contents: &Contents) -> Result<(), EncodeError> {
        self.extend_by_messages(state, contents)?;
        while let Some(reply) = state.replies().get(self.replies) {
            let calls: Vec<_> = reply
                .calls
                .iter()
                .filter_map(|call| state.call(*call))
                .collect();
            self.marks.push(Mark {
                messages: self.messages.len(),
                bytes: self.bytes,
            });
            // What was counted before the conversation was made shorter was another one.
            let same = self.compacted.is_none_or(|version| reply.version > version);
            if same && reply.used.input > 0 {
                self.counted = Some((self.bytes, reply.used.input));
            }
            let provider = Provider::read(contents, reply.provider.as_ref());
            self.push_reply(contents, reply, &calls, &provider)?;
            for call in calls {
                let say = Say::of(call);
                let mut hashed = json!({"call": call.id(), "role": "tool", "say": say.as_str()});
                if let Some(fields) = hashed.as_object_mut() {
                    if let Some(blob) = say.blob(call) {
                        fields.insert(String::from("blob"), json!(blob.commitment));
                    }
                    if let Some(blob) = render::amended(call) {
                        fields.insert(String::from("amended"), json!(blob.commitment));
                    }
                }
                let text = render::result(contents, call, say, self.retrieves());
                self.push(
                    &hashed,
                    Message::Result {
                        id: call.named().to_string(),
                        text,
                    },
                )?;
            }
            self.replies = self.replies.saturating_add(1);
            self.extend_by_messages(state, contents)?;
        }
        Ok(())
    }

    /// Appends the messages of a person that came before the next reply.
    fn extend_by_messages(
        &mut self,
        state: &RunState,
        contents: &Contents,
    ) -> Result<(), EncodeError> {
        while let Some(later) = state.later().get(self.later) {
            if later.after > self.replies {
                break;
            }
            self.push_later(contents, *later)?;
        }
        Ok(())
    }

    fn push_later(&mut self, contents: &Contents, later: Later) -> Result<(), EncodeError> {
        let mut hashed = json!({"role": "user"});
        if let (Some(blob), Some(fields)) = (&later.text, hashed.as_object_mut()) {
            fields.insert(String::from("blob"), json!(blob.commitment));
        }
        let text = render::text(contents, later.text.as_ref());
        self.push(&hashed, Message::User(text))?;
        self.later = self.later.saturating_add(1);
        Ok(())
    }

    fn push_reply(
        &mut self,
        contents: &Contents,
        reply: &Reply,
        calls: &[&Call],
        provider: &Provider,
    ) -> Result<(), EncodeError> {
        let mut hashed = json!({"role": "assistant"});
        let fields: Vec<Value> = calls.iter().map(|call| hashed_call(call)).collect();
        if let Some(object) = hashed.as_object_mut() {
            if let Some(Blob { commitment, .. }) = &reply.text {
                object.insert(String::from("blob"), json!(commitment));
            }
            if !fields.is_empty() {
                object.insert(String::from("calls"), Value::Array(fields));
            }
        }
        let said = calls.iter().map(|call| MessageCall {
            // Ours: a provider may give none, or the same again.
            id: call.named().to_string(),
            name: call
                .tool()
                .map_or_else(|| provider.name(call.named()), Name::to_string),
            arguments: render::text(contents, call.received()),
        });
        let text = render::text(contents, reply.text.as_ref());
        self.push(
            &hashed,
            Message::Assistant {
                text,
                calls: said.collect(),
            },
        )
    }

    fn push(&mut self, hashed: &Value, message: Message) -> Result<(), EncodeError> {
        if !self.messages.is_empty() {
            self.hasher.update(b",");
        }
        self.hasher.update(&canonical::to_vec(hashed)?);
        let length = match &message {
            Message::System(text) | Message::User(text) | Message::Result { text, .. } => {
                text.len()
            }
            Message::Assistant { text, calls } => calls.iter().fold(text.len(), |sum, call| {
                sum.saturating_add(call.arguments.len())
            }),
        };
        self.bytes = self.bytes.saturating_add(length as u64);
        self.messages.push(Arc::new(message));
        Ok(())
    }

    /// Digest over the conversation, the model and its tools: canonical JSON of
    /// `{messages, model, tools}`, every text by its commitment.
    pub fn digest(&self, model: &Name, tools: &[ScopeTool]) -> Result<Digest, EncodeError> {
        #[derive(Serialize)]
        struct Rest<'a> {
            model: &'a Name,
            tools: &'a [ScopeTool],
        }
        let rest = canonical::to_vec(&Rest { model, tools })?;
        let mut hasher = Hasher::clone(&self.hasher);
        hasher
            .update(b"],")
            .update(rest.get(1..).unwrap_or_default());
        Ok(hasher.finish())
    }

    /// The tools of the run now, those of its scope that it still has; `None` where the scope
    /// cannot be read.
    pub fn tools(&self, state: &RunState) -> Option<Vec<ScopeTool>> {
        let tools = self.scope.as_ref()?.tools.iter();
        let offered = tools.filter(|tool| state.offers(&tool.name));
        Some(offered.cloned().collect())
    }

    /// Whether the run has the tool that reads clipped results whole.
    fn retrieves(&self) -> bool {
        let mut tools = self.scope.iter().flat_map(|scope| &scope.tools);
        tools.any(|tool| tool.name.as_str() == retrieve::NAME)
    }

    /// The messages.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// The config that was in force when the run was started; `None` where it cannot be read.
    pub fn config(&self) -> Option<&ConfigRecord> {
        self.config.as_deref()
    }

    /// How calls of the run's model are counted, where that is known.
    pub fn terms(&self) -> Option<&Terms> {
        self.config.as_ref()?.terms.as_ref()
    }

    /// Tokens of what the model would be sent.
    pub fn input_tokens(&self, tools: usize) -> u64 {
        let size = Size {
            bytes: self.bytes,
            tools: tools as u64,
            counted: self.counted,
        };
        input_tokens(size, self.terms())
    }

    /// How many of the run's replies a summary would stand for, if the conversation is too long
    /// and there is anything that it can be made shorter by.
    pub fn replies_to_shorten(&self, input: u64) -> Option<usize> {
        if !is_too_long(self.terms(), input) {
            return None;
        }
        let kept = bytes_kept(self.terms());
        let stays = |mark: &Mark| self.bytes.saturating_sub(mark.bytes) <= kept;
        // The newest reply is summed up too where it alone is too much.
        let first = self.marks.iter().position(stays);
        let told = first.unwrap_or(self.marks.len());
        let before = self.replies.saturating_sub(self.marks.len());
        (told > 0).then(|| before.saturating_add(told))
    }

    /// What a model is sent to sum up so many of the run's replies.
    pub fn summary(&self, replies: usize) -> Request {
        let before = self.replies.saturating_sub(self.marks.len());
        let next = self.marks.get(replies.saturating_sub(before));
        let end = next.map_or(self.messages.len(), |mark| mark.messages);
        let told = self.messages.get(..end).unwrap_or_default();
        summary::request(told, self.replies)
    }
}

fn config(state: &RunState, contents: &Contents) -> Option<ConfigRecord> {
    match state.texts().get("config") {
        None => Some(ConfigRecord::default()),
        Some(blob) => serde_json::from_slice(contents.bytes(&blob.commitment)?).ok(),
    }
}

/// The scope that a run was started with.
pub(crate) fn scope(state: &RunState, contents: &Contents) -> Option<ScopeRecord> {
    let bytes = contents.bytes(&state.texts().get("scope")?.commitment)?;
    serde_json::from_slice(bytes).ok()
}

fn hashed_call(call: &Call) -> Value {
    let mut hashed = json!({"call": call.id()});
    if let Some(object) = hashed.as_object_mut() {
        if let Some(arguments) = call.received() {
            object.insert(String::from("arguments"), json!(arguments.commitment));
        }
        if let Some(tool) = call.tool() {
            object.insert(String::from("tool"), json!(tool));
        }
    }
    hashed
}
