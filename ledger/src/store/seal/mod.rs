//! Sealing contents under the key of a run, so that erasing the key erases them everywhere.
//!
//! A sealed blob is format (1 byte), key generation (2 bytes, big-endian), nonce (24 bytes) and
//! ciphertext: XChaCha20-Poly1305, made of `HChaCha20` for the sub-key and ring for the cipher.
//! Its associated data tie it to ledger, stream, generation and commitment. The cipher does not
//! commit to its key, so whoever opens checks the commitment before the bytes are used.
//!
//! A nonce is drawn, never derived: equal contents sealed twice must not look alike, and a retry
//! must not use a nonce again.

mod slots;
mod snapshot;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Mutex, PoisonError};

use chacha20::cipher::consts::U10;
use chacha20::hchacha;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, Tag, UnboundKey};
use zeroize::{Zeroize, Zeroizing};

use crate::content::{Commitment, Content, Salt, size_class};
use crate::digest::{Digest, Purpose, digest};
use crate::id::{LedgerId, StreamId};
use crate::limits::CONTENT_BYTES_MAX;

pub use slots::{KeyFile, KeyFileError};
pub use snapshot::SnapshotSealer;

/// The only format of a sealed blob so far.
const FORMAT: u8 = 1;

/// Format, generation and nonce.
const HEADER_BYTES: usize = 27;

/// Salt and length before the content.
const PREFACE_BYTES: usize = 40;

/// The tag after the ciphertext.
const TAG_BYTES: usize = 16;

/// Seals under one nonce prefix: with 8 random bytes each, 2^16 meet with chance 2^-33.
const SEALS_PER_PREFIX: u32 = 1 << 16;

/// Why a content was not sealed or a sealed blob not opened.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// The operating system gave no random bytes.
    #[error("drawing random bytes for a nonce failed")]
    Random(#[source] getrandom::Error),
    /// A content or a blob over the limit.
    #[error("{0} bytes are more than one content may have")]
    TooLarge(usize),
    /// A blob that ends within its fixed parts.
    #[error("a sealed blob of {0} bytes is cut short")]
    Truncated(usize),
    /// A blob of a format that this version does not know.
    #[error("sealed blobs of format {0} are not known here")]
    Format(u8),
    /// A blob that another key of the run sealed.
    #[error("the blob was sealed under key generation {found}, not {expected}")]
    Generation {
        /// The generation of the key at hand.
        expected: u16,
        /// The generation that the blob names.
        found: u16,
    },
    /// The cipher refused.
    #[error("the blob does not open: changed bytes, another key or another place")]
    Unreadable,
    /// The blob opened and what it holds is not a padded content.
    #[error("the blob opens and its padding is wrong")]
    Padding,
    /// The blob opened to another content than the record names.
    #[error("the blob opens to another content than {0}")]
    Commitment(Commitment),
}

/// The key of a run: whoever has it reads the contents of the run.
pub struct RunKey([u8; 32]);

impl RunKey {
    /// The key with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The name of the key, which does not tell it.
    pub fn id(&self) -> Digest {
        digest(Purpose::KeyId, &self.0)
    }

    /// The key of the cipher.
    fn derive(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(*digest(Purpose::SealBlob, &self.0).as_bytes())
    }
}

impl fmt::Debug for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunKey")
    }
}

impl Drop for RunKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// What a sealed blob is tied to beside its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The ledger.
    pub ledger: LedgerId,
    /// The stream whose record names the content first.
    pub stream: StreamId,
    /// The generation of the stream's key.
    pub generation: u16,
}

impl Place {
    /// The associated data of a content here; every part has a fixed width.
    fn associated_data(&self, commitment: &Commitment) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(66);
        bytes.extend_from_slice(self.ledger.as_bytes());
        bytes.extend_from_slice(self.stream.as_bytes());
        bytes.extend_from_slice(&self.generation.to_be_bytes());
        bytes.extend_from_slice(commitment.digest().as_bytes());
        bytes
    }
}

/// Where nonces come from: `OsRandom`, or fixed bytes in a test vector.
pub trait NonceSource {
    /// Fills `bytes`.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), SealError>;
}

/// Random bytes that are drawn at once: asking for eight costs nearly as much as for many.
const DRAWN_BYTES: usize = 512;

/// The random bytes of the operating system, each given out once.
pub struct OsRandom {
    drawn: [u8; DRAWN_BYTES],
    /// How many of them were given out.
    used: usize,
}

impl Default for OsRandom {
    fn default() -> Self {
        Self {
            drawn: [0; DRAWN_BYTES],
            used: DRAWN_BYTES,
        }
    }
}

impl NonceSource for OsRandom {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), SealError> {
        let end = self.used.saturating_add(bytes.len());
        if let Some(drawn) = self.drawn.get(self.used..end) {
            bytes.copy_from_slice(drawn);
            self.used = end;
            return Ok(());
        }
        self.used = DRAWN_BYTES;
        getrandom::fill(&mut self.drawn).map_err(SealError::Random)?;
        let Some(drawn) = self.drawn.get(..bytes.len()) else {
            return getrandom::fill(bytes).map_err(SealError::Random);
        };
        bytes.copy_from_slice(drawn);
        self.used = bytes.len();
        Ok(())
    }
}

