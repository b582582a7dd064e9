//! Reads an answer into a draft, whatever the form.

use serde::Deserialize;
use sse_stream::Sse;

use super::body::{Body, Events};
use super::draft::Draft;
use super::endpoint::Api;
use super::fault::Fault;
use super::loose::Raw;
use super::told_error::ToldError;
use super::{anthropic, openai};

/// How far a stream has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// The reply goes on.
    Open,
    /// The reply is complete; something may be told about it still.
    Complete,
    /// Nothing follows.
    Over,
}

/// What is kept between the events of a stream.
pub(super) enum Reader {
    /// Of Anthropic Messages.
    Anthropic(anthropic::Blocks),
    /// Of Chat Completions.
    OpenAi(openai::Calls),
}

/// What tells an error from a part of a reply.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Envelope {
    error: Raw,
    #[serde(rename = "type")]
    kind: Raw,
    object: Raw,
}

impl Envelope {
    fn is_error(&self) -> bool {
        let mut kinds = self.kind.iter().chain(&self.object);
        self.error.is_some() || kinds.any(|kind| kind.get() == "\"error\"")
    }
}

impl Reader {
    pub(super) fn of(api: Api) -> Self {
        match api {
            Api::Anthropic => Self::Anthropic(anthropic::Blocks::default()),
            Api::OpenAi => Self::OpenAi(openai::Calls::default()),
        }
    }

    /// Reads to the end of the reply, or says why there is none.
    pub(super) async fn read(&mut self, body: Body, draft: &mut Draft) -> Result<(), Fault> {
        match body {
            Body::Events(events) => self.events(events, draft).await,
            Body::Json(bytes) => self.whole(&bytes, draft),
        }
    }

    async fn events(&mut self, mut events: Events, draft: &mut Draft) -> Result<(), Fault> {
        let mut progress = Progress::Open;
        while progress != Progress::Over {
            match events.next().await {
                Ok(Some(event)) => progress = self.event(&event, progress, draft)?,
                // What the model said is complete; that it was counted is not worth the reply.
                Ok(None) | Err(Fault::Transport(_)) if progress == Progress::Complete => break,
                Ok(None) => return Err(Fault::Cut),
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }

    fn event(
        &mut self,
        event: &Sse,
        before: Progress,
        draft: &mut Draft,
    ) -> Result<Progress, Fault> {
        let data = event.data.as_deref().unwrap_or_default().trim();
        if data.is_empty() {
            return Ok(before);
        }
        if data == "[DONE]" {
            // Gateways put it behind streams of the other form, too, where it ends nothing.
            return Ok(match self {
                Self::OpenAi(_) => Progress::Over,
                Self::Anthropic(_) => before,
            });
        }
        let envelope: Envelope = serde_json::from_str(data).map_err(|error| not_json(&error))?;
        if envelope.is_error() || event.event.as_deref() == Some("error") {
            return Err(ToldError::read(data).into());
        }
        let progress = match self {
            Self::Anthropic(blocks) => blocks.event(data, draft)?,
            Self::OpenAi(calls) => calls.chunk(data, draft)?,
        };
        Ok(match progress {
            Progress::Open => before,
            Progress::Complete | Progress::Over => progress,
        })
    }

    /// Reads a reply that came in one piece.
    fn whole(&mut self, bytes: &[u8], draft: &mut Draft) -> Result<(), Fault> {
        let text = str::from_utf8(bytes).map_err(|_| Fault::form("the answer is not UTF-8"))?;
        let envelope: Envelope = serde_json::from_str(text).map_err(|error| {
            if error.is_eof() {
                Fault::Cut
            } else {
                not_json(&error)
            }
        })?;
        if envelope.is_error() {
            return Err(ToldError::read(text).into());
        }
        match self {
            Self::Anthropic(blocks) => blocks.whole(text, draft),
            Self::OpenAi(calls) => calls.whole(text, draft),
        }
    }
}

fn not_json(error: &serde_json::Error) -> Fault {
    Fault::Form(format!("expected JSON: {error}"))
}

/// What does not have the form of a reply.
pub(super) fn misshapen(error: &serde_json::Error) -> Fault {
    Fault::Form(format!("expected a part of a reply: {error}"))
}
