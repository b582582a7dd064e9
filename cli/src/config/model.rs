//! What the config says of those who serve models: where they are asked, and with which key.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use placet_engine::nearest::nearest;
use serde::Deserialize;
use toml::Spanned;

use super::address::Address;
use super::agent::{Count, Span};
use crate::error::CommandError;

/// Bytes of a name: it stands before every model in records.
const NAME_BYTES_MAX: usize = 32;

/// Headers that carry the key or frame the request.
const OWN_HEADERS: [&str; 8] = [
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "host",
    "te",
    "transfer-encoding",
    "x-api-key",
];

/// How a server is talked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ApiWord {
    /// As Anthropic's is.
    Anthropic,
    /// As `OpenAI`'s is, which others speak too.
    OpenAi,
}

/// Those who serve models, and whom no config has to name.
pub(crate) const BUILT_IN: [&str; 3] = ["anthropic", "ollama", "openai"];

/// Whoever serves models, as far as the config speaks of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModelEntry {
    /// How it is talked to.
    pub(crate) api: Option<ApiWord>,
    /// Where it is asked.
    pub(crate) base_url: Option<Address>,
    /// Where its key is found.
    pub(crate) key: Option<KeyPlace>,
    /// Headers that are sent along.
    pub(crate) headers: BTreeMap<String, String>,
    /// Headers that are sent along, by the variables that hold them.
    pub(crate) headers_env: BTreeMap<String, String>,
    /// Tokens of the whole context of its models.
    pub(crate) context_tokens: Option<u64>,
    /// The most tokens that a reply may have.
    pub(crate) output_tokens: Option<u64>,
    /// How long it may say nothing.
    pub(crate) silence_ms: Option<u64>,
    /// Whether a key may be sent where others can read along.
    pub(crate) plain_http: bool,
}

/// Where a key is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyPlace {
    /// In a variable of the environment.
    Env(String),
    /// In a file; beside the config if its path is relative.
    File(PathBuf),
}

/// The same as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelText {
    api: Option<ApiWord>,
    base_url: Option<Spanned<String>>,
    key_env: Option<Spanned<String>>,
    key_file: Option<Spanned<PathBuf>>,
    #[serde(default)]
    headers: BTreeMap<Spanned<String>, Spanned<String>>,
    #[serde(default)]
    headers_env: BTreeMap<Spanned<String>, Spanned<String>>,
    context_tokens: Option<Spanned<Count>>,
    output_tokens: Option<Spanned<Count>>,
    silence: Option<Spanned<Span>>,
    #[serde(default)]
    plain_http: bool,
}

/// What is wrong at a byte of the text; and the word that was probably meant.
pub(super) struct Wrong {
    at: usize,
    what: String,
    meant: Option<String>,
}

impl Wrong {
    pub(super) fn at(at: usize, what: impl Into<String>) -> Self {
        Self {
            at,
            what: what.into(),
            meant: None,
        }
    }

    pub(super) fn meant(self, meant: Option<&str>) -> Self {
        Self {
            meant: meant.map(str::to_owned),
            ..self
        }
    }

    pub(super) fn in_file(self, path: &Path, text: &str) -> CommandError {
        CommandError::at(path, text, self.at, &self.what).meant(self.meant)
    }
}

/// Checks whom the config names.
pub(super) fn models(
    written: BTreeMap<Spanned<String>, Spanned<ModelText>>,
) -> Result<BTreeMap<String, ModelEntry>, Wrong> {
    let entry = |(name, text): (Spanned<String>, Spanned<ModelText>)| {
        let at = name.span().start;
        let name = name.into_inner();
        check_name(&name).map_err(|what| Wrong::at(at, what))?;
        let entry = entry(&name, at, text.into_inner())?;
        Ok((name, entry))
    };
    written.into_iter().map(entry).collect()
}

fn check_name(name: &str) -> Result<(), String> {
    if name == "script" {
        return Err(String::from(
            "models of the name `script` are files: script:FILE",
        ));
    }
    let mut bytes = name.bytes();
    let first = bytes
        .next()
        .is_some_and(|byte| byte.is_ascii_alphanumeric());
    let rest = bytes.all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if first && rest && name.len() <= NAME_BYTES_MAX {
        return Ok(());
    }
    let shown: String = name.chars().take(80).collect();
    Err(format!(
        "no models can have the name {shown:?}: letters, digits, `.`, `_` and `-`, at most \
         {NAME_BYTES_MAX}, beginning with a letter or digit"
    ))
}

