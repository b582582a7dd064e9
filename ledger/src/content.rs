//! Content: text made by people, models, tools or servers, which lives outside records.
//!
//! A record holds only the *commitment* to a content, a salted hash, so that content can be
//! erased while every chain still verifies, and nothing can be guessed from what stays.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::digest::{Digest, Hasher, Purpose};
use crate::limits::SIZE_CLASS_MIN;

/// The salted hash by which a record names a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Commitment(Digest);

impl Commitment {
    /// Commits to `bytes` under `salt`: the hash of salt, 8-byte big-endian length, content.
    pub fn new(salt: &Salt, bytes: &[u8]) -> Self {
        let mut hasher = Hasher::new(Purpose::Blob);
        hasher
            .update(&salt.0)
            .update(&(bytes.len() as u64).to_be_bytes())
            .update(bytes);
        Self(hasher.finish())
    }

    /// The commitment with this digest.
    pub const fn from_digest(digest: Digest) -> Self {
        Self(digest)
    }

    /// The digest.
    pub const fn digest(&self) -> &Digest {
        &self.0
    }
}

impl fmt::Display for Commitment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// 32 random bytes that keep a short content from being guessed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Salt(pub [u8; 32]);

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salt")
    }
}

/// What kind of text a content is: a closed list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Media {
    /// Plain text.
    #[serde(rename = "text/plain")]
    Plain,
    /// A unified diff.
    #[serde(rename = "text/x-diff")]
    Diff,
    /// JSON.
    #[serde(rename = "application/json")]
    Json,
}

impl Media {
    /// The one of this name in records.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "text/plain" => Some(Self::Plain),
            "text/x-diff" => Some(Self::Diff),
            "application/json" => Some(Self::Json),
            _ => None,
        }
    }
}

/// How a record names a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blob {
    /// The salted hash.
    pub commitment: Commitment,
    /// What kind of text it is.
    pub media: Media,
    /// The padded size class in bytes, never the exact size.
    pub size: u64,
}

/// The contents that a record names, by their role in it.
pub type Blobs = BTreeMap<String, Blob>;

/// A text on its way into the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// What kind of text it is.
    pub media: Media,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Text {
    /// Plain text.
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            media: Media::Plain,
            bytes: text.into().into_bytes(),
        }
    }

    /// A unified diff.
    pub fn diff(text: impl Into<String>) -> Self {
        Self {
            media: Media::Diff,
            bytes: text.into().into_bytes(),
        }
    }

    /// JSON that is already written.
    pub fn json(bytes: Vec<u8>) -> Self {
        Self {
            media: Media::Json,
            bytes,
        }
    }
}

/// Texts on their way into the ledger, by the role they will have in the record.
pub type Texts = BTreeMap<String, Text>;

/// A content with the salt of its commitment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The salt.
    pub salt: Salt,
    /// The bytes.
    pub bytes: Arc<[u8]>,
}

impl Content {
    /// Joins bytes and salt.
    pub fn new(salt: Salt, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self {
            salt,
            bytes: bytes.into(),
        }
    }

    /// The commitment to this content.
    pub fn commitment(&self) -> Commitment {
        Commitment::new(&self.salt, &self.bytes)
    }
}

/// Contents loaded beside a state. What is not in it was not asked for or is not readable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents(BTreeMap<Commitment, Content>);

impl Contents {
    /// Adds a content under its own commitment.
    pub fn insert(&mut self, content: Content) -> Commitment {
        let commitment = content.commitment();
        self.0.insert(commitment, content);
        commitment
    }

    /// Adds a content whose commitment was checked when it was opened.
    pub fn insert_checked(&mut self, commitment: Commitment, content: Content) {
        self.0.insert(commitment, content);
    }

    /// The content with this commitment.
    pub fn get(&self, commitment: &Commitment) -> Option<&Content> {
        self.0.get(commitment)
    }

    /// The bytes with this commitment.
    pub fn bytes(&self, commitment: &Commitment) -> Option<&[u8]> {
        self.0.get(commitment).map(|content| &*content.bytes)
    }

    /// The text with this commitment; `None` also where it is not UTF-8.
    pub fn text(&self, commitment: &Commitment) -> Option<&str> {
        std::str::from_utf8(self.bytes(commitment)?).ok()
    }

    /// Everything, ordered by commitment.
    pub fn iter(&self) -> impl Iterator<Item = (&Commitment, &Content)> {
        self.0.iter()
    }

    /// Moves all of `other` in here.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The size class of a content of `length` bytes: Padme, at least 64.
///
/// Padme (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and Communication with
/// PURBs", 2019) keeps as many leading bits of a length as its exponent has, so that a size tells
/// O(log log n) bits and costs at most 12 % of padding.
pub fn size_class(length: u64) -> u64 {
    let Some(exponent) = length.checked_ilog2().filter(|&exponent| exponent > 0) else {
        return SIZE_CLASS_MIN;
    };
    let kept = exponent.ilog2().saturating_add(1);
    let mask = (1_u64 << exponent.saturating_sub(kept)).saturating_sub(1);
    (length.saturating_add(mask) & !mask).max(SIZE_CLASS_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_as_the_worked_example_does() {
        let note = Content::new(Salt([17; 32]), *b"keep the log");
        assert_eq!(
            note.commitment().to_string(),
            "2eb762dc533055430eb794750d8713aae3b5f64ae9ab390f67714166809ec0db"
        );
    }

    #[test]
    fn pads_sizes_to_classes() {
        for (length, class) in [
            (0, 64),
            (1, 64),
            (64, 64),
            (65, 72),
            (100, 104),
            (200, 208),
            (333, 336),
            (1000, 1024),
        ] {
            assert_eq!(size_class(length), class, "{length}");
        }
        assert_eq!(size_class(u64::MAX) & 1, 0);
    }
}
