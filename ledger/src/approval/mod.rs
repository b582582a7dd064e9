//! Who allowed or refused something, how that is known, and what an answer to one call says.

mod demands;
#[cfg(test)]
mod tests;

use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::digest::Digest;
use crate::id::{CallId, GrantId, Name, Principal};

pub use demands::{Approver, Demands, Miss, Unmet};

/// The way an answer came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// A verb of the command line.
    Cli,
    /// A card at a terminal.
    Terminal,
}

/// How sure it is that a person, and which one, decided; from the least up.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Assurance {
    /// Some process of this user.
    #[default]
    SameUser,
    /// Whoever has the token of a person.
    Token,
    /// A passkey of a person.
    Passkey,
    /// A key of a person signed what was approved.
    Signed,
    /// The same, and the key was touched for it.
    SignedTouch,
}

impl Assurance {
    /// All of them, from the least up.
    pub const ALL: [Self; 5] = [
        Self::SameUser,
        Self::Token,
        Self::Passkey,
        Self::Signed,
        Self::SignedTouch,
    ];

    /// The word in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SameUser => "same-user",
            Self::Token => "token",
            Self::Passkey => "passkey",
            Self::Signed => "signed",
            Self::SignedTouch => "signed-touch",
        }
    }
}

/// Not a word for how sure it is who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected same-user, token, passkey, signed or signed-touch")]
pub struct NoAssurance;

impl FromStr for Assurance {
    type Err = NoAssurance;

    fn from_str(text: &str) -> Result<Self, NoAssurance> {
        let known = Self::ALL.into_iter().find(|known| known.as_str() == text);
        known.ok_or(NoAssurance)
    }
}

/// Whether a field says nothing that its absence would not.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Who allowed, refused or changed something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum By {
    /// A person.
    Person {
        /// How sure that is.
        #[serde(deserialize_with = "proven")]
        assurance: Assurance,
        /// The way it came in.
        channel: Channel,
        /// Who.
        principal: Principal,
    },
    /// A row of the gate's own table.
    Policy {
        /// Which row.
        rule: Name,
    },
    /// The per-tool list of this run.
    List {
        /// The entry.
        tool: Name,
    },
    /// An entry of the per-command list.
    Grant {
        /// The entry.
        grant: GrantId,
    },
    /// A rule of the user.
    Rule {
        /// Which rule.
        rule: Name,
    },
    /// The tool itself, which looked at its own effect.
    Tool,
}

/// Reads how sure it is who decided. No record of this release proves more than the user, so none
/// may claim it.
fn proven<'de, D: Deserializer<'de>>(from: D) -> Result<Assurance, D::Error> {
    match Assurance::deserialize(from)? {
        Assurance::SameUser => Ok(Assurance::SameUser),
        claimed => {
            let what = format!("nothing proves the assurance {}", claimed.as_str());
            Err(D::Error::custom(what))
        }
    }
}

impl By {
    /// The person who decided, and how sure that is.
    pub const fn person(&self) -> Option<(&Principal, Assurance)> {
        match self {
            Self::Person {
                principal,
                assurance,
                ..
            } => Some((principal, *assurance)),
            Self::Policy { .. }
            | Self::List { .. }
            | Self::Grant { .. }
            | Self::Rule { .. }
            | Self::Tool => None,
        }
    }

    /// Whether a person decided.
    pub const fn is_person(&self) -> bool {
        self.person().is_some()
    }
}

/// Who caused a record, as its header tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Actor {
    /// A person, by kernel credentials.
    Person {
        /// Who.
        name: Principal,
    },
    /// The gate, by a policy.
    Policy,
    /// The gate, by a list entry.
    Allowlist,
    /// The engine that drives the run.
    Engine,
    /// Time alone.
    Clock,
}

impl Actor {
    /// Reads canonical JSON, in which each but a person has one spelling.
    pub(crate) fn from_canonical(text: &str) -> Option<Self> {
        match text {
            r#"{"kind":"engine"}"# => Some(Self::Engine),
            r#"{"kind":"policy"}"# => Some(Self::Policy),
            r#"{"kind":"allowlist"}"# => Some(Self::Allowlist),
            r#"{"kind":"clock"}"# => Some(Self::Clock),
            other => serde_json::from_str(other).ok(),
        }
    }

    /// The person who caused it.
    pub const fn person(&self) -> Option<&Principal> {
        match self {
            Self::Person { name } => Some(name),
            Self::Policy | Self::Allowlist | Self::Engine | Self::Clock => None,
        }
    }
}

/// What an answer says about one pending call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Run it as shown.
    Approve,
    /// Run it as shown, and its tool unasked in this run from here on.
    ApproveAlways,
    /// Do not run it.
    Deny,
}

impl Answer {
    /// Whether the call may run.
    pub const fn approves(self) -> bool {
        match self {
            Self::Approve | Self::ApproveAlways => true,
            Self::Deny => false,
        }
    }
}

/// One line of an answer set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallAnswer {
    /// The pending call.
    pub call: CallId,
    /// Digest of the request that was displayed.
    pub request: Digest,
    /// The verdict.
    pub answer: Answer,
    /// The approver's words, for the model and the record.
    pub note: Option<String>,
}
