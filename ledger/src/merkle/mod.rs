//! The tree over all records, RFC 6962 with SHA-256, which tells any change to what was written.
//!
//! A leaf is the 32-byte digest of an event, in the order of positions. Transparency-log tiles,
//! proofs and witnesses fix this tree and its hash; events are hashed with BLAKE3 (`digest`), so
//! that two independent functions back each other. Nothing here reads a file, a clock or chance.

mod frontier;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::digest::{Digest, DigestError};

pub use frontier::{Frontier, FrontierError, JoinError};

/// The hash of a leaf, of a node or of a whole tree.
type Hash = [u8; 32];

/// The root of the tree at some size, written as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Root(Hash);

impl Root {
    /// The root with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Digest::from_bytes(self.0).fmt(f)
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Root({self})")
    }
}

impl FromStr for Root {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        text.parse::<Digest>()
            .map(|digest| Self(*digest.as_bytes()))
    }
}

impl TryFrom<String> for Root {
    type Error = DigestError;

    fn try_from(text: String) -> Result<Self, DigestError> {
        text.parse()
    }
}

impl From<Root> for String {
    fn from(root: Root) -> Self {
        root.to_string()
    }
}

/// The hash of a tree without leaves.
fn empty_hash() -> Hash {
    Sha256::digest([]).into()
}

/// The hash of a leaf; its prefix keeps a leaf from passing as a node.
fn leaf_hash(data: &[u8]) -> Hash {
    Sha256::new()
        .chain_update([0])
        .chain_update(data)
        .finalize()
        .into()
}

/// The hash of a node over its two halves.
fn node_hash(left: &Hash, right: &Hash) -> Hash {
    // Put together before it is hashed: the hasher gathers pieces more slowly.
    let mut node = [0; 65];
    let [prefix, halves @ ..] = &mut node;
    *prefix = 1;
    let both = left.iter().chain(right);
    halves
        .iter_mut()
        .zip(both)
        .for_each(|(to, from)| *to = *from);
    Sha256::digest(node).into()
}
