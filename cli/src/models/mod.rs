//! Who serves models: what config, environment and the table of known models say together.
//!
//! Nothing secret is read before a model is to be used, and what is read is handed on at once.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use placet_engine::model::{Api, Endpoint};
use placet_engine::outfit::{Providers, SCRIPT_PREFIX};
use placet_engine::price::{Known, Price, known};
use placet_engine::record::Terms;
use placet_engine::secret::Secret;
use placet_ledger::id::Name;
use placet_ledger::regular;

use crate::config::{
    Address, AddressError, ApiWord, BUILT_IN, Config, KeyPlace, ModelEntry, exposed,
};
use crate::error::{CommandError, Kind};
use crate::io::Io;

/// The most tokens of a reply where nobody says how many a model can give.
const OUTPUT_DEFAULT: u64 = 8_192;

/// The most tokens that are set aside for a reply if the config does not say otherwise: they count
/// against the caps of a run before each call of its model.
const OUTPUT_MAX: u64 = 32_000;

/// How long a server may say nothing if the config does not say otherwise: a model on this machine
/// reads a long request before its first word.
const SILENCE_MS: u64 = 120_000;

/// Bytes of a file that holds a key.
const KEY_BYTES_MAX: u64 = 16 * 1024;

const ANTHROPIC_URL: &str = "https://api.anthropic.com";
const OPENAI_URL: &str = "https://api.openai.com/v1";

/// Everybody who serves models.
#[derive(Clone, Default)]
pub(crate) struct Models {
    entries: BTreeMap<String, ModelEntry>,
    prices: BTreeMap<String, Price>,
    /// The variables that may be meant, and no others.
    env: BTreeMap<String, Secret>,
    env_not_utf8: BTreeSet<String>,
    folder: PathBuf,
}

/// A model, and what is known of it before it is asked anything.
#[derive(Debug, Clone)]
pub(crate) struct Served {
    /// The model as records name it.
    pub(crate) name: Name,
    /// How its calls are counted.
    pub(crate) terms: Terms,
    /// Where it is asked, and its name there.
    pub(crate) place: (Address, String),
}

/// Whoever serves models, with nothing secret.
pub(crate) struct Server<'a> {
    name: &'a str,
    api: ApiWord,
    /// Where it is asked.
    pub(crate) address: Address,
    /// Where its key is found.
    pub(crate) key: Option<KeyPlace>,
    entry: Option<&'a ModelEntry>,
}

/// Why a model cannot be asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerError {
    #[error("nobody of the name {0:?} serves models")]
    Unknown(String),
    #[error("the variable {variable} holds no address of a server: {source}")]
    Address {
        variable: &'static str,
        source: AddressError,
    },
    #[error("{0}")]
    Exposed(String),
    #[error("the variable {variable} is not set: it holds {what}")]
    Unset { variable: String, what: String },
    #[error("the variable {0} is not UTF-8")]
    NotUtf8(String),
    #[error("what {0} holds cannot be sent: it is empty, or no plain ASCII without spaces")]
    Unsendable(String),
    #[error("cannot read the key in {path}: {source}")]
    KeyFile { path: String, source: io::Error },
}

impl Models {
    /// What config and environment say; a file that the config names lies beneath `folder`.
    pub(crate) fn of(config: &Config, folder: PathBuf, io: &Io) -> Self {
        let mut wanted: BTreeSet<&str> = BTreeSet::from([
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_BASE_URL",
            "OLLAMA_HOST",
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
        ]);
        for entry in config.models.values() {
            wanted.extend(entry.headers_env.values().map(String::as_str));
            if let Some(KeyPlace::Env(variable)) = &entry.key {
                wanted.insert(variable);
            }
        }
        let read = |name: &&str| {
            let value = io.var(name)?;
            Some(((*name).to_owned(), Secret::new(value.to_owned())))
        };
        let not_utf8 = io.env_not_utf8.iter();
        Self {
            entries: config.models.clone(),
            prices: config.prices.clone(),
            env: wanted.iter().filter_map(read).collect(),
            env_not_utf8: not_utf8
                .filter(|name| wanted.contains(name.as_str()))
                .cloned()
                .collect(),
            folder,
        }
    }

