//! What the config says of an agent: its model, its tools, and how far it may go.

use placet_ledger::budget::{Limits, Usd};
use placet_ledger::limits::INTEGER_MAX;
use placet_ledger::policy::{ApprovalPolicy, PolicyError};
use serde::Deserialize;

use crate::args;

/// Characters of a wrong value that an error repeats.
const SHOWN_CHARS_MAX: usize = 80;

/// An agent.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Agent {
    /// Its model, as `--model` takes it.
    pub(crate) model: Option<String>,
    /// What it is for, in a sentence to people.
    pub(crate) description: Option<String>,
    /// What it is told to be.
    #[serde(default)]
    pub(crate) system: String,
    /// The tools it has; all if absent.
    pub(crate) tools: Option<Vec<String>>,
    /// The tools it never has.
    #[serde(default)]
    pub(crate) denied_tools: Vec<String>,
    /// Up to which tier its gated calls run unasked.
    #[serde(default)]
    pub(crate) approval_policy: Option<Policy>,
    /// The most its model calls may cost.
    pub(crate) max_cost_usd: Option<Dollars>,
    /// The most tokens it may use.
    pub(crate) max_tokens: Option<Count>,
    /// The longest it may be active.
    pub(crate) max_duration: Option<Span>,
    /// The most times it may call its model.
    pub(crate) max_iterations: Option<Count>,
}

impl Agent {
    /// Its caps.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            cost_usd: self.max_cost_usd.map(|cost| cost.0),
            duration_ms: self.max_duration.map(|span| span.0),
            iterations: self.max_iterations.map(|count| count.0),
            tokens: self.max_tokens.map(|count| count.0),
        }
    }
}

/// A policy as the config writes it: a word, or a boolean.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "toml::Value")]
pub(crate) struct Policy(pub(crate) ApprovalPolicy);

impl TryFrom<toml::Value> for Policy {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        let text = match value {
            toml::Value::Boolean(flag) => flag.to_string(),
            toml::Value::String(text) => text,
            other => other.to_string(),
        };
        let known = || format!("`{}`", ApprovalPolicy::WORDS.join("`, `"));
        text.parse().map(Self).map_err(|_: PolicyError| {
            let shown = shown(&text);
            format!("unknown policy `{shown}`, expected one of {}", known())
        })
    }
}

/// US dollars as the config writes them: a string, since a number with a point is not exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "toml::Value")]
pub(crate) struct Dollars(pub(crate) Usd);

impl TryFrom<toml::Value> for Dollars {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        match value {
            toml::Value::String(text) => text.parse().map(Self).map_err(|error| format!("{error}")),
            other => Err(format!(
                "expected US dollars as a string such as \"0.25\", found {}",
                shown(&other.to_string())
            )),
        }
    }
}

/// A duration as the config writes it, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Span(pub(crate) u64);

impl TryFrom<String> for Span {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        args::duration_ms(&text).map(Self)
    }
}

/// How many of something, as far as a record can hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "toml::Value")]
pub(crate) struct Count(pub(crate) u64);

impl TryFrom<toml::Value> for Count {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        let number = value.as_integer().filter(|number| *number <= INTEGER_MAX);
        let number = number.and_then(|number| u64::try_from(number).ok());
        number.map(Self).ok_or_else(|| {
            let shown = shown(&value.to_string());
            format!("expected a whole number of at most {INTEGER_MAX}, found {shown}")
        })
    }
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN_CHARS_MAX).collect()
}
