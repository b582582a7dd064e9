//! A conversation in turns that every provider takes, before it has the form of one of them.
//!
//! Ids of calls are made unique, results are put behind the calls that they answer, empty texts are
//! left out, and arguments become an object whatever the model wrote.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::names::Names;
use crate::model::{Message, MessageCall, Request};

/// What stands for a result that the conversation does not have: providers want one a call.
const NO_RESULT: &str = "No result is kept.";

/// A call as it is told again.
#[derive(Debug)]
pub(super) struct Told {
    /// An id that no other call of the conversation has.
    pub(super) id: String,
    /// Its name in the form that is sent.
    pub(super) name: String,
    /// Its arguments, an object.
    pub(super) arguments: Box<RawValue>,
}

/// One turn.
#[derive(Debug)]
pub(super) enum Turn<'a> {
    /// Texts of people, one after another.
    User(Vec<Cow<'a, str>>),
    /// What the model said; a text, calls, or both.
    Assistant {
        /// Its text, which may be empty where there are calls.
        text: &'a str,
        /// Its calls.
        calls: Vec<Told>,
    },
    /// What came of the calls of the turn before, all of them, in their order.
    Results(Vec<(String, &'a str)>),
}

/// A whole conversation.
#[derive(Debug, Default)]
pub(super) struct Conversation<'a> {
    /// What the agent is told to be.
    pub(super) system: Vec<&'a str>,
    /// The turns; users and assistants take turns, but for results between them.
    pub(super) turns: Vec<Turn<'a>>,
}

/// A call that was told and has no result yet.
struct Open<'a> {
    provider: &'a str,
    id: String,
    result: Option<&'a str>,
}

impl<'a> Conversation<'a> {
    /// Of a request.
    pub(super) fn of(request: &'a Request, names: &Names) -> Self {
        let mut conversation = Self::default();
        let mut ids = Ids::default();
        let mut open = Vec::new();
        for message in &request.messages {
            match &**message {
                Message::System(text) if is_blank(text) => {}
                Message::System(text) => conversation.system.push(text),
                Message::Result { id, text } => {
                    if !answer(&mut open, id, text) {
                        conversation.close(&mut open);
                        conversation.orphan(text);
                    }
                }
                Message::User(text) => {
                    conversation.close(&mut open);
                    conversation.user(Cow::Borrowed(text));
                }
                Message::Assistant { text, calls } => {
                    conversation.close(&mut open);
                    let told = calls.iter().map(|call| ids.told(call, names)).collect();
                    conversation.assistant(text, told);
                    open = opened(conversation.turns.last(), calls);
                }
            }
        }
        conversation.close(&mut open);
        conversation
    }

    fn user(&mut self, text: Cow<'a, str>) {
        if is_blank(&text) {
            return;
        }
        match self.turns.last_mut() {
            Some(Turn::User(texts)) => texts.push(text),
            Some(Turn::Assistant { .. } | Turn::Results(_)) | None => {
                self.turns.push(Turn::User(vec![text]));
            }
        }
    }

    fn assistant(&mut self, text: &'a str, calls: Vec<Told>) {
        let text = if is_blank(text) { "" } else { text };
        if !text.is_empty() || !calls.is_empty() {
            self.turns.push(Turn::Assistant { text, calls });
        }
    }

    /// A result whose call is not in the conversation: no provider takes it as a result.
    fn orphan(&mut self, text: &str) {
        self.user(Cow::Owned(format!("Result of an earlier call: {text}")));
    }

    fn close(&mut self, open: &mut Vec<Open<'a>>) {
        let results: Vec<_> = open
            .drain(..)
            .map(|call| (call.id, call.result.unwrap_or(NO_RESULT)))
            .collect();
        if !results.is_empty() {
            self.turns.push(Turn::Results(results));
        }
    }
}

/// The calls of a turn that was just told, by the provider's ids.
fn opened<'a>(turn: Option<&Turn<'a>>, calls: &'a [MessageCall]) -> Vec<Open<'a>> {
    match turn {
        Some(Turn::Assistant { calls: told, .. }) => calls
            .iter()
            .zip(told)
            .map(|(call, told)| Open {
                provider: &call.id,
                id: told.id.clone(),
                result: None,
            })
            .collect(),
        Some(Turn::User(_) | Turn::Results(_)) | None => Vec::new(),
    }
}

/// Gives a result to the first call of that id without one; ids may be repeated.
fn answer<'a>(open: &mut [Open<'a>], id: &str, text: &'a str) -> bool {
    let call = open
        .iter_mut()
        .find(|call| call.provider == id && call.result.is_none());
    call.is_some_and(|call| {
        call.result = Some(text);
        true
    })
}

/// The ids that are taken.
#[derive(Default)]
struct Ids(BTreeSet<String>);

impl Ids {
    /// The provider's own id where it can be sent and no call before had it.
    fn unique(&mut self, id: &str) -> String {
        let mut number = self.0.len();
        let mut unique = id.to_owned();
        while !is_id(&unique) || !self.0.insert(unique.clone()) {
            number = number.saturating_add(1);
            unique = format!("call_{number}");
        }
        unique
    }

    fn told(&mut self, call: &MessageCall, names: &Names) -> Told {
        Told {
            id: self.unique(&call.id),
            name: names.sent(&call.name).to_owned(),
            arguments: object(&call.arguments),
        }
    }
}

/// Bytes of an id that is sent back.
const ID_BYTES_MAX: usize = 256;

fn is_id(id: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !id.is_empty() && id.len() <= ID_BYTES_MAX && id.bytes().all(allowed)
}

/// Providers turn down blank texts.
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Arguments as an object. Providers take nothing else, and some servers fail on it; what is none
/// is shown to the model inside one, since the result speaks of it.
fn object(arguments: &str) -> Box<RawValue> {
    if is_blank(arguments) {
        return RawValue::from_string(String::from("{}")).unwrap_or_default();
    }
    let raw = match serde_json::from_str::<Map<String, Value>>(arguments) {
        Ok(_) => arguments.trim().to_owned(),
        Err(_) => serde_json::json!({ "malformed": arguments }).to_string(),
    };
    RawValue::from_string(raw).unwrap_or_default()
}

#[cfg(test)]
mod tests;
