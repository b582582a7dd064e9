//! The digests that an approval rests on: of a proposal, and of a whole set of requests.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::canonical::{self, EncodeError};
use crate::content::{Blobs, Commitment};
use crate::digest::{Digest, Hasher, Purpose, digest};
use crate::event::CallProposed;
use crate::id::{LedgerId, RunId};

#[derive(Serialize)]
struct Preimage<'a> {
    blobs: BTreeMap<&'a str, Commitment>,
    body: &'a CallProposed,
    ledger: LedgerId,
    run: RunId,
}

/// The proposal digest: over the whole body of `call.proposed` and every commitment in it, that
/// is over everything that was shown and everything that will run.
pub fn proposal_digest(
    ledger: LedgerId,
    run: RunId,
    body: &CallProposed,
    blobs: &Blobs,
) -> Result<Digest, EncodeError> {
    let blobs = blobs
        .iter()
        .map(|(name, blob)| (name.as_str(), blob.commitment))
        .collect();
    let preimage = canonical::to_vec(&Preimage {
        blobs,
        body,
        ledger,
        run,
    })?;
    Ok(digest(Purpose::Proposal, &preimage))
}

/// The digest over all pending requests, in call order. Its first ten hex digits are the *set
/// code* that cards and notifications show.
pub fn set_digest<'a>(requests: impl IntoIterator<Item = &'a Digest>) -> Digest {
    let mut hasher = Hasher::new(Purpose::Set);
    for request in requests {
        hasher.update(request.as_bytes());
    }
    hasher.finish()
}
