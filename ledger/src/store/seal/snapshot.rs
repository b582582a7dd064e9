//! Sealing the state of a run, under a key of its own that comes of the key of the run.
//!
//! The bytes are format, key generation, nonce and ciphertext, like those of a content. The nonce
//! is drawn whole each time, and nothing is padded: the length tells what the log tells too.

use std::fmt;

use ring::aead::{Aad, Tag};
use zeroize::Zeroizing;

use super::{
    FORMAT, HEADER_BYTES, NonceSource, OsRandom, Parts, Place, RunKey, SealError, TAG_BYTES,
    cipher, nonce_of_cipher,
};
use crate::digest::{Purpose, digest};

/// Seals and opens states of one run, under one key.
pub struct SnapshotSealer {
    place: Place,
    key: Zeroizing<[u8; 32]>,
}

impl SnapshotSealer {
    /// `key` is the run's key of the generation that the place names.
    pub fn new(place: Place, key: &RunKey) -> Self {
        let key = Zeroizing::new(*digest(Purpose::SealSnapshot, &key.0).as_bytes());
        Self { place, key }
    }

    /// What it is tied to: ledger, stream and generation, each of a fixed width.
    fn associated_data(&self) -> [u8; 34] {
        let mut bytes = [0; 34];
        let parts = self.place.ledger.as_bytes().iter();
        let parts = parts.chain(self.place.stream.as_bytes());
        let generation = self.place.generation.to_be_bytes();
        let parts = parts.chain(&generation);
        bytes
            .iter_mut()
            .zip(parts)
            .for_each(|(to, part)| *to = *part);
        bytes
    }

    /// Seals a state.
    pub fn seal(&self, state: &[u8]) -> Result<Vec<u8>, SealError> {
        let (mut prefix, mut nonce) = ([0; 16], [0; 8]);
        let mut random = OsRandom::default();
        random.fill(&mut prefix)?;
        random.fill(&mut nonce)?;
        let fixed = HEADER_BYTES.saturating_add(TAG_BYTES);
        let mut blob = Vec::with_capacity(state.len().saturating_add(fixed));
        blob.push(FORMAT);
        blob.extend_from_slice(&self.place.generation.to_be_bytes());
        blob.extend_from_slice(&prefix);
        blob.extend_from_slice(&nonce);
        blob.extend_from_slice(state);
        let (_, text) = blob
            .split_at_mut_checked(HEADER_BYTES)
            .ok_or(SealError::Unreadable)?;
        let data = Aad::from(self.associated_data());
        let tag = cipher(&self.key, &prefix)?
            .seal_in_place_separate_tag(nonce_of_cipher(nonce), data, text)
            .map_err(|_| SealError::TooLarge(state.len()))?;
        blob.extend_from_slice(tag.as_ref());
        Ok(blob)
    }

    /// Opens what was sealed.
    pub fn open(&self, blob: &[u8]) -> Result<Vec<u8>, SealError> {
        let parts = Parts::split(blob)?;
        if parts.generation != self.place.generation {
            return Err(SealError::Generation {
                expected: self.place.generation,
                found: parts.generation,
            });
        }
        let mut state = parts.ciphertext.to_vec();
        let data = Aad::from(self.associated_data());
        cipher(&self.key, parts.prefix)?
            .open_in_place_separate_tag(
                nonce_of_cipher(*parts.nonce),
                data,
                Tag::from(*parts.tag),
                &mut state,
                0..,
            )
            .map_err(|_| SealError::Unreadable)?;
        Ok(state)
    }
}

impl fmt::Debug for SnapshotSealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SnapshotSealer({:?})", self.place)
    }
}
