//! The connection to a server: what is sent to it with every request, and what never happens.
//!
//! No redirect is followed, since credentials would go along. Nothing is asked twice. A connection
//! serves one request, so that one that broke says something about this request. Servers on this
//! machine are never asked through a proxy.

use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{ClientBuilder, Response, Url, redirect, retry};
use rustls::crypto::CryptoProvider;

use super::anthropic;
use super::endpoint::{Api, Endpoint, EndpointError, is_loopback};
use crate::secret::Secret;

/// How long a connection may take: one that takes longer is to nobody.
const CONNECT: Duration = Duration::from_secs(10);

/// What is said of us.
const AGENT: &str = concat!("placet/", env!("CARGO_PKG_VERSION"));

/// The connection to one server.
pub(super) struct Client {
    http: reqwest::Client,
    headers: HeaderMap,
    /// What is asked.
    pub(super) url: Url,
}

impl Client {
    pub(super) fn new(endpoint: &Endpoint) -> Result<Self, EndpointError> {
        Self::adjusted(endpoint, |builder| builder)
    }

    /// A client with something about it changed.
    pub(super) fn adjusted(
        endpoint: &Endpoint,
        adjust: impl FnOnce(ClientBuilder) -> ClientBuilder,
    ) -> Result<Self, EndpointError> {
        let url = endpoint.asked()?;
        let headers = headers(endpoint)?;
        if CryptoProvider::get_default().is_none() {
            // Another thread may have been faster, with the same one.
            drop(rustls::crypto::ring::default_provider().install_default());
        }
        let mut builder = reqwest::Client::builder()
            .user_agent(AGENT)
            .redirect(redirect::Policy::none())
            .referer(false)
            .retry(retry::never())
            .pool_max_idle_per_host(0)
            .connect_timeout(CONNECT)
            .read_timeout(Duration::from_millis(endpoint.silence_ms.max(1)));
        if is_loopback(&url) {
            builder = builder.no_proxy();
        }
        if url.scheme() == "http" {
            // No certificate is looked at: a machine without any can ask as well.
            builder = builder.tls_certs_only([]);
        }
        let http = adjust(builder).build().map_err(EndpointError::Client)?;
        Ok(Self { http, headers, url })
    }

    /// Sends a body; answers as soon as there are headers.
    pub(super) async fn send(&self, body: Vec<u8>) -> Result<Response, reqwest::Error> {
        let request = self.http.post(self.url.clone());
        request
            .headers(self.headers.clone())
            .body(body)
            .send()
            .await
    }
}

fn headers(endpoint: &Endpoint) -> Result<HeaderMap, EndpointError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(
        ACCEPT,
        HeaderValue::from_static("text/event-stream, application/json"),
    );
    if endpoint.api == Api::Anthropic {
        headers.insert(
            "anthropic-version",
            HeaderValue::from_static(anthropic::VERSION),
        );
    }
    if let Some(key) = &endpoint.key {
        let (name, prefix) = match endpoint.api {
            Api::Anthropic => (HeaderName::from_static("x-api-key"), ""),
            Api::OpenAi => (AUTHORIZATION, "Bearer "),
        };
        let value = sensitive(prefix, key).ok_or(EndpointError::Key)?;
        headers.insert(name, value);
    }
    for (name, value) in &endpoint.headers {
        let wrong = || EndpointError::Header(name.clone());
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        headers.insert(header, sensitive("", value).ok_or_else(wrong)?);
    }
    Ok(headers)
}

fn sensitive(prefix: &str, secret: &Secret) -> Option<HeaderValue> {
    let text = Secret::new(format!("{prefix}{}", secret.expose()));
    let mut value = HeaderValue::from_str(text.expose()).ok()?;
    value.set_sensitive(true);
    Some(value)
}
