//! Domain-separated hashing: the only file that names the hash function of events.
//!
//! Every hash is BLAKE3 in derive-key mode with the context `placet 2026-12-01 <purpose> v1`, so
//! that no byte string can mean two things. The tree over all events uses SHA-256 instead
//! (`merkle`), so that two independent functions back each other.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use blake3::hazmat::{ContextKey, HasherExt as _, hash_derive_key_context};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::spelled;

/// What a hash is for; each has a key of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// `prev` of `ledger.created`: the 16 bytes of the ledger id.
    LedgerGenesis,
    /// `prev` of every other first record: ledger id, digest of `ledger.created`, stream id.
    RunGenesis,
    /// A record's bytes.
    Event,
    /// 32 salt bytes, 8-byte big-endian length, content.
    Blob,
    /// Canonical JSON of a tool's definition.
    Tool,
    /// Canonical JSON of the whole body of `call.proposed` and its commitments.
    Proposal,
    /// The request digests of what is pending, in call order.
    Set,
    /// Canonical JSON of what a model is sent, every text by its commitment.
    Context,
    /// A file's bytes.
    File,
    /// Derives the key that seals contents from the key of a run.
    SealBlob,
    /// Canonical JSON of what a classifier was given, every text by its commitment.
    Inputs,
    /// Derives the key that seals states from the key of a run.
    SealSnapshot,
    /// The code that wrote a state, the digest of the record it is of, its bytes.
    Snapshot,
    /// Names a run key without telling it.
    KeyId,
    /// What the owner of a store signs to whoever connects: both nonces, then the ledger id.
    SocketOwner,
    /// What whoever connects proves: the key of the socket, then both nonces.
    SocketPeer,
}

impl Purpose {
    const fn context(self) -> &'static str {
        match self {
            Self::LedgerGenesis => "placet 2026-12-01 ledger-genesis v1",
            Self::RunGenesis => "placet 2026-12-01 run-genesis v1",
            Self::Event => "placet 2026-12-01 event v1",
            Self::Blob => "placet 2026-12-01 blob v1",
            Self::Tool => "placet 2026-12-01 tool v1",
            Self::Proposal => "placet 2026-12-01 proposal v1",
            Self::Set => "placet 2026-12-01 set v1",
            Self::Context => "placet 2026-12-01 context v1",
            Self::File => "placet 2026-12-01 file v1",
            Self::SealBlob => "placet 2026-12-01 seal-blob v1",
            Self::SealSnapshot => "placet 2026-12-01 seal-snapshot v1",
            Self::Snapshot => "placet 2026-12-01 snapshot v1",
            Self::Inputs => "placet 2026-12-01 inputs v1",
            Self::KeyId => "placet 2026-12-01 key-id v1",
            Self::SocketOwner => "placet 2026-12-01 socket-owner v1",
            Self::SocketPeer => "placet 2026-12-01 socket-peer v1",
        }
    }
}

impl Purpose {
    const COUNT: usize = Self::SocketPeer as usize + 1;

    /// What its context comes to. To hash the context again for each hash would cost a tenth of
    /// the hash of a record.
    fn key(self) -> ContextKey {
        static KEYS: [OnceLock<ContextKey>; Purpose::COUNT] =
            [const { OnceLock::new() }; Purpose::COUNT];
        let derive = || hash_derive_key_context(self.context());
        KEYS.get(self as usize)
            .map_or_else(derive, |key| *key.get_or_init(derive))
    }
}

/// Why a text is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected 64 lower-case hex digits, found {0:?}")]
pub struct DigestError(String);

/// 32 bytes of hash, written as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first ten hex digits, as set codes and short listings show them.
    pub fn short(&self) -> String {
        self.to_string().chars().take(10).collect()
    }

    /// Its digits. Two of them at a time through a formatter would cost more than hashing a record.
    fn digits(&self) -> [u8; 64] {
        let mut text = [0; 64];
        for (pair, byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *pair = [digit(byte >> 4), digit(byte & 15)];
        }
        text
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.digits()).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let digits = self.digits();
        serializer.serialize_str(std::str::from_utf8(&digits).map_err(S::Error::custom)?)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let wrong = || DigestError(text.chars().take(80).collect());
        let digits: &[u8; 64] = text.as_bytes().try_into().map_err(|_| wrong())?;
        unhex(digits).map(Self).ok_or_else(wrong)
    }
}

/// The lower-case hex digit of a value below 16.
const fn digit(value: u8) -> u8 {
    let first = if value < 10 { b'0' } else { b'a' - 10 };
    first.wrapping_add(value)
}

