//! Messages as every provider can be told them.

use std::sync::Arc;

use crate::tool::spec::Defined;

/// A call as the conversation repeats it to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageCall {
    /// The provider's id for it.
    pub id: String,
    /// The name the model used.
    pub name: String,
    /// The arguments as it wrote them.
    pub arguments: String,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// What the agent is told to be.
    System(String),
    /// What a person asks for.
    User(String),
    /// What the model said before.
    Assistant {
        /// Its text.
        text: String,
        /// The calls it wanted made.
        calls: Vec<MessageCall>,
    },
    /// What came of a call.
    Result {
        /// The provider's id of the call.
        id: String,
        /// What the model is told.
        text: String,
    },
}

/// What a model is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The conversation so far.
    pub messages: Vec<Arc<Message>>,
    /// The tools it may call.
    pub tools: Vec<Arc<Defined>>,
    /// The most tokens that its reply may have; where absent, the model's own limit binds.
    pub output_tokens: Option<u64>,
    /// How many replies the model gave before in its run, shown here or not.
    pub turn: usize,
}

/// What a model is sent to judge one command: a request of its own, without tools and without the
/// conversation of the agent that wants the command run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classify {
    /// What the model is told to do.
    pub system: String,
    /// What it is to judge, fenced.
    pub text: String,
    /// The command as it was proposed, for a model that looks it up.
    pub command: String,
    /// How many commands of the run a model judged before.
    pub judged_before: usize,
    /// The most tokens that its reply may have.
    pub output_tokens: Option<u64>,
}

impl Classify {
    /// The same as a conversation.
    pub fn request(&self) -> Request {
        let messages = [
            Message::System(self.system.clone()),
            Message::User(self.text.clone()),
        ];
        Request {
            messages: messages.map(Arc::new).to_vec(),
            tools: Vec::new(),
            output_tokens: self.output_tokens,
            turn: 0,
        }
    }
}
