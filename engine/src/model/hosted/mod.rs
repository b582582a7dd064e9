//! Models of a provider or of a server nearby, asked over HTTP in one of two forms.
//!
//! One request is one attempt: nothing is asked twice here, so that every attempt is on record. A
//! reply counts once its end has come; whatever breaks off before is a failure. docs/MODELS.md says
//! what is sent and what becomes of each failure.

mod again;
mod anthropic;
mod body;
mod client;
mod conversation;
mod draft;
mod endpoint;
mod failure;
mod fault;
mod loose;
mod names;
mod openai;
mod reader;
#[cfg(test)]
mod tests;
mod told_error;
mod usage;

pub use endpoint::{Api, Endpoint, EndpointError};

use std::fmt;

use async_trait::async_trait;
use placet_ledger::budget::Tokens;
use placet_ledger::event::ModelFailure;
use reqwest::Response;

use self::body::Body;
use self::client::Client;
use self::draft::Draft;
use self::failure::Asked;
use self::names::Names;
use self::openai::Limit;
use self::reader::Reader;
use super::{Model, ModelError, Reply, Request};
use crate::heard::Heard;

/// A model that is asked over HTTP.
pub struct Hosted {
    endpoint: Endpoint,
    model: String,
    client: Client,
}

impl fmt::Debug for Hosted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hosted({:?} at {:?})", self.model, self.endpoint)
    }
}

impl Hosted {
    /// A model by the name that the provider has for it.
    pub fn new(endpoint: Endpoint, model: String) -> Result<Self, EndpointError> {
        let client = Client::new(&endpoint)?;
        Ok(Self {
            endpoint,
            model,
            client,
        })
    }

    fn body(&self, request: &Request, names: &Names) -> Result<Vec<u8>, ModelError> {
        let body = match self.endpoint.api {
            Api::Anthropic => anthropic::body(&self.model, request, names),
            Api::OpenAi => {
                let limit = Limit::of(self.client.url.host_str().unwrap_or_default());
                openai::body(&self.model, limit, request, names)
            }
        };
        body.map_err(|error| ModelError {
            kind: ModelFailure::Provider,
            detail: format!("the request cannot be written: {error}"),
            used: Some(Tokens::default()),
            again: None,
        })
    }

    fn asked(&self) -> Asked<'_> {
        Asked {
            endpoint: &self.endpoint,
            url: &self.client.url,
            model: &self.model,
        }
    }

    /// Reads an answer to its end.
    async fn answered(
        &self,
        response: Response,
        mut draft: Draft,
        names: &Names,
        sent_bytes: u64,
    ) -> Result<Reply, ModelError> {
        if !response.status().is_success() {
            return Err(self.asked().status(response).await);
        }
        let mut reader = Reader::of(self.endpoint.api);
        let read = match Body::of(response).await {
            Ok(body) => reader.read(body, &mut draft).await,
            Err(fault) => Err(fault),
        };
        read.map_err(|fault| self.asked().fault(fault, &draft))?;
        let withhold = |text: &str| self.endpoint.withheld_from(text);
        Ok(draft.reply(self.endpoint.shown(), names, sent_bytes, withhold))
    }
}

#[async_trait]
impl Model for Hosted {
    async fn complete(&self, request: &Request, heard: &Heard) -> Result<Reply, ModelError> {
        let names = Names::of(request);
        let body = self.body(request, &names)?;
        let sent_bytes = body.len() as u64;
        let sent = self.client.send(body).await;
        let response = sent.map_err(|error| self.asked().unanswered(error))?;
        let draft = Draft::new(heard);
        self.answered(response, draft, &names, sent_bytes).await
    }
}
