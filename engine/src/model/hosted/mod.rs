//! Models of a provider or of a server nearby, asked over HTTP.

mod endpoint;

pub use endpoint::{Api, Endpoint, EndpointError};

use async_trait::async_trait;

use super::{Model, ModelError, Reply, Request};
use crate::heard::Heard;

/// A model that is asked over HTTP.
#[derive(Debug)]
pub struct Hosted {
    endpoint: Endpoint,
    model: String,
}

impl Hosted {
    /// A model by the name that the provider has for it.
    pub fn new(endpoint: Endpoint, model: String) -> Result<Self, EndpointError> {
        endpoint.asked()?;
        Ok(Self { endpoint, model })
    }
}

#[async_trait]
impl Model for Hosted {
    async fn complete(&self, _: &Request, _: &Heard) -> Result<Reply, ModelError> {
        Err(ModelError {
            kind: placet_ledger::event::ModelFailure::Network,
            detail: format!(
                "{} at {} is not asked yet",
                self.model,
                self.endpoint.shown()
            ),
            used: None,
            again: None,
        })
    }
}
