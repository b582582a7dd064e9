//! What the owner hands over to be read: records, contents, and who and what is trusted.

use super::frame::Attachment;
use super::line::Line;
use super::mirror::checked;
use super::protocol::{Ask, Reply};
use crate::authority::{AuthorityState, fold_authority};
use crate::content::{Commitment, Contents};
use crate::error::LedgerError;
use crate::id::{Position, StreamId, Version};
use crate::store::{ReadError, Stored, chain};

/// Contents that are asked for together.
const CONTENTS_AT_ONCE: usize = 64;

/// The authority stream: folded, with its contents.
pub(super) struct Authority {
    pub(super) state: AuthorityState,
    pub(super) contents: Contents,
}

/// What an owner must not answer to what was asked.
pub(super) fn unexpected() -> LedgerError {
    LedgerError::Failed(String::from("it answered something else than was asked"))
}

impl Authority {
    /// Reads it.
    pub(super) async fn read(line: &Line) -> Result<Self, LedgerError> {
        let stream = line.ledger.authority();
        let mut records = Vec::new();
        loop {
            let from = Version::new(u32::try_from(records.len()).unwrap_or(u32::MAX));
            let limit = crate::limits::PAGE_RECORDS_MAX;
            let ask = Ask::ReadRun {
                stream,
                from,
                limit,
            };
            let page = stored(line.ask(ask, &[]).await?)?;
            let full = page.len() == limit;
            for record in page {
                records.push(record.parse()?.envelope);
            }
            if !full {
                break;
            }
        }
        let state = fold_authority(&records)?;
        let blobs = records.iter().flat_map(|record| record.blobs().values());
        let wanted: Vec<_> = blobs.map(|blob| blob.commitment).collect();
        let contents = contents(line, stream, &wanted).await?;
        Ok(Self { state, contents })
    }
}

/// Contents of a stream, checked.
pub(super) async fn contents(
    line: &Line,
    stream: StreamId,
    commitments: &[Commitment],
) -> Result<Contents, LedgerError> {
    let mut contents = Contents::default();
    let mut left = commitments;
    while !left.is_empty() {
        let some = left.get(..CONTENTS_AT_ONCE).unwrap_or(left);
        let ask = Ask::Contents {
            stream,
            commitments: some.to_vec(),
        };
        let (Reply::Contents {}, attached) = line.ask(ask, &[]).await? else {
            return Err(unexpected());
        };
        if attached.is_empty() || attached.len() > some.len() {
            return Err(unexpected());
        }
        left = left.get(attached.len()..).unwrap_or_default();
        for (commitment, bytes) in some.iter().zip(attached) {
            contents.insert_checked(*commitment, checked(*commitment, &bytes)?);
        }
    }
    Ok(contents)
}

/// Records with their positions.
pub(super) fn stored(
    (reply, attached): (Reply, Vec<Attachment>),
) -> Result<Vec<Stored>, LedgerError> {
    let Reply::Stored { positions } = reply else {
        return Err(unexpected());
    };
    if positions.len() != attached.len() {
        return Err(unexpected());
    }
    let record = |(position, bytes): (Position, Attachment)| Stored {
        position,
        bytes: bytes.into(),
    };
    Ok(positions.into_iter().zip(attached).map(record).collect())
}

/// What a reader is told of an owner that cannot be read.
pub(crate) fn read_error(error: LedgerError) -> ReadError {
    match error {
        LedgerError::Read(error) => error,
        other => ReadError::Io(chain(&other)),
    }
}
