//! The state of a run at one record as bytes, so that a long run is not folded from its start.
//!
//! ```text
//! 32 B of the code that wrote it | 32 B digest of the record | 32 B digest over both and the rest
//! | state | contents that its records name
//! ```
//!
//! A cache beside the log and never the truth: it holds only what the fold of the log comes to,
//! counts only together with the record whose digest it names, and only for the code that wrote
//! it. It holds facts alone, no text.

mod fields;
mod packed;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::state::RunState;
use crate::content::{Blob, Commitment};
use crate::digest::{Digest, Hasher, Purpose, digest};
use crate::id::{LedgerId, RunId};
use packed::Packed;

/// Names the sources of this crate: another build may fold otherwise, or write other fields.
static CODE: LazyLock<Digest> = LazyLock::new(|| {
    let code = concat!(env!("CARGO_PKG_VERSION"), " ", env!("PLACET_LEDGER_CODE"));
    digest(Purpose::File, code.as_bytes())
});

/// A state of a run, and the contents that its records up to there name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The state.
    pub state: RunState,
    /// The contents, by commitment.
    pub blobs: BTreeMap<Commitment, Blob>,
}

impl Snapshot {
    /// Writes a state.
    pub fn write(state: &RunState, blobs: impl ExactSizeIterator<Item = Blob>) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend_from_slice(CODE.as_bytes());
        bytes.extend_from_slice(state.head.digest.as_bytes());
        bytes.extend_from_slice(&[0; DIGEST_BYTES]);
        state.put(&mut bytes);
        blobs.len().put(&mut bytes);
        blobs.for_each(|blob| blob.put(&mut bytes));
        stamp(&mut bytes);
        bytes
    }

    /// Reads one of a run; `None` where another build wrote it, or it is not what was written.
    pub fn read(bytes: &[u8], (ledger, run): (LedgerId, RunId)) -> Option<Self> {
        let (header, mut rest) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        let ([code, record, stated], _) = header.as_chunks::<DIGEST_BYTES>() else {
            return None;
        };
        if code != CODE.as_bytes() || *stated != *sum(record, rest).as_bytes() {
            return None;
        }
        let state = RunState::take(&mut rest)?;
        let blobs = Vec::<Blob>::take(&mut rest)?;
        let fits = state.ledger == ledger
            && state.run == run
            && state.head.digest.as_bytes() == record
            && rest.is_empty();
        let blobs = blobs.into_iter().map(|blob| (blob.commitment, blob));
        fits.then(|| Self {
            state,
            blobs: blobs.collect(),
        })
    }
}

const DIGEST_BYTES: usize = 32;

const HEADER_BYTES: usize = 3 * DIGEST_BYTES;

fn sum(record: &[u8], rest: &[u8]) -> Digest {
    let mut hasher = Hasher::new(Purpose::Snapshot);
    hasher.update(CODE.as_bytes()).update(record).update(rest);
    hasher.finish()
}

/// Puts the digest where it belongs.
fn stamp(bytes: &mut [u8]) {
    if let Some((header, rest)) = bytes.split_first_chunk_mut::<HEADER_BYTES>()
        && let ([_, record, stated], _) = header.as_chunks_mut::<DIGEST_BYTES>()
    {
        *stated = *sum(record, rest).as_bytes();
    }
}
