//! Why there is no reply, in words that a person can act on.
//!
//! The request is never part of them. What a server says is clipped, and secrets are taken out of
//! it first.

use std::error::Error;
use std::io;

use placet_ledger::budget::Tokens;
use placet_ledger::event::ModelFailure;
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::{Response, StatusCode, Url};
use serde_json::Value;

use super::again;
use super::draft::{Draft, clip};
use super::endpoint::{Endpoint, is_loopback, shown};
use super::fault::Fault;
use super::told_error::{ERROR_BYTES_MAX, ToldError};
use crate::model::{Again, ModelError};

/// Bytes of what a server says that are passed on.
const MESSAGE_BYTES_MAX: usize = 2 * 1024;

/// Who was asked for what, to say so when it fails.
pub(super) struct Asked<'a> {
    pub(super) endpoint: &'a Endpoint,
    pub(super) url: &'a Url,
    pub(super) model: &'a str,
}

/// What became of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Broke {
    /// Nobody listens there.
    Refused,
    /// There is no connection, for another reason that may pass.
    Unconnected,
    /// The certificate, or what else TLS asks for, is not right.
    Untrusted,
    /// Nothing was heard for too long.
    Silent,
    /// What came is no HTTP.
    Foreign,
    /// It ended while it was used.
    Reset,
}

impl Broke {
    fn of(error: &reqwest::Error) -> Self {
        if error.is_connect() {
            let mut io = causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>());
            if io.any(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
                Self::Refused
            } else if causes(error).any(<dyn Error>::is::<rustls::Error>) {
                Self::Untrusted
            } else {
                Self::Unconnected
            }
        } else if error.is_timeout() {
            Self::Silent
        } else {
            let mut hyper = causes(error).filter_map(|cause| cause.downcast_ref::<hyper::Error>());
            if hyper.any(hyper::Error::is_parse) {
                Self::Foreign
            } else {
                Self::Reset
            }
        }
    }
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next.take()?;
        // An error of the system that wraps another is silent about it as a source.
        next = match error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
        {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
        Some(error)
    })
}