/// The bytes that lower-case hex digits spell, two digits each. Looked at once for all digits: one
/// branch a digit would cost more than hashing a record does, which has hundreds of them.
#[inline]
pub(crate) fn unhex<const DIGITS: usize, const BYTES: usize>(
    digits: &[u8; DIGITS],
) -> Option<[u8; BYTES]> {
    let values = digits.map(hex);
    let seen = values.iter().fold(0, |seen, value| seen | value);
    let mut bytes = [0; BYTES];
    for (byte, [high, low]) in bytes.iter_mut().zip(values.as_chunks::<2>().0) {
        *byte = high << 4 | low & 15;
    }
    (seen <= 15 && DIGITS == BYTES.saturating_mul(2)).then_some(bytes)
}

/// The value of one lower-case hex digit; more than 15 for any other byte. Without a branch.
#[inline]
const fn hex(digit: u8) -> u8 {
    let number = digit.wrapping_sub(b'0');
    let letter = digit.wrapping_sub(b'a');
    // All ones where it is the one or the other, else zeros.
    let is_number = 0_u8.wrapping_sub((number < 10) as u8);
    let is_letter = 0_u8.wrapping_sub((letter < 6) as u8);
    number & is_number | letter.wrapping_add(10) & is_letter | !(is_number | is_letter)
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        spelled::read(deserializer)
    }
}

impl TryFrom<String> for Digest {
    type Error = DigestError;

    fn try_from(text: String) -> Result<Self, DigestError> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

/// The hash of `bytes` for one purpose.
pub fn digest(purpose: Purpose, bytes: &[u8]) -> Digest {
    let mut hasher = Hasher::new(purpose);
    hasher.update(bytes);
    hasher.finish()
}

/// Tells torn or rotten bytes of a local file; no proof rests on it, so it has no purpose.
///
/// The first 16 bytes of plain BLAKE3, whose mode no purpose shares.
pub fn checksum(bytes: &[u8]) -> [u8; 16] {
    let mut sum = [0; 16];
    blake3::Hasher::new()
        .update(bytes)
        .finalize_xof()
        .fill(&mut sum);
    sum
}

/// A hash that grows; a clone goes on from the same prefix.
#[derive(Clone)]
pub struct Hasher(blake3::Hasher);

impl Hasher {
    /// An empty hash for one purpose.
    pub fn new(purpose: Purpose) -> Self {
        Self(blake3::Hasher::new_from_context_key(&purpose.key()))
    }

    /// Appends `bytes` to what is hashed.
    pub fn update(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update(bytes);
        self
    }

    /// The hash of everything appended so far.
    pub fn finish(&self) -> Digest {
        Digest(*self.0.finalize().as_bytes())
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hasher")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purposes_never_share_a_hash() {
        let all = [
            Purpose::LedgerGenesis,
            Purpose::RunGenesis,
            Purpose::Event,
            Purpose::Blob,
            Purpose::Tool,
            Purpose::Proposal,
            Purpose::Set,
            Purpose::Context,
            Purpose::File,
            Purpose::SealBlob,
            Purpose::SealSnapshot,
            Purpose::Snapshot,
            Purpose::KeyId,
            Purpose::Inputs,
            Purpose::SocketOwner,
            Purpose::SocketPeer,
        ];
        assert_eq!(all.len(), Purpose::COUNT);
        for purpose in all {
            let plain = blake3::derive_key(purpose.context(), b"x");
            assert_eq!(digest(purpose, b"x"), Digest::from_bytes(plain));
        }
        let hashes: std::collections::BTreeSet<_> =
            all.iter().map(|&purpose| digest(purpose, b"x")).collect();
        assert_eq!(hashes.len(), all.len());
    }

    #[test]
    fn hashes_the_tool_definition_of_the_worked_example() {
        let definition = br#"{"description":"Remove a file.","name":"rm","schema":{"additionalProperties":false,"properties":{"path":{"type":"string"}},"required":["path"],"type":"object"}}"#;
        assert_eq!(
            digest(Purpose::Tool, definition).to_string(),
            "8e548751d495b7313f5ffe9653048c4497df2bfe6ef00c4a50de05ba7cf76166"
        );
    }

    #[test]
    fn reads_only_64_lower_case_hex_digits() {
        let text = "8e548751d495b7313f5ffe9653048c4497df2bfe6ef00c4a50de05ba7cf76166";
        assert_eq!(text.parse::<Digest>().unwrap().to_string(), text);
        assert!(text.to_uppercase().parse::<Digest>().is_err());
        for wrong in ["g", "/", ":", "`", " ", "\u{7f}", "A"] {
            for at in [0, 1, 63] {
                let text = [&text[..at], wrong, &text[at + 1..]].concat();
                assert!(text.parse::<Digest>().is_err(), "{text}");
            }
        }
        assert!(text[1..].parse::<Digest>().is_err());
        assert!(format!("{text}0").parse::<Digest>().is_err());
    }
}