/// The first 16 bytes of nonces with the sub-key that they select.
struct Prefix {
    bytes: [u8; 16],
    cipher: LessSafeKey,
    seals_left: u32,
}

impl Prefix {
    fn draw(key: &[u8; 32], nonces: &mut impl NonceSource) -> Result<Self, SealError> {
        let mut bytes = [0; 16];
        nonces.fill(&mut bytes)?;
        Ok(Self {
            bytes,
            cipher: cipher(key, &bytes)?,
            seals_left: SEALS_PER_PREFIX,
        })
    }
}

/// Seals contents under one key, in one place.
pub struct Sealer<N = OsRandom> {
    place: Place,
    key: Zeroizing<[u8; 32]>,
    prefix: Prefix,
    nonces: N,
}

impl Sealer {
    /// A sealer for this place; `key` is the run's key of the generation that it names.
    pub fn new(place: Place, key: &RunKey) -> Result<Self, SealError> {
        Self::with_nonces(place, key, OsRandom::default())
    }
}

impl<N: NonceSource> Sealer<N> {
    /// The same with another source of nonces.
    pub fn with_nonces(place: Place, key: &RunKey, mut nonces: N) -> Result<Self, SealError> {
        let key = key.derive();
        let prefix = Prefix::draw(&key, &mut nonces)?;
        Ok(Self {
            place,
            key,
            prefix,
            nonces,
        })
    }

    /// The place that it seals for.
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// Seals a content under its own commitment.
    pub fn seal(&mut self, content: &Content) -> Result<Vec<u8>, SealError> {
        self.seal_as(&content.commitment(), content)
    }

    /// Seals a content under a commitment that was checked: with a false one it would never open.
    pub(crate) fn seal_as(
        &mut self,
        commitment: &Commitment,
        content: &Content,
    ) -> Result<Vec<u8>, SealError> {
        let length = content.bytes.len();
        if length > CONTENT_BYTES_MAX {
            return Err(SealError::TooLarge(length));
        }
        let nonce = self.next_nonce()?;
        // What is sealed in place leaves no copy behind; should it fail, the content goes too.
        let mut blob = Zeroizing::new(Vec::with_capacity(sealed_bytes(length)?));
        blob.push(FORMAT);
        blob.extend_from_slice(&self.place.generation.to_be_bytes());
        blob.extend_from_slice(&self.prefix.bytes);
        blob.extend_from_slice(&nonce);
        pad(content, &mut blob)?;
        let data = self.place.associated_data(commitment);
        let plaintext = blob.get_mut(HEADER_BYTES..).unwrap_or_default();
        let tag = self
            .prefix
            .cipher
            .seal_in_place_separate_tag(nonce_of_cipher(nonce), Aad::from(data), plaintext)
            .map_err(|_| SealError::TooLarge(length))?;
        blob.extend_from_slice(tag.as_ref());
        Ok(std::mem::take(&mut *blob))
    }

    /// The last 8 bytes of a nonce; draws a new prefix where the old one is used up.
    fn next_nonce(&mut self) -> Result<[u8; 8], SealError> {
        if self.prefix.seals_left == 0 {
            self.prefix = Prefix::draw(&self.key, &mut self.nonces)?;
        }
        let mut nonce = [0; 8];
        self.nonces.fill(&mut nonce)?;
        self.prefix.seals_left = self.prefix.seals_left.saturating_sub(1);
        Ok(nonce)
    }
}

impl<N> fmt::Debug for Sealer<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealer({:?})", self.place)
    }
}

/// Opens what was sealed under one key, in one place.
pub struct Opener {
    place: Place,
    key: Zeroizing<[u8; 32]>,
    /// The prefix of the nonce before, and its cipher: most blobs of a run share it.
    last: Mutex<Option<([u8; 16], LessSafeKey)>>,
}

impl Opener {
    /// An opener for this place; `key` is the run's key of the generation that it names.
    pub fn new(place: Place, key: &RunKey) -> Self {
        Self {
            place,
            key: key.derive(),
            last: Mutex::new(None),
        }
    }

    /// The place that it opens for.
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// Opens the content with this commitment, which is checked.
    pub fn open(&self, commitment: &Commitment, blob: &[u8]) -> Result<Content, SealError> {
        let parts = Parts::of_content(blob)?;
        if parts.generation != self.place.generation {
            return Err(SealError::Generation {
                expected: self.place.generation,
                found: parts.generation,
            });
        }
        let mut bytes = Zeroizing::new(parts.ciphertext.to_vec());
        let data = Aad::from(self.place.associated_data(commitment));
        let nonce = nonce_of_cipher(*parts.nonce);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, cipher) = match last.take().filter(|(prefix, _)| prefix == parts.prefix) {
            Some(same) => last.insert(same),
            None => last.insert((*parts.prefix, cipher(&self.key, parts.prefix)?)),
        };
        let plaintext = cipher
            .open_in_place_separate_tag(nonce, data, Tag::from(*parts.tag), &mut bytes, 0..)
            .map_err(|_| SealError::Unreadable)?;
        let content = unpadded(plaintext)?;
        if content.commitment() == *commitment {
            Ok(content)
        } else {
            Err(SealError::Commitment(*commitment))
        }
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opener({:?})", self.place)
    }
}