    /// The names that may stand before the colon, but for `script`.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        self.entries
            .keys()
            .map(String::as_str)
            .chain(BUILT_IN)
            .collect()
    }

    /// The files that hold keys.
    pub(crate) fn key_files(&self) -> impl Iterator<Item = PathBuf> {
        self.entries.values().filter_map(|entry| match &entry.key {
            Some(KeyPlace::File(path)) => Some(self.folder.join(path)),
            Some(KeyPlace::Env(_)) | None => None,
        })
    }

    /// The model that is named, as `--model` names models that are not scripts.
    pub(crate) fn served(&self, spec: &str) -> Result<Served, CommandError> {
        let (provider, id) = spec.split_once(':').unwrap_or((spec, ""));
        if !self.names().contains(provider) {
            let names = self.names();
            let known = names.iter().copied().chain(["script"]);
            let error =
                CommandError::unknown(Kind::Usage, "such model: nobody serves", provider, known);
            return Err(error.hint(self.forms()));
        }
        if id.is_empty() {
            let what = format!("the model {provider}: has no name behind the colon");
            return Err(CommandError::usage(what).hint(self.forms()));
        }
        let name: Name = spec.parse().map_err(|_| {
            let shown: String = spec.chars().take(160).collect();
            let what = format!("no record can hold the name of the model {shown:?}");
            CommandError::usage(what).hint("letters, digits and ._:/@+- alone, at most 128 of them")
        })?;
        let server = self.server(provider).map_err(CommandError::usage)?;
        Ok(Served {
            name,
            terms: self.terms(&server, spec, id),
            place: (server.address, id.to_owned()),
        })
    }

    /// Whether everything is there with which somebody is asked; nothing is asked.
    pub(crate) fn ready(&self, spec: &str) -> Result<(), CommandError> {
        let provider = spec.split_once(':').map_or(spec, |(provider, _)| provider);
        self.endpoint_of(provider).map(drop).map_err(|error| {
            let hint = match &error {
                ServerError::Unset { variable, .. } => Some(format!(
                    "export {variable}=..., or name key_env or key_file in [models.{provider}]"
                )),
                _ => None,
            };
            let what = format!("cannot use the model {spec}: {error}");
            let error = CommandError::usage(what);
            hint.into_iter().fold(error, CommandError::hint)
        })
    }

    fn forms(&self) -> String {
        let names: Vec<_> = self.names().into_iter().collect();
        format!(
            "a model is NAME:ID with NAME one of {}, or {SCRIPT_PREFIX}FILE; [models.NAME] in the \
             config adds another",
            names.join(", ")
        )
    }

    /// Whoever has this name.
    pub(crate) fn server<'a>(&'a self, name: &'a str) -> Result<Server<'a>, ServerError> {
        let entry = self.entries.get(name);
        let own = match name {
            "anthropic" => Some((ApiWord::Anthropic, Some("ANTHROPIC_API_KEY"))),
            "openai" => Some((ApiWord::OpenAi, Some("OPENAI_API_KEY"))),
            "ollama" => Some((ApiWord::OpenAi, None)),
            _ => None,
        };
        let unknown = || ServerError::Unknown(name.chars().take(160).collect());
        let api = entry
            .and_then(|entry| entry.api)
            .or(own.map(|(api, _)| api));
        let configured = entry.and_then(|entry| entry.base_url.clone());
        let address = match configured {
            Some(address) => address,
            None => self.own_address(name)?.ok_or_else(unknown)?,
        };
        let key = entry.and_then(|entry| entry.key.clone());
        let own_key = own.and_then(|(_, variable)| variable);
        let server = Server {
            name,
            api: api.ok_or_else(unknown)?,
            address,
            key: key.or_else(|| own_key.map(|variable| KeyPlace::Env(variable.to_owned()))),
            entry,
        };
        if server.is_exposed() {
            return Err(ServerError::Exposed(exposed(&server.address)));
        }
        Ok(server)
    }

    /// Where somebody is asked whom no config has to name.
    fn own_address(&self, name: &str) -> Result<Option<Address>, ServerError> {
        let (variable, default) = match name {
            "anthropic" => ("ANTHROPIC_BASE_URL", ANTHROPIC_URL),
            "openai" => ("OPENAI_BASE_URL", OPENAI_URL),
            "ollama" => ("OLLAMA_HOST", ""),
            _ => return Ok(None),
        };
        if self.env_not_utf8.contains(variable) {
            return Err(ServerError::NotUtf8(variable.to_owned()));
        }
        let text = self
            .env
            .get(variable)
            .map_or(default, Secret::expose)
            .trim();
        let address = match name {
            "ollama" => Address::of_ollama(text),
            _ => Address::parse(text),
        };
        let failed = |source| ServerError::Address { variable, source };
        address.map(Some).map_err(failed)
    }

    fn terms(&self, server: &Server<'_>, spec: &str, id: &str) -> Terms {
        let known = server.known(id);
        let stated = |of: fn(&ModelEntry) -> Option<u64>| server.entry.and_then(of);
        let context = stated(|entry| entry.context_tokens)
            .or_else(|| known.map(|known| known.context_tokens));
        // Half of a small context is left for what is asked.
        let most = context.map_or(u64::MAX, |context| (context / 2).max(1));
        let output = stated(|entry| entry.output_tokens).unwrap_or_else(|| {
            let usual = known.map_or(OUTPUT_DEFAULT, |known| known.output_tokens.min(OUTPUT_MAX));
            usual.min(most)
        });
        let free = (server.name == "ollama").then_some(Price::FREE);
        let stated = self.prices.get(spec).copied();
        Terms {
            context_tokens: context,
            output_tokens: Some(output),
            price: stated.or(known.map(|known| known.price)).or(free),
        }
    }

    /// Where models of somebody are asked, with all that is secret.
    fn endpoint_of(&self, name: &str) -> Result<Endpoint, ServerError> {
        let server = self.server(name)?;
        let key = match &server.key {
            None => None,
            Some(KeyPlace::Env(variable)) => {
                let what = format!("the key of {name}");
                let key = self.variable(variable, what)?;
                Some(sendable(
                    key.expose().trim(),
                    &format!("the variable {variable}"),
                )?)
            }
            Some(KeyPlace::File(path)) => {
                let path = self.folder.join(path);
                let shown = path.display().to_string();
                let text = key_file(&path).map_err(|source| ServerError::KeyFile {
                    path: shown.clone(),
                    source,
                })?;
                Some(sendable(
                    text.expose().trim(),
                    &format!("the file {shown}"),
                )?)
            }
        };
        let mut headers = Vec::new();
        for (header, value) in server.entry.iter().flat_map(|entry| &entry.headers) {
            headers.push((header.clone(), Secret::new(value.clone())));
        }
        for (header, variable) in server.entry.iter().flat_map(|entry| &entry.headers_env) {
            let value = self.variable(variable, format!("the header {header} for {name}"))?;
            let value = sendable(value.expose().trim(), &format!("the variable {variable}"))?;
            headers.push((header.clone(), value));
        }
        let silence = server.entry.and_then(|entry| entry.silence_ms);
        Ok(Endpoint {
            api: match server.api {
                ApiWord::Anthropic => Api::Anthropic,
                ApiWord::OpenAi => Api::OpenAi,
            },
            base_url: server.address.as_str().to_owned(),
            key,
            headers,
            silence_ms: silence.unwrap_or(SILENCE_MS),
        })
    }

    fn variable(&self, name: &str, what: String) -> Result<&Secret, ServerError> {
        if self.env_not_utf8.contains(name) {
            return Err(ServerError::NotUtf8(name.to_owned()));
        }
        self.env.get(name).ok_or_else(|| ServerError::Unset {
            variable: name.to_owned(),
            what,
        })
    }

    /// In words, where a key is looked for, and whether it is there.
    pub(crate) fn key_state(&self, server: &Server<'_>) -> (String, bool) {
        match &server.key {
            None => (String::from("no key"), true),
            Some(KeyPlace::Env(variable)) => {
                let there = self.env.contains_key(variable);
                let state = if there { "set" } else { "not set" };
                (format!("key in {variable}, which is {state}"), there)
            }
            Some(KeyPlace::File(path)) => {
                let path = self.folder.join(path);
                let shown = path.display();
                match key_file(&path) {
                    Ok(_) => (format!("key in {shown}"), true),
                    Err(error) => (format!("no key in {shown}: {error}"), false),
                }
            }
        }
    }
}

