//! Where a model is asked: a base URL, the form it speaks, and what opens it.

use std::fmt;

use reqwest::Url;
use serde::{Deserialize, Serialize};

use crate::secret::Secret;

/// Bytes of a header's value from which on it may be a credential.
const SECRET_BYTES_MIN: usize = 8;

/// The form in which a server is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// Anthropic Messages.
    Anthropic,
    /// `OpenAI` Chat Completions, which most other servers speak as well.
    OpenAi,
}

impl Api {
    /// The word in files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
        }
    }

    /// The environment variable in which people keep the key.
    pub const fn key_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::OpenAi => "OPENAI_API_KEY",
        }
    }

    /// What is asked below the base URL.
    const fn path(self) -> &'static str {
        match self {
            Self::Anthropic => "/v1/messages",
            Self::OpenAi => "/chat/completions",
        }
    }
}

/// Where a model is asked.
#[derive(Clone)]
pub struct Endpoint {
    /// The form of questions and answers.
    pub api: Api,
    /// The beginning of the address: for `openai` it ends in `/v1` by convention, for `anthropic`
    /// it does not.
    pub base_url: String,
    /// The key; a local server may need none.
    pub key: Option<Secret>,
    /// Further headers, such as those of a gateway; they replace ours of the same name.
    pub headers: Vec<(String, Secret)>,
    /// How long nothing may be heard from the server.
    pub silence_ms: u64,
}

/// Why nothing can be asked there. The address itself is not repeated: it may hold a password.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// No address.
    #[error("the base URL is not an address such as https://api.example.com")]
    Url,
    /// Another scheme.
    #[error("the base URL begins with {0}://, expected https:// or http://")]
    Scheme(String),
    /// A password in the address.
    #[error("the base URL holds a user name or password: give them as a header")]
    UserInfo,
    /// A key that no header can hold.
    #[error("the key holds a line break or another character that cannot be sent in a header")]
    Key,
    /// A header that cannot be sent.
    #[error("the header {0:?} has a name or value that cannot be sent")]
    Header(String),
    /// No client can be made.
    #[error("cannot prepare connections")]
    Client(#[source] reqwest::Error),
}

impl Endpoint {
    /// The base URL for people and records: without user info, query and fragment.
    pub fn shown(&self) -> String {
        Url::parse(&self.base_url).map_or_else(|_| String::from("(no address)"), |url| shown(&url))
    }

    /// The base URL, checked.
    fn base(&self) -> Result<Url, EndpointError> {
        let url = Url::parse(&self.base_url).map_err(|_| EndpointError::Url)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(EndpointError::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(EndpointError::UserInfo);
        }
        Ok(url)
    }

    /// What is asked. A query of the base URL stays, as some gateways want one.
    pub(super) fn asked(&self) -> Result<Url, EndpointError> {
        let mut url = self.base()?;
        let path = format!("{}{}", url.path().trim_end_matches('/'), self.api.path());
        url.set_path(&path);
        url.set_fragment(None);
        Ok(url)
    }

    /// A text of others in which none of its secrets stands. A header as short as a word is none,
    /// and taking it out would leave nothing that can be read.
    pub(super) fn withheld_from(&self, text: &str) -> String {
        let headers = self.headers.iter().map(|(_, value)| value);
        let headers = headers.filter(|value| value.expose().len() >= SECRET_BYTES_MIN);
        let secrets = self.key.iter().chain(headers);
        secrets.fold(text.to_owned(), |text, secret| secret.withheld_from(&text))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({} {})", self.api.as_str(), self.shown())
    }
}

/// An address without user info, query and fragment.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Fails only for addresses that have no user info.
    let _ = url.set_username("").and_then(|()| url.set_password(None));
    url.set_query(None);
    url.set_fragment(None);
    url.as_str().trim_end_matches('/').to_owned()
}

/// Whether an address is this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else {
        return false;
    };
    let address = host.trim_start_matches('[').trim_end_matches(']');
    match address.parse::<std::net::IpAddr>() {
        Ok(address) => address.is_loopback() || address.is_unspecified(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(api: Api, base_url: &str) -> Endpoint {
        Endpoint {
            api,
            base_url: base_url.to_owned(),
            key: Some(Secret::new(String::from("sk-key"))),
            headers: vec![(
                String::from("x-gate"),
                Secret::new(String::from("gate-pass")),
            )],
            silence_ms: 1_000,
        }
    }

    #[test]
    fn the_path_follows_the_base_whatever_its_end() {
        for (api, base, asked) in [
            (
                Api::Anthropic,
                "https://api.anthropic.com",
                "https://api.anthropic.com/v1/messages",
            ),
            (
                Api::Anthropic,
                "https://gate.example/a/",
                "https://gate.example/a/v1/messages",
            ),
            (
                Api::OpenAi,
                "https://api.openai.com/v1",
                "https://api.openai.com/v1/chat/completions",
            ),
            (
                Api::OpenAi,
                "http://[::1]:8080/v1/?version=3#x",
                "http://[::1]:8080/v1/chat/completions?version=3",
            ),
        ] {
            let url = endpoint(api, base).asked().unwrap();
            assert_eq!(url.as_str(), asked);
        }
    }

    #[test]
    fn refuses_what_is_no_address_and_repeats_no_password() {
        for (base, says) in [
            ("api.anthropic.com", "not an address"),
            ("", "not an address"),
            ("ftp://a.example", "ftp://"),
            ("file:///etc", "file://"),
            ("https://ann:geheim@a.example", "user name"),
            ("https://ann@a.example", "user name"),
        ] {
            let error = endpoint(Api::OpenAi, base).asked().unwrap_err().to_string();
            assert!(error.contains(says), "{base}: {error}");
            assert!(!error.contains("geheim"), "{error}");
        }
    }

    #[test]
    fn what_is_shown_holds_nothing_secret() {
        for (base, seen) in [
            (
                "https://ann:geheim@a.example/v1?key=geheim#g",
                "https://a.example/v1",
            ),
            ("https://a.example/", "https://a.example"),
            ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"),
            ("geheim", "(no address)"),
        ] {
            let endpoint = endpoint(Api::OpenAi, base);
            assert_eq!(endpoint.shown(), seen);
            assert!(!format!("{endpoint:?}").contains("geheim"));
        }
        let endpoint = endpoint(Api::OpenAi, "https://a.example");
        let echo = endpoint.withheld_from("bad key sk-key through gate-pass");
        assert_eq!(echo, "bad key [secret] through [secret]");
        let mut team = endpoint;
        let value = Secret::new(String::from("a"));
        team.headers.push((String::from("x-team"), value));
        assert_eq!(team.withheld_from("what a day"), "what a day");
    }

    #[test]
    fn loopback_is_this_machine_alone() {
        for (base, is) in [
            ("http://localhost:1", true),
            ("http://LOCALHOST", true),
            ("http://a.localhost", true),
            ("http://127.9.9.9", true),
            ("http://0.0.0.0:8000", true),
            ("http://[::1]:8000", true),
            ("http://192.168.0.1", false),
            ("http://localhost.example", false),
            ("https://api.openai.com", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(base).unwrap()), is, "{base}");
        }
    }

    #[test]
    fn the_words_of_the_forms_are_those_of_files() {
        for (api, word) in [
            (Api::Anthropic, "\"anthropic\""),
            (Api::OpenAi, "\"openai\""),
        ] {
            assert_eq!(serde_json::to_string(&api).unwrap(), word);
            assert_eq!(serde_json::from_str::<Api>(word).unwrap(), api);
            assert_eq!(format!("{:?}", api.as_str()), word);
        }
    }
}