/// The generation of the key that a blob names, which says what key to look for.
pub fn generation(blob: &[u8]) -> Result<u16, SealError> {
    Parts::split(blob).map(|parts| parts.generation)
}

/// A sealed blob, taken apart.
struct Parts<'a> {
    generation: u16,
    prefix: &'a [u8; 16],
    nonce: &'a [u8; 8],
    ciphertext: &'a [u8],
    tag: &'a [u8; TAG_BYTES],
}

impl<'a> Parts<'a> {
    /// Those of a content.
    fn of_content(blob: &'a [u8]) -> Result<Self, SealError> {
        let parts = Self::split(blob)?;
        let padded = parts.ciphertext.len().checked_sub(PREFACE_BYTES);
        let padded = padded.ok_or(SealError::Truncated(blob.len()))? as u64;
        if padded > size_class(CONTENT_BYTES_MAX as u64) {
            return Err(SealError::TooLarge(blob.len()));
        }
        Ok(parts)
    }

    fn split(blob: &'a [u8]) -> Result<Self, SealError> {
        let truncated = || SealError::Truncated(blob.len());
        let (&format, rest) = blob.split_first().ok_or_else(truncated)?;
        if format != FORMAT {
            return Err(SealError::Format(format));
        }
        let (generation, rest) = rest.split_first_chunk::<2>().ok_or_else(truncated)?;
        let (prefix, rest) = rest.split_first_chunk().ok_or_else(truncated)?;
        let (nonce, rest) = rest.split_first_chunk().ok_or_else(truncated)?;
        let (ciphertext, tag) = rest.split_last_chunk().ok_or_else(truncated)?;
        Ok(Self {
            generation: u16::from_be_bytes(*generation),
            prefix,
            nonce,
            ciphertext,
            tag,
        })
    }
}

/// The cipher for all nonces that begin with `prefix`.
fn cipher(key: &[u8; 32], prefix: &[u8; 16]) -> Result<LessSafeKey, SealError> {
    let sub_key: Zeroizing<[u8; 32]> =
        Zeroizing::new(hchacha::<U10>(key.into(), prefix.into()).into());
    UnboundKey::new(&CHACHA20_POLY1305, sub_key.as_slice())
        .map(LessSafeKey::new)
        .map_err(|_| SealError::Unreadable)
}

/// The nonce under the sub-key: four zeros, then the 8 bytes that the prefix leaves.
fn nonce_of_cipher(last: [u8; 8]) -> Nonce {
    let mut bytes = [0; 12];
    if let Some(end) = bytes.last_chunk_mut() {
        *end = last;
    }
    Nonce::assume_unique_for_key(bytes)
}

/// Bytes of a content of some length once it is padded.
fn padded_bytes(length: usize) -> Result<usize, SealError> {
    let class = usize::try_from(size_class(length as u64));
    let class = class.map_err(|_| SealError::TooLarge(length))?;
    Ok(class.saturating_add(PREFACE_BYTES))
}

/// Bytes of the blob of a content of some length.
fn sealed_bytes(length: usize) -> Result<usize, SealError> {
    let fixed = HEADER_BYTES.saturating_add(TAG_BYTES);
    Ok(padded_bytes(length)?.saturating_add(fixed))
}

/// Adds salt, length and content, then zeros up to the size class. There must be room for all of
/// it: a buffer that grows leaves copies behind that nobody overwrites.
fn pad(content: &Content, to: &mut Vec<u8>) -> Result<(), SealError> {
    let length = content.bytes.len();
    let end = to.len().saturating_add(padded_bytes(length)?);
    to.extend_from_slice(&content.salt.0);
    to.extend_from_slice(&(length as u64).to_be_bytes());
    to.extend_from_slice(&content.bytes);
    to.resize(end, 0);
    Ok(())
}

/// Reads what `pad` wrote, and nothing that it would not have written.
fn unpadded(plaintext: &[u8]) -> Result<Content, SealError> {
    let (salt, rest) = plaintext
        .split_first_chunk::<32>()
        .ok_or(SealError::Padding)?;
    let (length, rest) = rest.split_first_chunk().ok_or(SealError::Padding)?;
    let length = u64::from_be_bytes(*length);
    let (content, zeros) = usize::try_from(length)
        .ok()
        .and_then(|length| rest.split_at_checked(length))
        .ok_or(SealError::Padding)?;
    if rest.len() as u64 != size_class(length) || zeros.iter().any(|&byte| byte != 0) {
        return Err(SealError::Padding);
    }
    Ok(Content::new(Salt(*salt), content))
}
