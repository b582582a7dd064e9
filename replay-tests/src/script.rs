//! The model of a test: replies from a list built in code, and a record of all it was ever sent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use placet_engine::heard::Heard;
use placet_engine::model::{Message, Model, ModelError, Reply, ReplyCall, Request, Told};
use placet_ledger::budget::Tokens;
use placet_ledger::event::{ModelFailure, Stop};
use serde_json::Value;

/// A call that the model will name: the tool, and its arguments.
pub fn call(tool: &str, arguments: &Value) -> ReplyCall {
    raw_call(tool, &arguments.to_string())
}

/// A call with arguments that need not be JSON.
pub fn raw_call(tool: &str, arguments: &str) -> ReplyCall {
    ReplyCall {
        id: String::new(),
        name: tool.to_owned(),
        arguments: arguments.as_bytes().to_vec(),
    }
}

/// What one turn of the model comes to.
#[derive(Debug, Clone)]
enum Turn {
    Says(Box<Result<Reply, ModelError>>),
    Vanishes,
    Hangs,
}

/// Replies in the order in which the model gives them; past the end it fails.
#[derive(Debug, Clone, Default)]
pub struct Script {
    turns: Vec<Turn>,
    summaries: Vec<Turn>,
}

impl Script {
    /// A model that says nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// A reply with these calls, 10 tokens in and 5 out.
    #[must_use]
    pub fn calls(self, calls: impl IntoIterator<Item = ReplyCall>) -> Self {
        self.reply(Reply {
            text: String::new(),
            calls: calls.into_iter().collect(),
            stop: Stop::ToolCalls,
            used: Tokens::new(10, 5),
            told: Told::default(),
        })
    }

    /// A last word, without calls.
    #[must_use]
    pub fn says(self, text: &str) -> Self {
        self.reply(Reply {
            text: text.to_owned(),
            calls: Vec::new(),
            stop: Stop::End,
            used: Tokens::new(10, 5),
            told: Told::default(),
        })
    }

    /// Any reply.
    #[must_use]
    pub fn reply(mut self, reply: Reply) -> Self {
        self.turns.push(Turn::Says(Box::new(Ok(reply))));
        self
    }

    /// No reply.
    #[must_use]
    pub fn fails(self, kind: ModelFailure, used: Option<Tokens>) -> Self {
        self.error(ModelError {
            kind,
            detail: String::from("the provider is not well"),
            used,
            again: None,
        })
    }

    /// No reply, for this reason.
    #[must_use]
    pub fn error(mut self, error: ModelError) -> Self {
        self.turns.push(Turn::Says(Box::new(Err(error))));
        self
    }

    /// What it sums the conversation up as, when it is next asked to.
    #[must_use]
    pub fn sums_up(mut self, summary: Result<Reply, ModelError>) -> Self {
        self.summaries.push(Turn::Says(Box::new(summary)));
        self
    }

    /// The driver dies while the model sums up.
    #[must_use]
    pub fn vanishes_summing_up(mut self) -> Self {
        self.summaries.push(Turn::Vanishes);
        self
    }

    /// The driver dies while the model thinks; asked again, the model goes on with the next turn.
    #[must_use]
    pub fn vanishes(mut self) -> Self {
        self.turns.push(Turn::Vanishes);
        self
    }

    /// The model tells the test that it is being asked, and says nothing for as long as anybody
    /// waits; asked again, it goes on with the next turn.
    #[must_use]
    pub fn hangs(mut self) -> Self {
        self.turns.push(Turn::Hangs);
        self
    }
}

