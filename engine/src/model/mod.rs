//! Models: a conversation in, a reply with calls out, behind one small trait.

pub mod estimate;
mod hosted;
mod message;
mod retry;
mod scripted;
mod verdicts;

pub use hosted::{Api, Endpoint, EndpointError, Hosted};
pub use message::{Classify, Message, MessageCall, Request};
pub use retry::retry_ms;
pub use scripted::{ScriptError, Scripted};

use async_trait::async_trait;
use placet_ledger::budget::Tokens;
use placet_ledger::event::{ModelFailure, Stop};

use crate::heard::Heard;

/// A call that a model wants made, in its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyCall {
    /// The provider's id for it.
    pub id: String,
    /// The name it used.
    pub name: String,
    /// The arguments as it wrote them.
    pub arguments: Vec<u8>,
}

/// What a model said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Its text.
    pub text: String,
    /// The calls it wants made, in its order.
    pub calls: Vec<ReplyCall>,
    /// Why it stopped.
    pub stop: Stop,
    /// What it used.
    pub used: Tokens,
    /// What else the provider told of it.
    pub told: Told,
}

/// What a provider tells of a reply in words of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    /// Where it was asked, without credentials.
    pub endpoint: Option<String>,
    /// Its id of the reply.
    pub id: Option<String>,
    /// The model that it says replied.
    pub model: Option<String>,
    /// Its word for why the model stopped.
    pub stop: Option<String>,
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct ModelError {
    /// What kind of failure it is.
    pub kind: ModelFailure,
    /// What happened.
    pub detail: String,
    /// What was used all the same, where that is known.
    pub used: Option<Tokens>,
    /// Whether the same may be asked again; only where nothing of a reply was received.
    pub again: Option<Again>,
}

/// The same may be asked again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Again {
    /// How long the provider asks to wait before that.
    pub after_ms: Option<u64>,
}

/// A model.
#[async_trait]
pub trait Model: Send + Sync {
    /// Continues the conversation; what is said on the way can be heard.
    async fn complete(&self, request: &Request, heard: &Heard) -> Result<Reply, ModelError>;

    /// Says in fewer words what a conversation came to; nobody hears it.
    async fn summarise(&self, request: &Request) -> Result<Reply, ModelError> {
        self.complete(request, &Heard::default()).await
    }

    /// Judges a command; nobody hears it.
    async fn classify(&self, question: &Classify) -> Result<Reply, ModelError> {
        self.complete(&question.request(), &Heard::default()).await
    }
}
