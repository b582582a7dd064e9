//! Events of the authority stream: who and what is trusted, under which rules.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::approval::By;
use crate::digest::{Digest, DigestError};
use crate::id::{GrantId, StreamId};
use crate::time::Timestamp;

/// An Ed25519 public key, as 64 lower-case hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PublicKey(Digest);

impl PublicKey {
    /// The key with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Digest::from_bytes(bytes))
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for PublicKey {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        text.parse().map(Self)
    }
}

/// The first record of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerCreated {
    /// Format of the store.
    pub format: u32,
    /// The journal's stream.
    pub journal: StreamId,
    /// The key that signs for the ledger.
    pub key: PublicKey,
    /// The key that can replace it after a compromise; its private half is kept offline.
    pub recovery: PublicKey,
}

/// Which way rules changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// There were none before.
    First,
    /// Every rule that allows was there before.
    Tightens,
    /// Something may be allowed that was not.
    Widens,
}

/// Rules came into force. Content: text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RulesAdopted {
    /// Which way they changed.
    pub change: Change,
}

/// What a grant allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GrantKind {
    /// Commands with a key.
    Command,
}

/// Something runs unasked from here on, in every run. Content: entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrantAdded {
    /// Who.
    pub by: By,
    /// From then on it allows nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The grant.
    pub grant: GrantId,
    /// What it allows.
    pub kind: GrantKind,
}

/// A grant allows nothing any more. Content: reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrantRevoked {
    /// Who.
    pub by: By,
    /// The grant.
    pub grant: GrantId,
}