impl Providers for Models {
    fn endpoint(&self, provider: &str) -> Result<Endpoint, Box<dyn Error + Send + Sync>> {
        Ok(self.endpoint_of(provider)?)
    }
}

impl Server<'_> {
    /// What the table knows of a model: of those who made it, and who are asked themselves.
    fn known(&self, id: &str) -> Option<&'static Known> {
        let own = match self.name {
            "anthropic" => ANTHROPIC_URL,
            "openai" => OPENAI_URL,
            _ => return None,
        };
        known(self.name, id).filter(|_| self.address.as_str() == own)
    }

    fn is_exposed(&self) -> bool {
        let allowed = self.entry.is_some_and(|entry| entry.plain_http);
        let headers = self
            .entry
            .is_some_and(|entry| !entry.headers_env.is_empty());
        let secret = self.key.is_some() || headers;
        secret && self.address.is_readable_by_others() && !allowed
    }
}

/// A text that a header can carry.
fn sendable(text: &str, place: &str) -> Result<Secret, ServerError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ServerError::Unsendable(place.to_owned()));
    }
    Ok(Secret::new(text.to_owned()))
}

/// What a file holds that nobody else may read.
fn key_file(path: &Path) -> io::Result<Secret> {
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let file = regular::open_to_read(path)?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        return Err(wrong("others may read it: chmod 600 takes that away"));
    }
    let mut text = String::new();
    let mut bounded = file.take(KEY_BYTES_MAX.saturating_add(1));
    bounded.read_to_string(&mut text)?;
    let text = Secret::new(text);
    if bounded.limit() == 0 {
        return Err(wrong("it is larger than 16 KiB"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