fn entry(name: &str, at: usize, text: ModelText) -> Result<ModelEntry, Wrong> {
    if !BUILT_IN.contains(&name) {
        let needs = |key| {
            let what = format!("the models `{name}` have no {key}");
            Wrong::at(at, what).meant(nearest(name, BUILT_IN.into_iter()))
        };
        if text.api.is_none() {
            return Err(needs("api"));
        }
        if text.base_url.is_none() {
            return Err(needs("base_url"));
        }
    }
    let base_url = text.base_url.as_ref().map(address).transpose()?;
    let key = key(text.key_env, text.key_file)?;
    let (headers, headers_env) = headers(text.headers, text.headers_env)?;
    let entry = ModelEntry {
        api: text.api,
        base_url,
        key,
        headers,
        headers_env,
        context_tokens: text.context_tokens.map(above_zero).transpose()?,
        output_tokens: text.output_tokens.map(above_zero).transpose()?,
        silence_ms: text.silence.map(silence).transpose()?,
        plain_http: text.plain_http,
    };
    let url_at = text.base_url.map_or(at, |url| url.span().start);
    match entry
        .base_url
        .as_ref()
        .filter(|_| entry.sends_secrets(name))
    {
        Some(address) if entry.is_exposed(address) => Err(Wrong::at(url_at, exposed(address))),
        Some(_) | None => Ok(entry),
    }
}

/// What is said of a key that others could read on its way.
pub(crate) fn exposed(address: &Address) -> String {
    format!(
        "a key would go to {} where others can read it: use https, or say plain_http = true",
        address.as_str()
    )
}

impl ModelEntry {
    /// Whether something secret is sent to it.
    pub(crate) fn sends_secrets(&self, name: &str) -> bool {
        let own_key = matches!(name, "anthropic" | "openai");
        own_key || self.key.is_some() || !self.headers_env.is_empty()
    }

    /// Whether others could read what is sent there, and nobody said that they may.
    pub(crate) fn is_exposed(&self, address: &Address) -> bool {
        address.is_readable_by_others() && !self.plain_http
    }
}

fn address(url: &Spanned<String>) -> Result<Address, Wrong> {
    Address::parse(url.get_ref()).map_err(|why| {
        // Not repeated: it may hold a password.
        Wrong::at(url.span().start, format!("no address of a server: {why}"))
    })
}

fn key(
    env: Option<Spanned<String>>,
    file: Option<Spanned<PathBuf>>,
) -> Result<Option<KeyPlace>, Wrong> {
    match (env, file) {
        (Some(_), Some(file)) => {
            let what = "a key stands in key_env or in key_file, not in both";
            Err(Wrong::at(file.span().start, what))
        }
        (Some(env), None) => Ok(Some(KeyPlace::Env(variable(env)?))),
        (None, Some(file)) => Ok(Some(KeyPlace::File(file.into_inner()))),
        (None, None) => Ok(None),
    }
}

/// The name of a variable; what is none is not repeated, since it may be the key itself.
fn variable(name: Spanned<String>) -> Result<String, Wrong> {
    let at = name.span().start;
    let name = name.into_inner();
    let mut bytes = name.bytes();
    let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let first = bytes.next();
    if first.is_some_and(|byte| known(byte) && !byte.is_ascii_digit()) && bytes.all(known) {
        return Ok(name);
    }
    let what = "this is not the name of a variable: keys never stand in the config";
    Err(Wrong::at(at, what))
}

type Headers = BTreeMap<String, String>;

fn headers(
    given: BTreeMap<Spanned<String>, Spanned<String>>,
    by_env: BTreeMap<Spanned<String>, Spanned<String>>,
) -> Result<(Headers, Headers), Wrong> {
    let (mut headers, mut headers_env) = (Headers::new(), Headers::new());
    for (name, value) in given {
        let at = value.span().start;
        let value = value.into_inner();
        let plain = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
        if !value.bytes().all(plain) {
            return Err(Wrong::at(at, "a header holds plain ASCII alone"));
        }
        let (at, name) = header(name)?;
        if headers.insert(name, value).is_some() {
            return Err(twice(at));
        }
    }
    for (name, value) in by_env {
        let value = variable(value)?;
        let (at, name) = header(name)?;
        if headers.contains_key(&name) || headers_env.insert(name, value).is_some() {
            return Err(twice(at));
        }
    }
    Ok((headers, headers_env))
}

fn twice(at: usize) -> Wrong {
    Wrong::at(at, "this header is there twice")
}

/// The name of a header, in small letters.
fn header(name: Spanned<String>) -> Result<(usize, String), Wrong> {
    let at = name.span().start;
    let name = name.into_inner().to_ascii_lowercase();
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        return Err(Wrong::at(at, "this is not the name of a header"));
    }
    if OWN_HEADERS.contains(&name.as_str()) {
        let what = format!("the header {name} is not for the config: a key has its own place");
        return Err(Wrong::at(at, what));
    }
    Ok((at, name))
}

fn above_zero(count: Spanned<Count>) -> Result<u64, Wrong> {
    let at = count.span().start;
    match count.into_inner().0 {
        0 => Err(Wrong::at(at, "expected a number above 0")),
        number => Ok(number),
    }
}

fn silence(span: Spanned<Span>) -> Result<u64, Wrong> {
    let at = span.span().start;
    match span.into_inner().0 {
        0 => Err(Wrong::at(at, "expected a time in which somebody can reply")),
        ms => Ok(ms),
    }
}
