//! The digests that an approval rests on: of a proposal, and of a whole set of requests.

use crate::canonical::{self, EncodeError};
use crate::content::Blobs;
use crate::digest::{Digest, Hasher, Purpose, digest};
use crate::id::{LedgerId, RunId};

/// The proposal digest: over the whole body of `call.proposed` and every commitment in it, that
/// is over everything that was shown and everything that will run.
///
/// `body` is that of the record as it lies there, which is canonical: it is not written anew.
pub fn proposal_digest(
    ledger: LedgerId,
    run: RunId,
    body: &str,
    blobs: &Blobs,
) -> Result<Digest, EncodeError> {
    let mut preimage = Vec::with_capacity(1_024);
    preimage.extend_from_slice(b"{\"blobs\":{");
    for (index, (name, blob)) in blobs.iter().enumerate() {
        if index > 0 {
            preimage.push(b',');
        }
        canonical::write_string(name, &mut preimage)?;
        preimage.push(b':');
        canonical::write_string(&blob.commitment.to_string(), &mut preimage)?;
    }
    preimage.extend_from_slice(b"},\"body\":");
    preimage.extend_from_slice(body.as_bytes());
    for (name, id) in [("ledger", ledger.to_string()), ("run", run.to_string())] {
        preimage.push(b',');
        canonical::write_string(name, &mut preimage)?;
        preimage.push(b':');
        canonical::write_string(&id, &mut preimage)?;
    }
    preimage.push(b'}');
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