impl Asked<'_> {
    /// The connection failed before the server answered.
    pub(super) fn unanswered(&self, error: reqwest::Error) -> ModelError {
        let error = error.without_url();
        let place = self.endpoint.shown();
        let why = innermost(&error);
        let nothing = Some(Tokens::default());
        let again = Some(Again::default());
        match Broke::of(&error) {
            Broke::Refused if is_loopback(self.url) => {
                let detail = format!("nothing listens at {place}: is the server running?");
                failed(ModelFailure::Network, detail, nothing, again)
            }
            Broke::Refused | Broke::Unconnected => {
                let detail = format!("no connection to {place}: {why}");
                failed(ModelFailure::Network, detail, nothing, again)
            }
            Broke::Untrusted => {
                let detail = format!("no trusted connection to {place}: {why}");
                failed(ModelFailure::Network, detail, nothing, None)
            }
            Broke::Silent => self.silent(),
            Broke::Foreign => self.foreign(&why),
            Broke::Reset => {
                let detail = format!("{place} closed the connection without an answer: {why}");
                failed(ModelFailure::Network, detail, None, again)
            }
        }
    }

    /// The server answered with a status that is no success.
    pub(super) async fn status(&self, response: Response) -> ModelError {
        let (status, headers) = (response.status(), response.headers().clone());
        let told = self.told(response).await;
        let kind = told.as_ref().map_or("", |told| told.kind.as_str());
        let again = again::after_status(status, &headers, kind);
        let said = told
            .as_ref()
            .map(|told| self.said(told))
            .unwrap_or_default();
        let location = headers.get(LOCATION).and_then(|to| to.to_str().ok());
        let hint = self.hint(status, location);
        let detail = format!("{} answered {status}{said}{hint}", self.endpoint.shown());
        let is_undone = status.is_client_error() || matches!(status.as_u16(), 503 | 529);
        let used = is_undone.then(Tokens::default);
        failed(ModelFailure::Provider, detail, used, again)
    }

    /// The server answered, and what came was no reply.
    pub(super) fn fault(&self, fault: Fault, draft: &Draft) -> ModelError {
        let place = self.endpoint.shown();
        let used = draft.counted.known();
        let unless_begun = |again: Option<Again>| again.filter(|_| !draft.has_begun);
        let cut = |why: &str| {
            let detail = format!("the reply of {place} broke off before its end{why}");
            let again = unless_begun(Some(Again::default()));
            failed(ModelFailure::Cut, detail, used, again)
        };
        match fault {
            Fault::Cut => cut(""),
            Fault::Transport(error) => match Broke::of(&error) {
                Broke::Silent => ModelError {
                    used,
                    ..self.silent()
                },
                Broke::Foreign => self.foreign(&innermost(&error)),
                Broke::Refused | Broke::Unconnected | Broke::Untrusted | Broke::Reset => {
                    cut(&format!(": {}", innermost(&error)))
                }
            },
            Fault::Form(what) => {
                let what = self.passed_on(&what);
                let detail = format!("{place} did not answer with a reply: {what}");
                failed(ModelFailure::Provider, detail, used, None)
            }
            Fault::Told { kind, message } => {
                let again = unless_begun(again::after_kind(&kind));
                let said = self.said(&ToldError { kind, message });
                let detail = format!("{place} told of an error in place of the reply{said}");
                failed(ModelFailure::Provider, detail, used, again)
            }
        }
    }

    fn silent(&self) -> ModelError {
        let (place, ms) = (self.endpoint.shown(), self.endpoint.silence_ms);
        let detail = format!("nothing was heard from {place} for {ms} ms");
        failed(ModelFailure::Timeout, detail, None, None)
    }

    fn foreign(&self, why: &str) -> ModelError {
        let place = self.endpoint.shown();
        let detail = format!("{place} does not speak HTTP as expected: {why}");
        failed(ModelFailure::Provider, detail, None, None)
    }

    /// What a person can do about a status.
    fn hint(&self, status: StatusCode, location: Option<&str>) -> String {
        match status.as_u16() {
            401 | 403 => {
                let variable = self.endpoint.api.key_variable();
                match self.endpoint.key {
                    Some(_) => format!(
                        " (check the key, which {variable} holds if the config names nothing else)"
                    ),
                    None => format!(
                        " (no key was sent; {variable} holds it if the config names nothing else)"
                    ),
                }
            }
            404 => format!(" (check the base URL and the model {:?})", self.model),
            300..=399 => {
                let to = location.and_then(|to| self.url.join(to).ok());
                let to = to.map_or_else(String::new, |to| format!(" to {}", shown(&to)));
                format!(" (redirects{to} are not followed: change the base URL)")
            }
            _ => String::new(),
        }
    }

    /// What a server says of an error.
    async fn told(&self, mut response: Response) -> Option<ToldError> {
        let kind = response.headers().get(CONTENT_TYPE);
        let is_page = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
        if is_page {
            return Some(ToldError {
                kind: String::new(),
                message: String::from("a page in HTML, expected an error in JSON"),
            });
        }
        let mut body = Vec::new();
        // What can be read of it is enough.
        while let Ok(Some(chunk)) = response.chunk().await {
            let room = ERROR_BYTES_MAX.saturating_sub(body.len());
            body.extend(chunk.iter().take(room));
            if chunk.len() >= room {
                break;
            }
        }
        let told = serde_json::from_slice::<Value>(&body).ok();
        told.as_ref().and_then(ToldError::of).or_else(|| {
            let message = String::from_utf8_lossy(&body).trim().to_owned();
            let kind = String::new();
            (!message.is_empty()).then_some(ToldError { kind, message })
        })
    }

    /// Such as `: overloaded_error: Overloaded`.
    fn said(&self, told: &ToldError) -> String {
        let words = [told.kind.as_str(), told.message.as_str()];
        let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
        if words.is_empty() {
            return String::new();
        }
        format!(": {}", self.passed_on(&words.join(": ")))
    }

    /// A text of others, fit to be recorded.
    fn passed_on(&self, text: &str) -> String {
        clip(&self.endpoint.withheld_from(text), MESSAGE_BYTES_MAX)
    }
}

fn innermost(error: &reqwest::Error) -> String {
    causes(error)
        .last()
        .map_or_else(String::new, ToString::to_string)
}

const fn failed(
    kind: ModelFailure,
    detail: String,
    used: Option<Tokens>,
    again: Option<Again>,
) -> ModelError {
    ModelError {
        kind,
        detail,
        used,
        again,
    }
}