/// A [`Script`] being followed.
#[derive(Debug)]
pub struct ScriptModel {
    turns: Mutex<Vec<Turn>>,
    summaries: Mutex<Vec<Turn>>,
    requests: Mutex<Vec<Request>>,
    asked_to_sum_up: Mutex<Vec<Request>>,
    charged: Mutex<Vec<Tokens>>,
    vanished: Arc<tokio::sync::Notify>,
    reached: Arc<tokio::sync::Notify>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ScriptModel {
    /// A model that follows this script; it tells `vanished` when the driver is to die, and
    /// `reached` when it hangs.
    pub fn new(
        script: Script,
        vanished: Arc<tokio::sync::Notify>,
        reached: Arc<tokio::sync::Notify>,
    ) -> Self {
        Self {
            turns: Mutex::new(script.turns),
            summaries: Mutex::new(script.summaries),
            requests: Mutex::default(),
            asked_to_sum_up: Mutex::default(),
            charged: Mutex::default(),
            vanished,
            reached,
        }
    }

    /// The same model as it is at this moment.
    #[must_use]
    pub fn copy(&self) -> Self {
        Self {
            turns: Mutex::new(lock(&self.turns).clone()),
            summaries: Mutex::new(lock(&self.summaries).clone()),
            requests: Mutex::new(self.requests()),
            asked_to_sum_up: Mutex::new(self.asked_to_sum_up()),
            charged: Mutex::new(self.charged()),
            vanished: self.vanished.clone(),
            reached: self.reached.clone(),
        }
    }

    /// Everything that the model was sent, oldest first.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.requests).clone()
    }

    /// Every conversation that it was to sum up, oldest first.
    pub fn asked_to_sum_up(&self) -> Vec<Request> {
        lock(&self.asked_to_sum_up).clone()
    }

    /// What a provider would have counted for each time that it was asked, in order: what the reply
    /// says; where there is none that says so, all the output that was asked for.
    pub fn charged(&self) -> Vec<Tokens> {
        lock(&self.charged).clone()
    }

    fn next_summary(&self) -> Option<Turn> {
        let mut summaries = lock(&self.summaries);
        (!summaries.is_empty()).then(|| summaries.remove(0))
    }

    fn charge(&self, request: &Request, turn: Option<&Turn>) {
        let told = match turn {
            Some(Turn::Says(said)) => match &**said {
                Ok(reply) => Some(reply.used),
                Err(error) => error.used,
            },
            Some(Turn::Vanishes | Turn::Hangs) => None,
            None => Some(Tokens::default()),
        };
        let all = Tokens::new(0, request.output_tokens.unwrap_or_default());
        lock(&self.charged).push(told.unwrap_or(all));
    }

    async fn follow(&self, turn: Option<Turn>) -> Result<Reply, ModelError> {
        match turn {
            Some(Turn::Says(said)) => *said,
            Some(Turn::Vanishes) => {
                self.vanished.notify_one();
                std::future::pending().await
            }
            Some(Turn::Hangs) => {
                self.reached.notify_one();
                std::future::pending().await
            }
            None => Err(ModelError {
                kind: ModelFailure::Provider,
                detail: String::from("the script has ended"),
                used: None,
                again: None,
            }),
        }
    }

    /// What the model was told came of the calls, in the newest request.
    pub fn told(&self) -> Vec<String> {
        let requests = self.requests();
        let messages = requests.last().map(|request| request.messages.clone());
        let result = |message: Arc<Message>| match &*message {
            Message::Result { text, .. } => Some(text.clone()),
            Message::System(_) | Message::User(_) | Message::Assistant { .. } => None,
        };
        messages
            .unwrap_or_default()
            .into_iter()
            .filter_map(result)
            .collect()
    }

    /// The turn that follows the replies given so far. A turn in which the driver dies is gone
    /// after it, as no reply of it was ever recorded.
    fn turn(&self, served: usize) -> Option<Turn> {
        let mut turns = lock(&self.turns);
        match turns.get(served)? {
            Turn::Vanishes | Turn::Hangs => Some(turns.remove(served)),
            // What may be asked again is answered otherwise then.
            Turn::Says(said) if is_passing(said) => Some(turns.remove(served)),
            Turn::Says(said) => Some(Turn::Says(said.clone())),
        }
    }
}

/// Whether the same may be asked again.
fn is_passing(said: &Result<Reply, ModelError>) -> bool {
    said.as_ref().is_err_and(|error| error.again.is_some())
}

#[async_trait]
impl Model for ScriptModel {
    async fn complete(&self, request: &Request, _: &Heard) -> Result<Reply, ModelError> {
        lock(&self.requests).push(request.clone());
        let turn = self.turn(request.turn);
        self.charge(request, turn.as_ref());
        self.follow(turn).await
    }

    async fn summarise(&self, request: &Request) -> Result<Reply, ModelError> {
        lock(&self.asked_to_sum_up).push(request.clone());
        let turn = self.next_summary();
        self.charge(request, turn.as_ref());
        self.follow(turn).await
    }
}
